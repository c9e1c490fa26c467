"""Python functions that compiled programs wait for: `jax.pure_callback`, `io_callback` and JAX's debugging callbacks.
(docs/definitions.md, "Host callback")"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.propagation.ops import Ops, find_ops
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import Intervals, own_time_intervals, span_intervals, union
from tb_xla_insights.analysis.user_files import is_user_file
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.frames import Frame, parse_frame
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_enclosing

_PRIMITIVE = re.compile(
    r"(?:.*/)?(pure_callback|io_callback|debug_callback|debug_print|python_callback)(?:\[.*)?"
)
"""An op name that ends in one of JAX's primitives for callbacks."""

_CALLBACK_OPCODES = ("", "custom-call", "send", "send-done", "recv", "recv-done")
"""Opcodes to which such a primitive is compiled. A fusion that contains one is no callback."""

_JAX_FILES = ("callback.py", "debugging.py", "tree_util.py", "core.py", "util.py")
"""Files of JAX whose functions its frame calls beside the user's. Frames record file names without folders, so a user's
function in a file of such a name is not found."""


@dataclass(frozen=True)
class Callbacks:
    """Callbacks of one device. `op`: indices of their ops among the device's ops, in order. `waits`: when the core does
    nothing but wait for them."""

    op: Int32
    waits: Intervals


@memoised
def find_callbacks(trace: Trace, device: int) -> Callbacks:
    """Returns the callbacks of one device (an index into the trace's devices). While another op runs beside a callback,
    the core does not only wait."""
    ops, distinct_ops = trace.devices[device].ops, find_ops(trace)
    is_callback = np.array(
        [callback_primitive(distinct_ops, key) is not None for key in range(len(distinct_ops.name))],
        np.bool_,
    )
    is_callback_op = (
        is_callback[distinct_ops.devices[device].key] if is_callback.any() else np.zeros(len(ops), np.bool_)
    )
    if not is_callback_op.any():
        return Callbacks(np.zeros(0, np.int32), span_intervals(0, 0))
    op, start, end = own_time_intervals(ops.start_ps, ops.end_ps, ops.parent)
    in_callback = is_callback_op[op]
    waits = union(start, end, in_callback).without(union(start, end, ~in_callback))
    return Callbacks(np.flatnonzero(is_callback_op).astype(np.int32), waits)


def callback_primitive(ops: Ops, key: int) -> str | None:
    """Returns which of JAX's primitives a distinct op (its key in Ops) is, None if it is no callback."""
    origin = ops.origin[key]
    match = _PRIMITIVE.fullmatch(origin.op_name) if origin.opcode in _CALLBACK_OPCODES else None
    return match[1] if match else None


def callback_time_ps(trace: Trace, device: int, start_ps: Int64, end_ps: Int64) -> Int64:
    """Returns how long a device's core does nothing but wait for callbacks in each window."""
    waits = find_callbacks(trace, device).waits
    return covered_times(waits.start_ps, waits.end_ps, start_ps, end_ps)


def callback_functions(trace: Trace, rows: Int32) -> tuple[Counter[str], Counter[str]]:
    """Returns the time and the number of calls of each of the user's functions that the given callback ops (rows of the
    trace) call. The Python tracer records them on the ops' own threads."""
    times, calls = Counter[str](), Counter[str]()
    is_frame = has_tag(trace, "python_tracer")
    frames = {
        index: parse_frame(trace.strings[trace.metadata.name[index]])
        for index in np.flatnonzero(is_frame).tolist()
    }
    is_caller = np.zeros(len(is_frame), np.bool_)
    is_caller[[index for index, frame in frames.items() if frame and _calls_the_users(frame)]] = True
    if not is_caller.any() or not rows.size:
        return times, calls
    called = trace.rows_with_metadata(is_frame)
    called = called[trace.parent[called] >= 0]
    called = called[is_caller[trace.metadata_index[trace.parent[called]]]]
    for row in called[nearest_enclosing(trace.parent, called, np.sort(rows)) >= 0].tolist():
        frame = frames[int(trace.metadata_index[row])]
        if frame and is_user_file(frame.file) and frame.file not in _JAX_FILES:
            times[frame.function] += int(trace.duration_ps[row])
            calls[frame.function] += 1
    return times, calls


def _calls_the_users(frame: Frame) -> bool:
    """Whether a frame is one of JAX that calls the user's function."""
    return frame.file == "debugging.py" or (frame.file, frame.function) == ("callback.py", "__call__")
