"""Devices derived from host threads: runs, their ops, and the cores they are placed on."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import Event, capture, real_trace, thread
from cpu_runs import (
    CALL,
    COMPLETION,
    EXECUTE,
    HELPER,
    STOP,
    call,
    client,
    executor,
    only_device,
    op,
    op_end,
    ops_of,
    pool,
    record,
    region,
    run,
    runs_of,
    traced,
)
from independent import parse

from tb_xla_insights.analysis.launches.enqueues import EXACT, ORDERED
from tb_xla_insights.analysis.launches.executions import executions_report, programs_report
from tb_xla_insights.analysis.launches.launches import find_launches


def test_a_run_with_its_ops() -> None:
    trace = traced(
        executor(call(10, 40, 1)), client(2, run(50, 90, 1, op("dot.1", 55, 4), op("add.2", 65, 3)))
    )
    device = only_device(trace)
    assert runs_of(trace, device) == [("graph(5)", 50, 90)]
    assert ops_of(trace, device) == [("dot.1", 55, 59), ("add.2", 65, 68)]


def test_an_op_lasts_to_its_end_event_on_any_thread() -> None:
    trace = traced(
        executor(call(10, 40, 1)),
        client(2, run(50, 90, 1, op("dot.1", 55, 2, 7), op("add.2", 60, 2, 8), op_end("add.2", 70, 8))),
        pool(3, [op_end("dot.1", 80, 7)]),
    )
    assert ops_of(trace, only_device(trace)) == [("dot.1", 55, 80), ("add.2", 60, 70)]


def test_an_op_never_outlasts_its_run() -> None:
    late_ops = [
        *run(50, 90, 1, op("dot.1", 55, 2, 7)),
        *run(100, 140, 2, op_end("dot.1", 120, 7), op("add.2", 130)),
    ]
    trace = traced(executor(call(10, 20, 1), call(22, 30, 2)), client(2, late_ops))
    device = only_device(trace)
    assert ops_of(trace, device) == [("dot.1", 55, 90), ("add.2", 130, 132)]
    assert [start for _, start, _ in runs_of(trace, device)] == [50, 100]


def test_an_op_is_complete_before_its_thread_resumes_the_program() -> None:
    """`dot.1` and `dot.2` end together, on a pool thread that then exchanges data before it writes their ends."""
    resumed = (EXECUTE, 70, 20), op("all-reduce", 71, 18, 9), op_end("all-reduce", 88, 9)
    ends = op_end("dot.1", 91, 7), op_end("dot.2", 92, 8)
    trace = traced(
        executor(call(10, 40, 1)),
        client(2, run(50, 98, 1, op("dot.1", 52, 2, 7), op("dot.2", 55, 2, 8), record(56, 11))),
        pool(3, region(57, 97, 11, *resumed, *ends)),
    )
    assert ops_of(trace, only_device(trace)) == [("dot.1", 52, 70), ("dot.2", 55, 70), ("all-reduce", 71, 88)]


@pytest.mark.parametrize("before", [[], [("other work", 60, 20)], [(EXECUTE, 54, 8)]])
def test_an_execute_that_does_not_resume_the_program_ends_no_op(before: list[Event]) -> None:
    """Before the `end:` there is nothing, another event, or an `Execute` that began before the op."""
    trace = traced(
        executor(call(10, 40, 1)),
        client(2, run(50, 98, 1, op("dot.1", 55, 2, 7), record(58, 11))),
        pool(3, region(52, 97, 11, *before, op_end("dot.1", 91, 7))),
    )
    assert ops_of(trace, only_device(trace)) == [("dot.1", 55, 91)]


def test_a_loop_lasts_to_its_end_event_despite_a_later_iteration_before_it() -> None:
    """The last iteration of the loop resumes on another thread when an op of the previous iteration is complete."""
    body = (EXECUTE, 57, 6), op("dot.1", 58, 2, 7), record(59, 11)
    trace = traced(
        executor(call(10, 40, 1)),
        client(2, run(50, 98, 1, op("while.1", 55, 10, 8), *body)),
        pool(3, region(60, 97, 11, (EXECUTE, 70, 20), op("dot.1", 72, 15), op_end("while.1", 91, 8))),
    )
    assert ops_of(trace, only_device(trace))[0] == ("while.1", 55, 91)


def test_a_loop_is_complete_when_the_program_resumes_after_it() -> None:
    body = (EXECUTE, 57, 6), op("dot.1", 58, 2, 7), record(59, 11)
    resumed = (
        (EXECUTE, 70, 9),
        op("dot.1", 72, 5),
        (EXECUTE, 80, 10),
        op("add.2", 81, 8),
        op_end("while.1", 91, 8),
    )
    trace = traced(
        executor(call(10, 40, 1)),
        client(2, run(50, 98, 1, op("while.1", 55, 10, 8), *body)),
        pool(3, region(60, 97, 11, *resumed)),
    )
    assert ops_of(trace, only_device(trace))[0] == ("while.1", 55, 80)


def test_a_run_ends_when_it_is_complete_however_late_its_thread_leaves_the_region() -> None:
    """The next program begins on another thread, and the first one's op has a late `end:` event."""
    first = region(50, 190, 1, (EXECUTE, 51, 1), op("dot.1", 55, 2, 7), (COMPLETION, 60, 30), record(92, 2))
    trace = traced(
        executor(call(10, 40, 1)),
        client(2, first),
        client(3, run(100, 140, 2, op("add.2", 110, 4, 8), op_end("add.2", 130, 8), op_end("dot.1", 135, 7))),
    )
    device = only_device(trace)
    assert runs_of(trace, device) == [("graph(5)", 50, 90), ("graph(5)", 100, 140)]
    assert ops_of(trace, device) == [("dot.1", 55, 90), ("add.2", 110, 130)]


