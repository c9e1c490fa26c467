"""Asynchronous ops and the engines that execute them: pairs, hidden time, SparseCores' jobs, and causes of waits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from captures import Core, capture, real_trace, thread
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import TO_DEVICE, US, event

from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.analysis.engines.op_texts import engine_of, operands, short_op_name, started_by
from tb_xla_insights.analysis.engines.report import async_ops_report, engines_report
from tb_xla_insights.analysis.engines.windows import find_windows
from tb_xla_insights.analysis.findings import find_findings
from tb_xla_insights.trace.model import Trace

RUN = ("jit_f(1)", 0, 100)
JOB = {"tc_offload_start_id": 7, "offload_execution_index": 1}
NO_IDS: Mapping[str, int] = {}
Op = tuple[Any, ...]


def start(number: int, at: int, operand: str = "", stats: Mapping[str, int] = NO_IDS) -> Op:
    """The start op of an offloaded gather, one ps long."""
    text = f"%gather.{number}.call-start = (f32[8]) async-start(f32[8]{{0}} %{operand})"
    return (
        text if operand else f"gather.{number}.call-start",
        at,
        1,
        {"hlo_category": "async-start", **stats},
    )


def done(number: int, at: int, length: int) -> Op:
    return f"gather.{number}.call-done", at, length, {"hlo_category": "async-done"}


def core(*ops: Op, runs: list[Op] | None = None, name: str = "TPU:0") -> Core:
    return Core([*ops], runs or [RUN], name)


def sparse_core(*jobs: Op, name: str = "TPU:0 SparseCore 0") -> Core:
    return Core(name=name, lines={"Sparse Core Modules": [*jobs]})


def pairs(trace: Trace) -> list[tuple[int, int]]:
    """The start and the end of each window of the first device."""
    windows = find_windows(trace, 0)
    return list(zip(windows.start_ps.tolist(), windows.end_ps.tolist(), strict=True))


def row(*parts: Core) -> Any:
    """The only asynchronous op of a capture."""
    (only,) = async_ops_report(capture(*parts))
    return only


@pytest.mark.parametrize(
    ("text", "category", "engine"),
    [
        (
            '%a.1 = f32[] async-start(f32[] %b), async_execution_thread="sparsecore"',
            "async-start",
            "sparse_core",
        ),
        ("all-gather.5.cloned.1.call-done", "async-done", "sparse_core"),
        ("%all-gather-done.5 = f32[8] all-gather-done((f32[8]) %all-gather-start.5)", "", "interconnect"),
        (
            "%copy-start.1 = (f32[4]{0}, f32[4]{0:T(8,128)S(5)}, u32[]) copy-start(f32[4]{0} %p)",
            "",
            "host_memory",
        ),
        ("%copy-start.1 = (f32[4]{0:S(1)}, f32[4]{0}, u32[]) copy-start(f32[4]{0} %p)", "", "other"),
        ("%send.1 = (f32[4]) send(f32[4] %p, token[] %t), channel_id=2", "host send", "host_memory"),
        (
            '%send.1 = (f32[4]) send(%p), frontend_attributes={_xla_megascale_transfer_type="ALL_REDUCE"}',
            "host send",
            "other_slice",
        ),
        ("recv-done.1", "recv-done", "interconnect"),
    ],
)
def test_the_text_of_an_op_names_its_engine(text: str, category: str, engine: str) -> None:
    assert engine_of(text, category) == engine


def test_a_done_op_names_the_op_that_started_it() -> None:
    assert (
        started_by("%copy-done.2 = f32[4]{0} copy-done((f32[4]{0}, u32[]{:S(2)}) %copy-start.9)")
        == "copy-start.9"
    )
    assert started_by("copy-done.2") == "copy-start.2"
    assert started_by("all-gather.5.cloned.1.call-done") == "all-gather.5.cloned.1.call-start"
    assert started_by("send-done.3") == "send.3"
    assert operands("%a = f32[4] fusion(f32[4]{0:T(8)} %b, (f32[], u32[]) %c.1), calls=%d, to_apply=%e") == [
        "b",
        "c.1",
    ]
    assert short_op_name("all-gather.5.cloned.1.call-start") == "all-gather.5"
    assert short_op_name("copy-done.2") == "copy.2"


def test_a_window_lasts_from_the_start_op_to_the_end_of_the_done_op_of_the_same_run() -> None:
    """The first run lacks the start op, the second one the done op: neither makes a pair with another run."""
    runs = [("jit_f(1)", at, 50) for at in (0, 50, 100)]
    ops = (done(1, 10, 5), start(1, 60), start(1, 110), done(1, 120, 5))
    trace = capture(core(*ops, runs=runs))
    assert pairs(trace) == [(110, 125)]
    assert find_windows(trace, 0).unpaired == 2


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from((1, 2))), max_size=12))
def test_the_first_open_start_op_is_ended_first(events: list[tuple[bool, int]]) -> None:
    ops, open_starts, expected = [], dict[int, list[int]](), []
    for number, (is_start, op) in enumerate(events):
        ops.append(start(op, 8 * number) if is_start else done(op, 8 * number, 3))
        if is_start:
            open_starts.setdefault(op, []).append(8 * number)
        elif open_starts.get(op):
            expected.append((open_starts[op].pop(0), 8 * number + 3))
    assert sorted(pairs(capture(core(*ops, ("fusion.1", 97, 1))))) == sorted(expected)


def test_a_start_op_without_duration_comes_before_the_done_op_at_the_same_instant() -> None:
    ops = (("copy-start.1", 10, 0), ("copy-done.1", 10, 8), ("copy-start.1", 30, 1), ("copy-done.1", 40, 8))
    assert pairs(capture(core(*ops))) == [(10, 18), (30, 48)]


def test_computing_hides_and_loops_and_other_transfers_do_not() -> None:
    """Of 61 ps, the inner fusion hides 10 and the last one 5; the loop, a second transfer and the wait hide nothing."""
    ops = (
        start(1, 0), ("while.1", 1, 30), ("fusion.1", 5, 10), ("all-reduce-start.2", 31, 1), ("fusion.2", 32, 5),
        ("all-reduce-done.2", 37, 4), done(1, 41, 20),
    )  # fmt: skip
    gather, reduction = sorted(
        async_ops_report(capture(core(*ops))), key=lambda row: row["engine"], reverse=True
    )
    assert [gather[key] for key in ("window_ps", "hidden_ps", "exposed_ps", "wait_ps")] == [61, 15, 46, 20]
    assert [reduction[key] for key in ("window_ps", "hidden_ps", "wait_ps")] == [10, 5, 4]


def test_a_wait_consists_of_the_own_job_other_jobs_before_and_the_rest() -> None:
    """The wait from 20 to 60: until 30 another job runs, from 32 to 57 the op's own."""
    ids = {"tc_offload_start_id": 7, "offload_execution_index": 1}
    waits = row(
        core(start(1, 10, stats=ids), ("fusion.1", 11, 9), done(1, 20, 40)),
        sparse_core(("scatter", 5, 25), ("async_gather.1", 32, 25, ids)),
    )
    assert (waits["wait_ps"], waits["wait_own_ps"], waits["wait_queue_ps"], waits["join"]) == (
        40,
        25,
        10,
        "id",
    )


