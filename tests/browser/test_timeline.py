"""The timeline: what is drawn, what selecting shows, what keys and pointer do. Canvas tests read `window.xi.drawn`."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from browser.driver import Xi
from browser.tables import column, ps
from playwright.sync_api import Page, Route, expect

MS = 10**9


def exact(page: Page, inside: str) -> list[int]:
    """The exact times of a column's cells, from `data-ps`."""
    return [int(value) for value in page.locator(inside).evaluate_all("all => all.map(it => it.dataset.ps)")]


def test_lanes_stand_in_their_order(xi: Xi, case_study: str) -> None:
    xi.open(case_study)
    kinds = list(dict.fromkeys(row["kind"] for row in xi.drawn("rows")))
    assert kinds[:4] == ["steps", "annotations", "classes", "thread"]
    assert kinds.index("more") < kinds.index("modules") < kinds.index("device")
    threads = [row["label"] for row in xi.drawn("rows") if row["kind"] == "thread" and row["label"]]
    assert "(driving)" in threads[0]


@pytest.mark.usefixtures("page_of_its_own")
def test_rows_that_come_before_the_first_frame_stay(xi: Xi, page: Page, case_study: str) -> None:
    # As in a tab that was opened in the background.
    page.add_init_script(
        "const own = requestAnimationFrame; requestAnimationFrame = it => setTimeout(own, 500, it)"
    )
    xi.open(case_study)
    assert {"gaps", "scopes"} <= {row["kind"] for row in xi.drawn("rows")}


def test_classes_leave_no_hole(xi: Xi, case_study: str) -> None:
    xi.open(case_study, w="700+100")
    classes = xi.slices(row="h0.classes")
    assert all(a["end_ps"] == b["start_ps"] for a, b in pairwise(classes))
    assert classes[0]["start_ps"] <= 700 * MS
    assert classes[-1]["end_ps"] >= 800 * MS


def test_steps_are_numbered(xi: Xi, case_study: str) -> None:
    xi.open(case_study, w="520+380")
    assert [step["name"] for step in xi.slices(row="h0.steps")] == ["1205", "1206", "1207"]


def test_a_click_selects_an_event_and_a_link_brings_it_back(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, w="520+380")
    marker = xi.slices(name="StepMarker")[-1]
    xi.click(marker)
    expect(page.get_by_test_id("selection-panel").get_by_role("heading", name="StepMarker")).to_be_visible()
    assert "step marker" in xi.text("selection-panel")
    assert "of 11 · mean" in xi.text("occurrences")
    selected = xi.drawn("selection")
    assert (selected["start_ps"], selected["event"]) == (marker["start_ps"], marker["event"])
    page.reload()
    xi.ready()
    assert xi.drawn("selection") == selected
    assert xi.drawn("window") == {"start_ps": 520 * MS, "end_ps": 900 * MS}


def test_a_selected_window_adds_up(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, w="700+100")
    box = xi.lanes()
    xi.drag((box["x"] + 400, box["y"] + 60), (box["x"] + 900, box["y"] + 90))
    selection = xi.drawn("selection")
    length = selection["end_ps"] - selection["start_ps"]
    assert selection["kind"] == "window"
    parts = exact(page, "[data-testid=window-breakdown] tbody td[data-ps]")
    assert sum(parts) == length == exact(page, "[data-testid=window-breakdown] tfoot [data-ps]")[0]
    assert parts == sorted(parts, reverse=True)
    devices = page.get_by_test_id("window-devices")
    busy, idle = (ps(column(devices, head)) for head in ("Busy, ms", "Idle, ms"))
    assert [b + i for b, i in zip(busy, idle, strict=True)] == [length] * 8
    # What is printed adds up as well, to the last digit shown.
    cells = page.locator("[data-testid=window-breakdown] tbody td[data-ps]").all_text_contents()
    total = page.locator("[data-testid=window-breakdown] tfoot [data-ps]").text_content()
    assert round(sum(float(cell) for cell in cells), 3) == float(total or "")


