"""When a device works, when it is idle, and when it only looks busy."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.intervals import Intervals, own_time, span_intervals, union
from tb_xla_insights.trace.model import Device, SessionTrace, Spans, Trace

Definition = Literal["ops", "modules", "capture"]
"""What counts as busy, and in relation to what: ops within the device's span; program runs within the device's span;
ops within the whole capture."""

_EXCLUDED = frozenset(
    [
        "infeed", "outfeed", "host send", "host send done", "host recv", "host recv done", "host receive",
        "host receive done", "async done", "megacore fusion",
    ]
)  # fmt: skip
"""Categories that xprof leaves out of a TPU's duty cycle: the core only waits for others in them."""

_OPCODE = re.compile(r"%?([A-Za-z_][\w-]*?)(\.[\w.]*)?$")
_STALL = re.compile(r"[-_ ]done$")


def device_span(device: Device) -> tuple[int, int]:
    """Start of its first and end of its last module or op; (0, 0) where it has neither."""
    parts = [part for part in (device.modules, device.ops) if len(part)]
    if not parts:
        return 0, 0
    return min(int(p.start_ps.min()) for p in parts), max(int(p.end_ps.max()) for p in parts)


def busy(trace: Trace, device: Device, definition: Definition = "ops") -> Intervals:
    """When the device is busy: the union of its top-level ops without the categories that xprof leaves out, or of its
    modules where it has no ops or the definition says so. (design.md, "Busy")"""
    if definition == "modules" or not len(device.ops):
        spans = device.modules if len(device.modules) else device.ops
        return union(spans.start_ps, spans.end_ps)
    counts = (device.ops.depth == 0) & ~_op_facts(trace, device.ops)[0]
    return union(device.ops.start_ps[counts], device.ops.end_ps[counts])


def idle(trace: Trace, device: Device) -> Intervals:
    """The rest of the device's span: its gaps, the shortest ones included."""
    return busy(trace, device).gaps(*device_span(device))


def stalls(trace: Trace, device: Device, definition: Definition = "ops") -> Intervals:
    """The part of busy in which every op that is innermost waits for an asynchronous one (`copy-done`, …)."""
    ops = device.ops
    waits = _op_facts(trace, ops)[1]
    if not waits.any():
        return span_intervals(0, 0)
    op, start, end = own_time(ops.start_ps, ops.end_ps, ops.parent)
    waiting = waits[op]
    at_work = union(start[~waiting], end[~waiting])
    waited = union(start[waiting], end[waiting]).without(at_work)
    # What of that is busy: an op that waits may be left out of it, or lie below one that is.
    span_start, span_end = device_span(device)
    return waited.without(busy(trace, device, definition).gaps(span_start, span_end))


def device_summaries(session: SessionTrace, definition: Definition = "ops") -> list[dict[str, Any]]:
    """One entry per device core, as in the report; `busy_ps + idle_ps = span_ps` exactly."""
    found = []
    for trace in session.traces:
        for device in trace.devices:
            start, end = (0, session.duration_ps) if definition == "capture" else device_span(device)
            busy_ps = busy(trace, device, definition).clipped(start, end).total_ps
            found.append(
                {
                    "id": device.id,
                    "name": device.name,
                    "kind": device.kind,
                    "host": device.host,
                    "span_ps": end - start,
                    "busy_ps": busy_ps,
                    "idle_ps": end - start - busy_ps,
                    "stall_ps": stalls(trace, device, definition).total_ps,
                    "duty_cycle": busy_ps / (end - start) if end > start else 0.0,
                    "modules": len(device.modules),
                    "ops": len(device.ops),
                }
            )
    return found


def _op_facts(trace: Trace, ops: Spans) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Per op, whether busy leaves it out, and whether it only waits."""
    metas = trace.meta[ops.row]
    left_out = np.zeros(len(trace.metadata.name), np.bool_)
    waits = np.zeros(len(trace.metadata.name), np.bool_)
    categories = trace.metadata.text.get("hlo_category")
    for meta in np.unique(metas):
        text = -1 if categories is None else categories[meta]
        category = "" if text < 0 else re.sub(r"[-_ ]+", " ", trace.strings[text].lower())
        opcode = _opcode(trace, int(meta))
        left_out[meta] = category in _EXCLUDED if category else re.sub("[-_]", " ", opcode) in _EXCLUDED
        waits[meta] = bool(_STALL.search(category) or _STALL.search(opcode))
    return left_out[metas], waits[metas]


def _opcode(trace: Trace, meta: int) -> str:
    """What the op's short name says it is: `copy-done` of `%copy-done.3 = …`."""
    display = trace.metadata.display_name[meta]
    name = trace.strings[display if display >= 0 else trace.metadata.name[meta]]
    match = _OPCODE.match(name.split(" ", 1)[0])
    return match[1] if match else ""
