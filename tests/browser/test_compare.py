"""Compare: two sessions of the demo logs side by side."""

from __future__ import annotations

import re

import pytest
from browser.conftest import session_named
from browser.driver import HeldRequests, Xi, plain_spaces
from browser.tables import column, ps
from captures import comparison_document, session
from launching import demo
from playwright.sync_api import Page, Route, expect
from synthetic import dynamo_issue

from tb_xla_insights.catalog.classes import label
from tb_xla_insights.compare.sentences import VERDICT_TEXTS

JUDGED = re.compile("better|worse|faster|slower")
LAZY, DYNAMO = (session_named(f"synthetic_dynamo_issue_{mode}") for mode in ("lazy", "dynamo"))


@pytest.fixture
def comparison(xi: Xi, page: Page) -> Page:
    xi.open(LAZY, v="compare", c=DYNAMO)
    return page


def test_lazy_against_dynamo(xi: Xi, comparison: Page) -> None:
    check_heading(xi, comparison)
    check_classes(comparison)
    check_measures(comparison)
    check_executions(comparison)
    check_cards(comparison)


def check_heading(xi: Xi, comparison: Page) -> None:
    """Checks that the heading names both sessions and says that one step is too few."""
    heading = comparison.get_by_test_id("compare-heading")
    expect(heading).to_contain_text(LAZY)
    expect(heading).to_contain_text(DYNAMO)
    text = xi.text("compare-heading")
    assert (
        "B’s steps take 52.6 ms against 39.0 ms at the median (1.35×); chance cannot be ruled out with so few steps"
        in text
    )
    assert "1 step in A and 1 step in B: too few to distinguish a difference from chance" in text
    assert not JUDGED.search(text)


@pytest.mark.parametrize(
    "changed", ["torch_xla_dynamo_graph_break", "torch_xla_early_item", "torch_xla_dynamic_shapes"]
)
def test_page_shows_the_texts_and_verdicts_of_the_document(
    xi: Xi, page: Page, baseline: str, changed: str
) -> None:
    """Every row has the verdict of the document; the heading has that of the median step."""
    document = comparison_document(session(demo("torch_xla_baseline")), session(demo(changed)))
    xi.open(baseline, v="compare", c=session_named(changed))
    text = xi.text("compare-heading")
    assert plain_spaces(document["verdict"]["text"]) in text
    assert plain_spaces(document["chance"]["text"]) in text
    assert bool(JUDGED.search(text)) == (document["measures"][0]["verdict"] in ("better", "worse"))
    for row in document["measures"]:
        cells = page.get_by_test_id(f"measure-{row['name']}").locator("td").all_text_contents()
        assert cells[-1] == VERDICT_TEXTS.get(row["verdict"], "")
    rows = page.get_by_test_id("compare-classes").locator("tbody tr").all()
    verdicts = {row.locator("td").first.text_content(): row.locator("td").last.text_content() for row in rows}
    for row in document["classes"]:
        assert verdicts[label(row["class"])] == VERDICT_TEXTS.get(row["verdict"], "")


def check_classes(comparison: Page) -> None:
    """Checks that the classes add up to the step."""
    table = comparison.get_by_test_id("compare-classes")
    a, b, difference = (ps(column(table, head)) for head in ("A,", "B,", "B −"))
    assert sum(a) == dynamo_issue.truth("lazy").step_ps
    assert sum(b) == dynamo_issue.truth("dynamo").step_ps
    assert [second - first for first, second in zip(a, b, strict=True)] == difference
    foot = table.locator("tfoot td").all_text_contents()
    assert (foot[1], foot[2]) == ("39.000", "52.600")


def test_a_class_without_time_has_no_bar(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="compare", c=session_named("synthetic_dynamo_issue_lazy"))
    bars = page.get_by_test_id("compare-classes").locator("tr", has_text="compile").locator(".two-bars i")
    expect(bars).to_have_count(2)
    assert [bar.is_visible() for bar in bars.all()] == [True, False]


def check_measures(comparison: Page) -> None:
    """Checks that a difference has both values and a verdict."""
    row = comparison.get_by_test_id("measure-executions_per_step").locator("td")
    assert row.all_text_contents() == ["Executions per step", "1", "5", "5.00×", ""]
    median = comparison.get_by_test_id("measure-step_median").locator("td")
    assert ps(median.nth(1)) == [39_000_000_000]
    assert [plain_spaces(text) for text in median.all_text_contents()[1:]] == [
        "39.0 ms",
        "52.6 ms",
        "1.35×",
        "–",
    ]
    expect(median.last).to_have_attribute("title", re.compile("too few steps", re.IGNORECASE))


