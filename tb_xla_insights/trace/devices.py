"""The devices of a capture that have a plane of their own: which lines are their program runs and which their
ops."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np

from tb_xla_insights.parallel import run_parallel
from tb_xla_insights.trace.gpu_runs import gpu_runs
from tb_xla_insights.trace.metadata_events import texts_of_events
from tb_xla_insights.trace.model import Device, DeviceKind, Int32, Int64, Line, Plane, Spans, Trace
from tb_xla_insights.trace.nesting import nest_events

MODULES, OPS = "XLA Modules", "XLA Ops"
_COPIES = ("Memcpy", "Memset")
_COPY_KERNELS = ("__amd_rocclr_copyBuffer", "__amd_rocclr_fillBuffer")
"""How copies between host and device, and fills, begin on NVIDIA's and on AMD's streams. AMD's are kernels."""

_OTHER, _COPY, _COPY_KERNEL = range(3)

_PLANE = re.compile(r"^/device:([A-Z]+):0*(\d+)$", re.ASCII)
_LONGEST_NAME = 40
_KINDS: dict[str, DeviceKind] = {"TPU": "tpu", "GPU": "gpu", "CPU": "cpu"}


def make_spans(row: Int32, start_ps: Int64, end_ps: Int64, name: Int32) -> Spans:
    """Spans from columns in any order: sorted, and nested by their times."""
    order = np.argsort(start_ps, kind="stable")  # lines one after the other: merging them is quick
    start_ps = start_ps[order]
    same = start_ps[1:] == start_ps[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    order[tied] = order[tied][np.lexsort((-end_ps[order[tied]], start_ps[tied]))]
    row, end_ps, name = row[order], end_ps[order], name[order]
    del order, same, tied  # of a large capture, 20 MB that what follows needs
    depth, parent = nest_events(start_ps, end_ps - start_ps, [(0, len(row))])
    return Spans(row, start_ps, end_ps, depth, parent, name)


def line_spans(trace: Trace, lines: list[Line]) -> Spans:
    """The spans of the events of lines as recorded, under their short names."""
    if len(lines) != 1:
        return event_spans(trace, _rows(lines))
    # They are sorted, and nested, already.
    rows = lines[0].rows
    row = np.arange(rows.start, rows.stop, dtype=np.int32)
    parent = trace.parent[rows] - np.int32(rows.start)
    np.maximum(parent, -1, out=parent)
    name = texts_of_events(trace.metadata.label, trace.meta[rows])
    return Spans(row, trace.start_ps[rows], trace.end_ps[rows], trace.depth[rows], parent, name)


def event_spans(trace: Trace, rows: Int32) -> Spans:
    """The spans of events as recorded, under their short names."""
    return make_spans(rows, trace.start_ps[rows], trace.end_ps[rows], trace.metadata.label[trace.meta[rows]])


def plane_devices(trace: Trace) -> list[Device]:
    """One device for each device plane that recorded program runs or ops, in the order of kinds and numbers.

    Planes of parts of a device (sparse cores, counters) have other names and are no devices. On a GPU the
    ops are the kernels of all streams, copies apart, and the program runs are made from them.
    """
    named = [
        (match[1], len(match[2]), match[2], plane)
        for plane in trace.planes
        if (match := _PLANE.match(plane.name))
    ]
    named.sort(key=lambda entry: entry[:3])
    lines: dict[int, list[Line]] = {}
    for line in trace.lines:
        lines.setdefault(line.plane, []).append(line)
    names = _names([f"{kind}:{number}" for kind, _, number, _ in named])
    found = run_parallel(
        [
            partial(_device, trace, plane, _KINDS.get(kind, "other"), name, lines.get(plane.index, []))
            for (kind, *_, plane), name in zip(named, names, strict=True)
        ]
    )
    return _with_runs(trace, [device for device in found if len(device.modules) or len(device.ops)])


def _names(planes: list[str]) -> list[str]:
    """The names of devices: those of planes that have the name of another one say so, `TPU:0 (2)`, and numbers that no
    device has are cut."""
    count: dict[str, int] = {}
    found = []
    for plane in planes:
        name = plane if len(plane) <= _LONGEST_NAME else f"{plane[:_LONGEST_NAME]}…"
        count[name] = count.get(name, 0) + 1
        found.append(f"{name} ({count[name]})" if count[name] > 1 else name)
    return found


def _with_runs(trace: Trace, devices: list[Device]) -> list[Device]:
    """The devices, those that recorded kernels alone with the runs made from them."""
    without = [
        it
        for it in devices
        if it.kind == "gpu" and not len(it.modules) and _is_stream(trace.line_of(int(it.ops.row[0])))
    ]
    if not without:
        return devices
    runs = gpu_runs(trace, [device.ops.row for device in without])
    made = {
        device.plane: replace(device, modules=make_spans(row, start, end, name), run_of_op=run)
        for device, (row, start, end, name, run) in zip(without, runs, strict=True)
    }
    return [made.get(it.plane, it) for it in devices]


def _is_stream(line: Line) -> bool:
    return line.name.startswith("Stream #")


def _device(trace: Trace, plane: Plane, kind: DeviceKind, name: str, lines: list[Line]) -> Device:
    ops = [line for line in lines if line.name == OPS]
    streams = [line for line in lines if _is_stream(line)]
    if streams and not any(line.count for line in ops):
        spans = event_spans(trace, _kernels(trace, _rows(streams)))
        # Kernels run beside each other, none inside another.
        spans = replace(spans, parent=np.full(len(spans), -1, np.int32))
    else:
        spans = line_spans(trace, ops)
    return Device(
        id=f"{trace.host}/{name}",
        name=name,
        kind=kind,
        host=trace.host,
        plane=plane.index,
        from_host_events=False,
        modules=line_spans(trace, [line for line in lines if line.name == MODULES]),
        ops=spans,
        lines={line.name: line.index for line in lines},
    )


def _rows(lines: list[Line]) -> Int32:
    return np.concatenate(
        [np.arange(line.first, line.first + line.count, dtype=np.int32) for line in lines]
        or [np.empty(0, np.int32)]
    )


def _kernels(trace: Trace, rows: Int32) -> Int32:
    """The events among `rows` that compute, not copy. A kernel that copies or fills for an op is that op's work."""

    def kind(text: str) -> int:
        return _COPY if text.startswith(_COPIES) else _COPY_KERNEL * text.startswith(_COPY_KERNELS)

    kinds = trace.map_texts(trace.metadata.name[trace.meta[rows]], kind)
    of_op = (
        np.isin(rows, trace.stats["hlo_op"].rows) if "hlo_op" in trace.stats else np.zeros(len(rows), bool)
    )
    found: Int32 = rows[(kinds <= _OTHER) | (kinds == _COPY_KERNEL) & of_op]
    return found
