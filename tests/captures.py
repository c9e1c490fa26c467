"""Captures in a few lines: threads with events, device cores with ops.

    trace = capture(thread("python", ("Training_Step", 0, 90, {"_r": 1}), ("forward", 10, 20)), Core([("dot", 5, 9)]))

Times are picoseconds. The first event of the trace is at 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from build import trace_of
from synthetic.writer import Space

from tb_xla_insights.catalog import load_catalog
from tb_xla_insights.compare import compare
from tb_xla_insights.files.open import open_source
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.trace.annotations import find_annotations
from tb_xla_insights.trace.model import Role, SessionTrace, Thread, Trace
from tb_xla_insights.trace.read_trace import read_trace

CATALOG = load_catalog()

Event = tuple[Any, ...]
"""Name, start, duration, and optionally stats by name. On a `Core`, `hlo_category` and `tf_op` are stats of the event
metadata."""


@dataclass
class HostThread:
    """A thread. A `role` replaces the role that its name and events suggest."""

    name: str
    events: list[Event]
    role: Role | None = None


def thread(name: str, *events: Event, role: Role | None = None) -> HostThread:
    return HostThread(name, list(events), role)


@dataclass
class Core:
    """A device plane with its lines."""

    ops: list[Event] = field(default_factory=list)
    modules: list[Event] = field(default_factory=list)
    name: str = "TPU:0"
    stats: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, list[Event]] = field(default_factory=dict)


def capture(
    *parts: HostThread | Core, environment: Mapping[str, Any] | None = None, host: str = "vm"
) -> Trace:
    """The trace of a file with these threads and devices. If any thread has a role, those without one are `other`."""
    threads = [part for part in parts if isinstance(part, HostThread)]
    trace = trace_of(space_of(*parts, environment=environment).to_bytes(), host)
    if any(row.role for row in threads):
        roles = {number: row.role for number, row in enumerate(threads, 1)}
        lines = trace.lines
        trace.threads = [
            Thread(host_thread.line, host_thread.name, roles[lines[host_thread.line].id] or "other")
            for host_thread in trace.threads
        ]
        trace.annotations = find_annotations(trace, CATALOG)
    return trace


def space_of(*parts: HostThread | Core, environment: Mapping[str, Any] | None = None) -> Space:
    """A file with these threads and devices."""
    space = Space()
    threads = [part for part in parts if isinstance(part, HostThread)]
    plane = space.plane("/host:CPU")
    for number, row in enumerate(threads, 1):
        line = plane.line(row.name, id=number)
        for event in row.events:
            line.event(event[0], event[1], event[2], stats=event[3] if len(event) > 3 else None)
    for core in parts:
        if isinstance(core, Core):
            _write(space, core)
    if environment is not None:
        space.plane("Task Environment", stats=environment)
    return space


def real_trace(folder: Path) -> Trace:
    """The trace of the first file below a folder."""
    path = next(iter(sorted(folder.rglob("*.xplane.pb"))))
    with open_source(str(path)) as source:
        return read_trace(source, CATALOG, host=path.name.split(".")[0])


def session(*traces: Trace) -> SessionTrace:
    return SessionTrace("session", "run/session", list(traces))


def _write(space: Space, core: Core) -> None:
    plane = space.plane(f"/device:{core.name}", stats=core.stats)
    for name, events in {"XLA Modules": core.modules, "XLA Ops": core.ops, **core.lines}.items():
        line = plane.line(name)
        for event in events:
            stats = dict(event[3]) if len(event) > 3 else {}
            metadata_stats = {key: stats.pop(key) for key in ("hlo_category", "tf_op") if key in stats}
            line.event(plane.event_metadata(event[0], stats=metadata_stats), event[1], event[2], stats=stats)


def comparison_document(a: SessionTrace, b: SessionTrace, *samples: Any) -> Any:
    """The comparison's document, untyped, so that tests can use any key."""
    return compare(SessionView(a), SessionView(b), *samples)
