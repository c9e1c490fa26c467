"""When torch.compile extracts a graph: the work of Dynamo, AOTAutograd and the bridge of PyTorch/XLA until XLA has the
graph.

Neither Dynamo nor AOTAutograd records anything, but the bridge does. It sets two step markers (one if it has the graph
already and only its numbers are new), orders the graph outside of any synchronisation to get its hash, and synchronises
the graph's outputs. This synchronisation compiles the graph if it is not in the cache, and launches nothing.
(docs/definitions.md, "Extraction")
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
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.classes import CLASS_INDEX, SYNC_PREPARE
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import outermost_rows

_MAX_MARKERS = 2
"""The most step markers that the bridge sets for one graph."""

_BRIDGE_CLASSES = tuple(CLASS_INDEX[name] for name in ("sync_prepare", "to_device", "from_device", "wait"))
"""Classes of the bridge's events between its step markers: it tries operators without a lowering one by one."""


@dataclass(frozen=True)
class Extractions:
    """The extractions of one host, by thread and time.

    `line`: the driving thread or that of a backward pass. `start_ps`, `end_ps`: from the end of the last event before
    the bridge's events to the start of the first event after them, or from and to the edges of annotations that are
    nearer. `first`, `last`: the bridge's first and last outermost events; rows of the trace.
    """

    line: Int32
    start_ps: Int64
    end_ps: Int64
    first: Int32
    last: Int32

    def __len__(self) -> int:
        return len(self.line)

    def times(self, line: int | None = None) -> Intervals:
        """Returns when graphs are extracted, on any thread or on one."""
        return union(self.start_ps, self.end_ps, None if line is None else self.line == line)

    def is_bridge_event(self, trace: Trace) -> NDArray[np.bool_]:
        """Per event of the trace, whether the bridge recorded it."""
        is_bridge = np.zeros(len(trace), np.bool_)
        for line, first, last in zip(
            self.line.tolist(), self.first.tolist(), self.last.tolist(), strict=True
        ):
            rows = trace.lines[line].rows
            count = np.searchsorted(trace.start_ps[last : rows.stop], trace.end_ps[last])
            is_bridge[first : last + max(int(count), 1)] = True
        return is_bridge


@memoised
def find_extractions(trace: Trace) -> Extractions:
    """Finds the extractions on the threads that drive the devices of one host."""
    extractions: list[tuple[int, int, int, int, int]] = []
    if trace.metadata_counts[has_tag(trace, "graph_order")].any():
        for line in trace.driving_lines:
            edges = [_Edges(trace, number) for number in dict.fromkeys((line, trace.driving_lines[0]))]
            for first, last in _bridge_events(trace, line, edges[0]):
                first_ps, last_ps = int(trace.start_ps[first]), int(trace.end_ps[last])
                ends_before = [end_ps for thread in edges for end_ps in thread.last_end_before(first_ps)]
                starts_after = [
                    start_ps for thread in edges for start_ps in thread.first_start_after(last_ps)
                ]
                start, end = max(ends_before, default=first_ps), min(starts_after, default=last_ps)
                extractions.append((line, start, end, first, last))
    columns = np.array(extractions, np.int64).reshape(-1, 5).T.copy()
    lines, first_rows, last_rows = columns[[0, 3, 4]].astype(np.int32)
    return Extractions(lines, columns[1], columns[2], first_rows, last_rows)


def _bridge_events(trace: Trace, line: int, edges: _Edges) -> Iterator[tuple[int, int]]:
    """Yields the bridge's first and last event of each extraction on one thread."""
    rows = np.arange(trace.lines[line].first, trace.lines[line].rows.stop, dtype=np.int32)
    outermost = outermost_rows(trace.parent, rows[_is_runtime_event(trace, line)])
    start, end, class_index = (
        trace.start_ps[outermost],
        trace.end_ps[outermost],
        trace.class_indices(outermost),
    )
    is_marker, is_order = (
        has_tag(trace, tag)[trace.metadata_index[outermost]] for tag in ("step_marker", "graph_order")
    )
    may_be_bridge = np.isin(class_index, _BRIDGE_CLASSES)
    # Whether no annotation's edge separates an event from the previous one.
    is_joined = np.append(False, edges.are_joined(end[:-1], start[1:]))
    for order in np.flatnonzero(is_order).tolist():
        first, markers, index = order, 0, order
        while markers < _MAX_MARKERS and is_joined[index] and may_be_bridge[index - 1]:
            index -= 1
            if is_marker[index]:
                first, markers = index, markers + 1
        if not markers:
            continue  # part of a synchronisation that began before the capture
        sync = order + 1
        has_sync = (
            sync < len(outermost)
            and is_joined[sync]
            and class_index[sync] == SYNC_PREPARE
            and not is_marker[sync]
        )
        yield int(outermost[first]), int(outermost[sync if has_sync else order])


def _is_runtime_event(trace: Trace, line: int) -> NDArray[np.bool_]:
    """Per event of a thread, whether the runtime recorded it: neither annotations nor the Python tracer's frames."""
    rows = trace.lines[line].rows
    is_runtime = ~has_tag(trace, "python_tracer")[trace.metadata_index[rows]]
    is_runtime[_annotations_on(trace, rows) - rows.start] = False
    return is_runtime


def _annotations_on(trace: Trace, rows: slice) -> Int32:
    """Returns the annotations among the rows of a thread."""
    low, high = np.searchsorted(trace.annotations, (rows.start, rows.stop))
    return trace.annotations[low:high]


class _Edges:
    """Ascending instants at which events of one thread begin or end. `annotation_edges`: starts and ends of
    annotations. `ends`, `starts`: these, and the ends or the starts of the runtime's events."""

    def __init__(self, trace: Trace, line: int) -> None:
        self._trace, self._line = trace, line
        annotations = _annotations_on(trace, trace.lines[line].rows)
        self.annotation_edges = np.sort(
            np.concatenate((trace.start_ps[annotations], trace.end_ps[annotations]))
        )

    # Most captures hold no extraction and never need the following columns.

    @cached_property
    def ends(self) -> Int64:
        return np.sort(np.concatenate((self._trace.end_ps[self._rows], self.annotation_edges)))

    @cached_property
    def starts(self) -> Int64:
        return np.sort(np.concatenate((self._trace.start_ps[self._rows], self.annotation_edges)))

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        is_runtime = _is_runtime_event(self._trace, self._line)
        return np.flatnonzero(is_runtime) + self._trace.lines[self._line].first

    def last_end_before(self, instant_ps: int) -> list[int]:
        """Returns the last of `ends` that is not later than an instant; empty if there is none."""
        count = int(np.searchsorted(self.ends, instant_ps, "right"))
        return [int(edge) for edge in self.ends[max(count - 1, 0) : count]]

    def first_start_after(self, instant_ps: int) -> list[int]:
        """Returns the first of `starts` that is not earlier than an instant; empty if there is none."""
        index = int(np.searchsorted(self.starts, instant_ps, "left"))
        return [int(edge) for edge in self.starts[index : index + 1]]

    def are_joined(self, start_ps: Int64, end_ps: Int64) -> NDArray[np.bool_]:
        """Per window, whether no annotation begins or ends in it."""
        edges_before_end = np.searchsorted(self.annotation_edges, end_ps, "right")
        return np.searchsorted(self.annotation_edges, start_ps, "left") >= edges_before_end