def test_the_ops_of_a_window_add_up(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, w="1000+100", sel="win:1010+50")
    table = "[data-testid=window-ops]"
    ops = exact(page, f"{table} tbody td[data-ps]")
    assert sum(ops) == exact(page, f"{table} tfoot [data-ps]")[0]
    shown = [float(cell) for cell in page.locator(f"{table} tbody td:nth-child(4)").all_text_contents()]
    assert round(sum(shown), 3) == float(page.locator(f"{table} tfoot [data-ps]").text_content() or "")


def test_edges_of_a_selected_window_can_be_moved(xi: Xi, case_study: str) -> None:
    xi.open(case_study, w="700+100", sel="win:740+20")
    box = xi.lanes()
    selected = xi.drawn("selection")
    edge = box["x"] + 188 + (box["width"] - 188) * 0.6
    xi.drag((edge, box["y"] + 100), (edge + 100, box["y"] + 100))
    moved = xi.drawn("selection")
    assert moved["start_ps"] == selected["start_ps"]
    assert moved["end_ps"] > selected["end_ps"] + 5 * MS


def test_search_walks_through_its_hits(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study)
    xi.press("/")
    page.keyboard.type("Training_Step")
    xi.press("Enter")
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


def test_enter_waits_for_an_answer_on_its_way(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study)
    held: list[Route] = []
    page.route("**/data/search?*", lambda route: held.append(route))
    xi.press("/")
    with page.expect_request("**/data/search?*"):
        page.keyboard.type("StepMarker")
    page.keyboard.press("Enter")
    assert page.evaluate("xi.drawn.selection") is None
    held.pop().continue_()
    assert xi.drawn("selection")["name"] == "StepMarker"


def test_zoom_and_pan_by_keys(xi: Xi, case_study: str) -> None:
    xi.open(case_study)
    whole = xi.drawn("window")
    xi.press("w")
    near = xi.drawn("window")
    assert near["end_ps"] - near["start_ps"] == pytest.approx((whole["end_ps"] - whole["start_ps"]) / 1.5)
    xi.press("d")
    assert xi.drawn("window")["start_ps"] > near["start_ps"]
    xi.press("m")
    assert xi.drawn("window") == whole


def test_going_to_a_time_and_framing_the_selection(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, w="500+400")
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


def test_the_way_back_asks_for_no_data(xi: Xi, page: Page, case_study: str) -> None:
    """Other views' modules may still be on their way: they are fetched whenever nothing else is to do."""
    xi.open(case_study)
    for key in "www":
        xi.press(key)
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    xi.press("m")
    assert not [url for url in urls if "/static/" not in url]
    assert xi.slices(row="h0.steps")[0]["name"] == "1204"


def test_a_selected_event_is_never_folded_away(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study)
    xi.press("/")
    page.keyboard.type("TensorCollectionBarrier")
    xi.press("Enter")
    selection = xi.drawn("selection")
    assert selection["depth"] > 4
    assert xi.slices(row=selection["row"], depth=selection["depth"], start_ps=selection["start_ps"])


def test_zoom_at_the_pointer_keeps_its_time(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, w="500+400")
    box = xi.lanes()
    page.mouse.move(box["x"] + 188 + (box["width"] - 188) * 0.25, box["y"] + 150)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    window = xi.drawn("window")
    quarter = window["start_ps"] + (window["end_ps"] - window["start_ps"]) * 0.25
    assert quarter == pytest.approx(600 * MS, rel=1e-6)
    assert window["end_ps"] - window["start_ps"] == pytest.approx(400 * MS / 1.5)


def test_dragging_the_ruler_pans(xi: Xi, case_study: str) -> None:
    xi.open(case_study, w="500+400")
    box = xi.lanes()
    xi.drag((box["x"] + 800, box["y"] + 8), (box["x"] + 500, box["y"] + 8))
    window = xi.drawn("window")
    assert window["start_ps"] > 550 * MS
    assert window["end_ps"] - window["start_ps"] == 400 * MS
    assert xi.drawn("selection") is None


