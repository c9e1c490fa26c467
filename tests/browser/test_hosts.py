"""The Hosts view: which host holds up the others, in which steps, and why."""

from __future__ import annotations

import csv
import math
from typing import Any

import pytest
from browser.conftest import session_named
from browser.driver import Xi, plain_spaces
from browser.hosts_page import LATE, canvas_origin, cell_point, open_picker
from browser.tables import column, ps
from playwright.sync_api import Page, expect

MS = 10**9
US = 10**6


@pytest.fixture(scope="module")
def demo() -> str:
    return session_named("synthetic_pod_16_hosts")


def check_the_verdict_and_its_figures_come_from_the_server(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="hosts")
    hosts_document = xi.document("hosts", demo)
    assert plain_spaces("".join(hosts_document["verdict"]["text"])) in xi.text("hosts-verdict")
    assert page.get_by_test_id("hosts-verdict").locator("b").first.inner_text() == LATE
    for name, key in (("step", "step_ps"), ("waits", "waits_ps"), ("fixed", "step_if_fixed_ps")):
        assert ps(page.get_by_test_id(f"kpi-{name}").locator("dd")) == [hosts_document["figures"][key]]
    expect(page.get_by_test_id("tab-hosts")).to_have_text("Hosts16")


def check_every_host_has_a_row_and_every_step_a_column(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="hosts")
    hosts_document = xi.document("hosts", demo)
    rows = xi.drawn("rows")
    assert [row["hosts"][0] for row in rows] == hosts_document["order"]
    assert [row["hosts"][0] for row in rows if row["named"]] == [5]
    assert [heat_column["step"] for heat_column in xi.drawn("columns")] == list(range(12))
    expect(page.get_by_test_id("heat-row-5")).to_contain_text(f"{LATE}, last in 12 of 12 steps")
    page.get_by_test_id("heat-as-table").click()
    table = page.get_by_test_id("heat-table")
    assert column(table, "Last to arrive").all_inner_texts() == [LATE] * 12
    waits = [0] * 12
    for step, time in zip(
        hosts_document["charges"]["step"], hosts_document["charges"]["others_wait_us"], strict=True
    ):
        waits[step] += time * US
    assert ps(column(table, "Others wait")) == waits
    assert ps(column(table, "Late")) == [time * US for time in hosts_document["late_us"][5]]


def check_step_time_shows_which_steps_are_slow(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="hosts")
    assert xi.drawn("arrival")
    page.get_by_test_id("heat-step-time").click()
    assert not xi.drawn("arrival")
    assert xi.link()["hm"] == "step"
    expect(page.get_by_test_id("heat-step-time")).to_be_focused()
    times = sorted(time for row in _step_times(xi.document("hosts", demo)) for time in row)
    assert xi.drawn("scale") == [times[math.ceil(share * len(times)) - 1] for share in (0.05, 0.95)]


def _step_times(hosts_document: dict[str, Any]) -> list[list[int]]:
    """Step times in microseconds, by host and step."""
    medians = hosts_document["steps"]["step_us"]
    return [
        [difference + median for difference, median in zip(row, medians, strict=True)]
        for row in hosts_document["step_difference_us"]
    ]


def check_a_cell_selects_its_host_and_step(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="hosts")
    xi.page.mouse.click(*cell_point(xi, 2, 3))
    xi.idle()
    assert {key: xi.link()[key] for key in ("hs", "st")} == {"hs": "t1v-n-7f-w-2", "st": "1207"}
    card = page.get_by_test_id("host-difference")
    expect(card.get_by_role("heading")).to_contain_text("t1v-n-7f-w-2 against the median")
    hosts_document = xi.document("hosts", demo)
    times_of_step = xi.document("host_steps", demo, host="t1v-n-7f-w-2")["step_class_us"][3]
    median = hosts_document["step_class_us"][str(hosts_document["median_host"])][3]
    input_index = hosts_document["classes"].index("input")
    cells = page.get_by_test_id("host-difference-input").locator("[data-ps]")
    assert ps(cells) == [
        time * US
        for time in (
            times_of_step[input_index],
            median[input_index],
            times_of_step[input_index] - median[input_index],
        )
    ]
    hosts_time = sum(times_of_step) - times_of_step[hosts_document["classes"].index("device")]
    assert ps(card.locator("tfoot [data-ps]"))[0] == hosts_time * US
    said = xi.document("hosts_in_steps", demo, host="t1v-n-7f-w-2", first="3", last="3")
    expect(page.get_by_test_id("host-sentence")).to_have_text(said["difference"])
    # The verdict and the table still cover all steps.
    assert plain_spaces("".join(hosts_document["verdict"]["text"])) in xi.text("hosts-verdict")
    page.keyboard.press("Escape")
    xi.idle()
    assert "st" not in xi.link()


