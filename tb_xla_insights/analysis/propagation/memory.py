"""The report's `memory`: the peak of each program that ran, by annotation, and what its devices' allocators say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.path_names import forward_paths
from tb_xla_insights.analysis.propagation.programs import ScopedMemory, module_names
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.arrays import Int64
from tb_xla_insights.columns.merge import merged
from tb_xla_insights.errors import InputError
from tb_xla_insights.schema.memory import ProgramMemory
from tb_xla_insights.trace.details import event_stats
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.xplane.hlo_memory import MAX_BYTES

if TYPE_CHECKING:
    from tb_xla_insights.schema.memory import AnnotationMemory

_KEY = re.compile(r"\['([^']+)'\]|\.([^\W\d]\w*)")
"""A key in the name that JAX gives to a parameter: `params['attention']['w']`, `state.params`."""

_DEVICE_ALLOCATOR = re.compile(r"[A-Za-z]+_\d")
"""`GPU_0_bfc`; unlike `xla_gpu_host_bfc` and `mklcpu`. A TPU's has no name."""

_MAX_CAPACITIES = 16
"""The most different capacities whose allocators are looked up: the most frequent ones."""


def memory_report(trace: Trace) -> list[ProgramMemory]:
    """The report's `memory`: a row per program that ran and whose buffers the capture has, the highest peak first."""
    ops, names = find_ops(trace), module_names(trace)
    rows = [[_row(trace, id_, names[id_], memory)] for id_, memory in ops.memory.items() if id_ in names]
    return merged(ProgramMemory, rows, "peak_bytes")


def _row(trace: Trace, id_: str, program: str, memory: ScopedMemory) -> ProgramMemory:
    needs, allocator = memory.needs, _allocator(trace)
    is_exact = needs.peak_bytes is not None
    peak_bytes = needs.lasting_bytes if needs.peak_bytes is None else needs.peak_bytes
    return {
        "program": program,
        "peak_bytes": peak_bytes,
        "total_bytes": needs.total_bytes,
        "exact": is_exact,
        "peak_at": needs.peak_at or None,
        "capacity_bytes": allocator.capacity_bytes if allocator else None,
        "other_bytes": allocator.other_bytes(trace, id_, needs.lasting_bytes, peak_bytes)
        if allocator
        else None,
        "parameters_bytes": needs.parameters_bytes,
        "padding_bytes": sum(buffer.padding_bytes for buffer in needs.live) if is_exact else None,
        "by_annotation": _by_annotation(trace, memory),
    }


def _by_annotation(trace: Trace, memory: ScopedMemory) -> list[AnnotationMemory]:
    path_of = host_annotations(trace).paths.path_of
    rows: dict[str | None, AnnotationMemory] = {}
    live = [*zip(memory.needs.live, memory.scopes, strict=True)]
    values = _Annotations(path_of(scope) for buffer, scope in live if scope and not buffer.is_parameter)
    recorded = _recorded(trace)
    for buffer, scope in live:
        column: Literal["parameter_bytes", "bytes", "gradient_bytes"] = "bytes"
        path = path_of(scope) if scope else None
        if buffer.is_parameter:
            path = values.path_named_like(scope) or recorded.path_named_like(scope)
            column = "parameter_bytes"
        elif path and (candidates := forward_paths(path)):
            known = (
                candidate
                for candidate in candidates
                if candidate in values.paths or candidate in recorded.paths
            )
            path, column = next(known, path), "gradient_bytes"
        empty: AnnotationMemory = {"path": path, "parameter_bytes": 0, "bytes": 0, "gradient_bytes": 0}
        rows.setdefault(path, empty)[column] += buffer.bytes
    return sorted(rows.values(), key=lambda row: (-_bytes_of(row), row["path"] or ""))


@memoised
def _recorded(trace: Trace) -> _Annotations:
    return _Annotations(find_nodes(trace).path)


def _bytes_of(row: AnnotationMemory) -> int:
    return row["parameter_bytes"] + row["bytes"] + row["gradient_bytes"]