def check_executions(comparison: Page) -> None:
    steps = comparison.get_by_test_id("lazy-dynamo-table")
    assert steps.locator("tfoot td").all_text_contents() == ["lazy / dynamo", "0.97×", "0.77×", "0.74×", ""]
    runs = comparison.get_by_test_id("compare-runs")
    truth = [*dynamo_issue.truth("lazy").executions, *dynamo_issue.truth("dynamo").executions]
    assert ps(column(runs, "Host")) == [execution.host_ps for execution in truth]
    assert ps(column(runs, "Device")) == [execution.device_ps for execution in truth]
    assert ps(column(runs, "Overhead")) == [execution.overhead_ps for execution in truth]
    assert ps(column(comparison.get_by_test_id("compare-between"), "Mean"))[:2] == [
        9_910_000_000,
        5_137_000_000,
    ]


def test_a_slice_of_either_step_opens_in_its_session(xi: Xi, comparison: Page) -> None:
    strip = comparison.get_by_test_id("compare-strip")
    strip.get_by_role("button", name=re.compile("^backward, 5")).click()
    xi.ready()
    link = xi.link()
    assert (link["v"], link["s"], link["c"]) == ("timeline", LAZY, DYNAMO)
    comparison.go_back()
    comparison.wait_for_selector("[data-testid=view-compare][data-state=ready]")
    strip.get_by_role("button", name=re.compile("^backward, 22")).click()
    comparison.wait_for_selector("[data-testid=view-timeline][data-state=ready]")
    assert (xi.link()["s"], xi.link()["c"]) == (DYNAMO, LAZY)
    selection = xi.drawn("selection")
    assert selection["end_ps"] - selection["start_ps"] == 22_800_000_000


def check_short_slices_end_with_the_step_and_its_text_stands_after_it(
    xi: Xi, page: Page, case_study: str, baseline: str
) -> None:
    """The baseline's step takes 5 % of the axis, and its shortest classes of the host less than 1 px."""
    xi.follow(case_study, v="compare", c=baseline)
    end = page.locator(".step-end").last.bounding_box()
    assert end is not None
    slices = page.locator(".run-lane").nth(5).locator(".run").all()
    boxes = [box for box in (part.bounding_box() for part in slices) if box]
    assert max(box["x"] + box["width"] for box in boxes) < end["x"] + 4
    names = page.locator(".axis > b").last.bounding_box()
    assert names is not None
    assert end["x"] > names["x"] + names["width"]


def test_long_measures_leave_the_verdicts_in_view(xi: Xi, page: Page, case_study: str, baseline: str) -> None:
    document = xi.document("compare", case_study, other=baseline)
    document["measures"][0] |= {"label": "Stalled share of the spans of all devices", "ratio": 1919.91}
    page.route("**/data/compare?*", lambda route: route.fulfill(json=document))
    xi.open(case_study, v="compare", c=baseline)
    scroller = page.locator(".scroll", has=page.get_by_test_id("compare-table"))
    assert scroller.evaluate("element => element.scrollWidth - element.clientWidth") == 0


def check_the_verdicts_on_classes_are_in_view(xi: Xi, page: Page, case_study: str, baseline: str) -> None:
    xi.follow(case_study, v="compare", c=baseline)
    scroller = page.locator(".scroll", has=page.get_by_test_id("compare-classes"))
    for width in (1440, 1200, 1000):
        page.set_viewport_size({"width": width, "height": 800})
        xi.idle()
        assert scroller.evaluate("element => element.scrollWidth - element.clientWidth") == 0, width


def test_a_short_step_beside_a_long_one(xi: Xi, page: Page, case_study: str, baseline: str) -> None:
    check_short_slices_end_with_the_step_and_its_text_stands_after_it(xi, page, case_study, baseline)
    check_the_verdicts_on_classes_are_in_view(xi, page, case_study, baseline)


def test_sessions_can_be_swapped(xi: Xi, page: Page, baseline: str) -> None:
    broken = session_named("torch_xla_dynamo_graph_break")
    xi.open(baseline, v="compare", c=broken, w="20+10", sel="win:20+10", x="-h0", f="kind:starved", q="Step")
    expect(page.get_by_test_id("compare-heading").locator("b")).to_have_text("17.61× slower")
    page.get_by_test_id("compare-swap").click()
    expect(page.get_by_test_id("compare-heading").locator("b")).to_have_text("17.61× faster")
    assert xi.link() == {"v": "compare", "s": broken, "c": baseline}, (
        "selections of a session do not apply to another one"
    )
    expect(page.get_by_test_id("session-select")).to_have_value(broken)
    expect(page.get_by_test_id("compare-select")).to_have_value(baseline)


