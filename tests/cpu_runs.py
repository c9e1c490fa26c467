"""Builds the events by which a CPU's runtime records runs (regions of pool threads, ops, calls), and reads devices.

Times are picoseconds.
"""

from __future__ import annotations

from typing import Any

from captures import Event, HostThread, capture, thread

from tb_xla_insights.trace.device import Device, NestedIntervals
from tb_xla_insights.trace.model import Trace

RECORD = "ThreadpoolListener::Record"
START, STOP = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"
EXECUTE, COMPLETION = "ThunkExecutor::Execute", "ThunkExecutor::Execute (wait for completion)"
CALL = "PjRtComputationClient::ExecuteComputation"
HELPER = "TfrtCpuExecutable::ExecuteHelper"


def record(at: int, flow: int) -> Event:
    return (RECORD, at, 0, {"_pt": 15, "_p": flow})


def region(start: int, end: int, flow: int, *events: Event) -> list[Event]:
    return [(START, start, 0, {"_ct": 15, "_c": flow}), *events, (STOP, end, 0)]


def op(name: str, at: int, duration: int = 2, flow: int | None = None, program: int = 5) -> Event:
    stats: dict[str, Any] = {"hlo_op": name, "hlo_module": "graph", "program_id": program}
    return (name, at, duration, stats if flow is None else {**stats, "_pt": 1, "_p": flow})


def op_end(name: str, at: int, flow: int) -> Event:
    return (f"end: {name}", at, 0, {"_ct": 1, "_c": flow})


def run(start: int, end: int, flow: int, *events: Event) -> list[Event]:
    """A region in which a program runs: its events, then the wait for its completion."""
    return region(start, end, flow, (EXECUTE, start + 1, 1), *events, (COMPLETION, end - 2, 2))


def call(start: int, end: int, *flows: int) -> list[Event]:
    return [(CALL, start, end - start), *(record(start + 1, flow) for flow in flows)]


def executor(*calls: list[Event]) -> HostThread:
    return thread("tf_pytorchxla/1", *(event for events in calls for event in events))


def client(number: int, *runs: list[Event]) -> HostThread:
    return thread(f"tf_XLAPjRtCpuClient/{number}", *(event for events in runs for event in events))


def pool(number: int, *regions: list[Event]) -> HostThread:
    return thread(f"tf_XLAEigen/{number}", *(event for events in regions for event in events))


def traced(*rows: HostThread) -> Trace:
    """The trace of these threads and of a Python thread from 0 on, so that the given times are those of the trace."""
    return capture(thread("python", ("main", 0, 1000)), *rows)


def runs_of(trace: Trace, device: Device) -> list[tuple[str, int, int]]:
    """Name, start and end of each run."""
    return _rows(trace, device.runs)


def ops_of(trace: Trace, device: Device) -> list[tuple[str, int, int]]:
    """Name, start and end of each op."""
    return _rows(trace, device.ops)


def _rows(trace: Trace, intervals: NestedIntervals) -> list[tuple[str, int, int]]:
    return [
        (trace.strings[name], start, end)
        for name, start, end in zip(
            intervals.name.tolist(), intervals.start_ps.tolist(), intervals.end_ps.tolist(), strict=True
        )
    ]


def only_device(trace: Trace) -> Device:
    (device,) = trace.devices
    assert (device.id, device.kind, device.from_host_events, device.plane) == ("vm/CPU:0", "cpu", True, None)
    return device
