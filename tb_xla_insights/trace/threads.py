"""The role of each host thread in the training: driving thread, helper, or data loader."""

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
from tb_xla_insights.trace.nesting import own_times
from tb_xla_insights.xplane.read_xspace import PROGRAM_PLANE

ROLES: tuple[Role, ...] = get_args(Role)
"""The roles of threads, in drawing order."""

_THREAD_ID = re.compile(r"/-?\d+$")
_ROLE_OF_NAME: tuple[tuple[str, Role], ...] = (
    (r"pt_autograd", "autograd"),
    (r"tf_XLAEigen|tf_XLATfrtCpuOp", "op_pool"),
    (r"tf_pytorchxla|py_xla_execute", "executor"),
    (r"tf_XLA(PjRt|Tfrt)?CpuClient|tf_pjrt_thread_pool", "client"),
    (r"tf_tt_compile|tf_xla-cpu-codegen|tf_PjRtCompilerThreadPool|.*llvm|.*codegen", "compiler"),
    (r"pjrt-tpu-tasks", "transfer"),
    # Gets the next batch for a function that the driving thread runs.
    (r"tf_data_iterator_get_next", "executor"),
    (r"tf_data_", "loader"),
)
_NATIVE_NAME = re.compile(r"tf_|tfrt|pjrt|py_xla|EventFD|switchto|pt_|Host Threads|grpc|collective_ops|xla_")
"""Threads without Python code. They drive only if no thread has another name."""

_PYTHON_NAME = re.compile(r"python|main\b|MainThread|Thread-\d")

_ROLE_OF_CLASS: dict[str, Role] = {
    "compile": "compiler",
    "program_load": "compiler",
    "to_device": "transfer",
    "from_device": "transfer",
    "dispatch": "executor",
    "sync_prepare": "executor",
    "input": "loader",
}
_LOADER, _STEP_MARKER, _EXECUTION, _UNKNOWN, _EXECUTE_CALL = 1, 2, 4, 8, 16
"""Flags of event names: three by the catalogue's tags below; names that the catalogue does not know; names of execute
calls (tag `launch`)."""

OPERATOR_ID = "pt_correlation_id"
"""The stat of the events that PyTorch records for its operators and functions."""

_LOADER_TAGS = {"loader", "loading_frame"}
_STEP_MARKER_TAGS = {"step_marker", "sync", "dynamo"}
_EXECUTION_TAGS = {"launch", "run_start", "scheduled", "enqueue"}


def host_planes(trace: Trace) -> set[int]:
    """Indices of the planes whose lines are threads."""
    return {
        plane.index
        for plane in trace.planes
        if plane.name.startswith("/host:") and plane.name != PROGRAM_PLANE
    }


def find_threads(trace: Trace, catalog: Catalog) -> list[Thread]:
    """Every host line with its role, in line order; at most one drives.

    The driving thread is the one that calls PyTorch's operators, if they are recorded (TorchTPU); else the one whose
    flows lead to the threads or devices that execute, and that carries steps and synchronisations; without flows, the
    one with most of those, then with most annotations. The roles of other threads
    follow from their names, their launches and loads, or the class with most of their time. Needs the trace's events,
    nesting and flows.
    """
    planes = host_planes(trace)
    lines = [line for line in trace.lines if line.plane in planes]
    if not lines:
        return []
    thread_events = _ThreadEvents(trace, catalog)
    candidates = [line for line in lines if _role_by_name(line.name) not in ("autograd", "op_pool")]
    if any(map(thread_events.operators, candidates)):
        # No flow leads from the thread that calls PyTorch's operators to the one that launches.
        driving: Line | None = max(candidates, key=thread_events.operators)
    else:
        candidates = [line for line in lines if not _NATIVE_NAME.match(line.name)] or candidates
        driving = max(candidates, key=thread_events.driving_rank, default=None)
    if driving is not None and not driving.count:
        driving = None
    return [
        Thread(line.index, line.name, "driving" if line is driving else _role(line, thread_events, catalog))
        for line in lines
    ]


def may_run_python(name: str) -> bool:
    """Whether a thread of this name may be the script's: those of the framework and the runtime have other names."""
    return not _NATIVE_NAME.match(name) and not name.startswith("futex-")


def thread_labels(trace: Trace) -> list[str]:
    """The displayed name of each line. A device's line keeps its name. A thread's loses the id that profilers append;
    threads with events that then have equal names are numbered, except the driving one."""
    labels = [line.name for line in trace.lines]
    roles = {thread.line: ROLES.index(thread.role) for thread in trace.threads}
    driving_lines = trace.lines_with("driving")
    device_planes = {device.plane for device in trace.devices}
    lines = [line.index for line in trace.lines if line.count and line.plane not in device_planes]
    lines.sort(key=lambda line: (roles.get(line, len(ROLES)), line))
    names = [_THREAD_ID.sub("", labels[line]) or "thread" for line in lines]
    totals, last_number = Counter(names), Counter[str]()
    for line, name in zip(lines, names, strict=True):
        last_number[name] += 1
        labels[line] = (
            f"{name} {last_number[name]}" if totals[name] > 1 and line not in driving_lines else name
        )
    return labels