def test_ops_on_pool_threads_belong_to_the_run_whose_flow_reaches_them() -> None:
    trace = traced(
        executor(call(10, 20, 1), call(22, 30, 2)),
        client(
            2, run(50, 90, 1, record(55, 11), op("call.1", 54, 30)), run(100, 140, 2, op("b", 105, program=6))
        ),
        # A region that starts another one, which starts a third; the last one ends after the run.
        pool(3, region(56, 70, 11, record(57, 12), op("a.1", 58))),
        pool(4, region(60, 80, 12, record(61, 13), op("a.2", 62))),
        pool(5, region(63, 150, 13, op("a.3", 64, 80))),
    )
    device = only_device(trace)
    assert runs_of(trace, device) == [("graph(5)", 50, 90), ("graph(6)", 100, 140)]
    assert ops_of(trace, device) == [
        ("call.1", 54, 84), ("a.1", 58, 60), ("a.2", 62, 64), ("a.3", 64, 90), ("b", 105, 107),
    ]  # fmt: skip


def test_tiny_programs_run_inside_their_helper() -> None:
    inline = [
        (CALL, 10, 80), (HELPER, 20, 40), (EXECUTE, 22, 1), op("tiny", 25, 3), (COMPLETION, 50, 1),
        (CALL, 100, 80), (HELPER, 110, 20), op("tiny", 115, 30), (COMPLETION, 125, 1),
    ]  # fmt: skip
    trace = traced(executor(inline))
    device = only_device(trace)
    assert runs_of(trace, device) == [("graph(5)", 20, 51), ("graph(5)", 110, 126)]
    assert ops_of(trace, device) == [("tiny", 25, 28), ("tiny", 115, 126)]


def test_a_run_released_by_the_previous_run_is_separate() -> None:
    """The second run is queued: its flow comes from the end of the first one."""
    trace = traced(
        executor(call(10, 20, 1), call(22, 30)),
        client(2, run(50, 90, 1, op("a", 55), record(80, 2))),
        client(3, run(95, 130, 2, op("b", 100, 5))),
    )
    device = only_device(trace)
    assert runs_of(trace, device) == [("graph(5)", 50, 90), ("graph(5)", 95, 130)]
    assert ops_of(trace, device) == [("a", 55, 57), ("b", 100, 105)]


