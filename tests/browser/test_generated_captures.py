"""Cases that the demo logs do not contain, in generated captures."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from browser.conftest import serving
from browser.driver import Xi
from browser.tables import column, ps
from playwright.sync_api import Page, expect
from synthetic.writer import Space

US = 1_000_000
MS = 1000 * US


def one_empty_op() -> Space:
    """A capture without length: its only event has no duration."""
    space = Space()
    space.plane("/device:TPU:0").line("XLA Ops").event("fusion.1", 0, 0)
    return space


def host_alone() -> Space:
    """Three steps on the host, without a device."""
    space = Space()
    line = space.plane("/host:CPU").line("python")
    for step in range(3):
        line.event("Training_Step", step * 10 * MS, 9 * MS, _r=1, step_num=step + 2)
    return space


def many_steps() -> Space:
    """300 steps, of which 100 to 102 take 25 instead of 10 ms, and each launches a program of 2 ms."""
    space = Space()
    line = space.plane("/host:CPU").line("python")
    ops = space.plane("/device:TPU:0").line("XLA Ops")
    at = 0
    for step in range(300):
        length = (25 if 100 <= step <= 102 else 10) * MS
        line.event("Training_Step", at, length - MS, _r=1, step_num=step)
        ops.event("fusion.1", at + 3 * MS, 2 * MS)
        at += length
    return space


def two_cores() -> Space:
    """One core is idle from 20 to 60 ms, the other from 40 to 60 ms; then 15 ops wait and 15 ops exchange data."""
    space = Space()
    for core, busy_ms in enumerate((20, 40)):
        line = space.plane(f"/device:TPU:{core}").line("XLA Ops")
        line.event("fusion.1", 0, busy_ms * MS)
        for i in range(15):
            line.event(f"copy-done.{i}", (60 + 2 * i) * MS, (20 - i) * 10 * US)
            line.event(f"all-gather.{i}", (61 + 2 * i) * MS, (20 - i) * 10 * US)
    return space


def broken_names() -> Space:
    """Steps with an op in each of two scopes, whose names have quotes, line breaks and backslashes."""
    space = host_alone()
    device = space.plane("/device:TPU:0")
    runs, ops = device.line("XLA Modules"), device.line("XLA Ops")
    for step in range(3):
        start = step * 10 * MS
        runs.event("train(7)", start, 2 * MS, run_id=step)
        for number, name in enumerate(('"in\nput"', "C:\\net")):
            stats = {"tf_op": f"Training_Step.1/{name}.{number + 2}/aten__mm"}
            ops.event(device.event_metadata(f"dot.{number}", stats=stats), start + number * MS, MS)
    return space


@pytest.fixture(scope="module")
def tensorboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    logdir = tmp_path_factory.mktemp("generated")
    captures = (one_empty_op, host_alone, many_steps, two_cores, broken_names)
    for write, host in (*((write, "vm") for write in captures), (two_cores, "run 1, b")):
        folder = logdir / (write.__name__ if host == "vm" else "comma") / "plugins/profile/one"
        folder.mkdir(parents=True)
        write().write(folder / f"{host}.xplane.pb")
    with serving(logdir) as address:
        yield address


def test_a_session_without_length_is_drawn(xi: Xi) -> None:
    xi.open("one_empty_op/one")
    window = xi.drawn("window")
    assert window["end_ps"] - window["start_ps"] == 1
    assert [row["label"] for row in xi.drawn("rows")] == ["TPU:0"]


def test_without_a_device_nothing_is_said_of_a_step_of_a_core(xi: Xi, page: Page) -> None:
    xi.open("host_alone/one", v="overview")
    expect(page.get_by_test_id("ladder")).to_have_count(0)
    expect(page.get_by_test_id("verdict-note")).to_contain_text("No device work is recorded.")
    expect(page.get_by_role("region", name="Transfers")).to_have_count(0)


def test_many_steps_are_bars_until_the_window_has_few(xi: Xi, page: Page) -> None:
    xi.open("many_steps/one")
    row = next(row for row in xi.drawn("rows") if row["kind"] == "steps")
    assert row["h"] > 60
    bars = xi.slices(row="h0.steps")
    assert {bar["count"] for bar in bars} == {1}
    slow = next(bar for bar in bars if bar["name"] == "101")
    xi.click(slow)
    assert xi.drawn("selection")["name"] == "101"
    xi.press("f")
    assert next(row for row in xi.drawn("rows") if row["kind"] == "steps")["h"] < 20
    expect(page.locator("#panel-title")).to_have_text("101")


def test_the_longest_ops_are_named_and_the_others_are_one_row(xi: Xi, page: Page) -> None:
    xi.open("two_cores/one", v="overview")
    for table in map(page.get_by_test_id, ("collectives-table", "stalls-table")):
        expect(table.locator("tbody tr")).to_have_count(13)
        expect(column(table, "Op").last).to_have_text("3\u00a0more")
        assert ps(table.locator("tfoot [data-ps]").first) == [sum(ps(column(table, "Time")))]
        counts = column(table, "Count").all_inner_texts()
        assert sum(map(int, counts)) == int(table.locator("tfoot td.numeric").first.inner_text()) == 30
    column(page.get_by_test_id("stalls-table"), "Op").first.get_by_role("button").click()
    page.wait_for_selector("[data-testid=view-timeline]")
    expect(page.get_by_test_id("search-count")).to_have_text("2")


def test_a_gap_says_whether_all_cores_are_idle(xi: Xi, page: Page) -> None:
    xi.open("two_cores/one", v="gaps", f="min:10")
    column(page.get_by_test_id("gap-list"), "Start").first.get_by_role("button").click()
    expect(page.get_by_test_id("gap-sentence")).to_contain_text(
        "All cores of the host are idle for 20.0\u202fms of it; for the rest, some of them work."
    )


def test_devices_are_chosen_on_a_host_with_a_comma_in_its_name(xi: Xi, page: Page) -> None:
    xi.open("comma/one", v="gaps", f="min:10")
    gaps = page.get_by_test_id("gap-list").locator("tbody tr")
    expect(gaps).to_have_count(2)
    page.get_by_test_id("device-select").click()
    page.get_by_label("TPU:0").uncheck()
    expect(gaps).to_have_count(1)
    page.reload()
    xi.ready()
    expect(page.get_by_test_id("device-select")).to_have_text("TPU:1")
    expect(gaps).to_have_count(1)


def test_a_row_keeps_the_focus_whatever_its_name(xi: Xi, page: Page) -> None:
    xi.open("broken_names/one", v="device")
    listed = page.get_by_test_id("op-table").locator("tbody tr[data-key]")
    expect(listed).to_have_count(2)
    for name in ('"in\nput"', "C:\\net"):
        row = (
            page.get_by_test_id("device-tree").locator("tr[data-key]").filter(has_text=name.splitlines()[-1])
        )
        row.click()
        expect(row).to_be_focused()
        expect(row).to_have_attribute("aria-selected", "true")
        expect(listed).to_have_count(1)


def test_a_wide_table_fades_at_the_edge_until_it_is_scrolled_to(xi: Xi, page: Page) -> None:
    page.set_viewport_size({"width": 560, "height": 900})
    xi.open("two_cores/one", v="gaps")
    scroller = page.locator(".gap-card .scroll")
    expect(scroller).to_have_css("mask-image", re.compile("gradient"))
    start = column(page.get_by_test_id("gap-list"), "Start").first
    left = start.bounding_box()
    scroller.evaluate("element => { element.scrollLeft = element.scrollWidth }")
    expect(scroller).to_have_css("mask-image", "none")
    assert start.bounding_box() == left
    page.set_viewport_size({"width": 1800, "height": 900})
    expect(scroller).to_have_css("mask-image", "none")


def test_without_a_device_the_ops_of_the_former_session_are_not_shown(xi: Xi, page: Page) -> None:
    xi.open("two_cores/one", v="device")
    page.get_by_test_id("session-select").select_option("host_alone/one")
    page.wait_for_selector("main[data-state=empty]")
    for view in ("overview", "device"):
        page.get_by_test_id(f"tab-{view}").click()
        xi.idle()
    expect(page.locator("main")).to_contain_text("needs a device plane")
    expect(page.get_by_test_id("op-table")).to_have_count(0)
