"""The panel below the timeline: its lists lead to events, and its table has everything that is drawn."""

from __future__ import annotations

import re

import pytest
from browser.conftest import session_named
from browser.driver import Xi, line_count
from playwright.sync_api import Page, expect


def check_flow_partners_are_listed_and_can_be_opened(xi: Xi, page: Page, baseline: str) -> None:
    xi.follow(baseline)
    xi.search("ExecuteComputation")
    partners = page.get_by_test_id("flow-partners").locator("tbody tr")
    assert partners.count() >= 1
    name = partners.first.locator("button").text_content()
    partners.first.locator("button").click()
    xi.idle()
    expect(page.get_by_test_id("selection-panel").get_by_role("heading", level=2)).to_have_text(name or "")


def check_the_steps_are_also_in_a_table_which_closes(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="520+380")
    page.get_by_test_id("as-table").click()
    rows = page.get_by_test_id("timeline-table").locator("tbody tr")
    expect(rows.first).to_be_visible()
    assert "1206" in xi.text("timeline-table")
    page.get_by_role("button", name="Close table").click()
    expect(page.get_by_test_id("timeline-table")).to_have_count(0)


def check_a_table_of_too_many_events_is_complete_after_zooming_in(
    xi: Xi, page: Page, case_study: str
) -> None:
    """The table has what the lanes show, whatever is selected."""
    xi.follow(case_study, sel="win:715+1")
    head = page.get_by_test_id("selection-panel").locator("header")
    page.get_by_test_id("as-table").click()
    expect(head).to_contain_text(re.compile(r"^Timeline as table500 of .* events; zoom in for the rest"))
    page.get_by_role("button", name="Close table").click()
    xi.press("f")
    page.get_by_test_id("as-table").click()
    expect(head).to_contain_text(re.compile(r"^Timeline as table\d+\sevents ·"))


def test_the_timeline_as_a_table(xi: Xi, page: Page, case_study: str) -> None:
    check_the_steps_are_also_in_a_table_which_closes(xi, page, case_study)
    check_a_table_of_too_many_events_is_complete_after_zooming_in(xi, page, case_study)


def check_the_table_is_the_first_tab_stop(xi: Xi, page: Page, baseline: str) -> None:
    xi.follow(baseline)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Timeline as table")


def check_panel_height_is_remembered(xi: Xi, page: Page, baseline: str) -> None:
    xi.follow(baseline, sel="win:0+1")
    page.get_by_test_id("splitter").focus()
    before = page.get_by_test_id("selection-panel").bounding_box()
    for _ in range(4):
        xi.press("ArrowUp")
    after = page.get_by_test_id("selection-panel").bounding_box()
    assert before
    assert after
    assert after["height"] > before["height"]
    page.reload()
    xi.ready()
    again = page.get_by_test_id("selection-panel").bounding_box()
    assert again
    assert again["height"] == after["height"]


def test_the_panel_of_the_baseline(xi: Xi, page: Page, baseline: str) -> None:
    check_the_table_is_the_first_tab_stop(xi, page, baseline)
    check_flow_partners_are_listed_and_can_be_opened(xi, page, baseline)
    check_panel_height_is_remembered(xi, page, baseline)


def check_a_selection_leaves_the_rows_in_their_places(xi: Xi, page: Page, case_study: str) -> None:
    """Without a selection the lanes take the height, and more cores are open than beside a panel."""
    xi.follow(case_study)
    rows = xi.drawn("rows")
    assert [row["kind"] for row in rows].count("gaps") > 1
    assert xi.canvas_box()["height"] > 500
    xi.press("]")
    expect(page.get_by_test_id("gap-chain")).to_be_visible()
    assert [(row["id"], row["y"]) for row in xi.drawn("rows")] == [(row["id"], row["y"]) for row in rows]


