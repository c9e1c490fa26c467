"""How browser tests speak of the page: in slices, rows and links, not in pixels and addresses."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from playwright.sync_api import Frame, Locator, Page

STALLED = "the browser draws no frame"
"""What the run of these tests takes as a reason to try a test again: see the Makefile."""


def settle(page: Page | Frame) -> None:
    """Until no request is under way and the last frame is drawn. A script that is evaluated has no limit of its own."""
    page.evaluate(
        """stalled => new Promise((done, fail) => {
            let drawn = false;
            requestAnimationFrame(() => { drawn = true; });
            setTimeout(() => fail(new Error(drawn ? 'something is still under way' : stalled)), 30_000);
            void xi.idle().then(done);
        })""",
        STALLED,
    )


def lines(text: Locator) -> int:
    """How many lines a paragraph has."""
    return int(
        text.evaluate("it => Math.round(it.offsetHeight / parseFloat(getComputedStyle(it).lineHeight))")
    )


class Xi:
    """The plugin's page on its own, without TensorBoard around it."""

    def __init__(self, page: Page, tensorboard: str) -> None:
        self.page = page
        self.address = f"{tensorboard}/data/plugin_entry.html?name=xla_insights"

    def open(self, session: str, wait: bool = True, **state: str) -> None:
        """Opens a session with link state, as if by a link, and waits until it is drawn."""
        pairs = {"s": session, "v": "timeline", **state}
        keys = "&".join(f"p.xla_insights.{key}={quote(value, safe='+,:@/')}" for key, value in pairs.items())
        if self.page.url != "about:blank":
            self.page.goto("about:blank")  # else the page stays and only its link changes
        self.page.goto(f"{self.address}#xla_insights&{keys}")
        if wait:
            self.ready()

    def ready(self) -> None:
        self.page.wait_for_selector("main[data-state=ready]")
        self.idle()

    def idle(self) -> None:
        settle(self.page)

    def drawn(self, path: str) -> Any:
        """`rows`, `slices`, `selection`, `cursor`, `hover` or `window` of the last frame."""
        self.idle()
        return self.page.evaluate(f"xi.drawn.{path}")

    def slices(self, **properties: Any) -> list[dict[str, Any]]:
        """The slices in sight with these properties, by start."""
        return [
            slice_
            for slice_ in self.drawn("slices")
            if all(slice_[key] == value for key, value in properties.items())
        ]

    def point(self, slice_: dict[str, Any]) -> tuple[float, float]:
        """The middle of a slice, in the window."""
        box = self.lanes()
        return box["x"] + slice_["x"] + slice_["w"] / 2, box["y"] + slice_["y"] + slice_["h"] / 2

    def lanes(self) -> dict[str, float]:
        box = self.page.get_by_test_id("timeline-canvas").bounding_box()
        assert box is not None
        return {"x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"]}

    def click(self, slice_: dict[str, Any]) -> None:
        self.page.mouse.click(*self.point(slice_))
        self.idle()

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move((start[0] + end[0]) / 2, end[1])
        self.page.mouse.move(*end)
        self.page.mouse.up()
        self.idle()

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.idle()

    def link(self) -> dict[str, str]:
        """The link state in the address, once panning has been written."""
        state: dict[str, str] = self.page.evaluate(
            "Object.fromEntries(location.hash.split('&').filter(p => p.startsWith('p.xla_insights.'))"
            ".map(p => p.slice(15).split('=').map(decodeURIComponent)))"
        )
        return state

    def text(self, testid: str) -> str:
        return (
            (self.page.get_by_test_id(testid).text_content() or "")
            .replace("\u202f", " ")
            .replace("\u00a0", " ")
        )
