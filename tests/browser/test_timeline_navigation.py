"""Moving in the timeline: through time, from slice to slice and between hits of a search, by keys and pointer."""

from __future__ import annotations

import json

import pytest
from browser.conftest import session_named
from browser.driver import LABELS_WIDTH, HeldRequests, Xi
from browser.tables import column
from playwright.sync_api import Page, expect

MS = 10**9
SESSION_PS = 3_140_614_898_000
"""The length of the case study."""


def check_edges_of_a_selected_window_can_be_moved(xi: Xi, case_study: str) -> None:
    xi.follow(case_study, w="700+100", sel="win:740+20")
    box = xi.canvas_box()
    selected = xi.drawn("selection")
    edge = box["x"] + LABELS_WIDTH + (box["width"] - LABELS_WIDTH) * 0.6
    xi.drag((edge, box["y"] + 100), (edge + 100, box["y"] + 100))
    moved = xi.drawn("selection")
    assert moved["start_ps"] == selected["start_ps"]
    assert moved["end_ps"] > selected["end_ps"] + 5 * MS


def check_search_steps_through_its_hits(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study)
    xi.search("Training_Step")
    count = page.get_by_test_id("search-count")
    expect(count).to_contain_text("1 of")
    first = xi.drawn("selection")
    xi.press("Enter")
    expect(count).to_contain_text("2 of")
    assert xi.drawn("selection")["start_ps"] > first["start_ps"]
    xi.press("Shift+Enter")
    assert xi.drawn("selection") == first
    assert xi.link()["q"] == "Training_Step"
    xi.press("Escape")
    xi.press("Escape")
    assert page.get_by_test_id("timeline-search").input_value() == ""
    xi.press("Escape")
    assert xi.drawn("selection") is None


def test_enter_waits_for_a_pending_search(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study)
    held = HeldRequests(page, "**/data/search?*")
    xi.press("/")
    with page.expect_request("**/data/search?*"):
        page.keyboard.type("StepMarker")
    page.keyboard.press("Enter")
    assert page.evaluate("xi.drawn.selection") is None
    held.release()
    assert xi.drawn("selection")["name"] == "StepMarker"


def check_zoom_and_pan_by_keys(xi: Xi, case_study: str) -> None:
    xi.follow(case_study)
    whole = xi.drawn("window")
    xi.press("w")
    near = xi.drawn("window")
    assert near["end_ps"] - near["start_ps"] == pytest.approx((whole["end_ps"] - whole["start_ps"]) / 1.5)
    xi.press("d")
    assert xi.drawn("window")["start_ps"] > near["start_ps"]
    xi.press("m")
    assert xi.drawn("window") == whole


def check_going_to_a_time_and_framing_the_selection(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="500+400")
    xi.press("g")
    page.keyboard.type("1500.5")
    xi.press("Enter")
    assert xi.drawn("window") == {"start_ps": 1300.5 * MS, "end_ps": 1700.5 * MS}
    expect(page.get_by_test_id("go-to-time")).to_be_hidden()
    xi.click(xi.slices(row="h0.steps")[0])
    xi.press("f")
    window, selection = xi.drawn("window"), xi.drawn("selection")
    assert window["start_ps"] < selection["start_ps"]
    assert selection["end_ps"] < window["end_ps"]
    assert page.get_by_test_id("flows-toggle").get_attribute("aria-pressed") == "true"
    xi.press("e")
    assert page.get_by_test_id("flows-toggle").get_attribute("aria-pressed") == "false"