def test_jobs_are_found_by_ids_then_by_flow_then_by_name_and_order() -> None:
    flow = {"_pt": 17, "_p": 99}, {"_ct": 17, "_c": 99}
    by_flow = row(core(start(1, 10, stats=flow[0]), done(1, 20, 40)), sparse_core(("x", 15, 40, flow[1])))
    assert (by_flow["join"], by_flow["wait_own_ps"]) == ("flow", 35)
    by_order = row(core(start(1, 10), done(1, 20, 40)), sparse_core(("async_gather.1(5)", 15, 40)))
    assert (by_order["join"], by_order["wait_own_ps"]) == ("order", 35)
    outside = row(core(start(1, 10), done(1, 20, 40)), sparse_core(("async_gather.1(5)", 15, 50)))
    assert (outside["join"], outside["wait_own_ps"]) == ("none", None)


def test_of_several_ways_the_least_certain_one_is_told() -> None:
    ops = (start(1, 10, stats=JOB), done(1, 20, 20), start(1, 50), done(1, 60, 20))
    jobs = sparse_core(("async_gather.1", 15, 20, JOB), ("async_gather.1", 55, 20))
    assert (row(core(*ops), jobs)["count"], row(core(*ops), jobs)["join"]) == (2, "order")


def test_ids_that_repeat_join_nothing() -> None:
    ids = {"tc_offload_start_id": 7, "offload_execution_index": 1}
    jobs = sparse_core(("x", 15, 5, ids), ("y", 30, 5, ids))
    assert row(core(start(1, 10, stats=ids), done(1, 20, 40)), jobs)["join"] == "none"


def test_a_sparse_core_of_another_chip_is_not_this_ones() -> None:
    """What the SparseCore of the first core does is not known: it may be busy."""
    trace = capture(
        core(start(1, 10), done(1, 20, 40)), sparse_core(("x", 15, 40), name="TPU:7 SparseCore 0")
    )
    assert [(engine["device"], engine["traced"]) for engine in engines_report(trace)] == [("vm/TPU:0", False)]
    assert async_ops_report(trace)[0]["cause"] == "not_traced"


BEFORE = ("fusion.7", 0, 20)