def check_the_difference_adds_up_to_both_steps(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="hosts")
    card = page.get_by_test_id("host-difference")
    times, differences = (ps(column(card, head)) for head in ("w-5", "Difference"))
    sums = ps(card.locator("tfoot [data-ps]"))
    assert [sum(times), sum(times) - sum(differences), sum(differences)] == sums
    assert differences == sorted(differences, reverse=True)
    first = card.locator("tbody tr").first
    expect(first).to_contain_text("input")
    expect(page.get_by_test_id("host-sentence")).to_contain_text("next_batch (input) takes 40.0")
    page.get_by_test_id("host-worst-step").click()
    assert xi.link()["st"] == "1204"
    page.get_by_test_id("host-difference-select").focus()
    page.get_by_test_id("host-difference-select").select_option(label="w-0")
    assert xi.link()["hs"] == "t1v-n-7f-w-0"
    expect(page.get_by_test_id("host-difference-select")).to_be_focused()


def test_the_hosts_of_a_session(xi: Xi, page: Page, demo: str) -> None:
    check_the_verdict_and_its_figures_come_from_the_server(xi, page, demo)
    check_step_time_shows_which_steps_are_slow(xi, page, demo)
    check_the_difference_adds_up_to_both_steps(xi, page, demo)
    check_every_host_has_a_row_and_every_step_a_column(xi, page, demo)


def check_keys_move_in_the_heat_map(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="hosts")
    heat = page.get_by_test_id("heat-canvas")
    heat.focus()
    expect(heat).to_have_attribute("aria-activedescendant", "heat-row-5")
    for key, step in (("ArrowRight", 0), ("ArrowRight", 1), ("ArrowLeft", 0), ("End", 11), ("Home", 0)):
        xi.press(key)
        assert xi.drawn("marked.range") == [step, step]
    xi.press("n")
    assert xi.drawn("marked") == {"host": 5, "range": [1, 1]}
    xi.press("Shift+N")
    assert xi.drawn("marked.range") == [0, 0]
    xi.press("ArrowDown")
    second = xi.document("hosts", demo)["order"][1]
    assert xi.drawn("marked") == {"host": second, "range": [0, 0]}
    expect(page.get_by_test_id("live")).to_contain_text(f"t1v-n-7f-w-{second}, ")
    expect(heat).to_be_focused()
    xi.press("Enter")
    assert xi.link()["v"] == "timeline"


def check_a_double_click_shows_the_step_of_the_host_and_the_median_one(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="hosts")
    hosts_document = xi.document("hosts", demo)
    page.mouse.dblclick(*cell_point(xi, 5, 4))
    page.wait_for_selector("[data-testid=view-timeline][data-state=ready]")
    median = hosts_document["median_host"]
    expect(page.get_by_test_id("host-select")).to_have_text("2 of 16: w-3, w-5")
    link = xi.link()
    assert link["h"] == ",".join(map(str, sorted((5, median))))
    columns = xi.document("overview", demo)["steps"]["columns"]
    names, keys = (LATE, f"t1v-n-7f-w-{median}"), ("host", "number", "start_ps", "duration_ps")
    steps = [
        step
        for step in zip(*(columns[key] for key in keys), strict=True)
        if step[0] in names and step[1] == 1208
    ]
    start, end = min(step[2] for step in steps), max(step[2] + step[3] for step in steps)
    selection = xi.drawn("selection")
    assert [selection["start_ps"], selection["end_ps"]] == pytest.approx([start, end], abs=1000)
    labels = " ".join(row["label"] for row in xi.drawn("rows"))
    assert LATE in labels
    assert "t1v-n-7f-w-0" not in labels