def test_the_strip_moves_the_window(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study)
    box = page.get_by_test_id("overview-strip").bounding_box()
    assert box is not None
    xi.drag((box["x"] + 500, box["y"] + 20), (box["x"] + 700, box["y"] + 20))
    window = xi.drawn("window")
    lanes = box["width"] - 188
    assert window["end_ps"] - window["start_ps"] == pytest.approx(200 / lanes * 3_140_614_898_000, rel=0.02)


def test_the_strip_has_gaps_in_the_colour_of_their_cause(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study)
    page.wait_for_selector("[data-testid=gap-index]:visible")
    gaps = xi.slices(row="gaps.t1v-n-8c41-w-0/TPU:0")

    def color(x: float) -> list[int]:
        pixel: list[int] = page.evaluate(
            "x => [...document.querySelector('.strip canvas').getContext('2d').getImageData(x, 33, 1, 1).data]",
            round(x),
        )
        return pixel[:3]

    longest = max(gaps, key=lambda gap: gap["w"])
    assert longest["class"] == "compile"
    red, green, blue = color(longest["x"] + longest["w"] / 2)
    assert red > green + 40
    assert red > blue + 40
    tracing = max((gap for gap in gaps if gap["class"] == "tracing"), key=lambda gap: gap["w"])
    red, _, blue = color(tracing["x"] + tracing["w"] / 2)
    assert blue > red + 40
    # Where the device works there is no gap.
    assert max(color(tracing["x"] - 10)) - min(color(tracing["x"] - 10)) < 10


def test_arrows_move_and_say_where(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, w="520+380")
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


def test_arrows_go_on_beyond_what_is_loaded(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, w="600+0.5")
    page.get_by_test_id("timeline-canvas").focus()
    for _ in range(2):
        xi.press("ArrowRight")
    selection = xi.drawn("selection")
    assert selection["name"] == "1207"
    window = xi.drawn("window")
    assert window["start_ps"] <= (selection["start_ps"] + selection["end_ps"]) / 2 <= window["end_ps"]


def test_steps_and_occurrences_by_keys(xi: Xi, case_study: str) -> None:
    xi.open(case_study, w="520+380")
    xi.click(xi.slices(row="h0.steps", name="1206")[0])
    xi.press(".")
    assert xi.drawn("selection")["name"] == "1207"
    xi.press(",")
    assert xi.drawn("selection")["name"] == "1206"
    xi.click(xi.slices(name="StepMarker")[-1])
    start_ps = xi.drawn("selection")["start_ps"]
    xi.press("Shift+BracketRight")
    assert xi.drawn("selection")["start_ps"] > start_ps
    xi.press("Shift+BracketLeft")
    assert xi.drawn("selection")["start_ps"] == start_ps


def test_back_undoes_a_selection(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, w="520+380")
    steps = xi.slices(row="h0.steps")
    xi.click(steps[1])
    xi.click(steps[2])
    page.go_back()
    page.wait_for_function(f"xi.drawn.selection?.name === {json.dumps(steps[1]['name'])}")
    page.go_back()
    page.wait_for_function("xi.drawn.selection === null")


def test_folding_is_remembered_in_the_link(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study)
    more = next(row for row in xi.drawn("rows") if row["kind"] == "more")
    box = xi.lanes()
    page.mouse.click(box["x"] + 60, box["y"] + more["y"] + more["h"] / 2)
    opened = xi.drawn("rows")
    assert xi.link()["x"] == more["id"]
    assert sum(row["kind"] == "thread" and row["label"] != "" for row in opened) > 20
    page.reload()
    xi.ready()
    assert [row["id"] for row in xi.drawn("rows")] == [row["id"] for row in opened]


