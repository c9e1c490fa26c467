"""The driver of browser tests: the page as slices, rows and links instead of pixels and addresses."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Frame, Locator, Page, Route

LABELS_WIDTH = 188
"""The width of the labels to the left of the timeline's rows in a wide window, in pixels."""

STALLED = "the browser draws no frame"
"""The only error after which the Makefile runs a test again."""


TIMEOUT_MS = 120_000
"""The limit of each wait. Most end within a second, but a busy machine may take more than a minute to read 16 hosts."""


def settle(page: Page | Frame) -> None:
    """Waits until no request is pending and the last frame is drawn; fails after TIMEOUT_MS, as `page.evaluate` has no
    timeout."""
    page.evaluate(
        """([stalled, timeout]) => new Promise((done, fail) => {
            let drawn = false;
            requestAnimationFrame(() => { drawn = true; });
            setTimeout(() => fail(new Error(drawn ? 'an activity is still pending' : stalled)), timeout);
            void xi.idle().then(done);
        })""",
        [STALLED, TIMEOUT_MS],
    )


def fragment(session: str, state: dict[str, str]) -> str:
    """The fragment of a link to a session, by default to its timeline."""
    pairs = {"s": session, "v": "timeline", **state}
    keys = "&".join(f"p.xla_insights.{key}={quote(value, safe='+,:@/')}" for key, value in pairs.items())
    return f"#xla_insights&{keys}"


def line_count(text: Locator) -> int:
    """The number of lines of a paragraph."""
    return int(
        text.evaluate(
            "element => Math.round(element.offsetHeight / parseFloat(getComputedStyle(element).lineHeight))"
        )
    )


def plain_spaces(text: str) -> str:
    """The text with plain spaces in place of the non-breaking ones of the page."""
    return text.replace("\u202f", " ").replace("\u00a0", " ")


class HeldRequests:
    """Holds back the requests of a route until `release`. The page may repeat one: a session is requested again until
    all of its hosts are read."""

    def __init__(self, page: Page, pattern: str | re.Pattern[str]) -> None:
        self._page, self._pattern = page, pattern
        self._routes: list[Route] = []
        self._is_released = False
        page.route(pattern, self._hold)

    def _hold(self, route: Route) -> None:
        if self._is_released:
            route.continue_()
        else:
            self._routes.append(route)

    def press(self, key: str) -> None:
        """Presses a key and waits for its request."""
        with self._page.expect_request(self._pattern):
            self._page.keyboard.press(key)

    def release(self) -> None:
        """Lets the held requests through, and all later ones, and waits for their answers."""
        self._is_released = True
        for route in self._routes:
            route.continue_()
        settle(self._page)


class Xi:
    """The plugin's page without TensorBoard around it."""

    def __init__(self, page: Page, tensorboard: str) -> None:
        self.page = page
        self.address = f"{tensorboard}/data/plugin_entry.html?name=xla_insights"

    def open(self, session: str, wait: bool = True, **state: str) -> None:
        """Opens a session by a link with this state and, if `wait`, waits until it is drawn."""
        if self.page.url != "about:blank":
            self.page.goto("about:blank")  # a change of the fragment alone would not load the page
        self.page.goto(f"{self.address}{fragment(session, state)}")
        if wait:
            self.ready()

    def follow(self, session: str, **state: str) -> None:
        """Opens a link to a loaded session within the page, in a quarter of the time that loading the page again takes.
        What the link does not have stays as it is: such as rows that are unfolded, or a picture as a table."""
        if self.page.url == "about:blank":
            self.open(session, True, **state)
            return
        # The timeline writes its window into the address after a moment, and may show another one than its address has.
        # By way of another view, the link is followed in any case.
        links = [fragment(session, {"v": "compiles"})] if state.get("v", "timeline") == "timeline" else []
        for link in [*links, fragment(session, state)]:
            self.page.evaluate(
                """link => new Promise(done => {
                    addEventListener('hashchange', () => done(), { once: true });
                    if (location.hash === link) done();
                    else location.hash = link;
                })""",
                link,
            )
        self.ready()

    def ready(self) -> None:
        """Waits until the view has data and is drawn."""
        self.page.wait_for_selector("main[data-state=ready]")
        self.idle()

    def idle(self) -> None:
        settle(self.page)

    def drawn(self, path: str) -> Any:
        """What the shown view drew in its last frame, by a path in `xi.drawn`: such as `slices` or `selection` of the
        timeline, `dots` of the roofline, `columns` of the heat map."""
        self.idle()
        return self.page.evaluate(f"xi.drawn.{path}")

    def slices(self, **properties: Any) -> list[dict[str, Any]]:
        """The visible slices with these properties, by start."""
        return [
            slice_
            for slice_ in self.drawn("slices")
            if all(slice_[key] == value for key, value in properties.items())
        ]

    def point(self, slice_: dict[str, Any]) -> tuple[float, float]:
        """The middle of a slice, in pixels of the window."""
        box = self.canvas_box()
        return box["x"] + slice_["x"] + slice_["w"] / 2, box["y"] + slice_["y"] + slice_["h"] / 2

    def canvas_box(self) -> dict[str, float]:
        """The timeline's canvas, in pixels of the window: the labels and the rows."""
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

    def search(self, text: str) -> None:
        """Types a text into the timeline's search and selects the first hit."""
        self.press("/")
        self.page.keyboard.type(text)
        self.press("Enter")

    def link(self) -> dict[str, str]:
        """The link state in the address; after panning it is complete once the page is idle."""
        state: dict[str, str] = self.page.evaluate(
            "Object.fromEntries(location.hash.split('&').filter(p => p.startsWith('p.xla_insights.'))"
            ".map(p => p.slice(15).split('=').map(decodeURIComponent)))"
        )
        return state

    def text(self, testid: str) -> str:
        """An element's text, with plain spaces."""
        return plain_spaces(self.page.get_by_test_id(testid).text_content() or "")

    def document(self, view: str, session: str, **arguments: str) -> dict[str, Any]:
        """The server's document of a view."""
        base = self.address.partition("/data/plugin_entry.html")[0]
        answer = self.page.request.get(
            f"{base}/data/plugin/xla_insights/data/{view}", params={"session": session, **arguments}
        )
        document: dict[str, Any] = json.loads(answer.text())
        return document