def check_dragging_over_columns_selects_steps_for_all_hosts(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="hosts")
    xi.drag(cell_point(xi, 5, 2), cell_point(xi, 5, 5))
    assert xi.link()["st"] == "1206-1209"
    expect(page.get_by_test_id("hosts-verdict")).to_contain_text(f"In steps 1206 – 1209 {LATE} arrives last")
    hosts_document = xi.document("hosts", demo)
    said = xi.document("hosts_in_steps", demo, host=LATE, first="2", last="5")
    for name in ("step", "waits"):
        assert ps(page.get_by_test_id(f"kpi-{name}").locator("dd")) == [said["figures"][f"{name}_ps"]]
    charges = [index for index, step in enumerate(hosts_document["charges"]["step"]) if 2 <= step <= 5]
    waits = sum(hosts_document["charges"]["others_wait_us"][index] for index in charges)
    table = page.get_by_test_id("hosts-table")
    assert ps(table.locator("tfoot tr:last-child [data-ps]")) == [waits * US]
    assert column(table, "Steps").first.inner_text() == "4"
    expect(page.get_by_test_id("host-difference").locator("tfoot")).to_contain_text("Step, mean")
    # A click on the head of a step selects that step for all hosts.
    origin, head = canvas_origin(xi), xi.drawn("columns")[7]
    page.mouse.click(origin["x"] + head["x"] + head["w"] / 2, origin["y"] + 8)
    xi.idle()
    assert xi.link()["st"] == "1211-1211"
    expect(page.get_by_test_id("hosts-verdict")).to_contain_text("In step 1211 ")
    page.go_back()
    xi.idle()
    expect(page.get_by_test_id("hosts-verdict")).to_contain_text("In steps 1206 – 1209 ")


def test_the_heat_map_by_pointer_and_keys(xi: Xi, page: Page, demo: str) -> None:
    check_a_cell_selects_its_host_and_step(xi, page, demo)
    check_dragging_over_columns_selects_steps_for_all_hosts(xi, page, demo)
    check_a_double_click_shows_the_step_of_the_host_and_the_median_one(xi, page, demo)
    check_keys_move_in_the_heat_map(xi, page, demo)


def check_the_table_adds_up_and_folds_hosts_that_were_never_last(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="hosts")
    hosts_document = xi.document("hosts", demo)
    table = page.get_by_test_id("hosts-table")
    never_last = [host for host, last in enumerate(hosts_document["hosts"]["last_count"]) if not last]
    rows = table.locator("tbody tr[data-index]")
    expect(rows).to_have_count(16 - len(never_last))
    rest = page.get_by_test_id("host-rest")
    expect(rest).to_contain_text(f"{len(never_last)} more, never last")
    foot = [plain_spaces(text) for text in table.locator("tfoot tr:last-child td").all_inner_texts()]
    assert foot[0] == "16 hosts"
    assert foot[3:5] == [str(hosts_document["collectives"]), "100.0 %"]
    shares = [float(plain_spaces(text).split()[0]) for text in column(table, "Last in").all_inner_texts()]
    assert sum(shares) == pytest.approx(100)
    waits = [
        float(plain_spaces(text).replace(" ", "")) for text in column(table, "Others wait").all_inner_texts()
    ]
    assert f"{sum(waits):.3f}" == foot[5].replace(" ", "")
    rest.get_by_role("button").click()
    expect(rows).to_have_count(16)
    expect(rest.get_by_role("button")).to_be_focused()
    expect(rest.get_by_role("button")).to_have_attribute("aria-expanded", "true")


def check_hosts_are_found_by_number_and_filter(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="hosts")
    rows = page.get_by_test_id("hosts-table").locator("tbody tr[data-index]")
    page.keyboard.press("/")
    search = page.get_by_test_id("hosts-search")
    expect(search).to_be_focused()
    search.fill("0-2, 5")
    expect(rows).to_have_count(4)
    expect(page.get_by_test_id("hosts-count")).to_contain_text("4 of 16")
    search.press("Escape")
    page.get_by_test_id("filter-class").select_option("input")
    expect(rows).to_have_count(1)
    expect(page.get_by_test_id("host-row-5")).to_be_visible()
    assert xi.link()["f"] == "class:input"
    page.get_by_test_id("filter-class").select_option("")
    page.get_by_test_id("filter-last").select_option("0")
    expect(rows).to_have_count(xi.document("hosts", demo)["hosts"]["last_count"].count(0))


def check_rows_of_the_table_select_by_keys(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="hosts")
    row = page.get_by_test_id("host-row-5")
    expect(row).to_have_attribute("aria-selected", "true")
    row.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press(" ")
    xi.idle()
    second = xi.document("hosts", demo)["order"][1]
    assert xi.link()["hs"] == f"t1v-n-7f-w-{second}"
    expect(page.get_by_test_id(f"host-row-{second}")).to_be_focused()


