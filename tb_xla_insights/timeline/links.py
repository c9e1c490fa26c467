"""Flows as a reader means them: from work to work, not from mark to mark.

On a CPU a flow ties two instants of the thread pool: `Record`, where a task is handed over, and `StartRegion`, where
another thread takes it up. What they stand for are the events around them:
- a mark that hands over stands for the innermost event that encloses it, else for the last one before it on its thread
- a mark that takes up stands for the first event after it and before the region's end, else for what encloses it, and
  in an empty region for itself
The end of a device op is part of the op: a flow into it leads nowhere.
"""

from __future__ import annotations

from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.trace.model import Trace

_END = "end: "
_STOP = "StopRegion"
_FAR = 256
"""So many marks in a row are looked through at most."""


class Links:
    """The flows of one host's events. `hidden` says per metadata entry that its events are marks."""

    def __init__(self, trace: Trace, hidden: NDArray[np.bool_]) -> None:
        self._trace = trace
        self._hidden = hidden

    def enclosing(self, event: int) -> int | None:
        """The innermost event around a mark that is none itself."""
        above = int(self._trace.parent[event])
        while above >= 0 and self._mark(above):
            above = int(self._trace.parent[above])
        return above if above >= 0 else None

    def sources(self, event: int) -> list[int]:
        """The events whose work led to this one, each once."""
        flows = self._trace.flows
        rows = flows.producer[np.isin(flows.consumer, self._marks_of(event, before=True))]
        found = [self._source(row) for row in rows.tolist()]
        return list(dict.fromkeys(row for row in found if row != event))

    def targets(self, event: int) -> list[int]:
        """The events that this one's work led to, each once."""
        flows = self._trace.flows
        rows = flows.consumer[np.isin(flows.producer, self._marks_of(event, before=False))]
        found = [self._target(row) for row in rows.tolist()]
        return list(dict.fromkeys(row for row in found if row is not None and row != event))

    def _mark(self, event: int) -> bool:
        return bool(self._hidden[self._trace.meta[event]])

    def _source(self, event: int) -> int:
        """The work that a producer of a flow stands for."""
        if not self._mark(event):
            return event
        above = self.enclosing(event)
        if above is not None:
            return above
        first = self._trace.line_of(event).first
        for row in range(event - 1, max(first, event - _FAR) - 1, -1):
            if not self._mark(row):
                return self._outermost(row)
        return event

    def _target(self, event: int) -> int | None:
        """The work that a consumer of a flow stands for, None for the end of an op."""
        trace = self._trace
        if not self._mark(event):
            return event
        if trace.name(event).startswith(_END):
            return None
        stop = trace.line_of(event).rows.stop
        for row in range(event + 1, min(stop, event + _FAR)):
            if not self._mark(row):
                return row
            if trace.name(row).endswith(_STOP):
                break
        above = self.enclosing(event)
        return event if above is None else above

    def _marks_of(self, event: int, before: bool) -> list[int]:
        """The event and the marks that stand for it, as consumers (`before`) or as producers of flows."""
        if self._mark(event):
            return [event]
        trace = self._trace
        line = trace.line_of(event)
        end = int(trace.start_ps[event] + trace.duration_ps[event])
        after = line.first + int(np.searchsorted(trace.start_ps[line.rows], end, "right"))
        inside = np.arange(event + 1, after)
        near = inside[self._hidden[trace.meta[inside]]]
        near = near[np.isin(trace.parent[near], [event, -1]) | self._hidden[trace.meta[trace.parent[near]]]]
        if before:
            beside = range(event - 1, max(line.first, event - _FAR) - 1, -1)
        else:
            beside = range(after, min(line.rows.stop, after + _FAR))
        marks = [*near.tolist(), *takewhile(self._mark, beside)]
        stands_for = self._target if before else self._source
        return [event, *(mark for mark in marks if stands_for(mark) == event)]

    def _outermost(self, event: int) -> int:
        while self._trace.parent[event] >= 0:
            event = int(self._trace.parent[event])
        return event
