"""The Propagation view with the demo sessions: sums, ribbons, tables, and links to and from the timeline."""

from __future__ import annotations

import re
from typing import Any

import pytest
from browser.conftest import session_named
from browser.driver import Xi
from browser.tables import column, ps
from playwright.sync_api import Locator, Page, Route, expect

from tb_xla_insights.report.device_columns import device_overview

FORWARD, BACKWARD = "annotation-Training_Step/forward", "annotation-Training_Step/backward"


def cells(page: Page, testid: str) -> list[str]:
    texts = page.get_by_test_id(testid).locator("td").all_text_contents()
    return [re.sub(r"[\u202f\u00a0]", " ", text).strip() for text in texts]


def selected_rows(page: Page) -> list[str | None]:
    rows = page.get_by_test_id("annotation-tree").locator("tbody tr[aria-selected=true]").all()
    return [row.get_attribute("data-testid") for row in rows]


def runs(page: Page) -> Locator:
    return page.get_by_role("group", name="Runs of phases on the device").get_by_role("button")


def check_coverage_and_the_tree_add_up_to_all_ops(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="propagation", st="1206")
    expect(page.get_by_test_id("propagation-step")).to_have_value("1206")
    parts = ps(page.get_by_test_id("coverage-bar").locator("[data-ps]"))
    assert sum(parts) == 170_457_000_000
    page.locator("summary", has_text="named").click()
    table = page.get_by_test_id("coverage-table")
    assert ps(column(table, "Time")) == parts
    assert ps(table.locator("tfoot [data-ps]"))[0] == sum(parts)
    assert [column(table, "Scope").nth(n).inner_text() for n in range(4)] == [
        "named",
        "inferred",
        "backward",
        "compiler",
    ]
    tree = page.get_by_test_id("annotation-tree")
    assert tree.get_attribute("role") == "treegrid"
    assert cells(page, FORWARD)[:3] == ["▾forward", "88.200", "87.104"]
    assert cells(page, BACKWARD)[1:3] == ["92.061", "0.000"]
    assert cells(page, BACKWARD)[-1] == "lost autograd thread"
    annotated, rest = (ps(row.locator("td:nth-child(3)")) for row in (
        page.get_by_test_id("annotation-Training_Step"), page.get_by_test_id("annotation-none")))  # fmt: skip
    assert (
        sum(annotated + rest) == ps(tree.locator("tfoot tr:last-child td:nth-child(3)"))[0] == 170_457_000_000
    )
    page.get_by_test_id("propagation-times").select_option("")
    total = ps(tree.locator("tfoot tr:last-child td:nth-child(3)"))[0]
    annotated, rest = (ps(page.get_by_test_id(testid).locator("td:nth-child(3)")) for testid in (
        "annotation-Training_Step", "annotation-none"))  # fmt: skip
    assert sum(annotated + rest) == total > 10 * 170_457_000_000
    expect(tree.locator("th", has_text="Launches")).to_be_visible()


def check_arrow_keys_move_in_the_tree(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="propagation", st="1206")
    page.get_by_test_id("annotation-Training_Step").focus()
    xi.press("ArrowDown")
    xi.press("ArrowDown")
    expect(page.get_by_test_id(FORWARD)).to_be_focused()
    expect(page.locator(".ribbon.on")).to_have_count(6)
    xi.press("ArrowLeft")
    expect(page.get_by_test_id(f"{FORWARD}/decoder")).to_have_count(0)
    expect(page.get_by_test_id(FORWARD)).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_test_id(FORWARD)).to_be_focused()
    xi.press("ArrowRight")
    expect(page.get_by_test_id(f"{FORWARD}/decoder")).to_have_count(1)
    xi.press(" ")
    assert selected_rows(page) == [FORWARD]
    assert xi.link()["sel"] == "ev:h0.ann@553.364287/1"
    xi.press("Enter")
    page.wait_for_selector("[data-testid=view-timeline]")
    assert xi.drawn("selection")["end_ps"] - xi.drawn("selection")["start_ps"] == 88_200_000_000


