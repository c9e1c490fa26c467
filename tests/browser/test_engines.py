"""The section Engines of the Device view, and the engines in the timeline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.conftest import ROOT, serving, session_named
from browser.driver import Xi, plain_spaces
from browser.tables import column, ps
from browser.test_access import faults_in_both_themes
from playwright.sync_api import Page, expect
from slices import Slices

CAPTURES = (
    "engines/sc_bound",
    "engines/sc_late",
    "engines/async_mix",
    "tpu/vllm_qwen3_step",
    "public/tpu_v6e_jax",
)

CPU = "torch_xla_baseline"
SLICES = "slices"
NOTHING = "No asynchronous op in this capture: nothing runs beside the device’s own units."


@pytest.fixture(scope="module")
def tensorboard(shared_traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Synthetic TPUs with SparseCores and with collectives, and real ones."""
    logdir = tmp_path_factory.mktemp("captures")
    for folder in (*(shared_traces / name for name in CAPTURES), ROOT / "demo_logs" / CPU):
        (logdir / folder.name).symlink_to(folder)
    simulation = Slices()
    for number in range(4):
        simulation.step(3_000, 2_000, late=4_002 if number == 1 else 0, scope="step/backward/grads")
    simulation.space().write(str(logdir / SLICES / "plugins/profile/session/host.xplane.pb"))
    with serving(logdir) as address:
        yield address


@pytest.fixture
def xi(page: Page, tensorboard: str) -> Xi:
    return Xi(page, tensorboard)


def open_engines(xi: Xi, shared_traces: Path, name: str, view: str = "device") -> None:
    (folder,) = shared_traces.glob(f"*/{name}/plugins/profile/*")
    xi.open(f"{name}/{folder.name}", v=view, ds="engines" if view == "device" else "")


def rows(xi: Xi) -> list[str]:
    """The texts of the rows on the axis."""
    return [
        " ".join(plain_spaces(text).split())
        for text in xi.page.get_by_test_id("engines").get_by_role("listitem").all_inner_texts()
    ]


def test_a_run_engine_by_engine(xi: Xi, shared_traces: Path) -> None:
    open_engines(xi, shared_traces, "sc_bound")
    assert plain_spaces(xi.text("engines-answer")).startswith(
        "The TensorCore computes 5.0 of 16.1 ms; for 11.1 ms it waits for its SparseCore."
    )
    own, sparse_core, _, gather, *_ = rows(xi)
    assert [own[:18], own[-16:]] == ["TensorCore 16.1 ms", " computes 31.1 %"]
    assert [sparse_core[:20], sparse_core[-26:]] == ["SparseCore 0 15.1 ms", "busy 93.8 %, hidden 4.0 ms"]
    assert gather == "gather.3 6.1 ms partly hidden 33.3 % hidden"


def test_waits_add_up_to_those_of_the_headline(xi: Xi, shared_traces: Path) -> None:
    open_engines(xi, shared_traces, "sc_bound")
    table = xi.page.get_by_test_id("device-waits")
    assert sum(ps(column(table, "Waits, ms"))) == pytest.approx(11_082_096_189, abs=3)
    assert table.locator("tfoot td").nth(2).inner_text() == "11.082"
    assert set(column(table, "Engine").all_inner_texts()) == {"SparseCore 0"}
    assert set(column(table, "Joined").all_inner_texts()) == {"by its id"}


def test_waits_that_look_alike_have_their_cause(xi: Xi, shared_traces: Path) -> None:
    open_engines(xi, shared_traces, "sc_late")
    [why] = column(xi.page.get_by_test_id("device-waits"), "Why").all_inner_texts()
    assert (
        plain_spaces(why)
        == "It starts 7.99 ms after its input is ready; 4.57 ms of its wait could be hidden."
    )


def test_ops_are_hidden_in_part(xi: Xi, shared_traces: Path) -> None:
    open_engines(xi, shared_traces, "async_mix")
    tags = {
        name: xi.page.get_by_test_id(f"window-{name}").locator(".tag").inner_text()
        for name in ("all-gather.1", "collective-permute.2", "all-reduce.3", "copy.6")
    }
    assert list(tags.values()) == ["hidden", "partly hidden", "exposed", "partly hidden"]
    expect(xi.page.get_by_test_id("device-waits").get_by_text("Joined")).to_have_count(0)


