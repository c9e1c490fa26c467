"""The plugin inside TensorBoard: its tab, its frame, the theme and the address."""

from __future__ import annotations

from browser.driver import settle
from playwright.sync_api import Frame, Page, expect


def plugin_frame(page: Page) -> Frame:
    """The plugin's frame, once it is drawn."""
    handle = page.wait_for_selector(
        "iframe[src*=xla_insights], tb-dashboard iframe, iframe", state="attached"
    )
    assert handle is not None
    frame = handle.content_frame()
    assert frame is not None
    frame.wait_for_selector("main[data-state=ready]")
    settle(frame)
    return frame


def test_search_select_copy_and_open_the_link(page: Page, tensorboard: str, case_study: str) -> None:
    page.goto(f"{tensorboard}/#xla_insights&p.xla_insights.v=timeline&p.xla_insights.s={case_study}")
    frame = plugin_frame(page)
    frame.get_by_test_id("timeline-search").fill("Training_Step")
    frame.get_by_test_id("timeline-search").press("Enter")
    expect(frame.get_by_test_id("search-count")).to_contain_text("1 of")
    settle(frame)
    assert frame.evaluate("xi.drawn.selection.name") == "Training_Step"

    box = frame.get_by_test_id("timeline-canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 500, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 700, box["y"] + 70)
    page.mouse.move(box["x"] + 900, box["y"] + 80)
    page.mouse.up()
    settle(frame)
    expect(frame.get_by_test_id("window-breakdown")).to_be_visible()
    breakdown = frame.get_by_test_id("window-breakdown").text_content()
    selection = frame.evaluate("xi.drawn.selection")
    window = frame.evaluate("xi.drawn.window")
    assert selection["kind"] == "window"

    frame.get_by_test_id("copy-link").click()
    expect(frame.get_by_test_id("copy-link")).to_have_text("Copied")
    address = frame.evaluate("navigator.clipboard.readText()")
    assert address.startswith(f"{tensorboard}/#xla_insights&")

    page.goto("about:blank")
    page.goto(address)
    again = plugin_frame(page)
    assert again.evaluate("xi.drawn.selection") == selection
    assert again.evaluate("xi.drawn.window") == window
    assert again.get_by_test_id("window-breakdown").text_content() == breakdown


def test_theme_follows_tensorboard(page: Page, tensorboard: str, case_study: str) -> None:
    page.goto(f"{tensorboard}/#xla_insights&p.xla_insights.s={case_study}")
    frame = plugin_frame(page)
    assert frame.evaluate("document.documentElement.dataset.theme") == "light"
    page.evaluate("document.body.classList.add('dark-mode')")
    frame.wait_for_selector(":root[data-theme=dark]")
    settle(frame)
    assert frame.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 21, 26)"


def test_back_stays_in_the_frame(page: Page, tensorboard: str, case_study: str) -> None:
    page.goto(
        f"{tensorboard}/#xla_insights&p.xla_insights.v=timeline&p.xla_insights.s={case_study}&p.xla_insights.w=520+380"
    )
    frame = plugin_frame(page)
    search = frame.get_by_test_id("timeline-search")
    search.fill("StepMarker")
    search.press("Enter")
    frame.wait_for_function("xi.drawn.selection?.name === 'StepMarker'")
    settle(frame)
    first = frame.evaluate("xi.drawn.selection.start_ps")
    search.press("Enter")
    frame.wait_for_function(f"xi.drawn.selection.start_ps > {first}")
    page.go_back()
    frame.wait_for_function(f"xi.drawn.selection?.start_ps === {first}")
    page.go_back()
    frame.wait_for_function("xi.drawn.selection === null")
