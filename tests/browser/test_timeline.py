"""The timeline: which rows and slices are drawn, and what a selection shows. Tests read the canvas from `xi.drawn`."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from browser.driver import Xi
from browser.tables import column, ps
from playwright.sync_api import Page, Route, expect

MS = 10**9


def check_the_order_of_rows(xi: Xi, case_study: str) -> None:
    xi.follow(case_study)
    kinds = list(dict.fromkeys(row["kind"] for row in xi.drawn("rows")))
    assert kinds[:4] == ["steps", "annotations", "classes", "gaps"]
    assert kinds.index("modules") < kinds.index("device") < kinds.index("thread") < kinds.index("more")
    threads = [row["label"] for row in xi.drawn("rows") if row["kind"] == "thread" and row["label"]]
    assert "(driving)" in threads[0]


@pytest.mark.usefixtures("fresh_page")
def test_rows_that_arrive_before_the_first_frame_are_drawn(xi: Xi, page: Page, case_study: str) -> None:
    # As in a background tab, which draws late.
    page.add_init_script(
        "const request = requestAnimationFrame; requestAnimationFrame = draw => setTimeout(request, 500, draw)"
    )
    xi.open(case_study)
    assert {"gaps", "scopes"} <= {row["kind"] for row in xi.drawn("rows")}


def check_classes_cover_the_window(xi: Xi, case_study: str) -> None:
    xi.follow(case_study, w="700+100")
    classes = xi.slices(row="h0.classes")
    assert all(a["end_ps"] == b["start_ps"] for a, b in pairwise(classes))
    assert classes[0]["start_ps"] <= 700 * MS
    assert classes[-1]["end_ps"] >= 800 * MS


def check_steps_are_numbered(xi: Xi, case_study: str) -> None:
    xi.follow(case_study, w="520+380")
    assert [step["name"] for step in xi.slices(row="h0.steps")] == ["1205", "1206", "1207"]


def check_a_click_selects_an_event_and_a_link_brings_it_back(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="520+380")
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


def check_a_selected_window_adds_up(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="700+100")
    box = xi.canvas_box()
    xi.drag((box["x"] + 400, box["y"] + 60), (box["x"] + 900, box["y"] + 90))
    selection = xi.drawn("selection")
    length = selection["end_ps"] - selection["start_ps"]
    assert selection["kind"] == "window"
    parts = ps(page.locator("[data-testid=window-breakdown] tbody td[data-ps]"))
    assert sum(parts) == length == ps(page.locator("[data-testid=window-breakdown] tfoot [data-ps]"))[0]
    assert parts == sorted(parts, reverse=True)
    devices = page.get_by_test_id("window-devices")
    busy, idle = (ps(column(devices, head)) for head in ("Busy, ms", "Idle, ms"))
    assert [b + i for b, i in zip(busy, idle, strict=True)] == [length] * 8
    # The printed times add up as well, to the last digit.
    cells = page.locator("[data-testid=window-breakdown] tbody td[data-ps]").all_text_contents()
    total = page.locator("[data-testid=window-breakdown] tfoot [data-ps]").text_content()
    assert round(sum(float(cell) for cell in cells), 3) == float(total or "")


def check_the_ops_of_a_window_add_up(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="1000+100", sel="win:1010+50")
    table = "[data-testid=window-ops]"
    ops = ps(page.locator(f"{table} tbody td[data-ps]"))
    assert sum(ops) == ps(page.locator(f"{table} tfoot [data-ps]"))[0]
    shown = [float(cell) for cell in page.locator(f"{table} tbody td:nth-child(4)").all_text_contents()]
    assert round(sum(shown), 3) == float(page.locator(f"{table} tfoot [data-ps]").text_content() or "")


def check_a_selected_event_is_never_folded_away(xi: Xi, case_study: str) -> None:
    xi.follow(case_study)
    xi.search("TensorCollectionBarrier")
    selection = xi.drawn("selection")
    assert selection["depth"] > 4
    assert xi.slices(row=selection["row"], depth=selection["depth"], start_ps=selection["start_ps"])


def test_what_a_selection_shows(xi: Xi, page: Page, case_study: str) -> None:
    check_a_selected_window_adds_up(xi, page, case_study)
    check_the_ops_of_a_window_add_up(xi, page, case_study)
    check_a_selected_event_is_never_folded_away(xi, case_study)


def check_the_strip_has_gaps_in_the_colour_of_their_cause(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study)
    page.wait_for_selector("[data-testid=gap-index]:visible")
    gaps = xi.slices(row="h0.d0.gaps")

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
    # The strip is grey where the device works.
    assert max(color(tracing["x"] - 10)) - min(color(tracing["x"] - 10)) < 10


def check_folding_is_remembered_in_the_link(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study)
    more = next(row for row in xi.drawn("rows") if row["kind"] == "more")
    box = xi.canvas_box()
    page.mouse.click(box["x"] + 60, box["y"] + more["y"] + more["h"] / 2)
    opened = xi.drawn("rows")
    assert xi.link()["x"] == more["id"]
    assert sum(row["kind"] == "thread" and row["label"] != "" for row in opened) > 20
    page.reload()
    xi.ready()
    assert [row["id"] for row in xi.drawn("rows")] == [row["id"] for row in opened]


def test_a_loaded_link_brings_selection_and_folds_back(xi: Xi, page: Page, case_study: str) -> None:
    check_a_click_selects_an_event_and_a_link_brings_it_back(xi, page, case_study)
    check_folding_is_remembered_in_the_link(xi, page, case_study)


def check_merged_slices_separate_when_zoomed_and_count_their_events(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.follow(case_study, w="520+380")
    merged = max(
        (slice_ for slice_ in xi.drawn("slices") if slice_["count"] > 2 and slice_["w"] > 8),
        key=lambda slice_: slice_["count"],
    )
    page.mouse.move(*xi.point(merged))
    expect(page.get_by_test_id("tooltip")).to_contain_text(f"{merged['count']} events")
    length_ps = merged["end_ps"] - merged["start_ps"]
    share = 100 * merged["busy_ps"] / length_ps
    expect(page.get_by_test_id("tooltip")).to_contain_text(f"{share:.1f}\u202f% covered")
    xi.click(merged)
    window = xi.drawn("window")
    assert window["start_ps"] <= merged["start_ps"] < merged["end_ps"] <= window["end_ps"]
    assert window["end_ps"] - window["start_ps"] < 1.1 * length_ps
    assert max(slice_["count"] for slice_ in xi.slices(row=merged["row"])) < merged["count"]


def check_the_legend_filters(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="520+380")
    legend = page.get_by_test_id("timeline-legend")
    tracing = page.get_by_test_id("legend-tracing")
    tracing.click()
    expect(tracing).to_have_attribute("aria-pressed", "true")
    assert xi.link()["lg"] == "tracing"
    tracing.press("x")
    expect(tracing).to_have_attribute("aria-pressed", "false")
    expect(tracing).to_have_accessible_name("IR tracing, hidden")
    expect(tracing).to_be_focused()
    classes = {slice_["class"] for slice_ in xi.slices(row="h0.classes")}
    assert "dispatch" in classes
    assert "tracing" not in classes
    page.reload()
    xi.ready()
    assert "tracing" not in {slice_["class"] for slice_ in xi.slices()}
    tracing.click()
    assert "lg" not in xi.link()
    # What does not fit into the line is in a menu.
    page.set_viewport_size({"width": 1000, "height": 700})
    legend.locator("summary").click()
    hidden = legend.locator(".menu button").last
    hidden.click(modifiers=["ControlOrMeta"])
    expect(legend.locator(".menu button").last).to_have_class("off")
    page.set_viewport_size({"width": 1440, "height": 900})


def check_rows_are_pinned_and_hidden(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study)
    tops = {row["label"]: row["y"] for row in xi.drawn("rows") if row["label"]}
    assert tops["Host, by class"] < tops["TPU:7"] < tops["python (driving)"] < tops["tf_Compute 1"]
    box = xi.canvas_box()
    page.mouse.move(box["x"] + 60, box["y"] + tops["tf_Compute 1"] + 8)
    page.get_by_test_id("row-pin").click()
    tops = {row["label"]: row["y"] for row in xi.drawn("rows") if row["label"]}
    assert tops["TPU:7"] < tops["tf_Compute 1"] < tops["python (driving)"]
    page.mouse.move(box["x"] + 60, box["y"] + tops["Annotations"] + 8)
    xi.press("h")
    expect(page.get_by_test_id("rows-menu")).to_have_text("Rows · 1 hidden")
    assert xi.link()["rh"] == "h0.ann"
    assert xi.link()["rp"].startswith("h0.t")
    page.reload()
    xi.ready()
    assert not any(row["kind"] == "annotations" for row in xi.drawn("rows"))
    page.get_by_test_id("rows-menu").click()
    page.get_by_label("Search rows").fill("annot")
    rows = page.get_by_role("group", name="rows").locator("label")
    expect(rows.filter(visible=True)).to_have_text(["Annotations"])
    rows.filter(visible=True).get_by_role("checkbox").check()
    expect(page.get_by_test_id("rows-menu")).to_have_text("Rows")
    assert any(row["kind"] == "annotations" for row in xi.drawn("rows"))
    page.keyboard.press("Escape")


def test_what_the_timeline_draws(xi: Xi, case_study: str, page: Page) -> None:
    check_the_order_of_rows(xi, case_study)
    check_steps_are_numbered(xi, case_study)
    check_classes_cover_the_window(xi, case_study)
    check_the_strip_has_gaps_in_the_colour_of_their_cause(xi, page, case_study)
    check_merged_slices_separate_when_zoomed_and_count_their_events(xi, page, case_study)
    check_the_legend_filters(xi, page, case_study)
    check_rows_are_pinned_and_hidden(xi, page, case_study)


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
        # Two zooms cross a power of two of time per pixel, so new slices are requested.
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
        canvas.evaluate("(element, top) => { element.scrollTop = top }", scroll)
        height = xi.canvas_box()["height"]
        shown = [(slice_["y"], slice_["y"] + slice_["h"]) for slice_ in xi.slices()]
        assert min(top for top, _ in shown) >= 23  # the ruler's
        assert max(bottom for _, bottom in shown) <= height
    rows = xi.drawn("rows")
    assert max(row["y"] + row["h"] for row in rows) <= height


def test_an_invalid_answer_is_reported_and_the_timeline_still_works(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.open(case_study)
    page.route(
        "**/data/window?*",
        lambda route: route.fulfill(status=200, content_type="application/json", body="null"),
    )
    box = xi.canvas_box()
    xi.drag((box["x"] + 400, box["y"] + 60), (box["x"] + 900, box["y"] + 90))
    expect(page.get_by_test_id("diagnostic-timeline")).to_contain_text("data/window")
    xi.press("w")
    assert xi.drawn("slices")


def test_work_that_is_handed_over_late_is_named(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline)
    page.get_by_test_id("gap-longest").click()
    sentence = page.get_by_test_id("gap-sentence")
    expect(sentence).to_contain_text(
        "SyncTensorsGraph.603 was handed over 13.0\u202fms into the gap, and taken up by"
    )
    late = page.get_by_test_id("gap-chain").get_by_role("row", name="handed over, not taken up")
    expect(late).to_contain_text("meanwhile forward")
