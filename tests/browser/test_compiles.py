"""Programs with recompilations: their causes in Executions, and Compiles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser.conftest import session_named
from browser.driver import Xi
from browser.tables import column, ps
from playwright.sync_api import Page, Route, expect

from tb_xla_insights import load


@pytest.fixture(scope="session")
def dynamic_shapes() -> str:
    return session_named("torch_xla_dynamic_shapes")


def check_programs_show_their_cause_and_frame(xi: Xi, page: Page, dynamic_shapes: str) -> None:
    xi.follow(dynamic_shapes, v="executions")
    causes = page.get_by_test_id("causes-table")
    expect(column(causes, "Cause").first).to_contain_text("torch_xla.sync")
    expect(column(causes, "Where").first).to_contain_text("train.py")
    launches = column(page.get_by_test_id("overhead-table"), "Launches").all_inner_texts()
    assert column(causes, "Launches").all_inner_texts() == launches


def check_compilations_of_a_changing_graph(xi: Xi, page: Page, dynamic_shapes: str) -> None:
    xi.follow(dynamic_shapes, v="compiles")
    cells, table = page.get_by_test_id("compile-cell"), page.get_by_test_id("compile-list")
    rows = table.locator("tbody tr")
    assert cells.count() == rows.count() > 0
    assert sorted(ps(cells)) == sorted(ps(column(table, "Time")))
    expect(rows.first).to_have_attribute("aria-selected", "true")
    stack = page.get_by_test_id("compile-frame").inner_text().strip().splitlines()
    assert [line.split()[0] for line in stack] == ["step", "main", "<module>"]
    assert page.get_by_test_id("compile-frame").locator("b").all_inner_texts() == [stack[0]]
    cells.last.click()
    expect(cells.last).to_have_attribute("aria-pressed", "true")
    assert xi.link()["sel"].startswith("win:")
    rows.last.get_by_test_id("compile-show").click()
    page.wait_for_selector("[data-testid=view-timeline]")
    assert xi.drawn("selection")["kind"] == "window"


def test_a_link_of_an_earlier_version_selects_its_compilation(xi: Xi, page: Page) -> None:
    """These links have times that are rounded to ns."""
    session = session_named("torch_xla_dynamo_graph_break")
    xi.open(session, v="compiles")
    cells = page.get_by_test_id("compile-cell")
    pressed = cells.evaluate_all("cells => cells.map(cell => cell.ariaPressed)")
    cell = cells.nth(pressed.index("false"))
    cell.click()
    start, duration = xi.link()["sel"].removeprefix("win:").split("+")
    xi.open(session, v="compiles", sel=f"win:{float(start) + 5e-7:.7f}+{float(duration) - 5e-7:.7f}")
    expect(cell).to_have_attribute("aria-pressed", "true")


def check_a_compilation_shows_what_is_new_and_its_idle_time(xi: Xi, page: Page, dynamic_shapes: str) -> None:
    xi.follow(dynamic_shapes, v="compiles")
    diff = page.get_by_test_id("compile-diff")
    expect(diff.locator("tbody tr").first).to_have_text("12s64[4,16]s64[4,24]")
    expect(diff).to_contain_text("2 of 20 parameters differ from SyncTensorsGraph.603(0).")
    expect(diff).not_to_contain_text("more")
    table = page.get_by_test_id("compile-list")
    [time], [idle] = ps(column(table, "Time")), ps(column(table, "Device idle for it"))
    assert 0.9 * time < idle <= time


def test_parameters_that_the_answer_leaves_out_are_counted(xi: Xi, page: Page, dynamic_shapes: str) -> None:
    def with_more_parameters(route: Route) -> None:
        answer = route.fetch().json()
        for row in answer["compiles"]:
            if row["nearest"]:
                row["nearest"]["different_count"] = 25
        route.fulfill(json=answer)

    page.route("**/data/compiles?*", with_more_parameters)
    xi.open(dynamic_shapes, v="compiles")
    expect(page.get_by_test_id("compile-diff")).to_contain_text("and 23 more")


def test_a_capture_without_compilations_has_a_notice(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline, v="compiles")
    expect(page.get_by_test_id("compile-list")).to_have_text("No compilation in this capture.")


def test_graphs_that_the_server_leaves_out_are_counted(xi: Xi, page: Page, dynamic_shapes: str) -> None:
    def with_more_graphs(route: Route) -> None:
        route.fulfill(json=route.fetch().json() | {"graph_count": 250})

    page.route("**/data/compiles?*", with_more_graphs)
    xi.open(dynamic_shapes, v="compiles")
    note = page.get_by_test_id("compile-grid").locator("xpath=following::p[1]")
    expect(note).to_have_text("2 of 250 graphs; those with compilations take precedence. ")
    expect(note.get_by_role("button", name="Show all")).to_have_count(0)


def check_counts_of_the_metrics_report_and_of_the_trace(xi: Xi, page: Page, dynamic_shapes: str) -> None:
    demo = Path(__file__).parents[2] / "demo_logs" / "torch_xla_dynamic_shapes"
    match = re.search(
        r"Metric: ExecuteTime\n  TotalSamples: (\d+)", (demo / "metrics_report.txt").read_text("utf-8")
    )
    launches = sum(row["launches"] for row in load(str(demo)).report()["executions"])
    xi.follow(dynamic_shapes, v="compiles")
    table = page.get_by_test_id("metrics-table")
    assert match is not None
    assert column(table, "Report").nth(1).inner_text() == match[1]
    assert column(table, "Trace").nth(1).inner_text() == str(launches)
    expect(table.locator("xpath=following::p[1]")).to_contain_text("No operator ran on the CPU.")


def test_a_changing_graph(xi: Xi, page: Page, dynamic_shapes: str) -> None:
    check_programs_show_their_cause_and_frame(xi, page, dynamic_shapes)
    check_compilations_of_a_changing_graph(xi, page, dynamic_shapes)
    check_a_compilation_shows_what_is_new_and_its_idle_time(xi, page, dynamic_shapes)
    check_counts_of_the_metrics_report_and_of_the_trace(xi, page, dynamic_shapes)


def test_counts_that_torch_compile_cleared_are_not_shown_as_zero(xi: Xi, page: Page) -> None:
    xi.open(session_named("torch_xla_dynamo"), v="compiles")
    note = page.get_by_test_id("metrics-table").locator("xpath=following::p[1]")
    expect(note).to_have_text(re.compile(r"^\d+\sgraphs? compiled\.$"))