def test_the_swap_is_of_the_sessions_shown_while_the_next_one_is_read(
    xi: Xi, page: Page, baseline: str, case_study: str
) -> None:
    broken = session_named("torch_xla_dynamo_graph_break")
    xi.open(baseline, v="compare", c=broken)
    held = HeldRequests(page, "**/data/compare?*")
    with page.expect_request("**/data/compare?*"):
        page.get_by_test_id("compare-select").select_option(case_study)
    with page.expect_request("**/data/compare?*"):
        page.get_by_test_id("compare-swap").click()
    held.release()
    expect(page.get_by_test_id("compare-heading").locator("b")).to_have_text("17.61× faster")
    assert xi.link() == {"v": "compare", "s": broken, "c": baseline}


def test_sessions_without_steps_phases_and_executions_have_no_empty_tables(xi: Xi, page: Page) -> None:
    def without_rows(route: Route) -> None:
        empty = {"step": {"a": None, "b": None}, "annotations": [], "programs": []}
        route.fulfill(json=route.fetch().json() | empty)

    page.route("**/data/compare?*", without_rows)
    xi.open(LAZY, v="compare", c=DYNAMO)
    page.wait_for_selector("[data-testid=compare-heading]")
    for title in ("One step, same axis", "Phases", "Executions"):
        expect(page.get_by_role("region", name=title, exact=True)).to_have_count(0)


def test_without_a_second_session_the_view_says_why_there_is_no_choice(
    xi: Xi, page: Page, baseline: str
) -> None:
    def keep_one(route: Route) -> None:
        body = route.fetch().json()
        sessions = [session for session in body["sessions"] if session["name"] == baseline]
        route.fulfill(json=body | {"sessions": sessions})

    page.route("**/data/sessions*", keep_one)
    xi.open(baseline, v="compare", wait=False)
    page.wait_for_selector("[data-testid=view-compare][data-state=empty]")
    expect(page.get_by_test_id("compare-select")).to_be_hidden()
    expect(page.locator("main")).to_contain_text("The choice appears once the logdir has two sessions.")


def test_the_header_chooses_the_second_session(xi: Xi, page: Page, baseline: str, case_study: str) -> None:
    xi.open(baseline, v="compare", wait=False)
    page.wait_for_selector("[data-testid=view-compare][data-state=empty]")
    expect(page.get_by_text("Choose a second session")).to_be_visible()
    select = page.get_by_test_id("compare-select")
    assert baseline not in select.locator("option").all_text_contents()
    select.select_option(session_named("torch_xla_early_item"))
    xi.ready()
    expect(page.get_by_test_id("compare-heading")).to_contain_text("torch_xla_early_item")
    assert xi.link()["c"] == session_named("torch_xla_early_item")
    expect(page.get_by_test_id("compare-heading")).to_contain_text("may be chance")
    select.select_option("")
    expect(page.get_by_text("Choose a second session")).to_be_visible()
    select.select_option(case_study)
    expect(page.get_by_test_id("compare-heading")).to_contain_text("8 cores")


def test_a_missing_second_session_is_reported(
    xi: Xi, page: Page, baseline: str, complaints: list[str]
) -> None:
    xi.open(baseline, v="compare", c="nowhere", wait=False)
    page.wait_for_selector("[data-testid=view-compare][data-state=error]")
    heading = page.get_by_test_id("compare-heading")
    expect(heading).to_contain_text("The session to compare with is missing: nowhere")
    expect(heading).to_contain_text(baseline)
    select = page.get_by_test_id("compare-select")
    expect(select).to_have_value("nowhere")
    select.select_option("")
    expect(page.get_by_text("Choose a second session")).to_be_visible()
    complaints.clear()  # the browser reports the status 404


def test_a_session_is_compared_with_the_one_before(xi: Xi, page: Page) -> None:
    slow, dynamic = (session_named(f"torch_xla_{name}") for name in ("slow_input", "dynamic_shapes"))
    xi.open(dynamic, v="compare", wait=False)
    page.get_by_test_id("compare-before").click()
    xi.ready()
    assert xi.link() == {"s": slow, "v": "compare", "c": dynamic}
    rows = page.get_by_test_id("compare-predictions").locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.locator("td").nth(1)).to_have_text("The device waits for data: data_loading")


def check_cards(comparison: Page) -> None:
    """Checks that no card is wider than the page."""
    for width in (1440, 900):
        comparison.set_viewport_size({"width": width, "height": 900})
        assert comparison.evaluate("document.documentElement.scrollWidth") == width
        cards = comparison.locator(".compare > .card, .compare .side > .card")
        for index in range(cards.count()):
            box = cards.nth(index).bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= width
