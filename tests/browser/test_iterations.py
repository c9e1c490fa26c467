"""The view Iterations: what the device waits for in the loop of a server that decodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.conftest import serving, session_named
from browser.driver import Xi, plain_spaces
from browser.tables import column, ps
from browser.test_access import faults_in_both_themes
from playwright.sync_api import Page, expect

SERVERS = ("sched_sync", "sched_async", "queue_empty")


@pytest.fixture(scope="module")
def tensorboard(shared_traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A serial server, one that schedules an iteration ahead, and one that has no request for most of the time; and a
    training run."""
    logdir = tmp_path_factory.mktemp("captures")
    for name in SERVERS:
        (logdir / name).symlink_to(shared_traces / "serving" / name)
    training = session_named("torch_xla_baseline").partition("/")[0]
    (logdir / training).symlink_to(Path(__file__).parents[2] / "demo_logs" / training)
    with serving(logdir) as address:
        yield address


@pytest.fixture
def xi(page: Page, tensorboard: str) -> Xi:
    return Xi(page, tensorboard)


def session_of(shared_traces: Path, name: str) -> str:
    (folder,) = (shared_traces / "serving" / name).glob("plugins/profile/*")
    return f"{name}/{folder.name}"


def open_iterations(xi: Xi, shared_traces: Path, name: str, view: str = "iterations") -> None:
    xi.open(session_of(shared_traces, name), v=view)


def bar_ps(page: Page, row: int) -> list[float]:
    """The widths of the pieces of a bar, as shares of its axis."""
    bar = page.get_by_test_id("bubble-ladder").locator(".rung-bar").nth(row)
    widths: list[float] = bar.evaluate(
        """bar => [...bar.querySelectorAll('.stack > span')].map(piece =>
            piece.getBoundingClientRect().width / bar.getBoundingClientRect().width)"""
    )
    return widths


def test_the_bars_are_the_rows_of_the_table(xi: Xi, shared_traces: Path) -> None:
    open_iterations(xi, shared_traces, "sched_sync")
    headline = plain_spaces(xi.page.locator("[data-testid=iterations-answer] .headline").inner_text())
    assert headline.startswith("Decoding is serial: the CPU (as XLA device) waits in 5.3 of 8.8 ms")
    table = xi.page.get_by_test_id("iterations-table")
    assert column(table, "Kind").all_inner_texts() == ["decode", "mixed"]
    mean, device, waits, schedule = (
        ps(column(table, head)) for head in ("Mean", "Device,", "Device waits", "schedule")
    )
    assert mean == [work + wait for work, wait in zip(device, waits, strict=True)]
    decode, mixed = bar_ps(xi.page, 0), bar_ps(xi.page, 2)
    for widths, at in ((decode, 0), (mixed, 1)):
        assert widths[1] / widths[0] == pytest.approx(schedule[at] / device[at], rel=0.02)
        assert sum(widths) == pytest.approx(sum(decode) * mean[at] / mean[0], abs=0.02)


def test_printed_parts_add_up_to_the_time_the_device_waits(xi: Xi, shared_traces: Path) -> None:
    open_iterations(xi, shared_traces, "queue_empty")
    table = xi.page.get_by_test_id("iterations-table")
    heads = [text.removesuffix(", ms") for text in table.locator("thead th").all_inner_texts()]
    parts = slice(heads.index("Device waits") + 1, heads.index("Its programs"))
    assert heads[parts][:2] == ["no requests", "build"]
    for row in table.locator("tbody tr").all():
        cells = row.locator("td").all_inner_texts()
        waits_us = int(cells[parts.start - 1].replace(".", ""))
        assert sum(int(text.replace(".", "")) for text in cells[parts]) == waits_us
        assert waits_us + int(cells[parts.start - 2].replace(".", "")) == int(
            cells[heads.index("Mean")].replace(".", "")
        )


