"""The compilations of a capture: one per call that compiles; of a call that the capture's edge cuts, its recorded part.
(docs/definitions.md, "Recompilation")"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.codes import COMPILE, COMPILE_PART
from tb_xla_insights.analysis.host.classes import event_classes
from tb_xla_insights.analysis.launches.causality import rows_flagged
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.arrays import Int8, Int32, Int64
from tb_xla_insights.catalog.classes import CLASS_INDEX
from tb_xla_insights.trace.model import Trace

Cut = Literal["start", "end", "both"]
CUTS: tuple[Cut | None, ...] = (None, *get_args(Cut))
"""The edges of the capture that cut a compilation: `start` if it began before the capture, `end` if it did not finish
in it."""

BEGUN_BEFORE, UNFINISHED = 1, 2
"""The bits of an index into CUTS."""

_OTHER_CLASSES = [
    CLASS_INDEX[name]
    for name in (
        "tracing",
        "sync_prepare",
        "dynamo",
        "to_device",
        "from_device",
        "dispatch",
        "input",
        "python",
    )
]
"""Classes of the driving thread before and after a compilation, never inside one."""


@dataclass(frozen=True)
class CompileCalls:
    """Compilations of one host in order of time.

    `row`: the outermost event of the call, or, if no call is recorded, the first part. `start_ps`, `end_ps`: the times
    of the call, or from the first part to the end of the last one. A cut compilation lasts from the capture's start to
    the end of its last part, or from its first part to the capture's end. If the Python tracer recorded the call as a
    frame, the frame's end replaces that of the last part, and its start that of the first. `cut`: index into CUTS.
    """

    row: Int32
    start_ps: Int64
    end_ps: Int64
    cut: Int8

    def __len__(self) -> int:
        return len(self.row)

    @property
    def duration_ps(self) -> Int64:
        return self.end_ps - self.start_ps


@memoised
def find_compile_calls(trace: Trace) -> CompileCalls:
    """Finds the compilations of one host.

    A call within the time of another one, on the same or on another thread, counts as part of that call, as do parts
    that begin during a call. Parts without a call are one compilation as long as the driving thread does nothing
    else, and no call occurs, between them.
    """
    calls = rows_flagged(trace, COMPILE)
    starts, ends, cut_calls = _times(trace, calls)
    outermost = _outermost(starts, ends)
    calls, starts, ends = calls[outermost], starts[outermost], ends[outermost]
    cut_calls = cut_calls[outermost]
    parts = _without_call(trace, starts, ends)
    if not len(parts):
        return CompileCalls(calls, starts, ends, cut_calls)
    part_start, part_end = trace.start_ps[parts], trace.end_ps[parts]
    borders = np.sort(np.concatenate((_borders(trace), starts, ends)))
    border_count = np.searchsorted(borders, part_start, "right")
    first = np.flatnonzero(np.diff(border_count, prepend=-1))
    last_end = np.maximum.reduceat(part_end, first)
    borders_before = border_count[first]
    cut = BEGUN_BEFORE * (borders_before == 0) + UNFINISHED * (borders_before == len(borders))
    rows = np.concatenate((calls, parts[first]))
    starts = np.concatenate((starts, np.where(cut & BEGUN_BEFORE, trace.span_ps[0], part_start[first])))
    ends = np.concatenate((ends, np.where(cut & UNFINISHED, trace.span_ps[1], last_end)))
    cuts = np.concatenate((cut_calls, cut))
    order = np.argsort(starts, kind="stable")
    return CompileCalls(rows[order], starts[order], ends[order], cuts[order].astype(np.int8))


def _times(trace: Trace, calls: Int32) -> tuple[Int64, Int64, Int8]:
    """Returns start and end of each call, and which edge of the capture cuts it. The Python tracer records frames that
    are open at its start as begun at that instant, and frames that are open at its end as ended then."""
    starts, ends, cut = trace.start_ps[calls], trace.end_ps[calls], np.zeros(len(calls), np.int8)
    is_frame = has_tag(trace, "python_tracer")
    is_frame_call, lines = is_frame[trace.metadata_index[calls]], trace.lines_of(calls)
    for line in np.unique(lines[is_frame_call]).tolist():
        rows, on_line = trace.lines[line].rows, is_frame_call & (lines == line)
        frames_on_line = np.flatnonzero(is_frame[trace.metadata_index[rows]]) + rows.start
        is_begun_before = on_line & (starts == trace.start_ps[frames_on_line].min())
        is_unfinished = on_line & (ends == trace.end_ps[frames_on_line].max())
        starts[is_begun_before], ends[is_unfinished] = trace.span_ps
        cut += (BEGUN_BEFORE * is_begun_before + UNFINISHED * is_unfinished).astype(np.int8)
    return starts, ends, cut


def _outermost(starts: Int64, ends: Int64) -> NDArray[np.intp]:
    """Returns the indices of intervals by start, without those inside another one."""
    order = np.lexsort((-ends, starts))
    latest_end = np.maximum.accumulate(np.append(np.int64(-1), ends[order]))[:-1]
    return order[ends[order] > latest_end]


def _without_call(trace: Trace, starts: Int64, ends: Int64) -> Int32:
    """Returns parts by start, without those that begin during a call; calls are sorted by start."""
    parts = rows_flagged(trace, COMPILE_PART)
    parts = parts[np.argsort(trace.start_ps[parts], kind="stable")]
    latest_end = np.maximum.accumulate(np.append(np.int64(-1), ends))
    is_inside: NDArray[np.bool_] = (
        latest_end[np.searchsorted(starts, trace.start_ps[parts], "right")] > trace.start_ps[parts]
    )
    return parts[~is_inside]


def _borders(trace: Trace) -> Int64:
    """Returns the instants at which the driving thread begins or ends something that is no part of a compilation.
    Frames of the Python tracer are no borders: it closes the frames that the capture's end finds open."""
    classes, _ = event_classes(trace)
    is_frame = has_tag(trace, "python_tracer")
    borders = [np.zeros(0, np.int64)]
    for line in trace.driving_lines:
        rows = trace.lines[line].rows
        is_other = np.isin(classes[rows], _OTHER_CLASSES) & ~is_frame[trace.metadata_index[rows]]
        borders += [trace.start_ps[rows][is_other], trace.end_ps[rows][is_other]]
    return np.concatenate(borders)
