"""The host's class in annotations in which nothing else is recorded. (docs/definitions.md, "Class at an instant")"""

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
    """Returns the class of each of the trace's annotations.

    `input` if its name, or that of an annotation around it, says that it loads data. Otherwise `tracing` in
    PyTorch/XLA, which builds graphs lazily, except for annotations inside which torch.compile launches. These, and all
    annotations of other frameworks, are `python`.
    """
    rows = trace.annotations
    is_tracing = is_torch_xla(trace) & ~_contains_dynamo_launches(trace, rows)
    classes = np.where(is_tracing, np.int8(TRACING), np.int8(PYTHON))
    classes[_is_loading(trace, rows)] = INPUT
    return classes


def loading_frames(trace: Trace) -> Int32:
    """Returns the Python tracer's frames inside annotations or other frames that load data, without frames that wait
    for the device."""
    if not (is_loading_annotation(trace) | _is_loading_frame(trace)).any():
        return np.zeros(0, np.int32)
    frames = _frames(trace)
    return frames[_is_loading(trace, frames)]


def _is_loading_frame(trace: Trace) -> NDArray[np.bool_]:
    """Per event metadata, whether it is a Python frame that loads data or waits for it."""
    is_loading: NDArray[np.bool_] = has_tag(trace, "python_tracer") & (trace.metadata.class_index == INPUT)
    return is_loading


def _frames(trace: Trace) -> Int32:
    """Returns the Python tracer's frames of class `python`: not those that load data, wait or compile."""
    return trace.rows_with_metadata(has_tag(trace, "python_tracer") & (trace.metadata.class_index == PYTHON))


def frames_inside(trace: Trace, tag: str) -> Int32:
    """Returns the Python tracer's frames inside events with a tag, without frames that wait for the device. In these
    frames, the caller of a compilation (`compile_call`) waits for the compiler's threads, the caller of a `read` for
    the value."""
    if not has_tag(trace, tag).any():
        return np.zeros(0, np.int32)
    tagged = trace.rows_with_metadata(has_tag(trace, tag))
    frames = _frames(trace)
    return frames[_is_inside(trace, frames, tagged)]


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
