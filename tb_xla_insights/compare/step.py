"""The default step of a session on one axis: phases, host classes, and the first device's runs and gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.idle.idle_time import find_gaps
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps, traces_with_step_offsets
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.order import host_phases
from tb_xla_insights.analysis.time.class_times import class_times
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.report.default_step import default_step
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.compare_route import DefaultStep, StepClass, StepGap, StepPhase, StepRun

_PIECE_COUNT = 480
"""The number of equal pieces of a step, each drawn with the class that takes most of it; a piece is about two pixels
wide."""

_MAX_ROWS = 200
"""The most phases, runs and gaps each. Of more runs and phases, the first ones are shown; of more gaps, the longest."""


def default_step_view(session: SessionView) -> DefaultStep | None:
    """Returns the default step; None without steps. Times count from the session's start. `host` is within the step,
    `phases` overlap it. `runs` and `gaps` go on until the end of the last run that the step launched, which may be
    after the step's end. Adjacent pieces of one class are merged.
    """
    default = default_step(session.report)
    if default is None:
        return None
    trace, index = next(
        (trace, default - offset)
        for trace, offset in traces_with_step_offsets(session.hosts)
        if 0 <= default - offset < len(find_steps(trace))
    )
    step = find_steps(trace)[index]
    phases, phase_count = _phases(trace, index, step.start_ps, step.end_ps)
    device_end_ps = _device_end(trace, index, step.end_ps)
    runs, run_count = _runs(trace, index, step.start_ps, device_end_ps)
    gaps, gap_count = _gaps(trace, step.start_ps, device_end_ps)
    return {
        "number": step.number,
        "name": step.name,
        "start_ps": step.start_ps,
        "duration_ps": step.duration_ps,
        "phases": phases,
        "host": _host_classes(trace, step.start_ps, step.end_ps),
        "device": trace.devices[0].id if trace.devices else None,
        "runs": runs,
        "gaps": gaps,
        "is_cut": max(phase_count, run_count, gap_count) > _MAX_ROWS,
    }


def _phases(trace: Trace, step: int, start: int, end: int) -> tuple[list[StepPhase], int]:
    """Returns the children of the step's annotation that overlap the step, and their number; the outermost annotations
    if steps are not annotations. Where the host only hands steps over, the annotation may end before the step, which
    lasts as long as its work."""
    host, phases = host_annotations(trace), host_phases(trace)
    indices = phases.index[phases.step == step]
    rows = host.row[indices]
    indices = indices[(trace.start_ps[rows] < end) & (trace.end_ps[rows] > start)]
    listed: list[StepPhase] = [
        {
            "name": host.name_of(int(host.path[index])),
            "start_ps": int(trace.start_ps[host.row[index]]),
            "duration_ps": int(trace.duration_ps[host.row[index]]),
        }
        for index in indices[:_MAX_ROWS].tolist()
    ]
    return listed, len(indices)


def _host_classes(trace: Trace, start: int, end: int) -> list[StepClass]:
    edges = np.linspace(start, end, _PIECE_COUNT + 1).astype(np.int64)
    times = class_times(host_class_segments(trace), edges[:-1], edges[1:])
    main_class = times.argmax(axis=1)
    changes = np.append(np.flatnonzero(np.diff(main_class, prepend=-1)), _PIECE_COUNT)
    return [
        {
            "class": CLASSES[main_class[first]],
            "start_ps": int(edges[first]),
            "duration_ps": int(edges[last] - edges[first]),
        }
        for first, last in zip(changes[:-1].tolist(), changes[1:].tolist(), strict=True)
    ]


def _device_end(trace: Trace, step: int, step_end_ps: int) -> int:
    """Returns the end of the last run that the step launched on the first device, or of the step if that is later."""
    launches = find_launches(trace)
    runs = launches.runs.of_device(0)
    ends = launches.runs.end_ps[runs][launches.step_of_run[runs] == step]
    return max(step_end_ps, int(ends.max(initial=0)))


def _runs(trace: Trace, step: int, start: int, end: int) -> tuple[list[StepRun], int]:
    """Returns the runs of the first device, and their number."""
    launches = find_launches(trace)
    runs = launches.runs
    rows = np.arange(len(runs))[runs.of_device(0)]
    rows = rows[(runs.start_ps[rows] < end) & (runs.end_ps[rows] > start)]
    listed: list[StepRun] = [
        {
            "program": launches.programs[runs.program[row]].name,
            "start_ps": int(runs.start_ps[row]),
            "duration_ps": int(runs.end_ps[row] - runs.start_ps[row]),
            "is_own": bool(launches.step_of_run[row] == step),
        }
        for row in rows[:_MAX_ROWS].tolist()
    ]
    return listed, len(rows)


def _gaps(trace: Trace, start: int, end: int) -> tuple[list[StepGap], int]:
    """Returns the gaps of the first device between two instants, cut there, and their number; only the longest if there
    are many."""
    if not trace.devices:
        return [], 0
    gaps = find_gaps(trace)
    gap_start = np.maximum(gaps.start_ps, start)
    gap_end = np.minimum(gaps.end_ps, end)
    rows = np.flatnonzero((gaps.device == 0) & (gap_end > gap_start))
    longest = np.sort(rows[np.argsort(gap_start[rows] - gap_end[rows], kind="stable")[:_MAX_ROWS]])
    listed: list[StepGap] = [
        {
            "start_ps": int(gap_start[row]),
            "duration_ps": int(gap_end[row] - gap_start[row]),
            "cause": CLASSES[gaps.cause[row]],
        }
        for row in longest.tolist()
    ]
    return listed, len(rows)
