"""The call in which the program waits for the device, as far as the capture shows it."""

from __future__ import annotations

from tb_xla_insights.analysis.delays.blocking_waits import find_blocking_waits, waits_in_markers
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.locations import most_common
from tb_xla_insights.analysis.names import frame_name, has_tag

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
    call = most_common(_call(facts, row) for row in find_blocking_waits(facts.trace).tolist())
    if call:
        return call
    return f"what waits for the device{f' ({facts.words.waits})' if facts.words.waits else ''}"


def _call(facts: Facts, row: int) -> str | None:
    """The call of one wait (a row). None if no Python function shows it."""
    if row in waits_in_markers(facts.trace):
        return _MARKER_CALL
    trace, is_frame, call, function = facts.trace, has_tag(facts.trace, "python_tracer"), "", None
    while row >= 0:
        if is_frame[trace.metadata_index[row]]:
            name = trace.name(row)
            if known := _CALLS.get(name.rpartition(" ")[2]):
                call, function = known, None
            elif function is None:
                function = frame_name(name)
        row = int(trace.parent[row])
    if not call and function and facts.framework == "jax":
        call = ".block_until_ready()"  # no Python function: the array's method is compiled code
    return f"{call} ({function})" if call and function else call or None
