"""Builds the events that PyTorch/XLA and libtpu record of a launch, from a synchronisation to the run on the device."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from captures import Core, Event, HostThread, capture, real_trace, thread
from synthetic.__main__ import LOGDIR

from tb_xla_insights.trace.model import Trace

US = 1_000_000
TO_EXECUTOR, TO_DEVICE = 15, 12
"""Types of flows (`_pt`, `_ct`): from a thread to the pool's thread that takes up its task, and to a device's run."""


@dataclass
class Tpu:
    """A training loop on TPU cores. Times are microseconds; each launch has a run on each of its cores. `flows`:
    whether flows are recorded. `run_ids`: whether the ids and devices of runs are recorded."""

    main: list[Event] = field(default_factory=list)
    autograd: list[Event] = field(default_factory=list)
    executor: list[Event] = field(default_factory=list)
    runs: dict[int, list[Event]] = field(default_factory=dict)
    ops: dict[int, list[Event]] = field(default_factory=dict)
    barriers: dict[int, list[Event]] = field(default_factory=dict)
    flows: bool = True
    run_ids: bool = True
    launch_count: int = 0

    def step(self, start: float, duration: float, number: int) -> None:
        self.on_main("Training_Step", start, duration, _r=1, step_num=number)

    def on_main(self, name: str, start: float, duration: float, /, **stats: object) -> None:
        self.main.append(event(name, start, duration, **stats))

    def launch(
        self,
        sync_us: float,
        call: tuple[float, float],
        run: tuple[float, float],
        *,
        program: str = "train(7)",
        by: str = "sync",
        marker: float = 6,
        autograd: bool = False,
        cores: tuple[int, ...] = (0,),
        enqueue: float | None = None,
        op: str = "fusion.1",
    ) -> None:
        """Adds a launch that `by` requests at `sync_us`: `sync` (for 4 us), `marker` (the same inside a step marker,
        which lasts `marker`) or `dynamo`. The request is on the main thread, or on the backward thread (`autograd`);
        the execute call is on the executor's. `call` and `run` are start and duration of the execute call and of the
        run, `enqueue` is the instant of enqueuing (by default the middle of the call), `op` is the run's only op."""
        self.launch_count += 1
        flow = {"_pt": TO_EXECUTOR, "_p": self.launch_count} if self.flows else {}
        line = self.autograd if autograd else self.main
        if by == "dynamo":
            line.append(event("ExecuteComputationWithBarrier", sync_us, 4))
        else:
            if by == "marker":
                line.append(event("StepMarker", sync_us, marker))
            line.append(event("SyncTensorsGraphInternal", sync_us, 4))
            line.append(event("ScheduleSyncTensorsGraph", sync_us + 1, 2))
        line.append(event("ThreadpoolListener::Record", sync_us + 2, 0, **flow))
        call_start = call[0]
        consumed = {"_ct": TO_EXECUTOR, "_c": self.launch_count} if self.flows else {}
        self.executor.append(event("ThreadpoolListener::StartRegion", call_start - 0.25, 0, **consumed))
        self.executor.append(event("PjRtComputationClient::ExecuteComputation", call_start, call[1]))
        enqueued = call_start + call[1] / 2 if enqueue is None else enqueue
        for core in cores:
            key = {"run_id": self.launch_count, "queue_id": 0, "core_type": 0} if self.run_ids else {}
            flow = {"_pt": TO_DEVICE, "_p": self.launch_count * 100 + core} if self.flows else {}
            ordinal = {"device_ordinal": core} if self.run_ids else {}
            self.executor.append(event("DoEnqueueProgram", enqueued - 1, 1, **key, **ordinal, **flow))
            consumed = {"_ct": TO_DEVICE, "_c": self.launch_count * 100 + core} if self.flows else {}
            if self.run_ids:  # the device records more bits of a run's id than the host
                key["run_id"] = self.launch_count | 5 << 27
            self.runs.setdefault(core, []).append(event(program, *run, **key, **consumed))
            self.ops.setdefault(core, []).append(event(op, *run))
        self.executor.append(event("ThreadpoolListener::StopRegion", call_start + call[1] + 0.25, 0))

    def trace(self) -> Trace:
        rows: list[HostThread | Core] = [thread("python", *_sorted(self.main), role="driving")]
        if self.autograd:
            rows.append(thread("pt_autograd_0", *_sorted(self.autograd), role="autograd"))
        rows.append(thread("tf_pytorchxla/7", *_sorted(self.executor), role="executor"))
        for core in sorted(self.runs):
            lines = {"XLA TraceMe": self.barriers[core]} if core in self.barriers else {}
            rows.append(Core(self.ops[core], self.runs[core], f"TPU:{core}", lines=lines))
        return capture(*rows)


def event(name: str, start: float, duration: float, /, **stats: object) -> Event:
    return name, round(start * US), round(duration * US), stats


def _sorted(events: list[Event]) -> list[Event]:
    return sorted(events, key=lambda item: (item[1], -item[2]))


def demo(name: str) -> Trace:
    """The trace of one of the demo sessions."""
    return real_trace(Path(LOGDIR) / name)