def test_a_transfer_between_slices_has_its_slack_and_who_is_late(xi: Xi) -> None:
    xi.open(f"{SLICES}/session", v="device", ds="engines")
    table = xi.page.get_by_test_id("slice-transfers")
    (row,) = table.locator("tbody tr").all()
    cells = [plain_spaces(text) for text in row.locator("td").all_inner_texts()]
    assert cells[:10] == [
        "grads.1",
        "all-reduce",
        "step/backward",
        "2",
        "4",
        "3.000",
        "2.000",
        "0.758",
        "3.032",
        "1",
    ]
    assert cells[-1].startswith("Slice 2 sends late 1 of 4 times, first in step 6: ")
    expect(row.locator("td[title='step 6']")).to_have_count(1)


def test_another_device_is_in_the_link(xi: Xi, shared_traces: Path) -> None:
    open_engines(xi, shared_traces, "async_mix")
    device = xi.page.get_by_test_id("engines-device")
    expect(device).to_have_value("0.1")
    device.select_option("0.0")
    xi.idle()
    assert (xi.link()["dd"], xi.link()["ds"]) == ("0.0", "engines")
    xi.page.go_back()
    expect(device).to_have_value("0.1")


def test_an_op_leads_to_its_longest_wait(xi: Xi, shared_traces: Path) -> None:
    open_engines(xi, shared_traces, "sc_bound")
    link = xi.page.get_by_test_id("device-waits").get_by_role("button", name="gather.3", exact=True)
    link.focus()
    xi.page.keyboard.press("Enter")
    xi.ready()
    assert xi.link()["sel"].startswith("ev:h0.d0.ops@66.76864")
    expect(xi.page.get_by_test_id("selection-panel")).to_contain_text("call-done")


def test_overview_leads_to_the_waits(xi: Xi, shared_traces: Path) -> None:
    open_engines(xi, shared_traces, "sc_late", view="overview")
    table = xi.page.get_by_test_id("needed-table")
    assert table.locator("tbody tr td:first-child").all_inner_texts() == ["all-gather.5"]
    xi.page.get_by_role("button", name="Engines").click()
    xi.ready()
    expect(xi.page.get_by_test_id("device-waits")).to_be_visible()


def test_a_row_leads_to_the_run(xi: Xi, shared_traces: Path) -> None:
    open_engines(xi, shared_traces, "tpu_v6e_jax")
    xi.page.get_by_role("button", name="TensorCore").click()
    xi.ready()
    assert xi.link()["v"] == "timeline"


def test_hundreds_of_hidden_ops_are_one_row(xi: Xi, shared_traces: Path) -> None:
    open_engines(xi, shared_traces, "vllm_qwen3_step")
    own, _, others = rows(xi)
    assert own.endswith("computes 94.8 %")
    assert others.startswith("784 ops 35.6 ms partly hidden")
    table = xi.page.get_by_test_id("device-waits")
    assert column(table, "Op").all_inner_texts() == ["784\u00a0other ops"]


def test_sparse_cores_and_asynchronous_ops_have_rows_in_the_timeline(xi: Xi, shared_traces: Path) -> None:
    open_engines(xi, shared_traces, "sc_bound", view="timeline")
    jobs = xi.slices(row="h0.d0.sc0", depth=0)
    assert len(jobs) == 24
    assert len([*xi.slices(row="h0.d0.async", depth=0), *xi.slices(row="h0.d0.async", depth=1)]) == 24
    xi.click(jobs[1])
    assert "SparseCore 0" in xi.text("selection-panel")
    xi.press("ArrowRight")
    assert xi.link()["sel"].startswith("ev:h0.d0.sc0@")


def test_without_asynchronous_ops_the_section_says_so(xi: Xi) -> None:
    xi.open(session_named(CPU), v="device")
    button = xi.page.get_by_test_id("section-engines")
    expect(button).to_have_attribute("title", NOTHING)
    button.click()
    xi.page.wait_for_selector("main[data-state=empty]")
    expect(xi.page.get_by_text(NOTHING)).to_be_visible()


def test_the_section_is_accessible_in_both_themes(xi: Xi, shared_traces: Path, axe: str) -> None:
    open_engines(xi, shared_traces, "sc_bound")
    assert faults_in_both_themes(xi, axe) == []
