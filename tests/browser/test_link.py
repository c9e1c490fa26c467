"""Views follow the link: after a change in another view, after Back, and with the keys of other views."""

from __future__ import annotations

import re

import pytest
from browser.conftest import session_named
from browser.driver import Xi
from playwright.sync_api import Locator, Page, Route, expect


def show_tab(xi: Xi, view: str) -> None:
    xi.page.get_by_test_id(f"tab-{view}").click()
    xi.idle()


@pytest.fixture
def lazy() -> str:
    return session_named("synthetic_dynamo_issue_lazy")


@pytest.fixture
def dynamo() -> str:
    return session_named("synthetic_dynamo_issue_dynamo")


def test_executions_show_the_second_session_that_was_chosen_in_another_view(
    xi: Xi, page: Page, lazy: str, dynamo: str
) -> None:
    xi.open(lazy, v="executions")
    expect(page.get_by_test_id("overhead-table")).not_to_contain_text(dynamo)
    show_tab(xi, "overview")
    page.get_by_test_id("compare-select").select_option(dynamo)
    show_tab(xi, "executions")
    expect(page.get_by_test_id("overhead-table")).to_contain_text(dynamo)


def test_executions_of_a_session_are_listed_once_if_it_is_also_the_second_one(
    xi: Xi, page: Page, lazy: str, dynamo: str
) -> None:
    xi.open(dynamo, v="executions")
    rows = page.get_by_test_id("overhead-table").locator("tbody tr[data-index]")
    count = rows.count()
    xi.open(lazy, v="executions", c=dynamo)
    page.get_by_test_id("session-select").select_option(dynamo)
    expect(page.get_by_test_id("live")).to_have_text(f"{dynamo} is open.")
    xi.ready()
    assert rows.count() == count
    expect(page.get_by_test_id("overhead-table").locator("tfoot")).not_to_contain_text("This session")


