"""Flows between the events that do the work, instead of between the marks that record the flows.

On a CPU a flow links two instants of the thread pool, here called marks: `Record`, where a task is handed over, and
`StartRegion`, where another thread starts it. They are resolved to events around them:
- a mark that hands a task over, to the innermost event that encloses it, else to the last outermost event before it on
  its thread
- a mark that starts a task, to the first event after it and before the region's end, else to the innermost event that
  encloses it
A mark without such an event remains the end of its flow. The end of a device op is part of the op, so a flow to it is
dropped.
"""

from __future__ import annotations

from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.trace.model import Trace

_OP_END_PREFIX = "end: "
_REGION_STOP_SUFFIX = "StopRegion"
_MAX_SCANNED = 256
"""The limit of consecutive marks that are scanned."""


class Links:
    """The flows of one host's events. `hidden` is, per event metadata, whether its events are marks."""

    def __init__(self, trace: Trace, hidden: NDArray[np.bool_]) -> None:
        self._trace = trace
        self._hidden = hidden

    def enclosing(self, event: int) -> int | None:
        """The innermost event that encloses a mark and is no mark itself, None if there is none."""
        enclosing = int(self._trace.parent[event])
        while enclosing >= 0 and self._is_mark(enclosing):
            enclosing = int(self._trace.parent[enclosing])
        return enclosing if enclosing >= 0 else None

    def sources(self, event: int) -> list[int]:
        """The events whose work led to this event, without repetition."""
        flows = self._trace.flows
        producers = flows.producer[np.isin(flows.consumer, self._event_and_marks(event, as_consumers=True))]
        sources = [self._source_of(producer) for producer in producers.tolist()]
        return list(dict.fromkeys(source for source in sources if source != event))

    def targets(self, event: int) -> list[int]:
        """The events that this event's work led to, without repetition."""
        flows = self._trace.flows
        consumers = flows.consumer[np.isin(flows.producer, self._event_and_marks(event, as_consumers=False))]
        targets = [self._target_of(consumer) for consumer in consumers.tolist()]
        return list(dict.fromkeys(target for target in targets if target is not None and target != event))

    def _is_mark(self, event: int) -> bool:
        return bool(self._hidden[self._trace.metadata_index[event]])

    def _source_of(self, event: int) -> int:
        """Resolves the producer of a flow to the event that did the work."""
        if not self._is_mark(event):
            return event
        enclosing = self.enclosing(event)
        if enclosing is not None:
            return enclosing
        first = self._trace.line_of(event).first
        for earlier_event in range(event - 1, max(first, event - _MAX_SCANNED) - 1, -1):
            if not self._is_mark(earlier_event):
                return self._outermost(earlier_event)
        return event

    def _target_of(self, event: int) -> int | None:
        """Resolves the consumer of a flow to the event that does the work, None for the end of an op."""
        trace = self._trace
        if not self._is_mark(event):
            return event
        if trace.name(event).startswith(_OP_END_PREFIX):
            return None
        stop = trace.line_of(event).rows.stop
        for later_event in range(event + 1, min(stop, event + _MAX_SCANNED)):
            if not self._is_mark(later_event):
                return later_event
            if trace.name(later_event).endswith(_REGION_STOP_SUFFIX):
                break
        enclosing = self.enclosing(event)
        return event if enclosing is None else enclosing

    def _event_and_marks(self, event: int, as_consumers: bool) -> list[int]:
        """The event and the marks that resolve to it, as consumers or as producers of flows."""
        if self._is_mark(event):
            return [event]
        trace = self._trace
        line = trace.line_of(event)
        end = int(trace.start_ps[event] + trace.duration_ps[event])
        stop = line.first + int(np.searchsorted(trace.start_ps[line.rows], end, "right"))
        rows = np.arange(event + 1, stop)
        inner_marks = rows[self._hidden[trace.metadata_index[rows]]]
        inner_marks = inner_marks[
            np.isin(trace.parent[inner_marks], [event, -1])
            | self._hidden[trace.metadata_index[trace.parent[inner_marks]]]
        ]
        if as_consumers:
            neighbours = range(event - 1, max(line.first, event - _MAX_SCANNED) - 1, -1)
        else:
            neighbours = range(stop, min(line.rows.stop, stop + _MAX_SCANNED))
        marks = [*inner_marks.tolist(), *takewhile(self._is_mark, neighbours)]
        resolve = self._target_of if as_consumers else self._source_of
        return [event, *(mark for mark in marks if resolve(mark) == event)]

    def _outermost(self, event: int) -> int:
        while self._trace.parent[event] >= 0:
            event = int(self._trace.parent[event])
        return event
