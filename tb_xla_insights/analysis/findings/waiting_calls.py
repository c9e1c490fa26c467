"""The call in which the program waits for the device, as far as the capture shows it."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.delays.blocking_waits import find_blocking_waits, waits_in_markers
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.locations import most_common
from tb_xla_insights.analysis.host.script_frames import frame_around
from tb_xla_insights.catalog.frames import parse_frame
from tb_xla_insights.trace.model import Trace

_CALLS = {
    "block_until_ready": "jax.block_until_ready",
    "effects_barrier": "jax.effects_barrier()",
    "wait_device_ops": "xm.wait_device_ops()",
    "asarray": "np.asarray()",
    "__array__": "np.asarray()",
    "_item": ".item()",
}
"""Calls that wait for the device, by the Python function that the capture records for them."""

_MARKER_CALL = "wait=True (torch_xla.sync or xm.mark_step)"


def waiting_call(facts: Facts) -> str:
    """The call that most waits are in, and the function of the script around it, such as `np.asarray() (step at
    train.py:9)`. If no Python function shows the call: `what waits for the device`, with all calls that leave the same
    events."""
    trace, rows = facts.trace, find_blocking_waits(facts.trace).tolist()
    calls = [_recorded_call(trace, row) for row in rows]
    frames = frame_around(trace, np.array([outside for _, outside in calls], np.int32)).tolist()
    texts = [_text(facts, name, frame) for (name, _), frame in zip(calls, frames, strict=True)]
    in_markers = waits_in_markers(trace)
    call = most_common(
        _MARKER_CALL if row in in_markers else text for row, text in zip(rows, texts, strict=True)
    )
    if call:
        return call
    return f"what waits for the device{f' ({facts.words.waits})' if facts.words.waits else ''}"


def _recorded_call(trace: Trace, row: int) -> tuple[str, int]:
    """The call of one wait (a row), the outermost by the Python functions around it, and the event around that call
    (-1: none); without one, an empty name and the wait."""
    call = "", row
    while row >= 0:
        frame = parse_frame(trace.name(row))
        row = int(trace.parent[row])
        if frame and frame.function in _CALLS:
            call = _CALLS[frame.function], row
    return call


def _text(facts: Facts, call: str, row: int) -> str | None:
    """A call and the frame around it (a row, -1: none). None if no Python function shows the call."""
    frame = parse_frame(facts.trace.name(row)) if row >= 0 else None
    if not call and frame and facts.framework == "jax":
        call = ".block_until_ready()"  # no Python function: the array's method is compiled code
    return f"{call} ({frame.text})" if call and frame else call or None
