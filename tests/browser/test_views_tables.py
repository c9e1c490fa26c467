"""Gaps, Executions and Compiles over the demo logs: their tables, filters and links."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from browser.conftest import session_named
from browser.driver import Xi
from browser.tables import column, ps
from playwright.sync_api import Page, expect


@pytest.fixture(scope="session")
def dynamo() -> str:
    return session_named("synthetic_dynamo_issue_dynamo")


@pytest.fixture(scope="session")
def lazy() -> str:
    return session_named("synthetic_dynamo_issue_lazy")


@pytest.fixture(scope="session")
def dynamic_shapes() -> str:
    return session_named("torch_xla_dynamic_shapes")


def test_a_pattern_filters_the_list(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="gaps")
    patterns, rows = page.get_by_test_id("gap-patterns"), page.get_by_test_id("gap-row")
    everything = rows.count()
    page.get_by_test_id("pattern-1").click()
    expect(page.get_by_test_id("pattern-1")).to_have_attribute("aria-selected", "true")
    assert 0 < rows.count() < everything
    after = column(patterns, "Program after").nth(1).inner_text()
    assert all(
        text.endswith(after) for text in column(page.get_by_test_id("gap-list"), "Before").all_inner_texts()
    )
    assert xi.text("gap-count").startswith(column(patterns, "Count").nth(1).inner_text() + " gaps")
    page.get_by_test_id("pattern-1").click()
    assert rows.count() == everything


def test_filters_and_order_are_in_the_link(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="gaps")
    page.get_by_test_id("filter-cause").select_option("compile")
    table = page.get_by_test_id("gap-list")
    assert set(column(table, "Mostly").all_inner_texts()) == {"compile"}
    page.get_by_role("button", name="Start, ms").click()
    link = xi.link()
    assert (link["f"], link["o"]) == ("cause:compile", "-start")
    xi.open(case_study, v="gaps", f="step:1206", o="start")
    assert set(column(table, "Step").all_inner_texts()) == {"1206"}
    expect(table.locator("th[aria-sort=ascending]")).to_have_text("Start, ms")


def test_the_same_gap_on_several_cores_is_a_row_that_opens(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="gaps", f="step:1206")
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


def test_arrow_keys_move_and_enter_opens(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="gaps")
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


def test_a_file_has_every_gap_with_plain_digits(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="gaps")
    with page.expect_download() as download:
        page.get_by_test_id("export-csv").click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert f"{len(rows)} gaps" == xi.text("gap-count").split(",")[0]
    assert {row["device"] for row in rows} == {f"t1v-n-8c41-w-0/TPU:{core}" for core in range(8)}
    assert all(row["start_ps"].isdigit() and row["duration_ps"].isdigit() for row in rows)


def test_executions_of_the_dynamo_issue(xi: Xi, page: Page, dynamo: str) -> None:
    xi.open(dynamo, v="executions")
    table = page.get_by_test_id("overhead-table")
    names = column(table, "Program").all_inner_texts()
    assert len(names) == 5
    costs = {head: ps(column(table, head)) for head in ("Host", "Device", "Queue", "Overhead")}
    for host, device, queue, overhead in zip(*costs.values(), strict=True):
        assert abs(host - device - queue - overhead) <= 3
    # Per run: forward 13.902 = 9.627 + 4.275, backward 16.698 = 13.082 + 3.616 ms.
    by_device = sorted(zip(costs["Device"], costs["Host"], costs["Overhead"], strict=True), reverse=True)
    assert [tuple(round(ps / 1e9, 3) for ps in row) for row in by_device[:2]] == [
        (13.082, 16.698, 3.616),
        (9.627, 13.902, 4.275),
    ]
    assert "0.08347" in column(table, "Device").all_inner_texts()
    between = page.get_by_test_id("between-table")
    assert {9_910, 5_137} <= {round(it / 1e6) for it in ps(column(between, "Mean"))}


def test_a_total_is_the_mean_times_the_runs(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="executions")
    table = page.get_by_test_id("overhead-table")
    means, runs = ps(column(table, "Host")), [int(text) for text in column(table, "Runs").all_inner_texts()]
    page.get_by_test_id("execution-scope").select_option("total")
    totals = ps(column(table, "Host"))
    assert [round(total / run) for total, run in zip(totals, runs, strict=True)] == means
    assert ps(table.locator("tfoot [data-ps]"))[0] == sum(totals)


def test_the_executions_of_a_step_are_drawn_on_one_axis(xi: Xi, page: Page, dynamo: str) -> None:
    xi.open(dynamo, v="executions")
    strip = page.get_by_test_id("executions-strip")
    expect(strip.locator(".call")).to_have_count(5)
    expect(strip.locator(".work")).to_have_count(5)


def test_the_step_that_is_drawn_is_in_the_link_and_leads_to_the_timeline(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.open(case_study, v="executions", st="1211")
    expect(page.get_by_test_id("execution-step")).to_have_text("step 1211")
    strip = page.get_by_test_id("executions-strip")
    expect(strip.locator(".work")).to_have_count(2)
    page.get_by_role("button", name="Next step").click()
    expect(page.get_by_test_id("execution-step")).to_have_text("step 1212")
    assert xi.link()["st"] == "1212"
    strip.locator(".work").first.click()
    page.wait_for_selector("[data-testid=view-timeline]")
    assert xi.drawn("selection")["kind"] == "window"


def test_lazy_against_dynamo(xi: Xi, page: Page, dynamo: str, lazy: str) -> None:
    xi.open(dynamo, v="executions", c=lazy)
    table = page.get_by_test_id("lazy-dynamo-table")
    expect(table.locator("tfoot")).to_contain_text("lazy / dynamo")
    assert column(table, "Session").all_inner_texts() == ["lazy", "dynamo"]
    walls = [round(it / 1e9, 1) for it in ps(column(table, "Wall"))]
    assert walls == [39.0, 52.6]
    expect(table.locator("tfoot td").last).to_have_text("0.74×")
    groups = page.get_by_test_id("overhead-table").locator("tr.group")
    assert any(lazy in text for text in groups.all_inner_texts())


def test_compiles_of_a_graph_that_changes(xi: Xi, page: Page, dynamic_shapes: str) -> None:
    xi.open(dynamic_shapes, v="compiles")
    cells, table = page.get_by_test_id("compile-cell"), page.get_by_test_id("compile-list")
    rows = table.locator("tbody tr")
    assert cells.count() == rows.count() > 0
    assert sorted(ps(cells)) == sorted(ps(column(table, "Time")))
    expect(rows.first).to_have_attribute("aria-selected", "true")
    expect(page.get_by_test_id("compile-frame")).to_contain_text("train.py")
    cells.last.click()
    expect(cells.last).to_have_attribute("aria-pressed", "true")
    assert xi.link()["sel"].startswith("win:")
    rows.last.get_by_test_id("compile-show").click()
    page.wait_for_selector("[data-testid=view-timeline]")
    assert xi.drawn("selection")["kind"] == "window"


def test_a_capture_without_compilations_says_so(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline, v="compiles")
    expect(page.get_by_test_id("compile-list")).to_have_text("No compilation in this capture.")
