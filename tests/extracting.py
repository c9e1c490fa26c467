"""torch.compile extracting graphs: the events that its bridge records, and the definition applied event by event."""

from __future__ import annotations

from typing import NamedTuple

from captures import CATALOG, Event

from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.trace.model import Trace


def bridge(at: int, *, markers: int = 2, compile_ps: int = 0, launches: bool = False) -> list[Event]:
    """The bridge's events, in the 100 ps from `at`: its step markers, the post-order of a graph for its hash, and a
    synchronisation that launches nothing. With `compile_ps`, the synchronisation is longer by that time and compiles in
    it. With `launches`, the first marker hands a graph over."""
    out: list[Event] = [("StepMarker", at + 40 * index, 20) for index in range(2 - markers, 2)]
    if launches:
        out.insert(1, ("SyncTensorsGraphInternal", out[0][1] + 2, 16))
        out.insert(2, ("ScheduleSyncTensorsGraph", out[0][1] + 4, 10))
    out += [("CollectSyncTensors", at + 65, 5), ("RunPostOrder", at + 70, 5)]
    out += [
        ("SyncTensorsGraph", at + 80, 20 + compile_ps),
        ("SyncTensorsGraphInternal", at + 80, 20 + compile_ps),
    ]
    return out + ([("XLAGraphExecutor::Compile", at + 100, compile_ps)] if compile_ps else [])


_SYNC_PREPARE = CLASSES.index("sync_prepare")
_BRIDGE_CLASSES = [CLASSES.index(name) for name in ("sync_prepare", "to_device", "from_device", "wait")]


def _tags(trace: Trace, row: int) -> frozenset[str]:
    return CATALOG.tags(trace.name(row))


class Extraction(NamedTuple):
    """An extraction on a line: its times, and its first and last event."""

    line: int
    start_ps: int
    end_ps: int
    first: int
    last: int


def extractions_by_definition(trace: Trace) -> list[Extraction]:
    """The extractions by "Extraction" in docs/definitions.md."""
    driving_lines = trace.lines_with("driving", "autograd")
    annotations = set(trace.annotations.tolist())
    extractions = []
    for line in driving_lines:
        recorded = [
            row for row in range(trace.lines[line].first, trace.lines[line].rows.stop)
            if "python_tracer" not in _tags(trace, row)
        ]  # fmt: skip
        runtime_rows = [row for row in recorded if row not in annotations]
        tops = [row for row in runtime_rows if not set(_ancestors(trace, row)) & set(runtime_rows)]
        for order in (row for row in tops if "graph_order" in _tags(trace, row)):
            first = last = order
            markers = [
                row
                for row in _events_before(trace, tops, order, annotations)
                if "step_marker" in _tags(trace, row)
            ]
            if not markers:
                continue
            first = markers[:2][-1]
            after = tops[tops.index(order) + 1 :][:1]
            if after and _is_uninterrupted(trace, order, after[0], annotations) and _is_sync(trace, after[0]):
                last = after[0]
            since, until = int(trace.start_ps[first]), int(trace.end_ps[last])
            edges_before, edges_after = [], []
            for thread_line in {line, driving_lines[0]}:
                for row in range(trace.lines[thread_line].first, trace.lines[thread_line].rows.stop):
                    if "python_tracer" in _tags(trace, row):
                        continue
                    start, end = int(trace.start_ps[row]), int(trace.end_ps[row])
                    is_edge = row in annotations
                    edges_before += [
                        instant
                        for instant in (start, end)
                        if instant <= since and (is_edge or instant == end)
                    ]
                    edges_after += [
                        instant
                        for instant in (start, end)
                        if instant >= until and (is_edge or instant == start)
                    ]
            start_ps, end_ps = max(edges_before, default=since), min(edges_after, default=until)
            extractions.append(Extraction(line, start_ps, end_ps, first, last))
    return extractions


def _ancestors(trace: Trace, row: int) -> list[int]:
    out = []
    while (row := int(trace.parent[row])) >= 0:
        out.append(row)
    return out


def _is_uninterrupted(trace: Trace, first: int, next_: int, annotations: set[int]) -> bool:
    """Whether no annotation of the thread begins or ends between two of its events."""
    since, until = trace.end_ps[first], trace.start_ps[next_]
    line = trace.line_of(first)
    edges = [edge for row in annotations if row in range(line.first, line.rows.stop)
             for edge in (trace.start_ps[row], trace.end_ps[row])]  # fmt: skip
    return not any(since <= edge <= until for edge in edges)


def _events_before(trace: Trace, tops: list[int], order: int, annotations: set[int]) -> list[int]:
    """The events before `order` that the bridge can have recorded, the last first."""
    out, next_row = [], order
    for row in reversed(tops[: tops.index(order)]):
        class_index = CATALOG.class_index(trace.name(row))
        if class_index not in _BRIDGE_CLASSES or not _is_uninterrupted(trace, row, next_row, annotations):
            break
        out.append(row)
        next_row = row
    return out


def _is_sync(trace: Trace, row: int) -> bool:
    return CATALOG.class_index(trace.name(row)) == _SYNC_PREPARE and "step_marker" not in _tags(trace, row)
