"""The panel of a selected window: what its tables say of hosts, threads, steps and devices, in generated captures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.conftest import serving
from browser.driver import LABELS_WIDTH, Xi
from browser.tables import column
from playwright.sync_api import Page, expect
from synthetic.writer import Space

MS = 10**9
STEP_PS = 10 * MS + 333
"""Steps follow each other without a pause, at instants between whole nanoseconds."""


def host(steps: int = 3) -> Space:
    """Steps that load data for a moment, with one run on each of two cores. Beside them a loader works all the time,
    and a thread of a pool in events without a class; it dispatches for a moment."""
    space = Space()
    plane = space.plane("/host:CPU")
    python = plane.line("python", id=1)
    loader = plane.line("python", id=2)
    pool = plane.line("tf_pjrt_thread_pool/7", id=3)
    cores = [space.plane(f"/device:TPU:{core}") for core in range(2)]
    for step in range(steps):
        start = step * STEP_PS
        python.event("Training_Step", start, STEP_PS, _r=1, step_num=step)
        python.event("data_loading", start, MS)
        loader.event("load_batch", start, STEP_PS)
        pool.event("BufferSequencingEvent::Execute", start, 8 * MS)
        pool.event("DoEnqueueProgram", start + 9 * MS, MS // 10)
        for core in cores:
            core.line("XLA Modules").event("f(1)", start, STEP_PS, run_id=step)
            core.line("XLA Ops").event("fusion.1", start, STEP_PS)
    return space


@pytest.fixture(scope="module")
def tensorboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    logdir = tmp_path_factory.mktemp("windows")
    for run, hosts in {"alone": ["vm"], "pair": ["w-0", "w-1"]}.items():
        write_session(logdir / run / "plugins/profile/one", hosts)
    with serving(logdir) as address:
        yield address


def write_session(folder: Path, hosts: list[str]) -> None:
    folder.mkdir(parents=True)
    for name in hosts:
        host().write(folder / f"{name}.xplane.pb")


def check_the_window_of_a_step_has_no_run_of_the_next_one(xi: Xi, page: Page) -> None:
    xi.follow("alone/one", v="overview")
    page.get_by_test_id("steps-chart").get_by_role("option").nth(1).click()
    xi.ready()
    selection = xi.drawn("selection")
    assert (selection["start_ps"], selection["end_ps"]) == (STEP_PS, 2 * STEP_PS)
    expect(column(page.get_by_test_id("window-devices"), "Modules")).to_have_text(["1", "1"])
    page.reload()
    xi.ready()
    assert xi.drawn("selection") == selection


def check_a_dragged_edge_is_at_a_whole_nanosecond_and_the_other_one_stays(xi: Xi) -> None:
    xi.follow("alone/one", sel="win:10.000000333+10.000000333")
    box, window = xi.canvas_box(), xi.drawn("window")
    lanes = (box["x"] + LABELS_WIDTH, box["width"] - LABELS_WIDTH)
    x = lanes[0] + lanes[1] * (2 * STEP_PS - window["start_ps"]) / (window["end_ps"] - window["start_ps"])
    xi.drag((x, box["y"] + 60), (x + 50, box["y"] + 60))
    selection = xi.drawn("selection")
    assert selection["start_ps"] == STEP_PS
    assert selection["end_ps"] > 2 * STEP_PS
    assert selection["end_ps"] % 1000 == 0


def check_a_class_is_mostly_on_the_thread_that_decides_it_and_a_thread_without_one_mostly_of_none(
    xi: Xi, page: Page
) -> None:
    """The loader's time does not count while the driving thread works."""
    xi.follow("alone/one", sel="win:0+10")
    breakdown = page.get_by_test_id("window-breakdown")
    labels = column(breakdown, "Class").all_text_contents()
    assert column(breakdown, "Mostly on").nth(labels.index("input")).text_content() == "python (driving)"
    threads = page.get_by_test_id("window-threads")
    pool = column(threads, "Thread").all_text_contents().index("tf_pjrt_thread_pool")
    assert column(threads, "Mostly").nth(pool).text_content() == ""
    assert column(threads, "Mostly").first.text_content() == "python"


def test_the_panel_of_a_window(xi: Xi, page: Page) -> None:
    check_the_window_of_a_step_has_no_run_of_the_next_one(xi, page)
    check_a_dragged_edge_is_at_a_whole_nanosecond_and_the_other_one_stays(xi)
    check_a_class_is_mostly_on_the_thread_that_decides_it_and_a_thread_without_one_mostly_of_none(xi, page)


def test_threads_of_several_hosts_name_their_host(xi: Xi, page: Page) -> None:
    xi.open("pair/one", sel="win:0+10")
    hosts = column(page.get_by_test_id("window-threads"), "Host")
    expect(hosts).to_have_text(["w-0"] * 3 + ["w-1"] * 3)
    xi.open("alone/one", sel="win:0+10")
    expect(page.get_by_test_id("window-threads").get_by_role("columnheader", name="Host")).to_have_count(0)


def test_threads_and_devices_are_those_of_the_chosen_hosts_and_devices(xi: Xi, page: Page) -> None:
    """Sums of ops and events cover all: a note says so."""
    xi.open("pair/one", sel="win:0+10", h="w-1")
    expect(column(page.get_by_test_id("window-threads"), "Host")).to_have_text(["w-1"] * 3)
    devices = column(page.get_by_test_id("window-devices"), "Device")
    expect(devices).to_have_text(["TPU:0 · w-1", "TPU:1 · w-1"])
    expect(page.get_by_test_id("window-breakdown").get_by_role("button", name="w-0")).to_have_count(0)
    expect(page.get_by_test_id("window-note")).to_contain_text("all hosts and devices")
    page.get_by_test_id("device-select").click()
    page.get_by_role("checkbox").first.uncheck()
    expect(devices).to_have_text(["TPU:1 · w-1"])
    xi.open("pair/one", sel="win:0+10")
    expect(devices).to_have_count(4)
    expect(page.get_by_test_id("window-note")).to_have_count(0)
