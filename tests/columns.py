"""Traces made of columns, without a file: for tests of what reads columns.

trace = made(thread("python", ("Training_Step", 0, 90, {"_r": 1}), ("forward", 10, 20)), thread("tf_pytorchxla/7", …))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tb_xla_insights.catalog import load_catalog
from tb_xla_insights.trace.annotations import find_annotations
from tb_xla_insights.trace.model import (
    Device,
    DeviceKind,
    Flows,
    Line,
    Metadata,
    Plane,
    Role,
    Spans,
    StatColumn,
    Thread,
    Trace,
)  # fmt: skip
from tb_xla_insights.trace.threads import find_threads

CATALOG = load_catalog()

Event = tuple[Any, ...]
"""Name, start, duration, and perhaps stats by name."""


@dataclass
class Row:
    """A thread, or a line of a device."""

    name: str
    events: list[Event]
    role: Role | None = None
    plane: str = "/host:CPU"


def thread(name: str, *events: Event, role: Role | None = None) -> Row:
    return Row(name, list(events), role)


@dataclass
class Core:
    """A device. Its events may carry the stat `hlo_category`."""

    name: str = "TPU:0"
    ops: list[Event] = field(default_factory=list)
    modules: list[Event] = field(default_factory=list)
    others: list[Row] = field(default_factory=list)
    kind: DeviceKind = "tpu"
    stats: Mapping[str, Any] = field(default_factory=dict)


def spans(events: Sequence[tuple[int, int, int]], parents: Sequence[int] | None = None) -> Spans:
    """Spans of (row, start, end), given in order; nesting by containment."""
    starts = np.array([e[1] for e in events], np.int64)
    ends = np.array([e[2] for e in events], np.int64)
    depth, parent, own = (
        nesting(starts, ends - starts, 0) if parents is None else nesting_of(parents, starts, ends)
    )
    return Spans(np.array([e[0] for e in events], np.int32), starts, ends, depth, parent, own)


def nesting_of(parents: Sequence[int], starts: Any, ends: Any) -> tuple[Any, Any, Any]:
    depth = np.zeros(len(parents), np.int16)
    own = ends - starts
    for i, parent in enumerate(parents):
        if parent >= 0:
            depth[i] = depth[parent] + 1
    return depth, np.array(parents, np.int32), own


def nesting(starts: Any, durations: Any, first: int) -> tuple[Any, Any, Any]:
    """Depth, parent and self time of events in order of start, the longer one first, that nest by containment."""
    count = len(starts)
    depth, parent, own = (
        np.zeros(count, np.int16),
        np.full(count, -1, np.int32),
        np.array(durations, np.int64),
    )
    open_: list[int] = []
    for i in range(count):
        while open_ and starts[open_[-1]] + durations[open_[-1]] < starts[i] + max(durations[i], 1):
            open_.pop()
        if open_:
            parent[i] = open_[-1] + first
            depth[i] = len(open_)
            own[open_[-1]] -= durations[i]
        open_.append(i)
    return depth, parent, own


def made(
    *rows: Row,
    cores: Sequence[Core] = (),
    flows: Sequence[tuple[int, int]] = (),
    host: str = "vm",
    plane_stats: Mapping[str, Mapping[str, Any]] | None = None,
) -> Trace:
    """A trace. `flows` are pairs of rows. Roles that are not given are found, or all of them if none is."""
    every = list(rows)
    for core in cores:
        plane = f"/device:{core.name}"
        every += [Row("XLA Modules", core.modules, None, plane), Row("XLA Ops", core.ops, None, plane)]
        every += [Row(other.name, other.events, None, plane) for other in core.others]
    strings: dict[str, int] = {}

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    plane_names = list(dict.fromkeys([row.plane for row in every] + list(plane_stats or {})))
    stats_of = {f"/device:{core.name}": dict(core.stats) for core in cores} | dict(plane_stats or {})
    planes = [Plane(i, name, dict(stats_of.get(name, {}))) for i, name in enumerate(plane_names)]
    entries: dict[tuple[int, str, str | None, str | None], int] = {}
    lines: list[Line] = []
    columns: list[tuple[Any, ...]] = []
    stats: dict[str, list[tuple[int, int]]] = {}
    first = 0
    for row in every:
        plane_index = plane_names.index(row.plane)
        events = sorted(row.events, key=lambda event: (event[1], -event[2]))
        lines.append(Line(len(lines), plane_index, 1000 + len(lines), row.name, first, len(events)))
        starts = np.array([e[1] for e in events], np.int64)
        durations = np.array([e[2] for e in events], np.int64)
        columns.append((starts, durations, *nesting(starts, durations, first)))
        for number, event in enumerate(events, first):
            values = dict(event[3]) if len(event) > 3 else {}
            key = (plane_index, event[0], values.pop("hlo_category", None), values.pop("tf_op", None))
            entry = entries.setdefault(key, len(entries))
            stats.setdefault("", []).append((number, entry))
            for name, value in values.items():
                stats.setdefault(name, []).append((number, text(value) if isinstance(value, str) else value))
        first += len(events)
    texts = {
        name: np.array([text(key[place]) if key[place] else -1 for key in entries], np.int32)  # type: ignore[arg-type]
        for place, name in ((2, "hlo_category"), (3, "tf_op"))
    }
    names = np.array([text(key[1]) for key in entries], np.int32)
    kinds = [CATALOG.kind(k[1]) if plane_names[k[0]].startswith("/host:") else -1 for k in entries]
    metadata = Metadata(
        np.array([k[0] for k in entries], np.int32), np.arange(len(entries), dtype=np.int64), names,
        np.full(len(entries), -1, np.int32), np.array(kinds, np.int8), texts,
    )  # fmt: skip
    start, duration, depth, parent, own = (np.concatenate(column) for column in zip(*columns, strict=True))
    sparse = {
        name: StatColumn(
            np.array([r for r, _ in some], np.int32),
            np.array([v for _, v in some], np.int64),
            name == "hlo_op",
        )
        for name, some in stats.items()
        if name
    }
    ordered = sorted(flows, key=lambda pair: pair[1])
    trace = Trace(
        host, f"{host}.xplane.pb", 0, list(strings), planes, lines, metadata,
        np.array([m for _, m in stats.get("", [])], np.int32), start, duration, np.zeros(first, np.int64),
        depth, parent, own, sparse,
        Flows(np.array([p for p, _ in ordered], np.int32), np.array([c for _, c in ordered], np.int32)),
        [], [], np.zeros(0, np.int32), [host], 0,
    )  # fmt: skip
    trace.devices = [_device(trace, core) for core in cores]
    given = [row.role for row in rows]
    found = find_threads(trace, CATALOG)
    trace.threads = [Thread(t.line, t.name, role or t.role) for t, role in zip(found, given, strict=True)]
    if any(given):
        trace.threads = [
            Thread(t.line, t.name, role or "other") for t, role in zip(found, given, strict=True)
        ]
    trace.annotations = find_annotations(trace, CATALOG)
    return trace


def _device(trace: Trace, core: Core) -> Device:
    plane = next(p.index for p in trace.planes if p.name == f"/device:{core.name}")
    lines = {line.name: line for line in trace.lines if line.plane == plane}
    parts = []
    for name in ("XLA Modules", "XLA Ops"):
        rows = range(lines[name].first, lines[name].first + lines[name].count)
        parts.append(spans([(r, int(trace.start_ps[r]), int(trace.end_ps[r])) for r in rows]))
    indices = {name: line.index for name, line in lines.items()}
    name = f"{trace.host}:{core.name}"
    return Device(name, core.name, core.kind, trace.host, plane, False, parts[0], parts[1], indices)
