"""A small capture of PyTorch/XLA on a CPU for tests of the timeline, and readers of a view's answer."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

from helpers import MS
from synthetic.writer import Line, Space

from tb_xla_insights.schema.timeline_route import EventSummary, TimelineSlices
from tb_xla_insights.session import load
from tb_xla_insights.timeline import Timeline

STEP = 20 * MS
STEPS = 3


def hand_over(source: Line, at: int, target: Line, taken_up: int, number: int) -> None:
    """Adds a task that one thread hands to another, as the thread pool records it."""
    source.event("ThreadpoolListener::Record", at, 0, _pt=15, _p=number)
    target.event("ThreadpoolListener::StartRegion", taken_up, 0, _ct=15, _c=number)


def op(line: Line, name: str, start: int, duration: int, number: int) -> None:
    """Adds a device op on a host thread, and the event of a few nanoseconds that marks its end."""
    stats: dict[str, Any] = {"hlo_op": name, "hlo_module": "SyncTensorsGraph.7", "program_id": 7}
    line.event(name, start, duration, stats, _pt=0, _p=number)
    line.event(f"end: {name}", start + duration, 5_000, _ct=0, _c=number)


def training_space(steps: int = STEPS) -> Space:
    """Steps of 20 ms: forward (8 ms) with attention in it, loss, then a StepMarker that launches a program of two
    ops."""
    space = Space(hostnames=["vm"])
    host = space.plane("/host:CPU")
    python, executor = host.line("python", id=1), host.line("tf_pytorchxla/77", id=2)
    client, pool = host.line("tf_XLAPjRtCpuClient/88", id=3), host.line("tf_XLAEigen/99", id=4)
    for step in range(steps):
        at, flow = step * STEP, 100 * step
        python.event("Training_Step", at, 19 * MS, _r=1, step_num=step + 5)
        python.event("forward", at + 1 * MS, 8 * MS)
        python.event("attention", at + 2 * MS, 3 * MS)
        python.event("loss", at + 9 * MS, 1 * MS)
        python.event("StepMarker", at + 10 * MS, 9 * MS)
        python.event("SyncTensorsGraphInternal", at + 11 * MS, 2 * MS)
        python.event("ScheduleSyncTensorsGraph", at + 12 * MS, MS // 2)
        hand_over(python, at + 12 * MS + 1000, executor, at + 13 * MS, flow + 1)
        executor.event("PjRtComputationClient::ExecuteComputation", at + 13 * MS + 1000, 2 * MS)
        hand_over(executor, at + 14 * MS, client, at + 15 * MS, flow + 2)
        executor.event("ThreadpoolListener::StopRegion", at + 16 * MS, 0)
        client.event("ThunkExecutor::Execute", at + 15 * MS + 1000, 3 * MS)
        op(client, "dot.1", at + 15 * MS + MS // 2, MS, flow + 3)
        op(pool, "dot.2", at + 16 * MS, 2 * MS, flow + 4)
        client.event("ThunkExecutor::Execute (wait for completion)", at + 18 * MS + 2000, MS // 2)
        client.event("ThreadpoolListener::StopRegion", at + 19 * MS, 0)
    return space


def timeline_of(space: Space, folder: Path) -> Timeline:
    return Timeline(load(str(space.write(folder / "vm.xplane.pb"))).trace)


Slice = tuple[int, int, str, int]


def slices(view: TimelineSlices, row: str) -> list[list[Slice]]:
    """Start, duration, name and number of events of every slice, lane by lane."""
    lanes = []
    for lane in view["rows"][row]:
        starts = accumulate(lane["s"], initial=view["start_ps"])
        next(starts)
        names = [view["names"][n] if n >= 0 else "" for n in lane["n"]]
        lanes.append(list(zip(starts, lane["d"], names, lane.get("k", [1] * len(names)), strict=True)))
    return lanes


def names_of(timeline: Timeline, row: str) -> list[set[str]]:
    view = timeline.view(0, STEPS * STEP, 20_000, [row])
    return [{name for _, _, name, _ in lane} for lane in slices(view, row)]


def brief(answer: EventSummary) -> tuple[str, str, int]:
    return answer["name"], answer["row"], answer["depth"]
