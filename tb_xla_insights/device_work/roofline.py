"""What bounds an op: the roofline's rule. (docs/definitions.md, "Ops")"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args

Bound = Literal["compute", "memory", "link", "wait", "neither", "unknown"]
"""`link`: collectives and transfers; `wait`: waits for an asynchronous op or a function on the host; `neither`: far
from both roofs; `unknown`: too little is known to tell."""

BOUNDS: tuple[Bound, ...] = get_args(Bound)

NEAR = 0.5
"""From this share of a roof on an op is bound by it."""

_OF_KIND: dict[str, Bound] = {
    "collective": "link", "transfer": "link", "wait": "wait", "start": "wait", "callback": "wait",
    "container": "unknown",
}  # fmt: skip

_PS = 1e-12


class Roof(NamedTuple):
    """The peaks of one device, None where not known."""

    flops_per_s: float | None = None
    bytes_per_s: float | None = None


def share_of(amount: int | None, peak: float | None, ps: int) -> float | None:
    """An amount's rate in some time, as a share of the peak; None where something is not known."""
    return None if amount is None or not peak or not ps else amount / (peak * ps * _PS)


def roof_time(row: Mapping[str, Any], roof: Roof) -> int | None:
    """How long the row's FLOPs and bytes take at the peaks, in ps: the longer of both. None where something is not
    known."""
    flops, nbytes = row["flops"], row["hbm_bytes"]
    if flops is None or nbytes is None or not roof.flops_per_s or not roof.bytes_per_s:
        return None
    seconds: float = max(flops / roof.flops_per_s, nbytes / roof.bytes_per_s)
    return round(seconds / _PS)


def bound_of(row: Mapping[str, Any], roof: Roof) -> Bound:
    """What bounds one row of ops."""
    if row["kind"] != "work":
        return _OF_KIND[row["kind"]]
    compute = share_of(row["flops"], roof.flops_per_s, row["self_ps"])
    memory = share_of(row["hbm_bytes"], roof.bytes_per_s, row["self_ps"])
    if max(compute or 0.0, memory or 0.0) >= NEAR:
        return "compute" if (compute or 0.0) >= (memory or 0.0) else "memory"
    return "unknown" if compute is None or memory is None else "neither"


def most_of(bound_ps: Mapping[str, int], whole_ps: int) -> str:
    """What bounds several rows: that which has more than half of their time, else `mixed`."""
    largest = max(bound_ps, key=lambda it: bound_ps[it], default="unknown")
    return largest if 2 * bound_ps.get(largest, 0) > whole_ps else "mixed" if whole_ps else "unknown"


def common_roof(devices: Iterable[Mapping[str, Any]]) -> Roof:
    """The roof that all devices share; no peak where they differ."""
    flops, nbytes = ({row[name] for row in devices} for name in ("flops_per_s", "bytes_per_s"))
    return Roof(*(it.pop() if len(it) == 1 else None for it in (flops, nbytes)))