def test_merged_slices_part_when_zoomed_and_list_what_they_hold(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, w="520+380")
    merged = max(
        (slice_ for slice_ in xi.drawn("slices") if slice_["count"] > 2 and slice_["w"] > 8),
        key=lambda slice_: slice_["count"],
    )
    page.mouse.move(*xi.point(merged))
    expect(page.get_by_test_id("tooltip")).to_contain_text(f"{merged['count']} events")
    share = 100 * merged["busy_ps"] / (merged["end_ps"] - merged["start_ps"])
    expect(page.get_by_test_id("tooltip")).to_contain_text(f"{share:.1f}\u202f% covered")
    xi.click(merged)
    window = xi.drawn("window")
    assert window["start_ps"] <= merged["start_ps"] < merged["end_ps"] <= window["end_ps"]
    assert window["end_ps"] - window["start_ps"] < 100 * MS
    assert max(slice_["count"] for slice_ in xi.slices(row=merged["row"])) < merged["count"]


def test_old_slices_stay_until_new_ones_come_and_the_latest_request_wins(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.open(case_study)
    held: list[Route] = []
    released: list[Route] = []

    def hold(route: Route) -> None:
        if released:
            route.continue_()
        else:
            held.append(route)

    page.route("**/data/timeline?*", hold)
    before = len(page.evaluate("xi.drawn.slices"))
    for _ in range(2):
        # Two zooms cross a power of two of time per pixel, so new slices are asked for.
        with page.expect_request("**/data/timeline?*"):
            page.keyboard.press("w")
            page.keyboard.press("w")
    assert 0 < len(page.evaluate("xi.drawn.slices")) <= before
    assert len(held) > 1
    released.append(held[-1])
    held[-1].continue_()
    xi.idle()
    window = xi.drawn("window")
    assert all(slice_["end_ps"] > window["start_ps"] for slice_ in xi.drawn("slices"))


def test_narrow_windows_have_narrow_labels(xi: Xi, page: Page, case_study: str) -> None:
    page.set_viewport_size({"width": 1000, "height": 700})
    xi.open(case_study, w="520+380")
    first: dict[str, Any] = xi.slices(row="h0.steps")[0]
    assert first["x"] == 132
    expect(page.get_by_test_id("environment")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1000
    # Rows are whole at both edges, scrolled or not.
    canvas = page.get_by_test_id("timeline-canvas")
    for scroll in (0, 25, 5000):
        canvas.evaluate("(it, to) => { it.scrollTop = to }", scroll)
        height = xi.lanes()["height"]
        shown = [(slice_["y"], slice_["y"] + slice_["h"]) for slice_ in xi.slices()]
        assert min(top for top, _ in shown) >= 23  # the ruler's
        assert max(bottom for _, bottom in shown) <= height
    rows = xi.drawn("rows")
    assert max(row["y"] + row["h"] for row in rows) <= height


def test_failed_slices_say_so_and_leave_the_page_alive(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study)
    page.route(
        "**/data/window?*",
        lambda route: route.fulfill(status=200, content_type="application/json", body="null"),
    )
    box = xi.lanes()
    xi.drag((box["x"] + 400, box["y"] + 60), (box["x"] + 900, box["y"] + 90))
    expect(page.get_by_test_id("diagnostic-timeline")).to_contain_text("data/window")
    xi.press("w")
    assert xi.drawn("slices")


def test_the_longest_gap_is_a_key_away_and_its_events_lead_back_to_it(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.open(case_study)
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


def test_work_that_is_handed_over_late_says_so(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline)
    page.get_by_test_id("gap-longest").click()
    sentence = page.get_by_test_id("gap-sentence")
    expect(sentence).to_contain_text(
        "SyncTensorsGraph.603 was handed over 13.0\u202fms into the gap, and taken up by"
    )
    late = page.get_by_test_id("gap-chain").get_by_role("row", name="handed over, not taken up")
    expect(late).to_contain_text("meanwhile forward")