def test_a_step_that_was_selected_in_overview_is_shown_in_executions_and_in_hosts(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.open(session_named("synthetic_pod_16_hosts"), v="hosts")
    show_tab(xi, "overview")
    page.get_by_test_id("steps-chart").locator("[role=option]").nth(2).click()
    show_tab(xi, "hosts")
    expect(page.get_by_role("heading", name="against the median")).to_contain_text("step 1206")

    xi.open(case_study, v="executions")
    show_tab(xi, "overview")
    page.get_by_test_id("steps-chart").locator("[role=option]").nth(2).click()
    show_tab(xi, "executions")
    expect(page.get_by_test_id("execution-step")).to_have_text("step 1206")


def test_gaps_show_the_device_and_the_gap_that_were_chosen_in_other_views(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.open(case_study, v="gaps")
    show_tab(xi, "propagation")
    page.get_by_test_id("propagation-device").select_option(index=2)
    show_tab(xi, "gaps")
    device = page.get_by_test_id("filter-device").input_value()
    assert xi.link()["f"] == f"device:{device}"
    expect(page.get_by_test_id("gap-count")).to_contain_text("11 gaps")
    page.get_by_test_id("gap-clear").click()
    show_tab(xi, "timeline")
    page.wait_for_selector("[data-testid=gap-index]:visible")
    xi.press("]")
    show_tab(xi, "gaps")
    expect(page.get_by_test_id("gap-list").locator("tr[aria-selected=true]")).to_have_count(1)


def test_back_restores_the_order_of_a_table(xi: Xi, page: Page) -> None:
    session = session_named("torch_xla_dynamic_shapes")
    for view, table in {
        "compiles": "compile-list",
        "executions": "overhead-table",
        "gaps": "gap-list",
    }.items():
        xi.follow(session, v=view)
        head = page.get_by_test_id(table).locator("th:has(button)")
        before = [cell.get_attribute("aria-sort") for cell in head.all()]
        head.nth(1).locator("button").click()
        head.nth(0).locator("button").click()
        page.go_back()
        page.go_back()
        xi.idle()
        assert [cell.get_attribute("aria-sort") for cell in head.all()] == before, view


def test_a_table_keeps_its_default_order_if_the_link_has_that_of_another_view(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.open(case_study, v="device", o="-start")
    heads = page.get_by_role("table", name="Device work by op").locator("th[aria-sort=descending]")
    expect(heads).to_have_text("Own time, ms")


def test_a_filter_is_shown_if_no_row_has_its_value(xi: Xi, page: Page, case_study: str) -> None:
    host = "t1v-n-8c41-w-0"
    xi.open(case_study, v="gaps", d=f"{host}/TPU:0", f=f"device:{host}/TPU:2,step:9")
    expect(page.get_by_test_id("gap-count")).to_contain_text("0 gaps")
    expect(page.get_by_test_id("filter-device").locator("option:checked")).to_have_text("TPU:2")
    expect(page.get_by_test_id("filter-step")).to_have_value("9")
    xi.open(case_study, v="device", f="cat:sort")
    expect(page.get_by_test_id("device-category")).to_have_value("sort")


def test_clearing_the_filters_of_gaps_leaves_those_of_other_views(
    xi: Xi, page: Page, case_study: str
) -> None:
    xi.open(case_study, v="gaps", f="op:fusion")
    expect(page.get_by_test_id("gap-clear")).to_have_count(0)
    page.get_by_test_id("filter-cause").select_option("wait")
    page.get_by_test_id("gap-clear").click()
    assert xi.link()["f"] == "op:fusion"
    expect(page.get_by_test_id("filter-cause")).to_have_value("")


def test_a_selection_in_the_newest_session_names_it(xi: Xi, page: Page, case_study: str) -> None:
    """Once a newer session is captured, a link without a name opens that one."""
    page.goto(f"{xi.address}#xla_insights&p.xla_insights.v=gaps")
    xi.ready()
    assert "s" not in xi.link()
    page.get_by_test_id("filter-cause").select_option("wait")
    assert xi.link()["s"] == case_study
    page.go_back()
    xi.ready()
    assert "s" not in xi.link()
    expect(page.get_by_test_id("filter-cause")).to_have_value("")


POD = session_named("synthetic_pod_16_hosts")
CASE = session_named("synthetic_case_study")


MISSING: dict[str, list[tuple[str, dict[str, str], list[str]]]] = {
    CASE: [
        (
            "overview",
            {"st": "9999", "sel": "fin:gone", "d": "gone"},
            [
                "The linked step 9999 is not in this session.",
                "The linked finding is not in this session.",
                "The linked device gone is not in this session.",
            ],
        ),
        ("gaps", {"sel": "gap:t1v-n-8c41-w-0/TPU:0@1.5"}, ["The linked gap is not in this session."]),
        ("executions", {"st": "9999"}, ["step 9999 is not in this session; step 1208 is shown."]),
        (
            "propagation",
            {"st": "9999", "f": "device:gone"},
            [
                "step 9999 is not in this session; step 1208 is shown.",
                "device gone is not in this session; another one is shown.",
            ],
        ),
        (
            "device",
            {"an": "gone", "op": "gone"},
            [
                "The chosen work has no annotation gone, which the link names.",
                "The chosen work has no op gone, which the link names.",
            ],
        ),
    ],
    POD: [
        ("overview", {"h": "gone"}, ["The linked host gone is not in this session."]),
        ("executions", {"st": "9999"}, ["step 9999 is not in this session; step 1207 is shown."]),
        ("propagation", {"st": "9999"}, ["step 9999 is not on t1v-n-7f-w-3; step 1207 is shown."]),
        (
            "hosts",
            {"hs": "gone", "st": "1204-9999"},
            [
                "The linked host gone is not in this session; t1v-n-7f-w-5 is shown.",
                "do not have the linked step 1204-9999 in common",
            ],
        ),
    ],
}
"""By session: a view, what a link to it names and the session lacks, and the notes on that."""


@pytest.mark.parametrize("session", MISSING)
def test_what_a_link_names_and_the_session_lacks_is_noted(xi: Xi, page: Page, session: str) -> None:
    for view, state, notes in MISSING[session]:
        xi.follow(session, v=view, **state)
        show_all_notes(page)
        for note in notes:
            expect(page.get_by_test_id("diagnostics")).to_contain_text(note)


def test_choices_of_other_views_are_not_noted_as_missing(xi: Xi, page: Page) -> None:
    state = {"st": "1204-1206", "f": "device:t1v-n-7f-w-5/TPU:1", "an": "Training_Step", "hs": "t1v-n-7f-w-3"}
    for view in ("overview", "gaps", "executions", "propagation", "hosts", "device"):
        xi.follow(POD, v=view, **state)
        show_all_notes(page)
        expect(stale_notes(page)).to_have_count(0)


def show_all_notes(page: Page) -> None:
    more = page.get_by_test_id("diagnostics").get_by_role("button", name="more")
    if more.count():
        more.click()


def stale_notes(page: Page) -> Locator:
    return page.locator("[data-testid^=diagnostic-stale]")


def test_a_note_on_a_missing_step_ends_once_an_existing_one_is_chosen(xi: Xi, page: Page) -> None:
    xi.open(CASE, v="propagation", st="9999")
    expect(stale_notes(page)).to_contain_text("step 1208 is shown.")
    page.get_by_test_id("propagation-step").select_option("1210")
    expect(stale_notes(page)).to_have_count(0)
    page.go_back()
    expect(stale_notes(page)).to_contain_text("step 1208 is shown.")


def test_a_note_stays_when_the_session_is_read_again_until_it_is_dismissed(xi: Xi, page: Page) -> None:
    def with_changed_files(route: Route) -> None:
        answer = route.fetch().json()
        route.fulfill(json=answer | ({"changed": True} if answer["state"] == "ready" else {}))

    page.route("**/data/session?*", with_changed_files)
    # The answer is the session itself if reading takes little time.
    page.route("**/data/reload", with_changed_files)
    xi.open(CASE, v="propagation", st="9999")
    expect(stale_notes(page)).to_have_count(1)
    read_again = page.get_by_role("button", name="Read again")
    with page.expect_response("**/data/propagation?*"):
        read_again.click()
    xi.idle()
    expect(stale_notes(page)).to_contain_text("step 1208 is shown.")
    stale_notes(page).get_by_role("button", name="Dismiss").click()
    with page.expect_response("**/data/propagation?*"):
        read_again.click()
    xi.idle()
    expect(stale_notes(page)).to_have_count(0)


def test_a_view_shows_its_own_notes_side_by_side(xi: Xi, page: Page) -> None:
    xi.open(CASE, v="overview", st="9999", sel="fin:gone")
    expect(page.get_by_test_id("diagnostic-stale-steps")).to_be_visible()
    expect(page.get_by_test_id("diagnostic-stale-finding")).to_be_visible()
    show_tab(xi, "executions")
    expect(stale_notes(page)).to_have_text(
        [re.compile("step 9999 is not in this session; step 1208 is shown")]
    )
    page.get_by_test_id("execution-next").click()
    expect(stale_notes(page)).to_have_count(0)
    show_tab(xi, "overview")
    expect(stale_notes(page)).to_have_text([re.compile("The linked finding")])


def test_a_step_that_another_view_names_by_its_own_index_is_not_noted(xi: Xi, page: Page) -> None:
    xi.open(POD, v="overview", st="1204.999")
    show_all_notes(page)
    expect(stale_notes(page)).to_have_count(0)


def test_choices_that_the_session_lacks_are_noted_after_back(xi: Xi, page: Page) -> None:
    xi.open(CASE, v="overview", d="gone")
    expect(stale_notes(page)).to_have_count(1)
    page.evaluate("location.hash = location.hash.replace('=gone', '=')")
    expect(stale_notes(page)).to_have_count(0)
    page.go_back()
    expect(stale_notes(page)).to_have_count(1)
    page.evaluate("location.hash = location.hash.replace('=gone', '=gone,lost')")
    expect(stale_notes(page)).to_contain_text("None of the linked devices is in this session.")


def test_a_missing_step_is_not_noted_while_hosts_are_read(xi: Xi, page: Page) -> None:
    def partial(route: Route) -> None:
        route.fulfill(json=route.fetch().json() | {"partial": {"hosts_read": 8, "hosts_total": 16}})

    page.route("**/data/executions?*", partial)
    xi.open(POD, v="executions", st="9999")
    show_all_notes(page)
    expect(stale_notes(page)).to_have_count(0)