def test_two_runs_per_launch_are_two_cores() -> None:
    """Client threads swap between devices; runs are placed by overlap."""
    trace = traced(
        executor(call(10, 20, 1, 2), call(100, 120, 3, 4)),
        client(2, run(50, 90, 1, op("a", 55)), run(153, 190, 4, op("d", 160))),
        client(3, run(51, 95, 2, op("b", 56)), run(150, 195, 3, op("c", 155))),
    )
    assert [device.id for device in trace.devices] == ["vm/CPU:0", "vm/CPU:1"]
    first, second = trace.devices
    assert runs_of(trace, first) == [("graph(5)", 50, 90), ("graph(5)", 150, 195)]
    assert runs_of(trace, second) == [("graph(5)", 51, 95), ("graph(5)", 153, 190)]
    assert (ops_of(trace, first), ops_of(trace, second)) == (
        [("a", 55, 57), ("c", 155, 157)],
        [("b", 56, 58), ("d", 160, 162)],
    )


def test_a_run_without_ops_has_a_generic_name() -> None:
    trace = traced(executor(call(10, 20, 1)), client(2, run(50, 90, 1)))
    device = only_device(trace)
    assert runs_of(trace, device) == [("device run", 50, 90)]
    assert len(device.ops) == 0


def test_ops_without_runs_are_kept() -> None:
    trace = traced(pool(3, [op("dot.1", 50, 9)]))
    device = only_device(trace)
    assert (runs_of(trace, device), ops_of(trace, device)) == ([], [("dot.1", 50, 59)])


def test_an_end_event_before_its_op_makes_no_negative_time() -> None:
    trace = traced(pool(3, [op_end("dot.1", 40, 7), op("dot.1", 50, 9, 7)]))
    device = only_device(trace)
    assert ops_of(trace, device) == [("dot.1", 50, 50)]
    assert device.ops.own_ps.tolist() == [0]


def test_a_capture_that_begins_inside_a_run() -> None:
    """The region's start is not recorded: the run began with the execution, or with the waiting for it."""
    trace = traced(
        client(2, [(EXECUTE, 5, 1), op("dot.1", 6, 3), (COMPLETION, 20, 1), (STOP, 25, 0)]),
        client(3, [(COMPLETION, 40, 10), (STOP, 55, 0)]),
        client(4, run(60, 90, 9, op("add.2", 65))),
    )
    device = only_device(trace)
    assert runs_of(trace, device) == [("graph(5)", 5, 21), ("device run", 40, 50), ("graph(5)", 60, 90)]
    assert ops_of(trace, device) == [("dot.1", 6, 9), ("add.2", 65, 67)]


def test_a_run_that_outlasts_the_capture_is_not_listed() -> None:
    """Its ops are kept, with their recorded durations if there is no `end:` event."""
    cut = run(100, 140, 2, op("add.2", 110, 4, 7))[:-2]
    trace = traced(
        executor(call(10, 20, 1), call(22, 30, 2)), client(2, run(50, 90, 1, op("dot.1", 55)), cut)
    )
    device = only_device(trace)
    assert runs_of(trace, device) == [("graph(5)", 50, 90)]
    assert ops_of(trace, device) == [("dot.1", 55, 57), ("add.2", 110, 114)]


def test_program_ids_above_2_to_the_63_and_circular_flows() -> None:
    circle = region(60, 70, 21, record(61, 22)), region(62, 72, 22, record(63, 21), op("lost", 64))
    trace = traced(
        executor(call(10, 20, 1)),
        client(2, run(50, 90, 1, op("dot.1", 55, program=-2))),
        pool(3, circle[0]),
        pool(4, circle[1]),
    )
    device = only_device(trace)
    assert runs_of(trace, device) == [(f"graph({2**64 - 2})", 50, 90)]
    assert ops_of(trace, device) == [("dot.1", 55, 57), ("lost", 64, 66)]


def test_a_capture_that_runs_nothing_has_no_device() -> None:
    assert traced(executor(call(10, 20, 1))).devices == []


@pytest.mark.parametrize(
    ("capture_name", "runs"),
    [
        ("spmd_fsdp_debug", [8, 8]), ("baseline_session_debug", [12]), ("tiny_early_item", [18]),
        ("dynamo_train_session", [48]), ("baseline_server_level1", [25]),
    ],
)  # fmt: skip
def test_runs_and_ops_of_real_captures(shared_traces: Path, capture_name: str, runs: list[int]) -> None:
    folder = shared_traces / "torch_xla" / capture_name
    trace = real_trace(folder)
    assert [len(device.runs) for device in trace.devices] == runs
    data = next(folder.rglob("*.xplane.pb")).read_bytes()
    recorded = [event for plane in parse(data) for line in plane.lines for event in line.events]
    names = [event.stats["hlo_op"] for event in recorded if "hlo_op" in event.stats]
    assert sum(len(device.ops) for device in trace.devices) == len(names)
    assert (capture_name != "baseline_session_debug") or len(names) == 3876
    for device in trace.devices:
        assert (device.runs.end_ps > device.runs.start_ps).all()
        assert (device.ops.end_ps >= device.ops.start_ps).all()