def check_the_export_has_every_host_and_step(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="hosts")
    with page.expect_download() as download:
        page.get_by_test_id("export-csv").click()
    with open(download.value.path(), newline="") as file:
        rows = list(csv.DictReader(file))
    hosts_document = xi.document("hosts", demo)
    assert len(rows) == 16 * 12
    assert sum(int(row["last_count"]) for row in rows) == hosts_document["collectives"]
    late = [int(row["late_us"]) for row in rows if row["host"] == LATE]
    assert late == hosts_document["late_us"][5]


def test_the_table_of_hosts(xi: Xi, page: Page, demo: str) -> None:
    check_the_export_has_every_host_and_step(xi, page, demo)
    check_rows_of_the_table_select_by_keys(xi, page, demo)
    check_the_table_adds_up_and_folds_hosts_that_were_never_last(xi, page, demo)
    check_hosts_are_found_by_number_and_filter(xi, page, demo)


def check_the_picker_accepts_numbers_and_ranges(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="overview")
    button = page.get_by_test_id("host-select")
    expect(button).to_have_text("16 of 16")
    picker = open_picker(xi)
    expect(picker).to_contain_text("2 of 16 chosen")
    expect(page.get_by_test_id("host-picker-slowest")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_test_id("host-picker-search")).to_be_focused()
    page.keyboard.type("0-3, 7")
    expect(picker).to_contain_text("5 of 16")
    page.keyboard.press("Enter")
    expect(picker).to_contain_text("5 of 16 chosen")
    page.keyboard.press("ArrowDown")
    page.keyboard.press(" ")
    expect(picker).to_contain_text("4 of 16 chosen")
    page.get_by_test_id("host-picker-apply").click()
    expect(picker).to_have_count(0)
    expect(button).to_have_text("4 of 16")
    first = next(host for host in xi.document("hosts", demo)["order"] if host in (0, 1, 2, 3, 7))
    remaining = [host for host in (0, 1, 2, 3, 7) if host != first]
    assert _hosts_of(xi.link()["h"]) == remaining
    expect(button).to_be_focused()


def _hosts_of(text: str) -> list[int]:
    ranges = [tuple(map(int, piece.split("-"))) for piece in text.split(",")]
    return [host for ends in ranges for host in range(ends[0], ends[-1] + 1)]


def check_slowest_and_median_in_a_link_mean_hosts_of_the_session(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="overview", h="slowest,median")
    button = page.get_by_test_id("host-select")
    expect(button).to_have_text("2 of 16: w-3, w-5")
    open_picker(xi)
    expect(page.get_by_test_id("host-picker-row-5").get_by_role("checkbox")).to_be_checked()
    expect(page.get_by_test_id("host-picker-median").get_by_role("checkbox")).to_be_checked()
    page.get_by_test_id("host-picker-all").click()
    page.get_by_test_id("host-picker-apply").click()
    assert xi.link()["h"] == "all"
    open_picker(xi)
    page.get_by_test_id("host-picker-slowest").click()
    page.get_by_test_id("host-picker-apply").click()
    assert xi.link()["h"] == "slowest,median"
    open_picker(xi)
    page.get_by_test_id("host-picker-none").click()
    expect(page.get_by_test_id("host-picker-apply")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("host-picker")).to_have_count(0)
    assert xi.link()["h"] == "slowest,median"


def test_in_narrow_windows_the_difference_is_below_the_heat_map(xi: Xi, page: Page, demo: str) -> None:
    page.set_viewport_size({"width": 1000, "height": 700})
    xi.open(demo, v="hosts")
    heat, difference, table = (
        page.get_by_test_id(name).bounding_box() for name in ("hosts-heat", "host-difference", "hosts-table")
    )
    assert heat
    assert difference
    assert table
    assert heat["y"] + heat["height"] <= difference["y"]
    assert difference["y"] + difference["height"] <= table["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 1000


def check_digits_open_hosts_and_compare(xi: Xi, page: Page, demo: str) -> None:
    xi.follow(demo, v="overview")
    for digit, view in (("8", "hosts"), ("0", "compare")):
        xi.press(digit)
        expect(page.get_by_test_id(f"tab-{view}")).to_have_attribute("aria-selected", "true")


def test_the_picker(xi: Xi, page: Page, demo: str) -> None:
    check_the_picker_accepts_numbers_and_ranges(xi, page, demo)
    check_slowest_and_median_in_a_link_mean_hosts_of_the_session(xi, page, demo)
    check_digits_open_hosts_and_compare(xi, page, demo)
