"""The compilations of a capture: one for each call that asked for one, and one for what is left of a call that the
capture's edge cut. (docs/definitions.md, "Recompilation")"""

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
from tb_xla_insights.catalog.classes import CLASS_INDEX
from tb_xla_insights.trace.model import Int8, Int32, Int64, Trace

Cut = Literal["start", "end", "both"]
CUTS: tuple[Cut | None, ...] = (None, *get_args(Cut))
"""The edges of the capture that cut a compilation: `start` where it had begun before, `end` where it did not finish."""

BEGUN_BEFORE, UNFINISHED = 1, 2
"""The bits of an index into CUTS."""

_APART = [
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
"""What the driving thread does before and after a compilation, and never inside one."""


@dataclass(frozen=True)
class CompileCalls:
    """Compilations of one host in order of time.

    `row`: the outermost event, of a cut one the first that is left of it. `start_ps`, `end_ps`: that event's times; a
    cut compilation lasts from the capture's start to its last recorded part, or from its first one to the capture's
    end; where the Python tracer has the call itself, to or from its frame's own. `cut`: index into CUTS.
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
    """The compilations of one host. Calls inside of others, on the same thread or within the time of one on another,
    and parts that begin within the time of a call count as that one. Parts of no call are one compilation unless the
    driving thread does something else, or a call lies, between them."""
    calls = _outermost(trace, rows_flagged(trace, COMPILE))
    starts, ends, cut_calls = _times(trace, calls)
    parts = _without_call(trace, starts, ends)
    if not len(parts):
        return CompileCalls(calls, starts, ends, cut_calls)
    begin, end = trace.start_ps[parts], trace.end_ps[parts]
    borders = np.sort(np.concatenate((_borders(trace), starts, ends)))
    between = np.searchsorted(borders, begin, "right")
    first = np.flatnonzero(np.diff(between, prepend=-1))
    last_end = np.maximum.reduceat(end, first)
    place = between[first]
    cut = BEGUN_BEFORE * (place == 0) + UNFINISHED * (place == len(borders))
    rows = np.concatenate((calls, parts[first]))
    starts = np.concatenate((starts, np.where(cut & BEGUN_BEFORE, 0, begin[first])))
    ends = np.concatenate((ends, np.where(cut & UNFINISHED, trace.span_ps[1], last_end)))
    cuts = np.concatenate((cut_calls, cut))
    order = np.argsort(starts, kind="stable")
    return CompileCalls(rows[order], starts[order], ends[order], cuts[order].astype(np.int8))


def _times(trace: Trace, calls: Int32) -> tuple[Int64, Int64, Int8]:
    """Start and end of each call, and which edge of the capture cuts it: the Python tracer opens the frames that it
    finds open when it starts, all at once, and closes those that it leaves open."""
    starts, ends, cut = trace.start_ps[calls], trace.end_ps[calls], np.zeros(len(calls), np.int8)
    frames = has_tag(trace, "python_tracer")
    for number in np.flatnonzero(frames[trace.meta[calls]]).tolist():
        line = trace.line_of(int(calls[number])).rows
        rows = np.arange(line.start, line.stop)
        of_line = rows[frames[trace.meta[rows]]]
        if starts[number] == trace.start_ps[of_line].min():
            starts[number], cut[number] = 0, cut[number] | BEGUN_BEFORE
        if ends[number] == trace.end_ps[of_line].max():
            ends[number], cut[number] = trace.span_ps[1], cut[number] | UNFINISHED
    return starts, ends, cut


def _outermost(trace: Trace, rows: Int32) -> Int32:
    """Events by start, without those within the time of another one."""
    rows = rows[np.lexsort((-trace.duration_ps[rows], trace.start_ps[rows]))]
    reached = np.maximum.accumulate(np.append(np.int64(-1), trace.end_ps[rows]))[:-1]
    return rows[trace.end_ps[rows] > reached]


def _without_call(trace: Trace, starts: Int64, ends: Int64) -> Int32:
    """Parts by start, without those that begin within the time of a call; calls come by start."""
    parts = rows_flagged(trace, COMPILE_PART)
    parts = parts[np.argsort(trace.start_ps[parts], kind="stable")]
    reached = np.maximum.accumulate(np.append(np.int64(-1), ends))
    inside: NDArray[np.bool_] = (
        reached[np.searchsorted(starts, trace.start_ps[parts], "right")] > trace.start_ps[parts]
    )
    return parts[~inside]


def _borders(trace: Trace) -> Int64:
    """Instants at which the driving thread begins or ends something that is no part of a compilation. Frames of the
    Python tracer are none: it closes those that the capture's end finds open."""
    kinds, _ = event_classes(trace)
    frames = has_tag(trace, "python_tracer")
    found = [np.zeros(0, np.int64)]
    for line in trace.driving_lines:
        rows = trace.lines[line].rows
        apart = np.isin(kinds[rows], _APART) & ~frames[trace.meta[rows]]
        found += [trace.start_ps[rows][apart], trace.end_ps[rows][apart]]
    return np.concatenate(found)