def test_a_click_selects_a_kind_whose_host_time_is_exposed_or_hidden(xi: Xi, shared_traces: Path) -> None:
    session = session_of(shared_traces, "sched_async")
    xi.open(session, v="iterations")
    by_kind = xi.page.get_by_test_id("iterations-table")
    rows = by_kind.locator("tbody tr")
    table = xi.page.get_by_test_id("host-parts")
    lines = xi.page.get_by_test_id("iterations-chart").locator(".mark")
    for at, kind in enumerate(xi.document("iterations", session)["kinds"]):
        rows.nth(at).click(position={"x": 4, "y": 4})
        assert xi.link().get("kd") == (kind["name"] if at else None)
        expect(rows.nth(at)).to_have_attribute("aria-selected", "true")
        expect(xi.page.get_by_role("region", name=f"Host time: {kind['name']}")).to_be_visible()
        exposed, hidden = (ps(column(table, head)) for head in ("The device waits", "While it works"))
        assert (sum(exposed), sum(hidden)) == (kind["bubble_ps"], kind["device_ps"])
        assert column(table, "Part").all_inner_texts()[:3] == ["schedule", "build", "to device"]
        sums = table.locator("tfoot td").all_inner_texts()[1:]
        assert sums == [column(by_kind, head).nth(at).inner_text() for head in ("Device waits", "Device,")]
        assert lines.all_inner_texts() == ["p50", "p99"]
        expect(xi.page.get_by_text(f"Dashed: p50 and p99 of {kind['name']}.")).to_be_visible()
    xi.page.go_back()
    expect(rows.first).to_have_attribute("aria-selected", "true")
    expect(xi.page.get_by_role("region", name="Host time: decode")).to_be_visible()


def test_numbers_in_names_are_columns(xi: Xi, shared_traces: Path) -> None:
    open_iterations(xi, shared_traces, "sched_sync")
    table = xi.page.get_by_test_id("iterations-table")
    assert column(table, "reqs").all_inner_texts() == ["7 – 16", "8 – 16"]
    assert column(table, "toks").all_inner_texts() == ["7 – 16", "10 – 64"]
    expect(column(table, "toks").first).to_have_attribute("title", "median 11")


def test_a_server_that_is_ahead_has_a_limit_and_a_serial_one_has_none(xi: Xi, shared_traces: Path) -> None:
    open_iterations(xi, shared_traces, "sched_async")
    rung = xi.page.get_by_test_id("kind-ladder-decode")
    expect(rung).to_contain_text("free until 3.85\u202fms of device time")
    lines = xi.page.get_by_test_id("bubble-ladder").locator(".free")
    expect(lines).to_have_count(2)
    open_iterations(xi, shared_traces, "sched_sync")
    expect(rung).to_contain_text("waits 60\u202f%; 1.67\u202fms of work hidden, mostly launching")
    expect(lines).to_have_count(0)


def test_a_kind_and_its_percentiles_open_an_iteration_by_keyboard(xi: Xi, shared_traces: Path) -> None:
    open_iterations(xi, shared_traces, "sched_sync")
    table = xi.page.get_by_test_id("iterations-table")
    [p99, _] = ps(column(table, "p99"))
    link = column(table, "p99").first.get_by_role("button")
    link.focus()
    xi.page.keyboard.press("Enter")
    xi.ready()
    assert xi.drawn("selection")["kind"] == "window"
    start, duration = xi.link()["sel"].removeprefix("win:").split("+")
    assert round(float(duration) * 1e9) == p99
    xi.page.go_back()
    xi.ready()
    rows = xi.page.get_by_test_id("iterations-list")
    at = ps(column(rows, "Start")).index(round(float(start) * 1e9))
    assert ps(column(rows, "Duration"))[at] == p99
    xi.page.get_by_test_id("kind-ladder-mixed").get_by_role("button", name="mixed").click()
    xi.ready()
    assert xi.link()["v"] == "timeline"