@pytest.mark.parametrize(
    ("operand", "started_at", "jobs", "cause"),
    [
        ("param.1", 40, (), "late"),
        ("fusion.7", 40, (), "late"),
        ("fusion.7", 21, (), "dependent"),
        ("get-tuple-element.1", 40, (), None),
        ("param.1", 40, (("scatter", 0, 40),), "bottleneck"),
        ("param.1", 40, (("scatter", 30, 25),), "bottleneck"),
    ],
)
def test_why_a_core_waits(operand: str, started_at: int, jobs: tuple[Op, ...], cause: str | None) -> None:
    """A wait of 20 ps or so. Until the job starts, the SparseCore is idle, or has other jobs; the input is there from
    the beginning, or from 20 ps on."""
    begin = max([started_at + 1, *(at + length for _, at, length in jobs)])
    ops = (BEFORE, start(1, started_at, operand, JOB), done(1, started_at + 1, begin + 10 - started_at))
    found = row(
        core(*ops, ("fusion.8", 200, 10), runs=[("jit_f(1)", 0, 210)]),
        sparse_core(*jobs, ("async_gather.1", begin, 10, JOB)),
    )
    assert found["cause"] == cause


def test_a_job_that_is_needed_later_runs_first() -> None:
    """The gather waits for the scatter, which the core needs only after it."""
    ids = [{"tc_offload_start_id": n, "offload_execution_index": 1} for n in (1, 2)]
    ops = (
        start(2, 0, stats=ids[1]), start(1, 2, stats=ids[0]), done(1, 10, 60), ("fusion.1", 70, 5), done(2, 75, 5),
        ("fusion.2", 195, 5),
    )  # fmt: skip
    jobs = sparse_core(("scatter", 3, 50, ids[1]), ("gather", 53, 15, ids[0]))
    rows = {
        row["op"]: row for row in async_ops_report(capture(core(*ops, runs=[("jit_f(1)", 0, 200)]), jobs))
    }
    assert rows["gather.1.call-start"]["cause"] == "order"
    assert rows["gather.2.call-start"]["cause"] is None


def test_a_sparse_core_that_works_nearly_all_the_time_is_the_bottleneck() -> None:
    found = row(
        core(BEFORE, start(1, 21, "fusion.7", JOB), done(1, 22, 78)),
        sparse_core(("x", 0, 21), ("y", 22, 77, JOB)),
    )
    assert (found["cause"], found["join"]) == ("bottleneck", "id")


def test_a_parameter_of_a_loop_is_not_there_from_the_beginning() -> None:
    ops = (BEFORE, ("while.1", 20, 60), start(1, 40, "param.1"), done(1, 41, 30))
    assert row(core(*ops))["ready_before_ps"] is None


