"""Device rows aligned to the steps that launched their work: what is drawn, what labels, link and keys say."""

from __future__ import annotations

from browser.driver import Xi, plain_spaces
from playwright.sync_api import Page, expect

MS = 10**9
TPU0 = "h0.d0"


def aligned_label(xi: Xi) -> str:
    """The text at the right edge of the label of a device's first row."""
    label: str = next(row["right"] for row in xi.drawn("rows") if row["label"] == "TPU:0")
    return plain_spaces(label)


def check_device_work_is_drawn_under_the_step_that_launched_it(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="520+380")
    before = {run["name"]: run["start_ps"] for run in xi.slices(row=f"{TPU0}.modules")}
    assert aligned_label(xi) == "60.5 %"
    xi.press("t")
    step = next(slice_ for slice_ in xi.slices(row="h0.steps") if slice_["name"] == "1206")
    modules = xi.slices(row=f"{TPU0}.modules")
    # The first core begins with the step; the other cores keep their distance from it.
    assert any(0 <= run["start_ps"] - step["start_ps"] < MS for run in modules)
    # Each run is drawn earlier by the shift of its step.
    shifts = [run["real_ps"] - run["start_ps"] for run in modules]
    assert all(239 * MS < shift < 247 * MS for shift in shifts)
    assert aligned_label(xi) == "shifted +242.6 ms"
    assert step["start_ps"] in next(iter(xi.drawn("edges").values()))
    assert before
    assert page.get_by_test_id("align-steps").get_attribute("aria-pressed") == "true"
    assert "shifted +242.6 ms" in xi.text("live")
    xi.press("t")
    assert {run["name"]: run["start_ps"] for run in xi.slices(row=f"{TPU0}.modules")} == before
    assert aligned_label(xi) == "60.5 %"


def check_alignment_is_in_the_link(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="520+380")
    page.get_by_test_id("align-steps").click()
    xi.idle()
    assert xi.link()["al"] == "1"
    drawn = [(run["name"], run["start_ps"], run["end_ps"]) for run in xi.slices(row=f"{TPU0}.modules")]
    page.reload()
    xi.ready()
    redrawn = xi.slices(row=f"{TPU0}.modules")
    assert [(run["name"], run["start_ps"], run["end_ps"]) for run in redrawn] == drawn
    assert aligned_label(xi) == "shifted +242.6 ms"
    page.go_back()
    page.wait_for_function("xi.drawn.edges === null")


def check_there_are_no_gaps_while_device_rows_are_aligned(xi: Xi, page: Page, case_study: str) -> None:
    xi.follow(case_study, w="520+380")
    page.wait_for_selector("[data-testid=gap-index]:visible")
    xi.press("]")
    assert xi.drawn("selection")["kind"] == "gap"
    xi.press("t")
    assert xi.drawn("selection") is None
    assert "gaps" in {row["kind"] for row in xi.drawn("rows")}
    assert not [slice_ for slice_ in xi.drawn("slices") if slice_["row"].endswith(".gaps")]
    for key in "[]":
        xi.press(key)
        assert xi.drawn("selection") is None
        assert "Gaps are hidden while device rows are aligned" in xi.text("live")


def check_an_aligned_op_is_selected_at_its_own_time(xi: Xi, page: Page, case_study: str) -> None:
    # The device works on this step a quarter of a second later, far outside the range loaded for the host.
    xi.follow(case_study, w="600+10", al="1")
    page.wait_for_function("xi.drawn.edges !== null")
    op = max(
        (slice_ for slice_ in xi.slices(row=f"{TPU0}.ops") if slice_["count"] == 1),
        key=lambda slice_: slice_["w"],
    )
    xi.click(op)
    assert xi.drawn("selection")["start_ps"] == op["real_ps"] > 840 * MS
    start = page.get_by_test_id("selection-panel").locator("dd [data-ps]").first
    assert int(start.get_attribute("data-ps") or 0) == op["real_ps"]
    xi.press("f")
    window = xi.drawn("window")
    assert window["start_ps"] < op["start_ps"] < op["end_ps"] < window["end_ps"]


def test_aligned_work(xi: Xi, page: Page, case_study: str) -> None:
    check_device_work_is_drawn_under_the_step_that_launched_it(xi, page, case_study)
    check_there_are_no_gaps_while_device_rows_are_aligned(xi, page, case_study)
    check_alignment_is_in_the_link(xi, page, case_study)
    check_an_aligned_op_is_selected_at_its_own_time(xi, page, case_study)


def test_nothing_to_align_is_said(xi: Xi, page: Page, case_study: str) -> None:
    page.route(
        "**/data/overview?*",
        lambda route: route.fulfill(
            json={
                "steps": {
                    "source": None,
                    "count": 0,
                    "columns": {"index": [], "start_ps": [], "duration_ps": []},
                    "work": [],
                }
            }
        ),
    )
    xi.open(case_study)
    xi.press("t")
    expect(page.get_by_test_id("diagnostic-align")).to_contain_text("nothing to align")
    assert page.get_by_test_id("align-steps").get_attribute("aria-pressed") == "false"
