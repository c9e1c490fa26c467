"""The host's class in annotations and Python frames in which nothing else is recorded.

(docs/definitions.md, "Class at an instant")
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.environment import is_torch_xla
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag, is_loading_annotation
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.arrays import Int8, Int32
from tb_xla_insights.catalog.classes import INPUT, PYTHON, TRACING
from tb_xla_insights.trace.annotations import step_annotation_rows
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_enclosing, outermost_rows


@memoised
def annotation_classes(trace: Trace) -> Int8:
    """Returns the class of each of the trace's annotations.

    `input` if its name, or that of an annotation around it, says that it loads data. Otherwise `tracing` in
    PyTorch/XLA, which builds graphs lazily, except for annotations inside which torch.compile launches, and where the
    script builds in the phases of steps alone (`_is_outside_phases`). These, and all annotations of other frameworks,
    are `python`.
    """
    rows = trace.annotations
    is_tracing = (
        is_torch_xla(trace) & ~_contains_dynamo_launches(trace, rows) & ~_is_outside_phases(trace, rows)
    )
    classes = np.where(is_tracing, np.int8(TRACING), np.int8(PYTHON))
    classes[_is_loading(trace, rows)] = INPUT
    return classes


def loading_frames(trace: Trace) -> Int32:
    """Returns the Python tracer's frames inside annotations or other frames that load data, without frames that wait
    for the device."""
    if not (is_loading_annotation(trace).any() or _is_loading_frame(trace).any()):
        return np.zeros(0, np.int32)
    frames = _frames(trace)
    return frames[_is_loading(trace, frames)]


def _is_loading_frame(trace: Trace) -> NDArray[np.bool_]:
    """Per event metadata, whether it is a Python frame that loads data or waits for it. A queue holds batches if a
    thread of the capture loads."""
    is_loading: NDArray[np.bool_] = has_tag(trace, "python_tracer") & (trace.metadata.class_index == INPUT)
    return is_loading | has_tag(trace, "queue") if trace.lines_with("loader") else is_loading


def _frames(trace: Trace) -> Int32:
    """Returns the Python tracer's frames whose class depends on what is around them: not those that load data, compile
    or wait for the device."""
    is_python = has_tag(trace, "python_tracer") & (trace.metadata.class_index == PYTHON)
    return trace.rows_with_metadata(is_python | has_tag(trace, "blocking_call"))


def frames_inside(trace: Trace, tag: str) -> Int32:
    """Returns the Python tracer's frames inside events with a tag, without frames that wait for the device. In these
    frames, the caller of a compilation (`compile_call`) waits for the compiler's threads, the caller of a `read` for
    the value."""
    if not has_tag(trace, tag).any():
        return np.zeros(0, np.int32)
    tagged = trace.rows_with_metadata(has_tag(trace, tag))
    frames = _frames(trace)
    return frames[_is_inside(trace, frames, tagged)]


def launching_frames(trace: Trace) -> Int32:
    """Returns the libraries' frames inside jitted calls that compile nothing: there the framework launches in Python,
    as JAX does for programs with callbacks."""
    calls = trace.rows_with_metadata(has_tag(trace, "jitted_call"))
    frames = _frames(trace)
    frames = frames[has_tag(trace, "library")[trace.metadata_index[frames]]]
    if not calls.size or not frames.size:
        return np.zeros(0, np.int32)
    calls = outermost_rows(trace.parent, calls)
    compilations = trace.rows_with_metadata(has_tag(trace, "compile_call"))
    compiling = nearest_enclosing(trace.parent, compilations, calls)
    return frames[_is_inside(trace, frames, np.setdiff1d(calls, compiling))]


def _is_loading(trace: Trace, rows: Int32) -> NDArray[np.bool_]:
    """Per event in `rows` (in row order), whether it is an annotation or Python frame that loads data, or is inside
    one."""
    annotations = trace.annotations[is_loading_annotation(trace)[trace.metadata_index[trace.annotations]]]
    frames = trace.rows_with_metadata(_is_loading_frame(trace))
    return _is_inside(trace, rows, np.union1d(annotations, frames))


def _is_inside(trace: Trace, rows: Int32, outer: Int32) -> NDArray[np.bool_]:
    """Per event in `rows` (in row order), whether it is one of the `outer` events or is inside one on its thread."""
    inside = np.isin(rows, outer)
    lines = trace.lines_of(outer)
    for line in np.unique(lines).tolist():
        outer_on_line = outer[lines == line]
        covered = union(trace.start_ps[outer_on_line], trace.end_ps[outer_on_line])
        first, last = np.searchsorted(rows, (trace.lines[line].first, trace.lines[line].rows.stop))
        start, end = trace.start_ps[rows[first:last]], trace.end_ps[rows[first:last]]
        index = np.searchsorted(covered.start_ps, start, "right") - 1
        inside[first:last] |= (index >= 0) & (end <= np.append(covered.end_ps, 0)[index])
    return inside


def _is_outside_phases(trace: Trace, rows: Int32) -> NDArray[np.bool_]:
    """Per annotation in `rows`, whether it is on the driving thread and in no phase of a step: beside steps or around
    them; or a step that has phases, annotations below it that do more than load."""
    steps = step_annotation_rows(trace)
    if not steps.size:
        return np.zeros(len(rows), np.bool_)
    is_loading = is_loading_annotation(trace)[trace.metadata_index[trace.annotations]]
    parents = trace.parent[trace.annotations[~is_loading]]
    is_step, has_phases = np.isin(rows, steps), np.isin(rows, parents)
    is_below_step = nearest_enclosing(trace.parent, trace.parent[rows], steps) >= 0
    is_on_driving_thread = trace.is_on_lines(rows, trace.lines_with("driving"))
    return is_on_driving_thread & np.where(is_step, has_phases, ~is_below_step)


def _contains_dynamo_launches(trace: Trace, rows: Int32) -> NDArray[np.bool_]:
    """Per annotation in `rows`, whether torch.compile launches inside it, on the driving thread or in its backward
    passes."""
    launches = trace.rows_with_metadata(has_tag(trace, "dynamo"))
    launches = launches[trace.is_on_lines(launches, trace.driving_lines)]
    launch_ps = np.sort(trace.start_ps[launches])
    contains_launch = np.searchsorted(launch_ps, trace.end_ps[rows]) > np.searchsorted(
        launch_ps, trace.start_ps[rows]
    )
    return contains_launch & trace.is_on_lines(rows, trace.driving_lines)
