"""What each host thread does for the training: which one drives, which ones help, which ones load data."""

from __future__ import annotations

import re
from collections import Counter
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.catalog import CLASSES, Catalog
from tb_xla_insights.catalog.classes import OTHER
from tb_xla_insights.trace.metadata_events import values_of_events
from tb_xla_insights.trace.model import Line, Role, Thread, Trace
from tb_xla_insights.trace.nesting import self_times

ROLES: tuple[Role, ...] = get_args(Role)
"""What threads do, in the order in which they are drawn."""

_ID = re.compile(r"/-?\d+$")
_BY_NAME: tuple[tuple[str, Role], ...] = (
    (r"pt_autograd", "autograd"),
    (r"tf_XLAEigen|tf_XLATfrtCpuOp", "op_pool"),
    (r"tf_pytorchxla|py_xla_execute", "executor"),
    (r"tf_XLA(PjRt|Tfrt)?CpuClient|tf_pjrt_thread_pool", "client"),
    (r"tf_xla-cpu-codegen|tf_PjRtCompilerThreadPool|.*llvm|.*codegen", "compiler"),
    (r"pjrt-tpu-tasks", "transfer"),
    (
        r"tf_data_iterator_get_next",
        "executor",
    ),  # gets the next batch for a function that the driving thread runs
    (r"tf_data_", "loader"),
)
_NATIVE = re.compile(r"tf_|tfrt|pjrt|py_xla|EventFD|switchto|pt_|Host Threads|grpc|collective_ops|xla_")
"""Threads that no Python code runs on: none of them drives."""

_PYTHON = re.compile(r"python|main\b|MainThread|Thread-\d")

_WORK: dict[str, Role] = {
    "compile": "compiler",
    "program_load": "compiler",
    "to_device": "transfer",
    "from_device": "transfer",
    "dispatch": "executor",
    "sync_prepare": "executor",
    "input": "loader",
}
_LOADER, _MARK, _LAUNCH, _UNKNOWN, _CALL = 1, 2, 4, 8, 16
_LOADERS = {"loader", "loading_frame"}
_MARKS = {"step_marker", "sync", "dynamo"}
_LAUNCHES = {"launch", "run_start", "scheduled", "enqueue"}


def host_planes(trace: Trace) -> set[int]:
    """Indices of the planes whose lines are threads."""
    return {p.index for p in trace.planes if p.name.startswith("/host:") and p.name != "/host:metadata"}


def find_threads(trace: Trace, catalog: Catalog) -> list[Thread]:
    """Every host line with its role, in line order; one of them at most drives.

    The driving thread is the one whose flows lead to the threads or devices that execute and that carries steps and
    synchronisations; where there are no flows, the one with most of those, then with most annotations. The others are
    known by their names, or by what they record most of. Needs the trace's events, nesting and flows.
    """
    planes = host_planes(trace)
    lines = [line for line in trace.lines if line.plane in planes]
    if not lines:
        return []
    facts = _Facts(trace, catalog)
    able = [line for line in lines if not _NATIVE.match(line.name)]
    able = able or [line for line in lines if _role_by_name(line.name) not in ("autograd", "op_pool")]
    driving = max(able, key=facts.drives, default=None)
    if driving is not None and not driving.count:
        driving = None
    return [
        Thread(line.index, line.name, "driving" if line is driving else _role(line, facts, catalog))
        for line in lines
    ]


def thread_labels(trace: Trace) -> list[str]:
    """What people read for each line: a device's has its name, a thread's goes without the id that profilers append and
    is numbered where several threads with events are left with the same, all but the driving one."""
    labels = [line.name for line in trace.lines]
    roles = {thread.line: ROLES.index(thread.role) for thread in trace.threads}
    drives = trace.lines_with("driving")
    own = {device.plane for device in trace.devices}
    lines = [line.index for line in trace.lines if line.count and line.plane not in own]
    lines.sort(key=lambda line: (roles.get(line, len(ROLES)), line))
    short = [_ID.sub("", labels[line]) or "thread" for line in lines]
    total, seen = Counter(short), Counter[str]()
    for line, name in zip(lines, short, strict=True):
        seen[name] += 1
        labels[line] = f"{name} {seen[name]}" if total[name] > 1 and line not in drives else name
    return labels