def check_a_text_that_is_no_time_is_reported_and_can_be_corrected(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.follow(case_study, w="500+400")
    xi.press("g")
    page.keyboard.type("soon")
    xi.press("Enter")
    field = page.get_by_test_id("go-to-time")
    expect(field.get_by_role("alert")).to_have_text("ms, such as 715.08")
    expect(field.get_by_role("textbox")).to_be_focused()
    assert field.evaluate("element => element.scrollWidth <= element.clientWidth"), "the text is not cut"
    field.get_by_role("textbox").fill("1500.5 ms")
    xi.press("Enter")
    expect(field).to_be_hidden()
    assert xi.drawn("window") == {"start_ps": 1300.5 * MS, "end_ps": 1700.5 * MS}


@pytest.mark.parametrize("width", [1000, 1200, 1440])
def test_the_toolbar_fits_with_the_field_for_a_time_and_the_name_of_a_host(
    xi: Xi, page: Page, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    xi.open(session_named("synthetic_pod_16_hosts"))
    toolbar = page.get_by_test_id("timeline-toolbar")
    for keys in ("]", "g", "Enter", "g", "x", "Enter"):
        xi.press(keys)
        assert toolbar.evaluate("element => element.scrollWidth - element.clientWidth") == 0, keys
    expect(page.get_by_test_id("go-to-time").get_by_role("alert")).to_be_visible()


def test_zooming_back_out_requests_no_data(xi: Xi, page: Page, case_study: str) -> None:
    """Scripts of other views may still be requested, as they are preloaded in idle time."""
    xi.open(case_study)
    for key in "www":
        xi.press(key)
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    xi.press("m")
    assert not [url for url in urls if "/static/" not in url]
    assert xi.slices(row="h0.steps")[0]["name"] == "1204"


def check_zoom_at_the_pointer_keeps_its_time(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="500+400")
    box = xi.canvas_box()
    quarter_x = box["x"] + LABELS_WIDTH + (box["width"] - LABELS_WIDTH) * 0.25
    page.mouse.move(quarter_x, box["y"] + 150)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    window = xi.drawn("window")
    quarter_ps = window["start_ps"] + (window["end_ps"] - window["start_ps"]) * 0.25
    assert quarter_ps == pytest.approx(600 * MS, rel=1e-6)
    assert window["end_ps"] - window["start_ps"] == pytest.approx(400 * MS / 1.5)


def check_dragging_the_ruler_pans(xi: Xi, case_study: str) -> None:
    xi.follow(case_study, w="500+400")
    box = xi.canvas_box()
    xi.drag((box["x"] + 800, box["y"] + 8), (box["x"] + 500, box["y"] + 8))
    window = xi.drawn("window")
    assert window["start_ps"] > 550 * MS
    assert window["end_ps"] - window["start_ps"] == 400 * MS
    assert xi.drawn("selection") is None


def check_the_strip_moves_the_window(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study)
    box = page.get_by_test_id("overview-strip").bounding_box()
    assert box is not None
    xi.drag((box["x"] + 500, box["y"] + 20), (box["x"] + 700, box["y"] + 20))
    window = xi.drawn("window")
    share = 200 / (box["width"] - LABELS_WIDTH)
    assert window["end_ps"] - window["start_ps"] == pytest.approx(share * SESSION_PS, rel=0.02)


def check_windows_begin_and_end_with_slices(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="520+380")
    first, middle, last = xi.slices(row="h0.steps")
    whole = (first["start_ps"], last["end_ps"])

    def selected() -> tuple[str, int, int]:
        selection = xi.drawn("selection")
        return selection["kind"], selection["start_ps"], selection["end_ps"]

    box = xi.canvas_box()
    y = box["y"] + middle["y"] + middle["h"] / 2
    left, right = box["x"] + middle["x"], box["x"] + middle["x"] + middle["w"]
    xi.drag((left + 3, y), (right - 3, y))
    assert selected() == ("window", middle["start_ps"], middle["end_ps"])
    xi.click(first)
    page.keyboard.down("Shift")
    xi.click(last)
    page.keyboard.up("Shift")
    assert selected() == ("window", *whole)
    xi.press("Escape")
    page.get_by_test_id("timeline-canvas").focus()
    xi.press("ArrowRight")
    xi.press("Enter")
    xi.press("ArrowRight")
    xi.press("ArrowRight")
    xi.press("Shift+Enter")
    assert selected() == ("window", *whole)


def test_moving_by_pointer(xi: Xi, case_study: str, page: Page) -> None:
    check_edges_of_a_selected_window_can_be_moved(xi, case_study)
    check_zoom_at_the_pointer_keeps_its_time(xi, page, case_study)
    check_dragging_the_ruler_pans(xi, case_study)
    check_the_strip_moves_the_window(xi, page, case_study)
    check_windows_begin_and_end_with_slices(xi, page, case_study)


def check_arrows_move_the_cursor_and_announce_it(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="520+380")
    page.get_by_test_id("timeline-canvas").focus()
    xi.press("ArrowRight")
    assert xi.drawn("cursor")["row"] == "h0.steps"
    xi.press("ArrowRight")
    assert xi.text("live").startswith("1206, step, 242.600 ms, at 544.964 ms")
    xi.press("ArrowDown")
    assert xi.text("live").startswith("Training_Step, annotation, ")
    active = page.get_by_test_id("timeline-canvas").get_attribute("aria-activedescendant")
    assert page.locator(f"[id='{active}']").get_attribute("role") == "row"
    xi.press("Enter")
    assert xi.drawn("selection")["name"] == "Training_Step"


def check_arrows_move_beyond_the_loaded_range(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="600+0.5")
    page.get_by_test_id("timeline-canvas").focus()
    for _ in range(2):
        xi.press("ArrowRight")
    selection = xi.drawn("selection")
    assert selection["name"] == "1207"
    window = xi.drawn("window")
    assert window["start_ps"] <= (selection["start_ps"] + selection["end_ps"]) / 2 <= window["end_ps"]


def check_steps_and_occurrences_by_keys(xi: Xi, case_study: str) -> None:
    xi.follow(case_study, w="520+380")
    xi.click(xi.slices(row="h0.steps", name="1206")[0])
    xi.press(".")
    assert xi.drawn("selection")["name"] == "1207"
    xi.press(",")
    assert xi.drawn("selection")["name"] == "1206"
    xi.press("Escape")
    xi.click(xi.slices(name="StepMarker")[-1])
    start_ps = xi.drawn("selection")["start_ps"]
    xi.press("Shift+BracketRight")
    assert xi.drawn("selection")["start_ps"] > start_ps
    xi.press("Shift+BracketLeft")
    assert xi.drawn("selection")["start_ps"] == start_ps


def check_back_undoes_a_selection(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="520+380")
    steps = xi.slices(row="h0.steps")
    xi.click(steps[1])
    xi.click(steps[2])
    page.go_back()
    page.wait_for_function(f"xi.drawn.selection?.name === {json.dumps(steps[1]['name'])}")
    page.go_back()
    page.wait_for_function("xi.drawn.selection === null")


def check_the_longest_gap_is_a_key_away_and_its_events_lead_back_to_it(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.follow(case_study)
    title = page.locator("#panel-title")
    page.keyboard.press("l")
    expect(title).to_contain_text("Gap of 390.263")
    page.keyboard.press("l")
    expect(title).to_contain_text("Gap of 195.892")
    page.get_by_test_id("gap-chain").get_by_role("button", name="backward").click()
    expect(title).to_have_text("backward")
    page.get_by_test_id("back-to-gap").click()
    expect(title).to_contain_text("Gap of 195.892")
    page.get_by_test_id("gap-step").click()
    expect(title).to_contain_text("Window of 404.")


def test_moving_from_slice_to_slice(xi: Xi, page: Page, case_study: str) -> None:
    check_arrows_move_the_cursor_and_announce_it(xi, page, case_study)
    check_arrows_move_beyond_the_loaded_range(xi, page, case_study)
    check_steps_and_occurrences_by_keys(xi, case_study)
    check_back_undoes_a_selection(xi, page, case_study)
    check_the_longest_gap_is_a_key_away_and_its_events_lead_back_to_it(xi, page, case_study)


def check_a_link_copied_right_after_zooming_has_the_window(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study)
    # In one turn of the event loop: the window is written into the address after a moment.
    page.evaluate(
        "for (const code of ['KeyW', 'KeyY']) dispatchEvent(new KeyboardEvent('keydown', { code, cancelable: true }))"
    )
    expect(page.get_by_test_id("copy-link")).to_have_text("Copied")
    assert "p.xla_insights.w=" in page.evaluate("navigator.clipboard.readText()")


def test_moving_by_keys(xi: Xi, case_study: str, page: Page) -> None:
    check_zoom_and_pan_by_keys(xi, case_study)
    check_going_to_a_time_and_framing_the_selection(xi, page, case_study)
    check_a_text_that_is_no_time_is_reported_and_can_be_corrected(xi, page, case_study)
    check_search_steps_through_its_hits(xi, page, case_study)
    check_a_link_copied_right_after_zooming_has_the_window(xi, page, case_study)


def test_the_names_that_a_search_finds_are_a_list(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study)
    page.wait_for_function("xi.drawn.rows.some((row) => row.kind === 'scopes')")
    xi.press("/")
    page.keyboard.type("TPUExecute")
    names = page.get_by_test_id("search-names")
    expect(column(names, "Name").first).to_have_text("TPUExecute")
    page.keyboard.press("Enter")
    xi.idle()
    assert xi.drawn("selection")["name"] == "TPUExecute"
    page.get_by_test_id("timeline-search").fill("encoder")
    expect(column(names, "Name")).to_have_text(["image_encoder", "text_encoder"])
    assert all(int(text) > 0 for text in column(names, "Scopes").all_text_contents())
    page.get_by_test_id("timeline-search").press("ArrowDown")
    xi.press("ArrowDown")
    xi.press("Enter")
    assert xi.link()["q"] == "name:text_encoder"
    assert xi.drawn("selection")["name"] == "text_encoder"
    assert xi.drawn("selection")["row"] == "h0.ann"