def test_who_begins_a_collective_last_is_waited_for() -> None:
    """One launch runs on three cores. The second one begins 30 us later, and both end together; the third one exchanges
    data in a group of its own."""
    calls, cores = [], []
    for number, (at, end) in enumerate(((10, 50), (40, 50), (70, 90))):
        calls.append(event("DoEnqueueProgram", -9 + number, 1, _pt=TO_DEVICE, _p=number))
        ops = [event("all-reduce-start.1", at, 1), event("all-reduce-done.1", at + 1, end - at - 1)]
        cores.append(Core(ops, [event("jit_f(1)", 0, 100, _ct=TO_DEVICE, _c=number)], f"TPU:{number}"))
    trace = capture(thread("python", event("TpuLoadedExecutable::Execute", -10, 8), *calls), *cores)
    rows = {row["device"]: row for row in async_ops_report(trace)}
    found = [rows[f"vm/TPU:{number}"] for number in range(3)]
    assert [row["peer_ps"] // US for row in found] == [29, 0, 0]
    assert [row["cause"] for row in found] == ["peer", None, None]


@pytest.fixture(params=[
    "async_mix", "barrier", "between", "hbm_peak", "no_async_line", "sc_bound", "sc_dependent", "sc_late", "sc_partly",
])  # fmt: skip
def simulated(request: pytest.FixtureRequest, shared_traces: Path) -> tuple[Trace, dict[str, Any]]:
    """A simulated capture and the truth about it."""
    folder = shared_traces / "engines" / request.param
    return real_trace(folder), json.loads((folder / "truth.json").read_text())


def test_times_are_those_of_the_simulation(simulated: tuple[Trace, dict[str, Any]]) -> None:
    trace, truth = simulated
    rows: Any = async_ops_report(trace)
    for device in device_summaries(trace):
        core = truth["cores"][f"/device:{device['name']}"]
        if "paired" in truth:  # events are missing
            assert truth["paired"] == {
                "count": sum(row["count"] for row in rows),
                "window_ps": sum(row["window_ps"] for row in rows),
                "exposed_ps": sum(row["exposed_ps"] for row in rows),
                "unpaired": find_windows(trace, 0).unpaired,
            }
            continue
        assert (device["busy_ps"], device["stall_ps"]) == (core["busy_ps"], core["stall_ps"])
        assert device["compute_ps"] == pytest.approx(core["compute_ps"], rel=0.01)
        assert device["barrier_ps"] == core["barrier_ps"]
        assert sum(device["waits_ps"].values()) == device["stall_ps"]
        of_device = [row for row in rows if row["device"] == device["id"]]
        for key, name in (
            ("window_ps", "window_ps"), ("hidden_by_compute_ps", "hidden_ps"), ("exposed_ps", "exposed_ps"),
            ("wait_ps", "wait_ps"),
        ):  # fmt: skip
            assert sum(window[key] for window in core["async"]) == sum(row[name] for row in of_device)
        for name, wait in core["waits"].items():
            (found,) = (row for row in of_device if row["op"] == name.replace("-done", "-start"))
            assert (found["count"], found["wait_ps"]) == (wait["count"], wait["wait_ps"])
            if wait["engine"] == "SC0":
                assert (found["wait_own_ps"], found["wait_queue_ps"]) == (
                    wait["wait_own_ps"],
                    wait["wait_queue_ps"],
                )


def test_sparse_cores_are_those_of_the_simulation(simulated: tuple[Trace, dict[str, Any]]) -> None:
    trace, truth = simulated
    cores = [core["sparse_core_0"] for core in truth["cores"].values() if "sparse_core_0" in core]
    assert [(row["jobs"], row["busy_ps"]) for row in engines_report(trace)] == [
        (core["modules"], core["modules_busy_ps"]) for core in cores
    ]
    for row, core in zip(engines_report(trace), cores, strict=True):
        assert row["busy_while_computing_ps"] == pytest.approx(
            core["concurrent_with_tc_compute_ps"], rel=0.01
        )


@pytest.mark.parametrize(
    ("name", "cause"), [("sc_bound", "bottleneck"), ("sc_dependent", "dependent"), ("sc_late", "late")]
)
def test_waits_that_look_alike_have_different_causes(name: str, cause: str, shared_traces: Path) -> None:
    """Only of an op that starts late is it certain that its wait can be hidden."""
    trace = real_trace(shared_traces / "engines" / name)
    assert {row["cause"] for row in async_ops_report(trace)} == {cause}
    (finding,) = (finding for finding in find_findings(trace) if finding.id == "device_waits")
    assert finding.gain_at_worst == (finding.gain if cause == "late" else 0)


def test_all_copies_of_a_real_tpu_are_paired(shared_traces: Path) -> None:
    """Three of its four cores have no line of asynchronous ops, and some start ops have no duration."""
    trace = real_trace(shared_traces / "public/tpu_v6e_jax")
    assert [(len(find_windows(trace, n)), find_windows(trace, n).unpaired) for n in range(4)] == [
        (600, 0)
    ] * 4
    assert {row["engine"] for row in async_ops_report(trace)} == {"host_memory"}
    # The same copy each time, whose bytes are those of its shape: f32[5,1024,1024,256].
    row = max(async_ops_report(trace), key=lambda row: row["wait_ps"])
    assert row["bytes"] == 100 * 5 * 1024 * 1024 * 256 * 4
    assert row["bytes_per_s"] == pytest.approx(12.9e9, rel=0.01)


def test_only_copies_that_are_waited_for_tell_a_rate() -> None:
    """The device waits for the first of two copies to the host; the second may have ended long before its done op."""
    shapes = "(f32[4]{0:S(5)}, f32[4]{0}, u32[])"
    ops = (
        (f"%copy-start.1 = {shapes} copy-start(f32[4] %a)", 0, 1), ("fusion.1", 1, 18),
        (f"%copy-done.1 = f32[4]{{0:S(5)}} copy-done({shapes} %copy-start.1)", 19, 1),
        (f"%copy-start.2 = {shapes} copy-start(f32[4] %a)", 30, 1), ("fusion.1", 31, 18),
        (f"%copy-done.2 = f32[4]{{0:S(5)}} copy-done({shapes} %copy-start.2)", 49, 0),
    )  # fmt: skip
    trace = capture(core(*ops))
    for stats in trace.metadata.stats:
        stats["bytes_accessed"] = 16
    assert {row["op"]: row["bytes_per_s"] for row in async_ops_report(trace)} == {
        "copy-start.1": 16 * 10**12 // 20,
        "copy-start.2": None,
    }


def test_windows_are_those_that_the_profiler_recorded(shared_traces: Path) -> None:
    """The first core has the line of asynchronous ops."""
    trace = real_trace(shared_traces / "public/tpu_v6e_jax")
    rows = trace.lines[trace.devices[0].lines["Async XLA Ops"]].rows
    recorded = zip(trace.start_ps[rows].tolist(), trace.end_ps[rows].tolist(), strict=True)
    assert sorted(pairs(trace)) == sorted(recorded)
