"""Devices with a plane of their own: their lines of program runs and of ops."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np

from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.system.parallel import run_parallel
from tb_xla_insights.trace.device import Device, DeviceKind, NestedIntervals
from tb_xla_insights.trace.gpu_runs import gpu_runs
from tb_xla_insights.trace.metadata_events import texts_of_events
from tb_xla_insights.trace.model import Line, Plane, Trace
from tb_xla_insights.trace.nesting import nest_events

MODULES, OPS = "XLA Modules", "XLA Ops"
_COPIES = ("Memcpy", "Memset")
_COPY_KERNELS = ("__amd_rocclr_copyBuffer", "__amd_rocclr_fillBuffer")
"""Prefixes of copies and fills on NVIDIA's and on AMD's streams. AMD's are kernels."""

_OTHER, _COPY, _COPY_KERNEL = range(3)
"""Codes of event names on a GPU's streams."""

_PLANE = re.compile(r"^/device:([A-Z]+):0*(\d+)$", re.ASCII)
_MAX_NAME_LENGTH = 40
_KIND_OF_NAME: dict[str, DeviceKind] = {"TPU": "tpu", "GPU": "gpu", "CPU": "cpu"}


def nest_intervals(row: Int32, start_ps: Int64, end_ps: Int64, name: Int32) -> NestedIntervals:
    """Builds intervals from columns in any order: sorts them, and nests them by their times."""
    order = np.argsort(start_ps, kind="stable")  # fast for concatenated lines, which are sorted: it merges
    start_ps = start_ps[order]
    equal = start_ps[1:] == start_ps[:-1]
    tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    order[tied] = order[tied][np.lexsort((-end_ps[order[tied]], start_ps[tied]))]
    row, end_ps, name = row[order], end_ps[order], name[order]
    del order, equal, tied  # frees 20 MB (for a large capture) before the nesting allocates its own
    depth, parent = nest_events(start_ps, end_ps - start_ps, [(0, len(row))])
    return NestedIntervals(row, start_ps, end_ps, depth, parent, name)


def intervals_of_lines(trace: Trace, lines: list[Line]) -> NestedIntervals:
    """The events of lines, as recorded, with their short names."""
    if len(lines) != 1:
        return intervals_of_events(trace, _rows(lines))
    # The events of one line are already sorted and nested.
    rows = lines[0].rows
    row = np.arange(rows.start, rows.stop, dtype=np.int32)
    parent = trace.parent[rows] - np.int32(rows.start)
    np.maximum(parent, -1, out=parent)
    name = texts_of_events(trace.metadata.label, trace.metadata_index[rows])
    return NestedIntervals(row, trace.start_ps[rows], trace.end_ps[rows], trace.depth[rows], parent, name)


def intervals_of_events(trace: Trace, rows: Int32) -> NestedIntervals:
    """Events, as recorded, with their short names."""
    return nest_intervals(
        rows, trace.start_ps[rows], trace.end_ps[rows], trace.metadata.label[trace.metadata_index[rows]]
    )


def plane_devices(trace: Trace) -> list[Device]:
    """One device per device plane with program runs or ops, in the order of kinds and numbers.

    Planes of parts of a device (sparse cores, counters) have other names and are not devices. A GPU's ops are the
    kernels of all streams, without copies, and its program runs are derived from them.
    """
    named = [
        (match[1], len(match[2]), match[2], plane)
        for plane in trace.planes
        if (match := _PLANE.match(plane.name))
    ]
    named.sort(key=lambda device: device[:3])
    lines: dict[int, list[Line]] = {}
    for line in trace.lines:
        lines.setdefault(line.plane, []).append(line)
    names = _names([f"{kind}:{number}" for kind, _, number, _ in named])
    devices = run_parallel(
        [
            partial(_device, trace, plane, _KIND_OF_NAME.get(kind, "other"), name, lines.get(plane.index, []))
            for (kind, *_, plane), name in zip(named, names, strict=True)
        ]
    )
    return _with_runs(trace, [device for device in devices if len(device.runs) or len(device.ops)])


def _names(planes: list[str]) -> list[str]:
    """Unique names of devices: repeated names get a number, `TPU:0 (2)`; overlong names of damaged files are cut."""
    count: dict[str, int] = {}
    names = []
    for plane in planes:
        name = plane if len(plane) <= _MAX_NAME_LENGTH else f"{plane[:_MAX_NAME_LENGTH]}…"
        count[name] = count.get(name, 0) + 1
        names.append(f"{name} ({count[name]})" if count[name] > 1 else name)
    return names


def _with_runs(trace: Trace, devices: list[Device]) -> list[Device]:
    """Adds runs, derived from kernels, to the devices that recorded only kernels."""
    without_runs = [
        device
        for device in devices
        if device.kind == "gpu" and not len(device.runs) and _is_stream(trace.line_of(int(device.ops.row[0])))
    ]
    if not without_runs:
        return devices
    runs = gpu_runs(trace, [device.ops.row for device in without_runs])
    with_runs = {
        device.plane: replace(
            device,
            runs=nest_intervals(columns.row, columns.start_ps, columns.end_ps, columns.name),
            run_of_op=columns.run_of_kernel,
        )
        for device, columns in zip(without_runs, runs, strict=True)
    }
    return [with_runs.get(device.plane, device) for device in devices]


def _is_stream(line: Line) -> bool:
    return line.name.startswith("Stream #")


def _device(trace: Trace, plane: Plane, kind: DeviceKind, name: str, lines: list[Line]) -> Device:
    ops = [line for line in lines if line.name == OPS]
    streams = [line for line in lines if _is_stream(line)]
    if streams and not any(line.count for line in ops):
        intervals = intervals_of_events(trace, _kernels(trace, _rows(streams)))
        # Kernels run beside each other, none inside another.
        intervals = replace(intervals, parent=np.full(len(intervals), -1, np.int32))
    else:
        intervals = intervals_of_lines(trace, ops)
    return Device(
        id=f"{trace.host}/{name}",
        name=name,
        kind=kind,
        host=trace.host,
        plane=plane.index,
        from_host_events=False,
        runs=intervals_of_lines(trace, [line for line in lines if line.name == MODULES]),
        ops=intervals,
        lines={line.name: line.index for line in lines},
    )


def _rows(lines: list[Line]) -> Int32:
    return np.concatenate(
        [np.arange(line.first, line.first + line.count, dtype=np.int32) for line in lines]
        or [np.empty(0, np.int32)]
    )


def _kernels(trace: Trace, rows: Int32) -> Int32:
    """The events of `rows` that compute, not copy. A kernel that copies or fills for an op counts as computing."""

    def code(text: str) -> int:
        if text.startswith(_COPIES):
            return _COPY
        return _COPY_KERNEL if text.startswith(_COPY_KERNELS) else _OTHER

    codes = trace.map_texts(trace.metadata.name[trace.metadata_index[rows]], code)
    has_op = (
        np.isin(rows, trace.stats["hlo_op"].rows) if "hlo_op" in trace.stats else np.zeros(len(rows), bool)
    )
    kernels: Int32 = rows[(codes == _OTHER) | (codes == _COPY_KERNEL) & has_op]
    return kernels
