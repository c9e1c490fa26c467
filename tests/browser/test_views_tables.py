"""Gaps and Executions over the demo logs: their tables, filters and links."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from browser.conftest import ROOT, session_named
from browser.driver import Xi
from browser.tables import column, ps
from captures import session
from launching import demo
from playwright.sync_api import Page, Route, expect

from tb_xla_insights import load
from tb_xla_insights.catalog.classes import label
from tb_xla_insights.report.gap_views import gap, gaps
from tb_xla_insights.report.session_view import SessionView


@pytest.fixture(scope="session")
def dynamo() -> str:
    return session_named("synthetic_dynamo_issue_dynamo")


@pytest.fixture(scope="session")
def lazy() -> str:
    return session_named("synthetic_dynamo_issue_lazy")


SORT_ALL = """async () => {
    const results = [];
    const tables = () => [...document.querySelectorAll('main table:has(thead th[aria-sort])')];
    for (const { ariaLabel: table } of tables()) {
        const heads = () => tables().find((element) => element.ariaLabel === table).querySelectorAll('th button');
        for (const [at, head] of [...heads()].entries()) {
            if (at > 2 || !head.checkVisibility()) continue;
            heads()[at].focus();
            heads()[at].click();
            await xi.idle();
            const focus = document.activeElement;
            results.push([table, head.textContent, focus === heads()[at], focus.parentNode.ariaSort]);
        }
    }
    return results;
}"""
"""Sorts every table by its first three headings. Returns for each heading the table, the heading, whether it keeps the
focus, and its order."""


def test_a_heading_keeps_the_focus_when_it_sorts(xi: Xi, page: Page, case_study: str) -> None:
    tables = set()
    for view in ("overview", "gaps", "executions", "propagation", "compiles", "hosts", "device", "timeline"):
        xi.follow(case_study, v=view, sel="win:500+90" if view == "timeline" else "")
        for table, head, focused, sort in page.evaluate(SORT_ALL):
            assert focused, (view, table, head)
            assert sort in ("ascending", "descending"), (view, table, head)
            tables.add(table)
    assert len(tables) > 12, tables


def check_an_expanded_row_keeps_the_focus_and_its_inner_rows_are_counted(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.follow(case_study, v="gaps")
    fold = page.get_by_test_id("gap-row").locator("[aria-expanded]").first
    fold.focus()
    xi.press("Enter")
    expect(page.locator(":focus")).to_have_attribute("aria-expanded", "true")
    last_index = page.get_by_test_id("gap-row").last.get_attribute("aria-rowindex")
    expect(page.get_by_test_id("gap-list")).to_have_attribute("aria-rowcount", last_index or "")


def check_a_pattern_shows_its_classes_and_range_and_filters_the_list(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.follow(case_study, v="gaps")
    patterns = page.get_by_test_id("gap-patterns")
    expect(column(patterns, "What the host did").first.locator(".k-tracing")).to_be_visible()
    least, most = column(patterns, "Min").first.inner_text().split(" – ")
    [mean] = ps(column(patterns, "Mean").first)
    assert float(least) <= mean / 1e9 <= float(most)
    patterns, rows = page.get_by_test_id("gap-patterns"), page.get_by_test_id("gap-row")
    row_count = rows.count()
    page.get_by_test_id("pattern-1").click()
    expect(page.get_by_test_id("pattern-1")).to_have_attribute("aria-selected", "true")
    assert 0 < rows.count() < row_count
    after = column(patterns, "After").nth(1).inner_text()
    programs = column(page.get_by_test_id("gap-list"), "Before")
    titles = programs.evaluate_all("cells => cells.map(cell => cell.title)")
    assert all(title.endswith(after) for title in titles)
    assert xi.text("gap-count").startswith(column(patterns, "Count").nth(1).inner_text() + " gaps")
    page.get_by_test_id("pattern-1").click()
    assert rows.count() == row_count


def check_patterns_have_the_figures_of_the_chosen_devices(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="gaps")
    counts = column(page.get_by_test_id("gap-patterns"), "Count")
    whole = [int(text) for text in counts.all_inner_texts()]
    page.get_by_test_id("device-select").click()
    page.get_by_label("TPU:0").uncheck()
    assert [8 * int(text) for text in counts.all_inner_texts()] == [7 * count for count in whole]
    totals = sum(ps(column(page.get_by_test_id("gap-patterns"), "Total")))
    devices = load(str(ROOT / "demo_logs" / case_study.split("/")[0])).report()["devices"]
    assert totals == sum(device["idle_ps"] for device in devices if device["name"] != "TPU:0")


def check_the_device_filter_lists_the_chosen_devices(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="gaps", d="t1v-n-8c41-w-0/TPU:0,t1v-n-8c41-w-0/TPU:3")
    expect(page.get_by_test_id("filter-device").locator("option")).to_have_text(["all 2", "TPU:0", "TPU:3"])
    expect(page.get_by_test_id("gap-list").locator("tbody tr").first).to_contain_text("2 cores")


def test_gaps_as_tables(xi: Xi, page: Page, case_study: str) -> None:
    check_an_expanded_row_keeps_the_focus_and_its_inner_rows_are_counted(xi, page, case_study)
    check_a_pattern_shows_its_classes_and_range_and_filters_the_list(xi, page, case_study)
    check_the_device_filter_lists_the_chosen_devices(xi, page, case_study)
    check_patterns_have_the_figures_of_the_chosen_devices(xi, page, case_study)


def check_filters_and_order_are_part_of_the_link(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="gaps")
    page.get_by_test_id("filter-cause").select_option("compile")
    table = page.get_by_test_id("gap-list")
    assert {cause.split()[0] for cause in column(table, "Cause").all_inner_texts()} == {"compile"}
    page.get_by_role("button", name="Start, ms").click()
    link = xi.link()
    assert (link["f"], link["o"]) == ("cause:compile", "-start")
    xi.open(case_study, v="gaps", f="step:1206", o="start")
    assert set(column(table, "Step").all_inner_texts()) == {"1206"}
    expect(table.locator("th[aria-sort=ascending]")).to_have_text("Start, ms")


def check_the_same_gap_on_several_cores_is_a_row_that_opens(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="gaps", f="step:1206")
    rows = page.get_by_test_id("gap-row")
    expect(rows).to_have_count(1)
    rows.first.get_by_role("button", name="8 cores").click()
    expect(rows).to_have_count(9)
    rows.nth(1).get_by_test_id("gap-show").click()
    page.wait_for_selector("[data-testid=gap-chain]")
    assert xi.drawn("selection")["kind"] == "gap"
    assert xi.link()["v"] == "timeline"
    page.go_back()
    page.wait_for_selector("[data-testid=view-gaps]")


def check_arrow_keys_move_and_enter_opens_a_gap(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="gaps")
    rows = page.get_by_test_id("gap-row")
    rows.first.focus()
    xi.press("ArrowDown")
    expect(rows.nth(1)).to_be_focused()
    xi.press("Space")
    expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
    start = ps(column(page.get_by_test_id("gap-list"), "Start"))[1]
    xi.press("Enter")
    page.wait_for_selector("[data-testid=gap-chain]")
    assert xi.drawn("selection")["start_ps"] == start


def check_the_exported_file_has_every_gap_with_plain_digits(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="gaps")
    with page.expect_download() as download:
        page.get_by_test_id("export-csv").click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert f"{len(rows)} gaps" == xi.text("gap-count").split(",")[0]
    assert {row["device"] for row in rows} == {f"t1v-n-8c41-w-0/TPU:{core}" for core in range(8)}
    assert all(row["start_ps"].isdigit() and row["duration_ps"].isdigit() for row in rows)


def test_the_list_of_gaps(xi: Xi, page: Page, case_study: str) -> None:
    check_filters_and_order_are_part_of_the_link(xi, page, case_study)
    check_the_same_gap_on_several_cores_is_a_row_that_opens(xi, page, case_study)
    check_arrow_keys_move_and_enter_opens_a_gap(xi, page, case_study)
    check_the_exported_file_has_every_gap_with_plain_digits(xi, page, case_study)


def check_executions_of_the_dynamo_issue(xi: Xi, page: Page, dynamo: str) -> None:
    xi.follow(dynamo, v="executions")
    table = page.get_by_test_id("overhead-table")
    names = column(table, "Program").all_inner_texts()
    assert len(names) == 5
    costs = {head: ps(column(table, head)) for head in ("Host", "Device", "Queue", "Overhead")}
    for host, device, queue, overhead in zip(*costs.values(), strict=True):
        assert abs(host - device - queue - overhead) <= 3
    # Per run: forward 13.902 = 9.627 + 4.275, backward 16.698 = 13.082 + 3.616 ms.
    by_device = sorted(zip(costs["Device"], costs["Host"], costs["Overhead"], strict=True), reverse=True)
    assert [tuple(round(time / 1e9, 3) for time in row) for row in by_device[:2]] == [
        (13.082, 16.698, 3.616),
        (9.627, 13.902, 4.275),
    ]
    assert "0.08347" in column(table, "Device").all_inner_texts()
    between = page.get_by_test_id("between-table")
    assert {9_910, 5_137} <= {round(time / 1e6) for time in ps(column(between, "Mean"))}
    causes = column(page.get_by_test_id("between-table"), "Cause").all_inner_texts()
    assert causes == ["python", "dispatch", "dispatch", "python"]
    strip = page.get_by_test_id("executions-strip")
    expect(strip.locator(".call")).to_have_count(5)
    expect(strip.locator(".work")).to_have_count(5)


def check_a_total_is_the_mean_times_the_runs(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="executions")
    table = page.get_by_test_id("overhead-table")
    means, runs = ps(column(table, "Host")), [int(text) for text in column(table, "Runs").all_inner_texts()]
    page.get_by_test_id("execution-scope").select_option("total")
    totals = ps(column(table, "Host"))
    assert [round(total / run) for total, run in zip(totals, runs, strict=True)] == means
    assert ps(table.locator("tfoot [data-ps]"))[0] == sum(totals)


def test_a_session_without_steps_shows_means_of_a_run(
    xi: Xi, page: Page, case_study: str, baseline: str
) -> None:
    def without_steps(route: Route) -> None:
        route.fulfill(json=route.fetch().json() | {"core_steps": None})

    xi.open(case_study, v="executions")
    page.get_by_test_id("execution-scope").select_option("step")
    page.route("**/data/executions?*", without_steps)
    page.get_by_test_id("session-select").select_option(baseline)
    expect(page.get_by_test_id("environment")).to_contain_text("CPU")
    xi.ready()
    expect(page.get_by_test_id("execution-scope")).to_have_value("run")
    expect(page.get_by_test_id("overhead-table").locator("tfoot")).to_contain_text("mean of a run")


def check_only_executions_on_the_chosen_devices_count(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="executions")
    table = page.get_by_test_id("overhead-table")
    runs = [int(text) for text in column(table, "Runs").all_inner_texts()]
    page.get_by_test_id("device-select").click()
    page.get_by_label("TPU:0").uncheck()
    xi.idle()
    assert [8 * int(text) for text in column(table, "Runs").all_inner_texts()] == [
        7 * run_count for run_count in runs
    ]
    xi.open(case_study, v="executions", d="t1v-n-8c41-w-0/TPU:0")
    assert [8 * int(text) for text in column(table, "Runs").all_inner_texts()] == runs


def test_a_hidden_view_follows_the_chosen_devices(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="overview")
    idle = page.get_by_test_id("idle-table").locator("tfoot [data-ps]")
    whole = ps(idle)[1]  # of all cores
    page.get_by_test_id("tab-gaps").click()
    page.get_by_test_id("device-select").click()
    page.get_by_label("TPU:0").uncheck()
    page.get_by_test_id("tab-overview").click()
    expect(page.get_by_test_id("duty-one")).to_contain_text("7 of 8 cores agree")
    assert ps(idle)[1] < whole
    page.go_back()
    page.go_back()
    expect(page.get_by_test_id("gap-list")).to_be_visible()
    expect(page.get_by_test_id("gap-count")).to_have_text(re.compile(r"^88\sgaps"))


def check_the_drawn_step_is_part_of_the_link_and_opens_in_the_timeline(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.follow(case_study, v="executions", st="1211")
    expect(page.get_by_test_id("execution-step")).to_have_text("step 1211")
    strip = page.get_by_test_id("executions-strip")
    expect(strip.locator(".work")).to_have_count(2)
    page.get_by_role("button", name="Next step").click()
    expect(page.get_by_test_id("execution-step")).to_have_text("step 1212")
    assert xi.link()["st"] == "1212"
    strip.locator(".work").first.click()
    page.wait_for_selector("[data-testid=view-timeline]")
    assert xi.drawn("selection")["kind"] == "window"


def check_every_program_opens_a_run(xi: Xi, page: Page, case_study: str) -> None:
    """A program of the drawn step opens its run in this step, any other its longest run."""
    report = load(str(ROOT / "demo_logs" / case_study.split("/")[0])).report()
    xi.follow(case_study, v="executions")
    table = page.get_by_test_id("overhead-table")
    rows = table.locator("tbody tr[data-index]")
    names = [text.split("\t")[0] for text in rows.all_inner_texts()]
    assert len(names) == len(report["executions"]) == 4
    for index, name in enumerate(names):
        row = page.get_by_test_id(f"execution-{name}")
        if index % 2:
            row.focus()
            page.keyboard.press("Enter")
        else:
            column(table, "Host").nth(index).get_by_role("button").click()
        page.wait_for_selector("[data-testid=view-timeline]")
        selection = xi.drawn("selection")
        spread = next(row for row in report["executions"] if row["program"] == name)["spread"]["device_ps"]
        length = selection["end_ps"] - selection["start_ps"]
        if index:
            assert length == spread["max"]
        else:  # the run in the drawn step is shown with its launch
            assert length > spread["max"]
        page.go_back()
        page.wait_for_selector("[data-testid=view-executions]")


def test_the_table_of_executions_fits_its_card(xi: Xi, page: Page) -> None:
    xi.open(session_named("torch_xla_dynamo_graph_break"), v="executions")
    scroller = page.locator(".scroll", has=page.get_by_test_id("overhead-table"))
    for width in (1440, 1200, 1000):
        page.set_viewport_size({"width": width, "height": 800})
        xi.idle()
        assert scroller.evaluate("element => element.scrollWidth - element.clientWidth") == 0, width


def test_programs_with_several_runs_show_minimum_and_maximum(
    xi: Xi, page: Page, case_study: str, dynamo: str
) -> None:
    xi.open(case_study, v="executions")
    table = page.get_by_test_id("overhead-table")
    mean = column(table, "Device").first.inner_text()
    heads = table.locator("thead th").all_inner_texts()
    index = next(index for index, text in enumerate(heads) if text.startswith("Device"))
    assert heads[index + 1] == "Min – max"
    cell = table.locator("tbody tr").first.locator("td").nth(index + 1)
    least, most = cell.inner_text().split(" – ")
    assert float(least) <= float(mean) <= float(most)
    expect(cell).to_have_attribute("title", re.compile("^median "))
    page.get_by_test_id("execution-scope").select_option("total")
    expect(table.get_by_text("Min – max")).to_have_count(0)
    xi.open(dynamo, v="executions")
    expect(table.get_by_text("Min – max")).to_have_count(0)


def check_kinds_add_up(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="executions")
    table = page.get_by_test_id("lazy-dynamo-table")
    host, *parts = (ps(column(table, head))[0] for head in ("Host", "Device", "Queue", "Overhead"))
    assert abs(host - sum(parts)) <= 3
    assert table.evaluate("element => element.clientWidth <= element.parentElement.clientWidth")


def test_executions_of_a_session(xi: Xi, page: Page, case_study: str) -> None:
    check_kinds_add_up(xi, page, case_study)
    check_a_total_is_the_mean_times_the_runs(xi, page, case_study)
    check_only_executions_on_the_chosen_devices_count(xi, page, case_study)
    check_the_drawn_step_is_part_of_the_link_and_opens_in_the_timeline(xi, page, case_study)
    check_every_program_opens_a_run(xi, page, case_study)


def check_lazy_against_dynamo(xi: Xi, page: Page, dynamo: str, lazy: str) -> None:
    xi.follow(dynamo, v="executions", c=lazy)
    table = page.get_by_test_id("lazy-dynamo-table")
    expect(table.locator("tfoot td")).to_have_text(["lazy / dynamo", "0.97×", "0.77×", "0.74×", ""])
    assert column(table, "Session").all_inner_texts() == ["lazy", "dynamo"]
    walls = [round(time / 1e9, 1) for time in ps(column(table, "Wall"))]
    assert walls == [39.0, 52.6]
    groups = page.get_by_test_id("overhead-table").locator("tr.group")
    assert any(lazy in text for text in groups.all_inner_texts())


def check_parts_and_chain_of_a_gap_show_the_classes_of_the_answer(xi: Xi, page: Page, dynamo: str) -> None:
    """The two differ: the driving thread is in an annotation while another thread launches."""
    capture = session(demo("synthetic_dynamo_issue_dynamo"))
    [longest, *_] = gaps(SessionView(capture))["items"]
    answer = gap(SessionView(capture), longest["device"], longest["start_ps"])
    chain_ps: dict[str, int] = {}
    for piece in answer["chain"]:
        name = label(piece["class"])
        chain_ps[name] = chain_ps.get(name, 0) + piece["duration_ps"]
    parts_ps = {label(name): time for name, time in answer["by_class_ps"].items() if time}
    assert parts_ps != chain_ps

    xi.follow(dynamo, v="gaps")
    column(page.get_by_test_id("gap-list"), "Start").first.get_by_role("button").click()
    parts = page.get_by_test_id("gap-parts")
    chain = page.get_by_test_id("gap-chain")
    expect(chain.locator("th").nth(1)).to_contain_text("across threads")
    shown_ps: dict[str, int] = {}
    for name, time in zip(column(chain, "Class").all_inner_texts(), ps(column(chain, "Time")), strict=True):
        shown_ps[name] = shown_ps.get(name, 0) + time
    assert shown_ps == chain_ps
    names = [text.strip() for text in column(parts, "Driving thread, by class").all_text_contents()]
    assert dict(zip(names, ps(column(parts, "Time")), strict=True)) == parts_ps


def test_executions_of_the_dynamo_issue_alone_and_against_lazy(
    xi: Xi, page: Page, dynamo: str, lazy: str
) -> None:
    check_executions_of_the_dynamo_issue(xi, page, dynamo)
    check_lazy_against_dynamo(xi, page, dynamo, lazy)
    check_parts_and_chain_of_a_gap_show_the_classes_of_the_answer(xi, page, dynamo)
