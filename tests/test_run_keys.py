"""Runs and cores of JAX 0.7 and later, found by `run_id` and `device_ordinal` of its events."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures import Event, HostThread, capture, real_trace, thread

from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.analysis.launches.enqueues import EXACT, NONE, ORDERED
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.trace.model import Trace

RECORD, START, STOP = (f"ThreadpoolListener::{name}" for name in ("Record", "StartRegion", "StopRegion"))
COMPLETION = "ThunkExecutor::Execute (wait for completion)"
HELPER = "PjRtCpuExecutable::ExecuteHelper"
CALL = "CommonPjRtLoadedExecutable::Execute (jit_f)"


def op(name: str, at: int, duration: int, run_id: int, core: int) -> Event:
    stats = {"hlo_op": name, "hlo_module": "jit_f", "program_id": 5}
    return name, at, duration, stats | {"run_id": run_id, "device_ordinal": core}


def completion(end: int, run_id: int, core: int) -> Event:
    return COMPLETION, end - 1, 1, {"run_id": run_id, "device_ordinal": core}


def region(start: int, end: int, flow: int, *events: Event) -> list[Event]:
    return [(START, start, 0, {"_ct": 15, "_c": flow}), *events, (STOP, end, 0)]


def record(at: int, flow: int) -> Event:
    return RECORD, at, 0, {"_pt": 15, "_p": flow}


def client(number: int, *regions: list[Event]) -> HostThread:
    return thread(f"tf_XLAPjRtCpuClient/{number}", *(event for events in regions for event in events))


def trace_of_threads(*rows: HostThread, main: tuple[Event, ...] = ()) -> Trace:
    steps: list[Event] = [("train", 0, 400, {"_r": 1, "step_num": 4}), *main, ("train", 400, 400, {"_r": 1})]
    return capture(thread("python", *steps, role="driving"), *rows)


def cores(trace: Trace) -> dict[str, tuple[list[int], list[str]]]:
    """The starts of the runs and the names of the ops of each core."""
    return {
        device.name: (
            device.runs.start_ps.tolist(),
            [trace.strings[text] for text in device.ops.name.tolist()],
        )
        for device in trace.devices
    }


def test_ops_record_their_core() -> None:
    """Two launches of two runs each. Each thread runs the first launch on one core, and the second on the other."""
    trace = trace_of_threads(
        client(2, region(50, 80, 1, op("a.1", 55, 9, 7, 1), completion(80, 7, 1)),
               region(90, 120, 3, op("b.0", 95, 9, 8, 0), completion(120, 8, 0))),
        client(3, region(60, 85, 2, op("a.0", 65, 9, 7, 0), completion(85, 7, 0)),
               region(130, 150, 4, op("b.1", 135, 9, 8, 1), completion(150, 8, 1))),
    )  # fmt: skip
    assert cores(trace) == {"CPU:0": ([60, 90], ["a.0", "b.0"]), "CPU:1": ([50, 130], ["a.1", "b.1"])}


def test_cores_keep_their_numbers() -> None:
    trace = trace_of_threads(
        client(2, region(50, 80, 1, op("a", 55, 9, 7, 3), completion(80, 7, 3)), [op("cut", 90, 5, 8, 6)])
    )
    assert cores(trace) == {"CPU:3": ([50], ["a"]), "CPU:6": ([], ["cut"])}


def test_op_without_flow_belongs_to_the_run_with_its_run_id() -> None:
    """The capture begins inside the run, so the region around its ops is not recorded."""
    trace = trace_of_threads(
        client(2, [op("a", 20, 9, 7, 0), op("late", 30, 900, 7, 0)]),
        client(3, [completion(80, 7, 0)]),
        client(4, region(90, 120, 3, op("b", 95, 9, 8, 0), completion(120, 8, 0))),
    )
    (core,) = trace.devices
    assert [trace.strings[text] for text in core.runs.name] == ["jit_f(5)", "jit_f(5)"]
    assert (core.runs.start_ps.tolist(), core.runs.end_ps.tolist()) == ([20, 90], [80, 120])
    assert core.ops.end_ps.tolist() == [29, 80, 104]


def helper(at: int, run_id: int, replica: int = 0, partition: int = 0) -> Event:
    return HELPER, at, 2, {"run_id": run_id, "replica": replica, "partition": partition}


@pytest.mark.parametrize("by", ["replica", "partition"])
def test_run_id_joins_a_run_with_its_call_if_another_event_released_it(by: str) -> None:
    """A run of the first launch releases one of the second launch, as if an argument arrived. What released the other
    runs is not recorded."""
    main = (
        ("PjRtCpuExecutable::Execute", 10, 10), record(11, 1), record(12, 2),
        ("PjRtCpuExecutable::Execute", 30, 10), record(31, 3), record(32, 4),
    )  # fmt: skip
    trace = trace_of_threads(
        client(2, region(14, 16, 1, helper(15, 7, **{by: 0})), region(34, 36, 3, helper(35, 8, **{by: 0}))),
        client(3, region(17, 19, 2, helper(18, 7, **{by: 1})), region(37, 39, 4, helper(38, 8, **{by: 1}))),
        client(4, region(50, 80, 99, op("a", 55, 9, 7, 0), record(70, 12), completion(80, 7, 0)),
               region(90, 99, 98, op("a", 91, 2, 8, 1), completion(99, 8, 1))),
        client(5, region(51, 85, 97, op("a", 56, 9, 7, 1), completion(85, 7, 1)),
               region(100, 120, 12, op("a", 101, 9, 8, 0), completion(120, 8, 0))),
        main=main,
    )  # fmt: skip
    runs = find_launches(trace).runs
    assert runs.device.tolist() == [0, 0, 1, 1]
    assert runs.launch.tolist() == [0, 1, 0, 1]
    assert runs.enqueue_ps.tolist() == [15, 35, 18, 38]
    assert set(runs.join.tolist()) == {EXACT}


def test_parts_of_a_call_for_several_cores_record_their_core() -> None:
    def part(at: int, core: int) -> Event:
        stats = {"_ct": 5, "_c": 77, "replica": 0, "partition": core, "global_device_id": core}
        return f"[{core}] {CALL}", at, 4, stats

    call: Event = (CALL, 10, 90, {"run_id": 7, "_pt": 5, "_p": 77})
    trace = trace_of_threads(
        client(
            2, region(20, 26, 1, part(21, 1)), region(30, 60, 98, op("a", 31, 9, 7, 1), completion(60, 7, 1))
        ),
        client(
            3, region(22, 28, 2, part(23, 0)), region(33, 64, 99, op("a", 34, 9, 7, 0), completion(64, 7, 0))
        ),
        main=(call, record(11, 1), record(12, 2)),
    )
    launches = find_launches(trace)
    assert [trace.name(row) for row in launches.row] == [CALL]
    assert launches.runs.launch.tolist() == [0, 0]
    assert launches.runs.enqueue_ps.tolist() == [23, 21]
    assert launches.step.tolist() == [0]


def test_a_run_is_enqueued_by_the_last_event_with_its_run_id_before_it() -> None:
    trace = trace_of_threads(
        client(2, region(34, 38, 1, helper(35, 7)), region(94, 98, 2, helper(95, 7))),
        client(3, region(14, 18, 3, helper(15, 7)),
               region(50, 80, 4, op("a", 55, 9, 7, 0), completion(80, 7, 0))),
        main=(("PjRtCpuExecutable::Execute", 10, 90), record(11, 1), record(12, 2), record(13, 3)),
    )  # fmt: skip
    assert find_launches(trace).runs.enqueue_ps.tolist() == [35]


def test_run_whose_run_id_no_launch_has_is_joined_by_order() -> None:
    trace = trace_of_threads(
        client(2, region(14, 16, 1, (HELPER, 15, 1)),
               region(50, 80, 99, op("a", 55, 9, 7, 0), completion(80, 7, 0))),
        main=(("PjRtCpuExecutable::Execute", 10, 10), record(11, 1)),
    )  # fmt: skip
    assert find_launches(trace).runs.join.tolist() == [ORDERED]


@pytest.mark.parametrize(
    ("capture_name", "shares", "launches", "unjoined"),
    [
        ("jax0.10.2_shardmap", [0.755, 0.777, 0.721, 0.664], 20, 0),
        ("jax0.7.2_pmap", [0.674, 0.520, 0.514, 0.532], 40, 0),
        ("jax0.9.2_block", [0.965], 20, 1),  # one run was launched before the capture
    ],
)
def test_real_captures(
    shared_traces: Path, capture_name: str, shares: list[float], launches: int, unjoined: int
) -> None:
    trace = real_trace(shared_traces / "other" / capture_name)
    assert [round(row["duty_cycle"], 3) for row in device_summaries(trace)] == shares
    found_launches = find_launches(trace)
    assert len(found_launches) == launches
    assert int((found_launches.runs.join == NONE).sum()) == unjoined
    ids = trace.stats["run_id"]
    for device in trace.devices:
        assert (trace.stats["device_ordinal"].at(device.ops.row, -1) == int(device.name.split(":")[1])).all()
        assert device.run_ids is not None
        inside = {
            (int(run_id), int(op_id))
            for start, end, run_id in zip(
                device.runs.start_ps, device.runs.end_ps, device.run_ids, strict=True
            )
            for op_id in ids.at(
                device.ops.row[(device.ops.start_ps >= start) & (device.ops.end_ps <= end)], 0
            )
        }
        assert inside == {(id_, id_) for id_ in device.run_ids.tolist()}