def check_a_row_of_a_chain_outlines_its_event_at_its_depth(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="520+380")
    page.wait_for_selector("[data-testid=gap-index]:visible")
    xi.press("]")
    before = xi.drawn("selection")
    chain = page.get_by_test_id("gap-chain").locator("tbody tr")
    names = [text.strip() for text in chain.locator("td:nth-child(2)").all_text_contents()]
    for name, kind in (("backward", "annotations"), ("StepMarker", "thread")):
        row = chain.nth(names.index(name))
        row.click(position={"x": 5, "y": 5})
        xi.idle()
        piece = xi.drawn("piece")
        slices = xi.slices(row=piece["row"], depth=piece["depth"], start_ps=piece["start_ps"])
        assert [slice_["name"] for slice_ in slices] == [name]
        assert next(row["kind"] for row in xi.drawn("rows") if row["row"] == piece["row"]) == kind
        assert xi.drawn("selection") == before
        expect(page.get_by_test_id("gap-chain")).to_be_visible()


@pytest.mark.parametrize("run", ["synthetic_case_study", "torch_xla_early_item", "synthetic_transformer"])
def test_a_low_window_shows_a_gap_s_whole_answer(xi: Xi, page: Page, run: str) -> None:
    """1000 x 700 with TensorBoard's bar: one line of text, six rows of parts and of the chain, and both sums."""
    page.set_viewport_size({"width": 1000, "height": 636})
    xi.open(session_named(run))
    page.wait_for_selector("[data-testid=gap-index]:visible")
    for _ in range(2):
        xi.press("]")
        assert line_count(page.get_by_test_id("gap-sentence")) == 1
        for table in (page.get_by_test_id("gap-parts").locator("table"), page.get_by_test_id("gap-chain")):
            foot = table.locator("tfoot td").last.bounding_box()
            assert foot
            assert foot["y"] + foot["height"] <= 636
            rows = [row.bounding_box() for row in table.locator("tbody tr").all()[:6]]
            assert all(row and row["y"] + row["height"] <= foot["y"] + 1 for row in rows)
        gap = xi.drawn("selection")
        [slice_] = xi.slices(row=gap["row"], start_ps=gap["start_ps"])
        assert 0 < slice_["y"] < xi.canvas_box()["height"] - slice_["h"]


def check_the_text_between_the_gap_buttons_says_what_it_counts(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study)
    count = page.get_by_test_id("gap-index")
    expect(count).to_have_text("11 gaps on TPU:0")
    xi.press("]")
    expect(count).to_have_text("gap 1 of 10 on TPU:0")
    expect(page.get_by_test_id("live")).to_have_text(re.compile(r"^Gap of .* on TPU:0, 1 of 10\.$"))


def check_a_row_that_keys_have_reached_keeps_the_focus(xi: Xi, page: Page, case_study: str) -> None:
    """The row keeps the focus when it is selected and in the next gap. An event has no such row: its title gets the
    focus."""
    xi.follow(case_study)
    page.wait_for_selector("[data-testid=gap-index]:visible")
    xi.press("]")
    focus = page.locator(":focus")
    page.get_by_test_id("gap-chain").locator("tr[tabindex='0']").focus()
    xi.press("ArrowDown")
    xi.press("ArrowDown")
    name = re.compile(r"^3 of \d+: .+, .+, [\d.]+\s.s, .+$")
    expect(focus).to_have_attribute("aria-label", name)
    xi.press("Space")
    expect(focus).to_have_attribute("aria-selected", "true")
    expect(focus).to_have_attribute("aria-label", name)
    expect(page.get_by_test_id("live")).to_contain_text("is outlined; the gap stays selected.")
    before = page.get_by_test_id("selection-panel").locator("h2").text_content() or ""
    xi.press("]")
    expect(page.get_by_test_id("selection-panel").locator("h2")).not_to_have_text(before)
    expect(focus).to_have_attribute("aria-label", name)
    xi.press("Enter")
    page.wait_for_selector("[data-testid=occurrences]")
    expect(focus).to_have_id("panel-title")


def test_the_panel_of_a_gap(xi: Xi, page: Page, case_study: str) -> None:
    check_a_selection_leaves_the_rows_in_their_places(xi, page, case_study)
    check_the_text_between_the_gap_buttons_says_what_it_counts(xi, page, case_study)
    check_a_row_of_a_chain_outlines_its_event_at_its_depth(xi, page, case_study)
    check_a_row_that_keys_have_reached_keeps_the_focus(xi, page, case_study)
