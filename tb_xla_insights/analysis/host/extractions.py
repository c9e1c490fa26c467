"""When torch.compile extracts a graph: what Dynamo, AOTAutograd and the bridge of PyTorch/XLA do until XLA has it.

Neither Dynamo nor AOTAutograd records anything. The bridge does: it sets two step markers (one, where a graph that it
has already comes with new numbers), puts the graph in order outside of any synchronisation to get its hash, and
synchronises its outputs, which compiles and launches nothing. (docs/definitions.md, "Extraction")
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.catalog.classes import CLASS_INDEX, SYNC_PREPARE
from tb_xla_insights.trace.model import Int32, Int64, Trace
from tb_xla_insights.trace.nesting import outermost_rows

_MARKERS = 2
"""Step markers that the bridge sets for one graph, at most."""

_BETWEEN = tuple(CLASS_INDEX[name] for name in ("sync_prepare", "to_device", "from_device", "wait"))
"""What the bridge records between its step markers: operators without a lowering are tried one by one."""


@dataclass(frozen=True)
class Extractions:
    """The extractions of one host, by thread and time.

    `line`: the thread, the driving one or that of a backward pass. `start_ps` and `end_ps` reach from what was recorded
    before the bridge's events, or the edge of an annotation, to what was recorded after them, or an annotation's edge.
    `first` and `last` are the bridge's first and last event, outermost ones; rows of the trace.
    """

    line: Int32
    start_ps: Int64
    end_ps: Int64
    first: Int32
    last: Int32

    def __len__(self) -> int:
        return len(self.line)

    def times(self, line: int | None = None) -> Intervals:
        """When graphs are extracted, on any thread or on one."""
        return union(self.start_ps, self.end_ps, None if line is None else self.line == line)

    def recorded(self, trace: Trace) -> NDArray[np.bool_]:
        """Per event of the trace, whether the bridge recorded it."""
        found = np.zeros(len(trace), np.bool_)
        for line, first, last in zip(
            self.line.tolist(), self.first.tolist(), self.last.tolist(), strict=True
        ):
            rows = trace.lines[line].rows
            inside = np.searchsorted(trace.start_ps[last : rows.stop], trace.end_ps[last])
            found[first : last + max(int(inside), 1)] = True
        return found


@memoised
def find_extractions(trace: Trace) -> Extractions:
    """The extractions on the threads that drive the devices of one host."""
    found: list[tuple[int, int, int, int, int]] = []
    if trace.metadata_counts[has_tag(trace, "graph_order")].any():
        for line in trace.driving_lines:
            edges = [_Edges(trace, it) for it in dict.fromkeys((line, trace.driving_lines[0]))]
            for first, last in _of_the_bridge(trace, line, edges[0]):
                since, until = int(trace.start_ps[first]), int(trace.end_ps[last])
                start = max((edge for it in edges for edge in it.before(since)), default=since)
                end = min((edge for it in edges for edge in it.after(until)), default=until)
                found.append((line, start, end, first, last))
    columns = np.array(found, np.int64).reshape(-1, 5).T.copy()
    line_of, first_of, last_of = columns[[0, 3, 4]].astype(np.int32)
    return Extractions(line_of, columns[1], columns[2], first_of, last_of)


def _of_the_bridge(trace: Trace, line: int, edges: _Edges) -> Iterator[tuple[int, int]]:
    """The first and the last event of each extraction on one thread."""
    rows = np.arange(trace.lines[line].first, trace.lines[line].rows.stop, dtype=np.int32)
    tops = outermost_rows(trace.parent, rows[_recorded(trace, line)])
    start, end, kind = trace.start_ps[tops], trace.end_ps[tops], trace.class_indices(tops)
    marker, order = (has_tag(trace, tag)[trace.meta[tops]] for tag in ("step_marker", "graph_order"))
    bridges = np.isin(kind, _BETWEEN)
    # Whether an event may belong to what the one before it does.
    joined = np.append(False, edges.none_between(end[:-1], start[1:]))
    for at in np.flatnonzero(order).tolist():
        first, markers, now = at, 0, at
        while markers < _MARKERS and joined[now] and bridges[now - 1]:
            now -= 1
            if marker[now]:
                first, markers = now, markers + 1
        if not markers:
            continue  # the start of a synchronisation around it lies before the capture
        compiles = (
            at + 1 < len(tops) and joined[at + 1] and kind[at + 1] == SYNC_PREPARE and not marker[at + 1]
        )
        yield int(tops[first]), int(tops[at + compiles])


def _recorded(trace: Trace, line: int) -> NDArray[np.bool_]:
    """Which events of a thread the runtime recorded: neither annotations nor the Python tracer's frames."""
    rows = trace.lines[line].rows
    recorded = ~has_tag(trace, "python_tracer")[trace.meta[rows]]
    own = trace.annotations
    recorded[own[(own >= rows.start) & (own < rows.stop)] - rows.start] = False
    return recorded


class _Edges:
    """Where something begins or ends on a thread; `behind` and `ahead` count what was recorded as a whole, by its end
    or its start, and each edge of annotations, which `annotations` has alone. All ascending."""

    def __init__(self, trace: Trace, line: int) -> None:
        self._trace, self._line = trace, line
        rows = trace.lines[line].rows
        own = trace.annotations[(trace.annotations >= rows.start) & (trace.annotations < rows.stop)]
        self.annotations = np.sort(np.concatenate((trace.start_ps[own], trace.end_ps[own])))

    # Most captures hold no extraction: nobody asks for what follows.

    @cached_property
    def behind(self) -> Int64:
        return np.sort(np.concatenate((self._trace.end_ps[self._rows], self.annotations)))

    @cached_property
    def ahead(self) -> Int64:
        return np.sort(np.concatenate((self._trace.start_ps[self._rows], self.annotations)))

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        return np.flatnonzero(_recorded(self._trace, self._line)) + self._trace.lines[self._line].first

    def before(self, when_ps: int) -> list[int]:
        """The last edge that is no later, if there is one."""
        at = int(np.searchsorted(self.behind, when_ps, "right"))
        return [int(edge) for edge in self.behind[max(at - 1, 0) : at]]

    def after(self, when_ps: int) -> list[int]:
        """The first edge that is no earlier, if there is one."""
        at = int(np.searchsorted(self.ahead, when_ps, "left"))
        return [int(edge) for edge in self.ahead[at : at + 1]]

    def none_between(self, since_ps: Int64, until_ps: Int64) -> NDArray[np.bool_]:
        """Whether no annotation begins or ends within each of some stretches."""
        until = np.searchsorted(self.annotations, until_ps, "right")
        return np.searchsorted(self.annotations, since_ps, "left") >= until