def test_every_op_of_a_real_capture_is_in_a_run_of_its_program(shared_traces: Path) -> None:
    trace = real_trace(shared_traces / "torch_xla" / "baseline_session_debug")
    device = only_device(trace)
    spans, runs = device.ops, runs_of(trace, device)
    programs = trace.stats["program_id"].at(spans.row, -1)
    for start, end, program in zip(
        spans.start_ps.tolist(), spans.end_ps.tolist(), programs.tolist(), strict=True
    ):
        around = [name for name, first, last in runs if first <= start and end <= last]
        assert [name.rpartition("(")[2] for name in around] == [f"{program % 2**64})"]


def test_a_call_that_runs_its_program_from_the_first_op_to_the_last() -> None:
    """As TensorFlow does: the program is complete where the call has waited for it."""
    whole = [
        ("CpuExecutable::ExecuteAsyncOnStream", 50, 50),
        (EXECUTE, 52, 6),
        op("copy.2", 53, 2),
        record(56, 1),
        ("BlockUntilReady", 60, 30),
    ]
    trace = traced(
        thread("main", *whole), pool(3, region(61, 95, 1, op("dot.1", 62, 20, 7), op_end("dot.1", 99, 7)))
    )
    device = only_device(trace)
    assert runs_of(trace, device) == [("graph(5)", 50, 90)]
    assert ops_of(trace, device) == [("copy.2", 53, 55), ("dot.1", 62, 90)]
    launches = find_launches(trace)
    assert [trace.name(row) for row in launches.row] == ["CpuExecutable::ExecuteAsyncOnStream"]
    assert launches.runs.join.tolist() == [EXACT]


def jitted(start: int, *flows: int) -> list[Event]:
    """A call of a compiled function for several cores, for which JAX 0.6 records no execute call."""
    return [
        ("PjitFunction(f)", start, 20),
        ("PjitFunction(f)", start + 1, 18),
        *(record(start + 5, flow) for flow in flows),
    ]


def queued_run(start: int, end: int) -> list[Event]:
    return region(start, end, 99, (EXECUTE, start + 1, 1), (COMPLETION, end - 2, 2))


def test_the_runs_of_one_jitted_call_are_one_launch() -> None:
    """The runs of the second launch are released by the ends of the first ones: each core runs in launch order."""
    main = thread(
        "python",
        ("train", 0, 500, {"_r": 1, "step_num": 4}),
        *jitted(10, 1, 2),
        *jitted(40, 3, 4),
        role="driving",
    )
    trace = capture(
        main,
        client(2, helper_and_run(20, 100, 1), helper_without_run(101, 3), queued_run(110, 150)),
        client(3, helper_and_run(21, 104, 2), helper_without_run(105, 4), queued_run(108, 160)),
    )
    assert [(device.name, device.runs.start_ps.tolist()) for device in trace.devices] == [
        ("CPU:0", [24, 108]), ("CPU:1", [25, 110]),
    ]  # fmt: skip
    launches = find_launches(trace)
    assert len(launches) == 2
    assert launches.runs.launch.tolist() == [0, 1, 0, 1]
    assert launches.runs.join.tolist() == [EXACT, ORDERED, EXACT, ORDERED]
    (row,) = programs_report(trace)
    assert (row["launches"], row["count"]) == (2, 4)
    rows = executions_report(trace)
    assert sum(row["launches"] for row in rows) == 2


def helper_and_run(start: int, end: int, flow: int) -> list[Event]:
    """A helper, and the run that it hands over."""
    helper = region(start, start + 3, flow, (HELPER, start + 1, 1), record(start + 2, flow + 10))
    return [*helper, *run(start + 4, end, flow + 10)]


def helper_without_run(at: int, flow: int) -> list[Event]:
    """A helper that starts no run yet, as its arguments are not there."""
    return region(at, at + 2, flow, (HELPER, at + 1, 1))