def _role(line: Line, facts: _Facts, catalog: Catalog) -> Role:
    named = _role_by_name(line.name)
    if named is not None:
        return named
    if not _NATIVE.match(line.name):
        return "loader" if facts.loads(line, catalog) else "other"
    if facts.count(line, _CALL):
        return "executor"
    work = Counter({"other": 0, **facts.work_ps(line)})
    return _WORK.get(work.most_common(1)[0][0], "client" if work["wait"] else "other")


def _role_by_name(name: str) -> Role | None:
    return next((role for pattern, role in _BY_NAME if re.match(pattern, name)), None)


class _Facts:
    """Counts per line, each made by one pass over the events' metadata."""

    def __init__(self, trace: Trace, catalog: Catalog) -> None:
        self.trace = trace
        self.flags = _flags(trace, catalog)
        marked = np.zeros(len(trace), np.bool_)
        for stat in ("_r", "step_num"):
            if stat in trace.stats:
                marked[trace.stats[stat].rows] = True
        self.marked = marked
        self.launched = self._launch_flows()

    def drives(self, line: Line) -> tuple[int, int, int, bool, int]:
        """Sorts lines by how much they look like the thread that drives the device."""
        launched = self.launched[line.index]
        marks = int(self.marked[line.rows].sum()) + self.count(line, _MARK)
        own = self.count(line, _LAUNCH)
        return (
            2 * (launched > 0) + 2 * (marks > 0) + (own > 0),
            launched + marks,
            self.count(line, _UNKNOWN),
            _PYTHON.match(line.name) is not None,
            line.count,
        )

    def count(self, line: Line, flag: int) -> int:
        return int(np.count_nonzero(values_of_events(self.flags & flag, self.trace.meta[line.rows])))

    def loads(self, line: Line, catalog: Catalog) -> bool:
        """Whether the line is a data loader's: its events, or annotations that all speak of loading data."""
        if self.count(line, _MARK | _LAUNCH):
            return False
        if self.count(line, _LOADER):
            return True
        metas = np.unique(self.trace.meta[line.rows])
        unknown = metas[self.flags[metas] & _UNKNOWN > 0]
        names = [self.trace.strings[self.trace.metadata.name[meta]] for meta in unknown]
        return bool(names) and all(map(catalog.loads, names))

    def work_ps(self, line: Line) -> dict[str, float]:
        """Time by class of what the line records, an event's children not counted."""
        kinds = self.trace.class_indices(line.rows)
        known = kinds >= 0
        trace, rows = self.trace, line.rows
        own = self_times(trace.start_ps[rows], trace.duration_ps[rows], trace.parent[rows], line.first)
        sums = np.bincount(kinds[known], own[known], minlength=OTHER + 1)
        counts = np.bincount(kinds[known], minlength=OTHER + 1)
        return {CLASSES[kind]: float(sums[kind]) for kind in np.flatnonzero(counts)}

    def _launch_flows(self) -> NDArray[np.int64]:
        """Per line, how many of its flows lead to a device, or to another thread that executes."""
        trace = self.trace
        launched = np.zeros(len(trace.lines), np.int64)
        if not len(trace.flows.producer):
            return launched
        hosts = host_planes(trace)
        for line in trace.lines:
            if line.plane not in hosts or self.count(line, _LAUNCH):
                ends = np.array((line.rows.start, line.rows.stop), np.int32)
                its = slice(*np.searchsorted(trace.flows.consumer, ends))
                source = trace.lines_of(trace.flows.producer[its])
                launched += np.bincount(source[source != line.index], minlength=len(launched))
        return launched


def _flags(trace: Trace, catalog: Catalog) -> NDArray[np.int8]:
    """Per metadata entry of a host plane, what its name says that tells threads apart."""
    flags = np.zeros(len(trace.metadata.name), np.int8)
    hosts = host_planes(trace)
    for entry, (plane, text) in enumerate(zip(trace.metadata.plane, trace.metadata.name, strict=True)):
        if plane in hosts:
            name = trace.strings[text]
            tags = catalog.tags(name)
            flags[entry] = (
                _LOADER * bool(tags & _LOADERS)
                | _MARK * bool(tags & _MARKS)
                | _LAUNCH * bool(tags & _LAUNCHES)
                | _UNKNOWN * (not catalog.knows(name))
                | _CALL * ("launch" in tags)
            )
    return flags