def check_ribbons_mark_runs_out_of_order_and_tree_rows_highlight_them(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.follow(case_study, v="propagation", st="1206")
    expect(page.locator(".ribbon")).to_have_count(11)
    expect(page.locator(".ribbon.inverted")).to_have_count(5)
    expect(page.locator(".ribbon.inverted .hatched")).to_have_count(5)
    expect(page.locator(".marks i")).to_have_count(5)
    expect(page.locator(".stub", has_text="lost: autograd thread")).to_be_visible()
    expect(runs(page)).to_have_count(15)
    table = page.get_by_test_id("order-table")
    assert column(table, "Phase").all_text_contents() == ["forward", "FINISH_UPDATE", "no scope"]
    assert column(table, "Runs").all_text_contents() == ["6", "5", "4"]
    assert sum(ps(column(table, "Time"))) == 170_457_000_000
    expect(page.get_by_test_id("view-propagation")).to_contain_text(
        re.compile(r"inversions 46.1.% of device time")
    )
    page.locator("summary", has_text="runs in order").click()
    listed = page.get_by_test_id("order-runs")
    assert sum(ps(column(listed, "Time"))) == 170_457_000_000
    assert column(listed, "Order").all_text_contents().count("▼ inverted") == 5
    expect(page.locator(".ribbon.on")).to_have_count(0)
    page.get_by_test_id("annotation-Training_Step/FINISH_UPDATE/optimizer_step").hover()
    expect(page.locator(".ribbon.on")).to_have_count(5)
    page.get_by_test_id(BACKWARD).hover()
    expect(page.locator(".ribbon.on")).to_have_count(0)


def check_a_run_selects_its_window(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="propagation", st="1206")
    runs(page).nth(0).focus()
    xi.press("ArrowRight")
    xi.press("ArrowRight")
    xi.press("Enter")
    assert xi.link()["sel"] == "win:800.860287+12.784"
    expect(page.get_by_test_id("order-readout")).to_contain_text("▼ inverted")
    expect(runs(page).nth(2)).to_have_attribute("aria-pressed", "true")
    assert selected_rows(page) == [FORWARD]
    page.locator(".ribbon").nth(0).dispatch_event("click")
    assert xi.link()["sel"] == "win:787.564287+8.523"
    page.get_by_test_id("tab-timeline").click()
    xi.idle()
    selection = xi.drawn("selection")
    assert selection["kind"] == "window"
    assert (selection["start_ps"], selection["end_ps"]) == (787_564_287_000, 796_087_287_000)


def check_a_lost_annotation_has_a_reason_and_advice(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="propagation", st="1206")
    expect(page.get_by_test_id("annotation-load_batch")).to_contain_text("load_batch on python 2 and 1 more")
    lost = page.get_by_test_id("lost-table")
    assert column(lost, "Reason").all_text_contents() == ["no ops of its own", "autograd thread"]
    expect(lost).to_contain_text("module backward hooks")
    expect(page.get_by_test_id("tab-propagation")).to_contain_text("2 lost")
    lost.get_by_role("button", name="backward").click()
    assert selected_rows(page) == [BACKWARD]


def test_advice_for_several_lost_annotations_stands_once_whatever_their_order(
    xi: Xi, page: Page, case_study: str
) -> None:
    def with_another(route: Route) -> None:
        answer = route.fetch().json()
        first = answer["lost"][0]
        route.fulfill(json=answer | {"lost": [first, first | {"path": "Another"}]})

    page.route("**/data/propagation?*", with_another)
    xi.open(case_study, v="propagation", st="1206")
    lost = page.get_by_test_id("lost-table")
    first = column(lost, "Annotation").first.text_content() or ""
    lost.get_by_role("button", name="Annotation").click()
    expect(column(lost, "Annotation").first).to_have_text("Another")
    expect(column(lost, "Remedy").first).to_have_text(f"as for {first}")


def check_selections_of_phases_and_runs_follow_to_the_timeline_and_back(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.follow(case_study, v="timeline", w="700+300")
    page.wait_for_function("xi.drawn.rows.some((row) => row.kind === 'scopes')")
    rows = [row for row in xi.drawn("rows") if row["kind"] == "scopes"]
    assert {row["depth"] for row in rows} == {0, 1, 2}
    no_scope = next(
        piece for piece in xi.slices(row="h0.d0.scopes", depth=0, name="no scope") if piece["w"] > 40
    )
    xi.click(no_scope)
    expect(page.get_by_test_id("event-stats")).to_contain_text("backward: ")
    scope = next(
        piece
        for piece in xi.slices(row="h0.d0.scopes", depth=1, name="FINISH_UPDATE")
        if piece["start_ps"] > 787e9
    )
    xi.click(scope)
    page.get_by_test_id("tab-propagation").click()
    xi.ready()
    assert selected_rows(page) == ["annotation-Training_Step/FINISH_UPDATE"]
    expect(page.get_by_test_id("propagation-step")).to_have_value("1206")
    expect(page.locator(".piece[aria-pressed=true]")).to_have_count(2)  # the phase, and this run
    page.get_by_role("group", name="Phases on the host").get_by_role(
        "button", name=re.compile("backward")
    ).click()
    page.get_by_test_id("tab-timeline").click()
    xi.idle()
    selection = xi.drawn("selection")
    assert (selection["row"], selection["depth"]) == ("h0.ann", 1)
    assert selection["end_ps"] - selection["start_ps"] == 92_061_000_000
    assert xi.slices(row="h0.ann", depth=1, name="backward", start_ps=selection["start_ps"])


def test_selections_of_a_step(xi: Xi, page: Page, case_study: str) -> None:
    check_a_lost_annotation_has_a_reason_and_advice(xi, page, case_study)
    check_a_run_selects_its_window(xi, page, case_study)
    check_arrow_keys_move_in_the_tree(xi, page, case_study)
    check_selections_of_phases_and_runs_follow_to_the_timeline_and_back(xi, page, case_study)


def check_another_step_and_device(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="propagation", st="1206")
    page.get_by_test_id("propagation-step").select_option("1209")
    xi.ready()
    expect(page.get_by_test_id("view-propagation")).to_contain_text("step 1209, TPU:0")
    page.get_by_test_id("propagation-device").select_option("t1v-n-8c41-w-0/TPU:3")
    xi.ready()
    expect(page.get_by_test_id("view-propagation")).to_contain_text("step 1209, TPU:3")
    state = xi.link()
    assert (state["st"], state["f"]) == ("1209", "device:t1v-n-8c41-w-0/TPU:3")
    xi.open(case_study, v="propagation", st=state["st"], f=state["f"])
    expect(page.get_by_test_id("view-propagation")).to_contain_text("step 1209, TPU:3")


def check_back_undoes_the_choice_of_a_step_a_device_and_an_annotation(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.follow(case_study, v="propagation")
    step, device = page.get_by_test_id("propagation-step"), page.get_by_test_id("propagation-device")
    first_step, first_device = step.input_value(), device.input_value()
    step.select_option("1206")
    xi.idle()
    device.select_option(label="TPU:3")
    xi.idle()
    page.get_by_test_id(FORWARD).locator("td").first.click()
    assert selected_rows(page) == [FORWARD]
    page.go_back()
    xi.idle()
    assert selected_rows(page) == []
    page.go_back()
    xi.idle()
    assert (step.input_value(), device.input_value()) == ("1206", first_device)
    page.go_back()
    xi.idle()
    assert step.input_value() == first_step != "1206"


def test_choosing_a_step_and_a_device(xi: Xi, page: Page, case_study: str) -> None:
    check_another_step_and_device(xi, page, case_study)
    check_back_undoes_the_choice_of_a_step_a_device_and_an_annotation(xi, page, case_study)


def check_lines_lead_to_annotations_and_back(xi: Xi, page: Page, baseline: str) -> None:
    xi.follow(baseline, v="propagation")
    table = page.get_by_test_id("source-table")
    whole = ps(page.get_by_test_id("coverage-bar").locator("[data-ps]"))
    assert sum(ps(column(table, "Time"))) == sum(whole)
    page.get_by_test_id(f"{FORWARD}/attention").click()
    assert set(column(table, "Annotation").all_text_contents()) == {"attention"}
    assert "train.py:" in column(table, "Line").first.inner_text()
    page.get_by_role("button", name="show all").click()
    table.get_by_role("button", name="mlp").first.click()
    assert selected_rows(page) == [f"{FORWARD}/mlp"]


def check_phases_and_shared_ops_of_a_real_capture(xi: Xi, page: Page, baseline: str) -> None:
    xi.follow(baseline, v="propagation")
    names = {re.sub(r":.*", "", run.get_attribute("title") or "") for run in runs(page).all()}
    assert names == {"forward", "loss", "FINISH_UPDATE", "no scope"}
    mixed = page.get_by_test_id("shared-ops-table")
    expect(mixed.locator("tbody tr").first).to_contain_text("%")
    longest = column(mixed, "Divided among").filter(has_text="33.3").first
    assert longest.evaluate("cell => cell.scrollWidth <= cell.clientWidth"), "the list is not cut"
    # A share stands as high as the name before it.
    heights = (
        mixed.locator("tbody td")
        .nth(1)
        .evaluate(
            """cell => [...cell.childNodes].slice(0, 2).map(node => {
            const range = document.createRange();
            range.selectNodeContents(node);
            const { top, bottom } = range.getBoundingClientRect();
            return (top + bottom) / 2;
        })"""
        )
    )
    assert heights[0] == pytest.approx(heights[1], abs=0.5)
    assert (
        sum(ps(column(page.get_by_test_id("unannotated-table"), "Time")))
        == ps(page.get_by_test_id("annotation-none").locator("td:nth-child(3)"))[0]
    )


def test_a_real_capture(xi: Xi, page: Page, baseline: str) -> None:
    check_phases_and_shared_ops_of_a_real_capture(xi, page, baseline)
    check_lines_lead_to_annotations_and_back(xi, page, baseline)


def test_many_runs_have_a_strip_per_phase(xi: Xi, page: Page) -> None:
    xi.open(session_named("torch_xla_early_item"), v="propagation")
    strip, listed = page.get_by_test_id("order-strip"), page.get_by_test_id("order-table")
    counts = [int(text) for text in column(listed, "Runs").all_text_contents()]
    assert sum(counts) > 60
    expect(page.locator(".ribbon")).to_have_count(0)
    lanes = strip.get_by_role("group", name=re.compile("^Runs of "))
    names = column(listed, "Phase").all_text_contents()
    assert [lane.get_attribute("aria-label") for lane in lanes.all()] == [f"Runs of {name}" for name in names]
    drawn = lanes.get_by_role("button").count()
    page.locator("summary", has_text=f"{sum(counts)}\xa0runs in order").click()
    rows = page.get_by_test_id("order-runs").locator("tbody tr")
    expect(rows).to_have_count(drawn)
    # The runs fill the strip: idle time is left out.
    lane = lanes.first.bounding_box()
    boxes = [run.bounding_box() for run in lanes.get_by_role("button").all()]
    assert lane is not None
    assert sum(box["width"] for box in boxes if box) == pytest.approx(lane["width"], abs=drawn)
    lanes.nth(1).get_by_role("button").first.focus()
    xi.press("ArrowRight")
    xi.press("Enter")
    expect(lanes.nth(1).get_by_role("button").nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_test_id("order-readout")).to_contain_text(f"{names[1]}: device")


def check_nothing_is_cut_off(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="propagation", st="1206")
    for width in (1440, 1000):
        page.set_viewport_size({"width": width, "height": 900})
        xi.idle()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        strip = page.get_by_test_id("order-strip").bounding_box()
        assert strip is not None
        for run in runs(page).all():
            box = run.bounding_box()
            assert box is not None
            assert strip["x"] <= box["x"]
            assert box["x"] + box["width"] <= strip["x"] + strip["width"] + 1


def test_sums_and_ribbons_of_a_step(xi: Xi, page: Page, case_study: str) -> None:
    check_coverage_and_the_tree_add_up_to_all_ops(xi, page, case_study)
    check_ribbons_mark_runs_out_of_order_and_tree_rows_highlight_them(xi, page, case_study)
    check_nothing_is_cut_off(xi, page, case_study)


def test_a_stale_link_shows_what_still_exists(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="propagation", st="1206", sel="ev:h0.ann@0.5/1")
    expect(page.get_by_test_id("diagnostic-stale-propagation")).to_contain_text("not in this session")
    expect(page.get_by_test_id("propagation-step")).to_have_value("1206")


def replace_answer(page: Page, route: str, **changes: Any) -> None:
    """Replaces parts of the server's answers, as for another capture."""

    def answer(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), **changes})

    page.route(f"**/data/{route}?*", answer)


def test_without_scopes_host_times_stay_in_the_tree(xi: Xi, page: Page, baseline: str) -> None:
    no_scopes = {
        "direct_ps": 0,
        "recovered_ps": 0,
        "bare_ps": 0,
        "none_ps": 5_000_000,
        "device_ps": 5_000_000,
    }
    replace_answer(
        page, "propagation", state="flag_off", hint="Set the flag and capture again.", coverage=no_scopes
    )
    xi.open(baseline, v="propagation")
    expect(page.get_by_test_id("propagation-hint")).to_have_text("Set the flag and capture again.")
    expect(page.get_by_test_id(FORWARD).locator("td").nth(1)).not_to_have_text("0.000")


def test_without_a_device_plane_the_view_says_that_it_needs_one(xi: Xi, page: Page, baseline: str) -> None:
    empty: dict[str, list[Any]] = {"host": [], "device": [], "runs": []}
    replace_answer(page, "session", devices=device_overview([]))
    replace_answer(
        page, "propagation", state="no_ops", device=None, phase_rows=empty, ribbons=[], lines=[], lost=[]
    )
    xi.open(baseline, v="propagation")
    expect(page.get_by_text("Propagation needs a device plane, and this capture has none.")).to_be_visible()
    expect(page.get_by_test_id("annotation-tree")).to_be_visible()
    expect(page.get_by_test_id("order-strip")).to_have_count(0)
