"""The launches of a capture: what requested them, the programs that they run, and their steps.

(docs/definitions.md, "Execution", "Step")
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from tb_xla_insights.analysis.launches.causality import CausalPaths
from tb_xla_insights.analysis.launches.enqueues import Runs, list_programs
from tb_xla_insights.analysis.launches.handed_over_steps import handed_over_times
from tb_xla_insights.analysis.launches.joined import find_joined_launches
from tb_xla_insights.analysis.launches.step_sources import recorded_steps, recorded_steps_at, recorded_times
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import ProgramName
from tb_xla_insights.arrays import Int8, Int32, Int64
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.threads import OPERATOR_ID

LaunchKind = Literal["lazy", "dynamo", "other"]
KINDS: tuple[LaunchKind, ...] = get_args(LaunchKind)
LAZY, DYNAMO_KIND, OTHER = range(3)


@dataclass(frozen=True)
class Launches:
    """Execute calls in order of time. Rows are rows of the trace; -1: none.

    `row`: the outermost call. `line`: its thread. `sync`: the synchronisation (or dynamo call, or step marker) on the
    driving or an autograd thread that requested it. `marker`: the step marker around `sync`. `origin`: the event on
    that thread that handed the work over. `step`: index into the trace's steps, -1 outside of them. `kind`: index into
    KINDS. `program`: index into `programs` of the program that its runs run, -1: unknown. `programs`: the programs that
    the devices ran. `runs`: all runs of the devices. `handed_over_times`: start and end of the whole steps if the host
    only hands their work over, else None.
    """

    row: Int32
    line: Int32
    sync: Int32
    marker: Int32
    origin: Int32
    step: Int32
    kind: Int8
    program: Int32
    programs: list[ProgramName]
    runs: Runs
    handed_over_times: tuple[Int64, Int64] | None

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def step_of_run(self) -> Int32:
        """Per device run the step that launched it (index into the trace's steps), -1: none."""
        return np.append(self.step, np.int32(-1))[self.runs.launch]

    def sums(self, run_values: Int64) -> Int64:
        """Returns, per launch, the sum of a value over its runs."""
        sums = np.zeros(len(self) + 1, np.int64)  # the last sum: runs without a launch
        np.add.at(sums, self.runs.launch, run_values)
        return sums[:-1]


@memoised
def find_launches(trace: Trace) -> Launches:
    """Finds the launches of one host and their device runs. A call without a run in the capture is a launch too."""
    joined = find_joined_launches(trace)
    row, paths, runs = joined.row, joined.paths, joined.runs
    sync = np.where(paths.sync >= 0, paths.sync, paths.marker)
    kind = np.where(paths.has_dynamo, DYNAMO_KIND, np.where(sync >= 0, LAZY, OTHER)).astype(np.int8)
    program = np.full(len(row), -1, np.int32)
    # The first run of a launch is written last, and remains.
    joined_last_first = np.flatnonzero(runs.launch >= 0)[::-1]
    program[runs.launch[joined_last_first]] = runs.program[joined_last_first]
    step = _steps(trace, row, paths, runs)
    times = _handed_over_times(trace, step, runs)
    if times is not None:
        step[step >= len(times[0])] = -1
    return Launches(
        row,
        trace.lines_of(row),
        sync,
        paths.marker,
        paths.origin,
        step,
        kind,
        program,
        list_programs(trace),
        runs,
        times,
    )


def launches_single_operations(trace: Trace) -> bool:
    """Whether the host launches kernels of no program, as TensorFlow does without XLA: operations one by one."""
    kernels = [device.ops.row for device in trace.devices if device.run_of_op is not None]
    if not kernels or any(len(device.runs) for device in trace.devices):
        return False
    return bool((trace.flows.producers(np.concatenate(kernels)) >= 0).any())


def _steps(trace: Trace, row: Int32, paths: CausalPaths, runs: Runs) -> Int32:
    """Returns the step of each launch (`row`: its event): the step in which the driving thread requested it, or, in
    TorchTPU, whose threads hand work over without a flow, in which it began; if the steps come from a device, the step
    in which the launch's run on that device begins."""
    steps = recorded_steps(trace)
    instants = np.full(len(row), -1, np.int64)
    if not steps or steps[0].source in ("annotation", "step_marker"):
        request = (
            np.where(paths.origin < 0, row, paths.origin) if OPERATOR_ID in trace.stats else paths.origin
        )
        requested = request >= 0
        instants[requested] = trace.start_ps[request[requested]]
        return recorded_steps_at(trace, instants)
    step_row, plane = steps[0].row, trace.line_of(steps[0].row).plane
    # Steps may be on a plane that is no device's: then they count as the first device's.
    steps_device = next(
        (
            index
            for index, device in enumerate(trace.devices)
            if (step_row in device.runs.row if device.from_host_events else device.plane == plane)
        ),
        0,
    )
    # In reverse: the first run of a launch is written last, and so remains.
    on_device = np.flatnonzero((runs.launch >= 0) & (runs.device == steps_device))[::-1]
    instants[runs.launch[on_device]] = runs.start_ps[on_device]
    return recorded_steps_at(trace, instants)


def _handed_over_times(trace: Trace, step: Int32, runs: Runs) -> tuple[Int64, Int64] | None:
    """Returns `handed_over_times` for steps from annotations; all other steps last until the next one begins."""
    if not any(recorded.source == "annotation" for recorded in recorded_steps(trace)):
        return None
    step_of_run = np.append(step, np.int32(-1))[runs.launch]
    return handed_over_times(*recorded_times(trace), step_of_run, runs.own_start_ps, runs.end_ps)