def test_iterations_are_in_order_and_name_what_took_longest(xi: Xi, shared_traces: Path) -> None:
    open_iterations(xi, shared_traces, "queue_empty")
    rows = xi.page.get_by_test_id("iterations-list")
    starts, durations = ps(column(rows, "Start")), ps(column(rows, "Duration"))
    assert starts[1:] == [start + time for start, time in zip(starts, durations, strict=True)][:-1]
    longest = column(rows, "Longest part").all_inner_texts()
    kinds = column(rows, "Kind").all_inner_texts()
    assert {kind for kind, part in zip(kinds, longest, strict=True) if part == "no requests"} == {"prefill"}
    rows.get_by_role("button", name="Duration").click()
    assert xi.link()["o"] == "-Duration"
    xi.page.go_back()
    xi.idle()
    assert ps(column(rows, "Start")) == starts


def test_the_bars_in_order_are_the_rows_of_the_list(xi: Xi, shared_traces: Path) -> None:
    open_iterations(xi, shared_traces, "queue_empty")
    bars = xi.page.get_by_test_id("iterations-chart").get_by_role("option")
    rows = xi.page.get_by_test_id("iterations-list")
    assert ps(bars) == ps(column(rows, "Duration"))
    kinds = column(rows, "Kind").all_inner_texts()
    assert [
        title.split(", ")[-4] for title in bars.evaluate_all("bars => bars.map(bar => bar.title)")
    ] == kinds
    bars.first.focus()
    for _ in range(3):
        xi.page.keyboard.press("ArrowRight")
    expect(bars.nth(3)).to_be_focused()
    start, duration = ps(column(rows, "Start"))[3], ps(bars)[3]
    xi.page.keyboard.press("Enter")
    xi.ready()
    shown = xi.link()["sel"].removeprefix("win:").split("+")
    assert [round(float(time) * 1e9) for time in shown] == [start, duration]


def test_bars_are_as_high_as_the_device_works_and_waits(xi: Xi, shared_traces: Path) -> None:
    """Bars with time without a request are cut: at the highest of the others, or of the device's work."""
    open_iterations(xi, shared_traces, "queue_empty")
    bars = xi.page.get_by_test_id("iterations-chart").get_by_role("option")
    heights: list[list[float]] = bars.evaluate_all(
        "bars => bars.map(bar => [...bar.querySelectorAll('.pile i')].map(part => part.getBoundingClientRect().height))"
    )
    rows = xi.page.get_by_test_id("iterations-list")
    works, walls = ps(column(rows, "Device,")), ps(bars)
    empty = [part == "no requests" for part in column(rows, "Longest part").all_inner_texts()]
    limit_ps = max(
        work if is_empty else wall for work, wall, is_empty in zip(works, walls, empty, strict=True)
    )
    px_per_ps = max(work for work, _ in heights) / max(works)
    for (work, wait), work_ps, wall_ps in zip(heights, works, walls, strict=True):
        assert work == pytest.approx(work_ps * px_per_ps, abs=1)
        assert work + wait == pytest.approx(min(wall_ps, limit_ps) * px_per_ps, abs=2)
    expect(xi.page.get_by_text("Bars with time without a request are cut.")).to_be_visible()


def test_other_captures_have_no_iterations(xi: Xi, baseline: str) -> None:
    xi.open(baseline, v="overview")
    tab = xi.page.get_by_test_id("tab-iterations")
    expect(tab).to_have_text("Iterations–")
    expect(tab).to_have_attribute("title", "No server that decodes in this capture.")
    tab.click()
    xi.page.wait_for_selector("main[data-state=empty]")
    expect(xi.page.get_by_test_id("view-iterations")).to_contain_text("vLLM, sglang and MaxText")


@pytest.mark.parametrize("name", ["sched_async", "queue_empty"])
def test_the_view_is_accessible_in_both_themes(xi: Xi, shared_traces: Path, axe: str, name: str) -> None:
    open_iterations(xi, shared_traces, name)
    assert faults_in_both_themes(xi, axe) == []
