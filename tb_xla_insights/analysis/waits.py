"""Calls in which a program itself waits: as a rule one event, in the CPU's client one at each end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.analysis.names import tagged
from tb_xla_insights.trace.annotations import annotated
from tb_xla_insights.trace.entries import rows_of_entries
from tb_xla_insights.trace.model import Int32, Int64, Trace
from tb_xla_insights.trace.nesting import outermost


@dataclass(frozen=True)
class Waits:
    """Waits in row order: the event that each begins with, the one that it ends with, the same for most, and when it
    starts and ends."""

    row: Int32
    last: Int32
    start_ps: Int64
    end_ps: Int64

    def __len__(self) -> int:
        return len(self.row)

    def where(self, keep: NDArray[np.bool_]) -> Waits:
        """The waits that a mask selects."""
        return Waits(self.row[keep], self.last[keep], self.start_ps[keep], self.end_ps[keep])


@kept
def find_waits(trace: Trace) -> Waits:
    """The calls in which a program waits, on all threads, the outermost events. Around them are annotations and Python
    alone: what the runtime waits for in its own calls, as in a launch or a read, the program did not ask for.

    The client of a CPU records an instant as a thread begins to wait for a buffer (`CommonPjRtBuffer::Await`) and
    another one as it goes on, and a flow from the first to the second: they are one wait. (docs/definitions.md, "Early
    execution")
    """
    rows = rows_of_entries(tagged(trace, "blocks"), trace.meta).astype(np.int32)
    annotations, frames = annotated(trace), tagged(trace, "python_tracer")
    asked, above = np.ones(len(rows), np.bool_), trace.parent[rows]
    while (inside := above >= 0).any():
        asked &= ~inside | annotations[above] | frames[trace.meta[above]]
        above = np.where(inside, trace.parent[above], above)
    rows = outermost(trace.parent, rows[asked])
    first = trace.flows.producers(rows)
    ends = np.isin(first, rows) & (trace.lines_of(first) == trace.lines_of(rows))
    row, last = rows[~ends], rows[~ends].copy()
    last[np.searchsorted(row, first[ends])] = rows[ends]
    return Waits(row, last, trace.start_ps[row], np.maximum(trace.end_ps[row], trace.end_ps[last]))
