"""What the host does in an annotation where nothing inside of it is recorded. (docs/definitions.md, "Class at an
instant")"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.environment import is_torch_xla
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag, is_loading_annotation
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.catalog.classes import INPUT, PYTHON, TRACING
from tb_xla_insights.trace.model import Int8, Int32, Trace


@memoised
def annotation_classes(trace: Trace) -> Int8:
    """The class of each of the trace's annotations.

    `input` where its name, or that of one around it, speaks of loading data. Else `tracing` in PyTorch/XLA, which
    builds graphs lazily, but for annotations inside which torch.compile launches: these, and all of other frameworks,
    are `python`.
    """
    rows = trace.annotations
    lazy = is_torch_xla(trace) & ~_with_launches_of_dynamo(trace, rows)
    kinds = np.where(lazy, np.int8(TRACING), np.int8(PYTHON))
    kinds[_that_load(trace, rows)] = INPUT
    return kinds


def frames_that_load(trace: Trace) -> Int32:
    """The Python tracer's frames inside of annotations or other frames that load data, without those that wait for the
    device."""
    if not (is_loading_annotation(trace) | _loads_by_name(trace)).any():
        return np.zeros(0, np.int32)
    frames = _frames(trace)
    return frames[_that_load(trace, frames)]


def _loads_by_name(trace: Trace) -> NDArray[np.bool_]:
    """Per metadata entry, whether it is a Python frame that loads data or waits for it."""
    found: NDArray[np.bool_] = has_tag(trace, "python_tracer") & (trace.metadata.class_index == INPUT)
    return found


def _frames(trace: Trace) -> Int32:
    """The Python tracer's frames, without those that wait for the device."""
    return trace.rows_with_metadata(has_tag(trace, "python_tracer") & (trace.metadata.class_index == PYTHON))


def frames_inside(trace: Trace, tag: str) -> Int32:
    """The Python tracer's frames inside of events with a tag, without those that wait for the device: the caller of
    what compiles (`compile_call`) waits in them for the compiler's threads, that of a `read` for the value."""
    if not has_tag(trace, tag).any():
        return np.zeros(0, np.int32)
    calls = trace.rows_with_metadata(has_tag(trace, tag))
    frames = _frames(trace)
    return frames[_inside(trace, frames, calls)]


def _that_load(trace: Trace, rows: Int32) -> NDArray[np.bool_]:
    """Which of some events, in row order, are annotations or Python frames that load data, or lie inside of one."""
    annotations = trace.annotations[is_loading_annotation(trace)[trace.meta[trace.annotations]]]
    frames = trace.rows_with_metadata(_loads_by_name(trace))
    return _inside(trace, rows, np.union1d(annotations, frames))


def _inside(trace: Trace, rows: Int32, around: Int32) -> NDArray[np.bool_]:
    """Which of some events, in row order, are one of others or lie inside of one, on its thread."""
    found = np.isin(rows, around)
    lines = trace.lines_of(around)
    for line in np.unique(lines).tolist():
        outer = around[lines == line]
        when = union(trace.start_ps[outer], trace.end_ps[outer])
        first, last = np.searchsorted(rows, (trace.lines[line].first, trace.lines[line].rows.stop))
        start, end = trace.start_ps[rows[first:last]], trace.end_ps[rows[first:last]]
        at = np.searchsorted(when.start_ps, start, "right") - 1
        found[first:last] |= (at >= 0) & (end <= np.append(when.end_ps, 0)[at])
    return found


def _with_launches_of_dynamo(trace: Trace, rows: Int32) -> NDArray[np.bool_]:
    """Inside which of some annotations torch.compile launches, on the thread that drives or in its backward passes."""
    launches = trace.rows_with_metadata(has_tag(trace, "dynamo"))
    launches = launches[np.isin(trace.lines_of(launches), trace.driving_lines)]
    at = np.sort(trace.start_ps[launches])
    some = np.searchsorted(at, trace.end_ps[rows]) > np.searchsorted(at, trace.start_ps[rows])
    return some & np.isin(trace.lines_of(rows), trace.driving_lines)
