"""Python functions that compiled programs wait for: `jax.pure_callback`, `io_callback` and what debugging makes of
them. (docs/definitions.md, "Host callback")"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.propagation.ops import Ops, find_ops
from tb_xla_insights.analysis.propagation.source import Frame
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import Intervals, own_time_intervals, span_intervals, union
from tb_xla_insights.trace.model import Int32, Int64, Trace
from tb_xla_insights.trace.nesting import nearest_enclosing

_PRIMITIVE = re.compile(
    r"(?:.*/)?(pure_callback|io_callback|debug_callback|debug_print|python_callback)(?:\[.*)?"
)
"""An op name that ends in one of JAX's primitives for callbacks."""

_CALLS = ("", "custom-call", "send", "send-done", "recv", "recv-done")
"""What such a primitive is compiled to; a fusion around it is none."""

_CALLER = re.compile(r"\$(callback\.py:\d+ __call__|debugging\.py:\d+ .*)")
"""The Python tracer's frame of JAX that calls the user's function."""

_FRAME = re.compile(r"\$([\w.-]+\.py):\d+ (.+)")
_OF_JAX = ("callback.py", "debugging.py", "tree_util.py", "core.py", "util.py")


@dataclass(frozen=True)
class Callbacks:
    """Callbacks of one device: the places of their ops among the device's, in order, and when the core does nothing but
    wait for them."""

    op: Int32
    alone: Intervals


@memoised
def find_callbacks(trace: Trace, device: int) -> Callbacks:
    """The callbacks of one device (an index into the trace's devices). While another op runs beside a callback the core
    does not wait for it alone."""
    ops, known = trace.devices[device].ops, find_ops(trace)
    is_callback = np.array(
        [callback_primitive(known, number) is not None for number in range(len(known.name))], np.bool_
    )
    chosen = is_callback[known.devices[device].key] if is_callback.any() else np.zeros(len(ops), np.bool_)
    if not chosen.any():
        return Callbacks(np.zeros(0, np.int32), span_intervals(0, 0))
    op, start, end = own_time_intervals(ops.start_ps, ops.end_ps, ops.parent)
    waits = chosen[op]
    alone = union(start, end, waits).without(union(start, end, ~waits))
    return Callbacks(np.flatnonzero(chosen).astype(np.int32), alone)


def callback_primitive(ops: Ops, number: int) -> str | None:
    """Which of JAX's primitives a distinct op is, if it is a callback."""
    origin = ops.origin[number]
    match = _PRIMITIVE.fullmatch(origin.op_name) if origin.opcode in _CALLS else None
    return match[1] if match else None


def callback_frame(ops: Ops, number: int) -> Frame | None:
    """Where the program asks for a distinct op's callback, if its HLO tells."""
    frames = ops.frames.get(ops.program[number])
    own = frames.own(ops.origin[number].frame) if frames else None
    if own is None and ":" in (source := ops.origin[number].source):
        file, _, line = source.rpartition(":")
        own = Frame(file, "", int(line))
    return own


def callback_time_ps(trace: Trace, device: int, start_ps: Int64, end_ps: Int64) -> Int64:
    """How long a device's core waits for callbacks alone in each of some stretches of time."""
    alone = find_callbacks(trace, device).alone
    return covered_times(alone.start_ps, alone.end_ps, start_ps, end_ps)


def callback_functions(trace: Trace, rows: Int32) -> Counter[str]:
    """The user's functions that the ops of some rows call, by time: those that the Python tracer has on the ops' own
    threads."""
    found: Counter[str] = Counter()
    frames = has_tag(trace, "python_tracer")
    names = {entry: trace.strings[trace.metadata.name[entry]] for entry in np.flatnonzero(frames).tolist()}
    callers = np.zeros(len(frames), np.bool_)
    callers[[entry for entry, name in names.items() if _CALLER.fullmatch(name)]] = True
    if not callers.any() or not rows.size:
        return found
    called = trace.rows_with_metadata(frames)
    called = called[trace.parent[called] >= 0]
    called = called[callers[trace.meta[trace.parent[called]]]]
    for row in called[nearest_enclosing(trace.parent, called, np.sort(rows)) >= 0].tolist():
        match = _FRAME.fullmatch(names[int(trace.meta[row])])
        if match and match[1] not in _OF_JAX:
            found[match[2]] += int(trace.duration_ps[row])
    return found