def _role(line: Line, thread_events: _ThreadEvents, catalog: Catalog) -> Role:
    role_by_name = _role_by_name(line.name)
    if role_by_name is not None:
        return role_by_name
    if not _NATIVE_NAME.match(line.name):
        return "loader" if thread_events.is_loader(line, catalog) else "other"
    if thread_events.count(line, _EXECUTE_CALL):
        return "executor"
    work = Counter({"other": 0, **thread_events.work_ps(line)})
    return _ROLE_OF_CLASS.get(work.most_common(1)[0][0], "client" if work["wait"] else "other")


def _role_by_name(name: str) -> Role | None:
    return next((role for pattern, role in _ROLE_OF_NAME if re.match(pattern, name)), None)


class _ThreadEvents:
    """Counts of a line's events by the flags of their names, for finding thread roles."""

    def __init__(self, trace: Trace, catalog: Catalog) -> None:
        self.trace = trace
        self.flags = _flags(trace, catalog)
        carries_step = np.zeros(len(trace), np.bool_)
        for stat in ("_r", "step_num"):  # XPlane marks the root event of a step with `_r`
            if stat in trace.stats:
                carries_step[trace.stats[stat].rows] = True
        self.carries_step = carries_step
        self.launch_flows = self._count_launch_flows()

    def driving_rank(self, line: Line) -> tuple[int, int, int, bool, int]:
        """A sort key: the line with the highest is most likely the thread that drives the device."""
        launch_flows = self.launch_flows[line.index]
        markers = int(self.carries_step[line.rows].sum()) + self.count(line, _STEP_MARKER)
        executions = self.count(line, _EXECUTION)
        return (
            2 * (launch_flows > 0) + 2 * (markers > 0) + (executions > 0),
            launch_flows + markers,
            self.count(line, _UNKNOWN),
            _PYTHON_NAME.match(line.name) is not None,
            line.count,
        )

    def operators(self, line: Line) -> int:
        """The number of events that PyTorch recorded for its operators on a line, each with an id."""
        rows = self.trace.stats[OPERATOR_ID].rows if OPERATOR_ID in self.trace.stats else ()
        return int(np.diff(np.searchsorted(rows, (line.rows.start, line.rows.stop)))[0]) if len(rows) else 0

    def count(self, line: Line, flag: int) -> int:
        return int(
            np.count_nonzero(values_of_events(self.flags & flag, self.trace.metadata_index[line.rows]))
        )

    def is_loader(self, line: Line, catalog: Catalog) -> bool:
        """Whether the line is a data loader's: it has a loader's events, or only annotations about loading data, and
        neither step markers nor events of executions."""
        if self.count(line, _STEP_MARKER | _EXECUTION):
            return False
        if self.count(line, _LOADER):
            return True
        metadata = np.unique(self.trace.metadata_index[line.rows])
        unknown_metadata = metadata[self.flags[metadata] & _UNKNOWN > 0]
        names = [
            self.trace.strings[self.trace.metadata.name[metadata_index]]
            for metadata_index in unknown_metadata
        ]
        return bool(names) and all(map(catalog.describes_loading, names))

    def work_ps(self, line: Line) -> dict[str, float]:
        """The own time of the line's events by class."""
        class_index = self.trace.class_indices(line.rows)
        has_class = class_index >= 0
        trace, rows = self.trace, line.rows
        own_ps = own_times(trace.start_ps[rows], trace.duration_ps[rows], trace.parent[rows], line.first)
        sums = np.bincount(class_index[has_class], own_ps[has_class], minlength=OTHER + 1)
        counts = np.bincount(class_index[has_class], minlength=OTHER + 1)
        return {CLASSES[index]: float(sums[index]) for index in np.flatnonzero(counts)}

    def _count_launch_flows(self) -> NDArray[np.int64]:
        """The number of each line's flows to a device, or to another thread that executes."""
        trace = self.trace
        launch_flows = np.zeros(len(trace.lines), np.int64)
        if not len(trace.flows.producer):
            return launch_flows
        hosts = host_planes(trace)
        for line in trace.lines:
            if line.plane not in hosts or self.count(line, _EXECUTION):
                bounds = np.array((line.rows.start, line.rows.stop), np.int32)
                flows_to_line = slice(*np.searchsorted(trace.flows.consumer, bounds))
                source = trace.lines_of(trace.flows.producer[flows_to_line])
                launch_flows += np.bincount(source[source != line.index], minlength=len(launch_flows))
        return launch_flows


def _flags(trace: Trace, catalog: Catalog) -> NDArray[np.int8]:
    """The flags of each event metadata entry's name on host planes."""
    flags = np.zeros(len(trace.metadata.name), np.int8)
    hosts = host_planes(trace)
    for index, (plane, text_index) in enumerate(zip(trace.metadata.plane, trace.metadata.name, strict=True)):
        if plane in hosts:
            name = trace.strings[text_index]
            tags = catalog.tags(name)
            flags[index] = (
                _LOADER * bool(tags & _LOADER_TAGS)
                | _STEP_MARKER * bool(tags & _STEP_MARKER_TAGS)
                | _EXECUTION * bool(tags & _EXECUTION_TAGS)
                | _UNKNOWN * (not catalog.knows(name))
                | _EXECUTE_CALL * ("launch" in tags)
            )
    return flags
