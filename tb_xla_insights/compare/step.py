"""The usual step of a session on one axis: phases, what the host did, and the first device's runs and gaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.idle.idle_time import find_gaps
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.steps.step_times import steps_of, with_offsets
from tb_xla_insights.analysis.time.class_times import class_times
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.report.execution_views import usual_step as index_of_usual_step
from tb_xla_insights.report.views import whole_report
from tb_xla_insights.trace.model import SessionTrace, Trace

_PIECES = 480
"""Into how many equal pieces a step is cut to tell what the host did most in each: two pixels of a screen."""

_MOST = 200


def usual_step(session: SessionTrace) -> dict[str, Any] | None:
    """The usual step, which other views show first as well; None without steps. Times count from the session's start;
    `phases`, `host` and `gaps` lie within the step, `runs` touch it. Neighbouring pieces of one class are one."""
    usual = index_of_usual_step(whole_report(session))
    if usual is None:
        return None
    trace, before = next(it for it in with_offsets(session) if 0 <= usual - it[1] < len(steps_of(it[0])))
    index = usual - before
    step = steps_of(trace)[index]
    return {
        "number": step.number,
        "name": step.name,
        "start_ps": step.start_ps,
        "duration_ps": step.duration_ps,
        "phases": _phases(trace, index),
        "host": _host(trace, step.start_ps, step.end_ps),
        "device": trace.devices[0].id if trace.devices else None,
        "runs": _runs(trace, step.start_ps, step.end_ps),
        "gaps": _gaps(trace, step.start_ps, step.end_ps),
    }


def _phases(trace: Trace, step: int) -> list[dict[str, Any]]:
    """Annotations right below the step's own (the outermost ones where steps have none)."""
    host = host_annotations(trace)
    depth = np.array([name.count("/") for name in host.names], np.int32)[host.path]
    level = int(steps_of(trace)[step].source == "annotation")
    mine = np.flatnonzero((host.step == step) & (depth == level))[:_MOST]
    return [
        {
            "name": host.names[host.path[it]].rpartition("/")[2],
            "start_ps": int(trace.start_ps[host.row[it]]),
            "duration_ps": int(trace.duration_ps[host.row[it]]),
        }
        for it in mine.tolist()
    ]


def _host(trace: Trace, start: int, end: int) -> list[dict[str, Any]]:
    edges = np.linspace(start, end, _PIECES + 1).astype(np.int64)
    most = class_times(host_class_segments(trace), edges[:-1].copy(), edges[1:].copy()).argmax(axis=1)
    cuts = np.append(np.flatnonzero(np.diff(most, prepend=-1)), _PIECES)
    return [
        {"class": CLASSES[most[at]], "start_ps": int(edges[at]), "duration_ps": int(edges[to] - edges[at])}
        for at, to in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
    ]


def _runs(trace: Trace, start: int, end: int) -> list[dict[str, Any]]:
    launches = find_launches(trace)
    runs = launches.runs
    mine = np.arange(len(runs))[runs.of_device(0)]
    mine = mine[(runs.start_ps[mine] < end) & (runs.end_ps[mine] > start)][:_MOST]
    return [
        {
            "program": launches.programs[runs.program[it]][0],
            "start_ps": int(runs.start_ps[it]),
            "duration_ps": int(runs.end_ps[it] - runs.start_ps[it]),
        }
        for it in mine.tolist()
    ]


def _gaps(trace: Trace, start: int, end: int) -> list[dict[str, Any]]:
    """Gaps of the first device, cut at the step's edges; the longest ones where there are many."""
    if not trace.devices:
        return []
    gaps = find_gaps(trace)
    low, high = max(start, trace.devices[0].span_ps[0]), end
    begin, until = np.maximum(gaps.start_ps, low), np.minimum(gaps.end_ps, high)
    mine = np.flatnonzero((gaps.device == 0) & (until > begin))
    mine = np.sort(mine[np.argsort(begin[mine] - until[mine], kind="stable")[:_MOST]])
    return [
        {
            "start_ps": int(begin[it]),
            "duration_ps": int(until[it] - begin[it]),
            "cause": CLASSES[gaps.cause[it]],
        }
        for it in mine.tolist()
    ]
