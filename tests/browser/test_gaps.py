"""Gaps of the timeline over the demo logs: their parts and chain, keys, and links."""

from __future__ import annotations

import re

import pytest
from browser.driver import Xi
from browser.tables import column, ps
from playwright.sync_api import Page, Route, expect


def check_a_gap_has_its_parts_and_its_chain(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="timeline", w="520+380")
    page.wait_for_selector("[data-testid=gap-index]:visible")
    gaps = xi.slices(row="h0.d0.gaps")
    gap = min(gaps, key=lambda gap: abs(gap["start_ps"] - 715_000_000_000))
    xi.click(gap)
    expect(page.get_by_test_id("selection-panel").locator("h2")).to_have_text(
        "Gap of 72.143\u202fms on TPU:0"
    )
    assert xi.drawn("selection")["end_ps"] - xi.drawn("selection")["start_ps"] == 72_143_000_000
    assert xi.link()["sel"].startswith("gap:t1v-n-8c41-w-0/TPU:0@715.")
    parts = page.get_by_test_id("gap-parts").locator("table")
    chain = page.get_by_test_id("gap-chain")
    assert sum(ps(column(parts, "Time"))) == sum(ps(column(chain, "Time"))) == 72_143_000_000
    assert ps(parts.locator("tfoot [data-ps]")) == ps(chain.locator("tfoot [data-ps]")) == [72_143_000_000]
    names = [re.sub(r"\s+", " ", text) for text in column(chain, "Why it ended").all_text_contents()]
    assert names[:3] == ["backward", "FINISH_UPDATE", "StepMarker"]
    assert names.index("TransferToServerInternal") < names.index("XRTExecute") < names.index("TPUExecute")
    starts = ps(column(chain, "From"))
    assert starts == sorted(starts)
    assert starts[0] == 0
    expect(page.get_by_test_id("gap-parts")).not_to_contain_text("Driving thread, by class")


def check_a_click_on_a_piece_of_a_chain_keeps_the_gap_selected(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="timeline", w="520+380")
    page.wait_for_selector("[data-testid=gap-index]:visible")
    xi.press("]")
    expect(page.get_by_test_id("gap-chain")).to_be_visible()
    before = xi.drawn("selection")
    row = page.get_by_test_id("gap-chain").locator("tbody tr").nth(2)
    row.click(position={"x": 5, "y": 5})
    expect(row).to_have_attribute("aria-selected", "true")
    assert xi.drawn("selection") == before
    row.get_by_role("button").click()
    page.wait_for_selector("[data-testid=occurrences]")
    assert xi.drawn("selection")["name"] == "StepMarker"


def check_brackets_step_through_the_gaps_of_one_device(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="timeline")
    page.wait_for_selector("[data-testid=gap-index]:visible")
    starts = []
    for _ in range(3):
        xi.press("]")
        selection = xi.drawn("selection")
        assert selection["kind"] == "gap"
        starts.append((selection["device"], selection["start_ps"]))
    assert starts == sorted(starts)
    assert len({device for device, _ in starts}) == 1
    assert len(set(starts)) == 3
    expect(page.get_by_test_id("gap-index")).to_have_text("gap 3 of 10 on TPU:0")
    xi.press("[")
    assert xi.drawn("selection")["start_ps"] == starts[1][1]


def check_a_gap_copies_as_text(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, v="timeline")
    page.wait_for_selector("[data-testid=gap-index]:visible")
    xi.press("]")
    page.get_by_test_id("gap-copy").click()
    expect(page.get_by_test_id("live")).to_have_text("The gap is copied.")
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("Gap of ")
    assert not set("\u202f\u00a0\u2212") & set(text), "numbers are copied with plain spaces and minus signs"
    assert "IR tracing" in text
    assert "1. +" in text


def test_gaps_of_the_timeline(xi: Xi, page: Page, case_study: str) -> None:
    check_a_gap_has_its_parts_and_its_chain(xi, page, case_study)
    check_a_click_on_a_piece_of_a_chain_keeps_the_gap_selected(xi, page, case_study)
    check_brackets_step_through_the_gaps_of_one_device(xi, page, case_study)
    check_a_gap_copies_as_text(xi, page, case_study)


def test_a_linked_gap_that_does_not_exist_is_reported(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline, v="timeline", sel="gap:nowhere@1.5", wait=False)
    expect(page.get_by_test_id("diagnostic-stale-timeline")).to_contain_text(
        "The linked gap is not in this session."
    )
    xi.ready()
    assert xi.drawn("selection") is None


def test_a_missing_gap_is_noted_beside_a_missing_window(xi: Xi, page: Page, baseline: str) -> None:
    xi.open(baseline, v="timeline", sel="gap:nowhere@1.5", w="99999999+1")
    expect(page.get_by_test_id("diagnostic-stale-timeline")).to_contain_text("The linked gap is not")
    expect(page.get_by_test_id("diagnostic-stale-times")).to_contain_text("The linked window is not")


@pytest.mark.parametrize("state", [{"f": "pat:gone → lost"}, {"sel": "pat:99"}])
def test_a_linked_pattern_that_does_not_exist_is_reported(
    xi: Xi, page: Page, case_study: str, state: dict[str, str]
) -> None:
    xi.open(case_study, True, v="gaps", **state)
    note = page.get_by_test_id("diagnostic-stale-gaps")
    expect(note).to_contain_text("The linked pattern is not in this session.")
    xi.page.get_by_test_id("pattern-0").click()
    expect(note).to_have_count(0)


def test_chosen_devices_without_gaps_are_not_called_filtered(xi: Xi, page: Page, case_study: str) -> None:
    device = "t1v-n-8c41-w-0/TPU:0"

    def without_gaps_of_device(route: Route) -> None:
        answer = route.fetch().json()
        for item in answer["items"]:
            kept = [core for core, name in enumerate(item["devices"]) if name != device]
            for key in ("devices", "starts_ps", "durations_ps", "all_cores_idle_by_device_ps"):
                item[key] = [item[key][core] for core in kept]
        route.fulfill(json=answer)

    page.route("**/data/gaps?*", without_gaps_of_device)
    xi.open(case_study, v="gaps", d=device)
    expect(page.get_by_test_id("gap-list")).to_have_text("None of the listed gaps is on the chosen devices.")
    page.get_by_test_id("filter-kind").select_option("starved")
    expect(page.get_by_test_id("gap-list")).to_have_text("No gap matches the filters. Clear the filters")


def test_every_row_has_its_button_in_view(xi: Xi, page: Page, case_study: str) -> None:
    xi.open(case_study, v="gaps")
    for width in (1440, 1200, 1000):
        page.set_viewport_size({"width": width, "height": 900})
        xi.idle()
        for table in ("gap-patterns", "gap-list"):
            scroller = page.locator(".scroll", has=page.get_by_test_id(table))
            hidden_px = scroller.evaluate("element => element.scrollWidth - element.clientWidth")
            assert hidden_px == 0, (width, table)
        expect(page.get_by_test_id("gap-row").first).to_contain_text("…41937 → …42210")