class _Annotations:
    """Paths of annotations, with those around them; also by their last names, without those of the backward pass."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths: set[str] = set()
        for path in paths:
            while path and path not in self.paths:
                self.paths.add(path)
                path = path.rpartition("/")[0]
        self._by_name: dict[str, str] = {}
        for path in sorted(self.paths, key=lambda path: (path.count("/"), path)):
            if not forward_paths(path):
                self._by_name.setdefault(path.rpartition("/")[2], path)

    def path_named_like(self, parameter: str) -> str | None:
        """The outermost path that ends with the first key of a parameter's name that is an annotation's, continued by
        the keys after it as far as these are annotations inside; None without one."""
        keys = [quoted or attribute for quoted, attribute in _KEY.findall(parameter)]
        start = next((index for index, key in enumerate(keys) if key in self._by_name), None)
        if start is None:
            return None
        path = self._by_name[keys[start]]
        for key in keys[start + 1 :]:
            if f"{path}/{key}" not in self.paths:
                break
            path = f"{path}/{key}"
        return path


@dataclass(frozen=True)
class _Allocator:
    """The events of the allocators of this host's devices: when, and the bytes in use after each: `allocated` for
    buffers, and `reserved` for the temporary memory of the running program. `capacity_bytes`: what programs can use of
    one device."""

    time_ps: Int64
    allocated: Int64
    reserved: Int64
    capacity_bytes: int

    def other_bytes(self, trace: Trace, program: str, lasting_bytes: int, peak_bytes: int) -> int | None:
        """The most that is allocated besides a program (its id), from a launch of it to its end; None without an event
        then. A TPU reserves a program's temporary memory apart, and counts only while it does; other allocators have it
        among the buffers."""
        start_ps, end_ps = _executions(trace, program)
        begun = np.zeros(len(self.time_ps) + 1, np.int64)
        np.add.at(begun, np.searchsorted(self.time_ps, start_ps), 1)
        np.add.at(begun, np.searchsorted(self.time_ps, end_ps, "right"), -1)
        during = np.cumsum(begun)[:-1] > 0
        own_bytes = peak_bytes
        if self.reserved.any():
            during &= self.reserved >= peak_bytes - lasting_bytes
            own_bytes = lasting_bytes
        allocated = self.allocated[during]
        return max(0, int(allocated.max()) - own_bytes) if len(allocated) else None


def _executions(trace: Trace, program: str) -> tuple[Int64, Int64]:
    """When each run of a program was launched, and when it ended."""
    launches = find_launches(trace)
    runs = launches.runs
    is_of_program = np.array(
        [str(int(id_ or 0) % 2**64) == program for _, id_ in launches.programs], np.bool_
    )
    rows = np.flatnonzero(is_of_program[runs.program])
    call = np.append(launches.row, np.int32(-1))[runs.launch[rows]]
    launched_ps = np.where(call >= 0, trace.start_ps[call], runs.start_ps[rows])
    return np.minimum(launched_ps, runs.end_ps[rows]), runs.end_ps[rows]


@memoised
def _allocator(trace: Trace) -> _Allocator | None:
    """The events of the allocators of devices; None without any."""
    columns = [trace.stats.get(name) for name in ("bytes_allocated", "bytes_reserved", "bytes_available")]
    allocated, reserved, available = columns
    if allocated is None or reserved is None or available is None:
        return None
    rows = allocated.rows
    values = np.stack([column.at(rows, -1) for column in (allocated, reserved, available)])
    is_valid = ((values >= 0) & (values <= MAX_BYTES)).all(axis=0)
    rows, values = rows[is_valid], values[:, is_valid]
    capacities = values.sum(axis=0)
    distinct, first, counts = np.unique(capacities, return_index=True, return_counts=True)
    likely = np.argsort(-counts, kind="stable")[:_MAX_CAPACITIES]
    of_devices = [int(distinct[index]) for index in likely if _is_of_device(trace, int(rows[first[index]]))]
    is_chosen = np.isin(capacities, of_devices)
    if not is_chosen.any():
        return None
    order = np.argsort(trace.start_ps[rows[is_chosen]], kind="stable")
    time_ps = trace.start_ps[rows[is_chosen]][order]
    used, held, _ = values[:, is_chosen][:, order]
    return _Allocator(time_ps, used, held, of_devices[0])


def _is_of_device(trace: Trace, row: int) -> bool:
    """Whether an allocator's event concerns a device's memory. Allocators of the host's have other names."""
    try:
        names = [stat.value for stat in event_stats(trace, row) if stat.name == "allocator_name"]
    except InputError:
        return False
    return all(isinstance(name, str) and _DEVICE_ALLOCATOR.match(name) for name in names)
