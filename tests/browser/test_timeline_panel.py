"""The panel below the timeline: what it lists leads somewhere, and all that is drawn stands in its table."""

from __future__ import annotations

from browser.driver import Xi
from playwright.sync_api import Page, expect


def test_flow_partners_are_listed_and_can_be_opened(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline)
    xi.press("/")
    page.keyboard.type("ExecuteComputation")
    xi.press("Enter")
    partners = page.get_by_test_id("flow-partners").locator("tbody tr")
    assert partners.count() >= 1
    name = partners.first.locator("button").text_content()
    partners.first.locator("button").click()
    xi.idle()
    expect(page.get_by_test_id("selection-panel").get_by_role("heading", level=2)).to_have_text(name or "")


def test_all_that_is_drawn_can_be_read_in_a_table(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, w="520+380")
    page.get_by_test_id("as-table").click()
    rows = page.get_by_test_id("timeline-table").locator("tbody tr")
    expect(rows.first).to_be_visible()
    assert "1206" in xi.text("timeline-table")
    page.get_by_role("button", name="Close table").click()
    expect(page.get_by_test_id("timeline-table")).to_have_count(0)


def test_the_table_is_the_first_tab_stop(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Timeline as table")


def test_panel_height_is_remembered(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline)
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


def test_a_row_of_a_chain_outlines_its_event_at_its_depth(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, w="520+380")
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
        own = xi.slices(row=piece["row"], depth=piece["depth"], start_ps=piece["start_ps"])
        assert [it["name"] for it in own] == [name]
        assert next(it["kind"] for it in xi.drawn("rows") if it["row"] == piece["row"]) == kind
        assert xi.drawn("selection") == before
        expect(page.get_by_test_id("gap-chain")).to_be_visible()
