"""The static copy, opened from disk: every view is there, nothing is requested, and no message is logged."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.conftest import new_page
from browser.driver import settle
from playwright.sync_api import Browser, Page, Playwright, expect
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from tb_xla_insights.static_copy.document import packed_page, static_copy

VIEWS = ("timeline", "gaps", "executions", "propagation", "compiles", "hosts", "device", "overview")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    session = xi.load(str(LOGDIR / "torch_xla_dynamic_shapes"))
    file = tmp_path_factory.mktemp("copy") / "report.html"
    file.write_bytes(static_copy(packed_page(), session.hosts.files, session.opened))
    return file


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def copied(
    request: pytest.FixtureRequest, copy: Path, browser: Browser, playwright: Playwright
) -> Iterator[Page]:
    """The copy in a browser. A request or a message is an error."""
    if request.param == "firefox":
        path = os.environ.get("FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
        if not path:
            pytest.skip("no Firefox here; set FIREFOX to its path")
        browser = playwright.firefox.launch(channel="moz-firefox", executable_path=path)
    page = new_page(browser, {"viewport": {"width": 1440, "height": 900}})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda sent: complaints.append(sent.url) if not sent.url.startswith("data:") else None)
    page.goto(copy.as_uri())
    expect(page.locator("main")).to_have_attribute("data-state", "ready")
    yield page
    page.context.close()
    if request.param == "firefox":
        browser.close()
    assert [text for text in complaints if text != copy.as_uri()] == []


def test_every_view_is_shown_without_a_request(copied: Page) -> None:
    expect(copied.get_by_test_id("static-copy")).to_have_text("static copy")
    for name in ("tab-compare", "capture-button"):
        expect(copied.get_by_test_id(name)).not_to_be_visible()
    for view in VIEWS:
        copied.get_by_test_id(f"tab-{view}").click()
        settle(copied)
        expect(copied.locator("main")).to_have_attribute("data-state", "ready")
        expect(copied.get_by_test_id("diagnostics")).to_be_empty()


def test_an_annotation_opens_in_propagation(copied: Page) -> None:
    copied.get_by_test_id("tab-timeline").click()
    settle(copied)
    forward = copied.evaluate(
        "xi.drawn.slices.find(slice => slice.name === 'forward' && slice.row === 'h0.ann')"
    )
    box = copied.get_by_test_id("timeline-canvas").bounding_box()
    assert box is not None
    copied.mouse.click(box["x"] + forward["x"] + forward["w"] / 2, box["y"] + forward["y"] + forward["h"] / 2)
    settle(copied)
    copied.get_by_role("button", name="Open in Propagation").click()
    settle(copied)
    expect(copied.locator("main")).to_have_attribute("data-state", "ready")
    expect(copied.get_by_test_id("annotation-tree").locator("tr[aria-selected=true]")).to_contain_text(
        "forward"
    )
    expect(copied.get_by_test_id("diagnostics")).to_be_empty()
    copied.get_by_test_id("tab-overview").click()
    settle(copied)


def test_a_finding_shows_its_gap_and_what_is_missing_is_one_line(copied: Page) -> None:
    copied.get_by_test_id("finding-tracing_bound").get_by_test_id("finding-show").click()
    settle(copied)
    panel = copied.get_by_test_id("selection-panel")
    expect(panel.get_by_role("heading")).to_contain_text("Gap of")
    first = panel.get_by_role("heading").text_content()
    copied.keyboard.press("]")
    settle(copied)
    expect(panel.get_by_role("heading")).not_to_have_text(str(first))
    expect(panel.get_by_role("heading")).to_contain_text("Gap of")
    panel.get_by_role("row").nth(-2).click()
    settle(copied)
    expect(copied.get_by_test_id("diagnostics")).to_be_empty()
    copied.get_by_role("button", name="Whole session").click()
    copied.get_by_test_id("timeline-search").fill("forward")
    line = copied.get_by_test_id("diagnostics")
    expect(line).to_contain_text("Not in this static copy; open the capture in TensorBoard.")
    expect(line.get_by_role("button", name="Try again")).to_have_count(0)
