"""What bounds an op, by the roofline model. (docs/definitions.md, "Ops")"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

Bound = Literal["compute", "memory", "link", "wait", "neither", "unknown"]
"""`link`: collectives and transfers; `wait`: starts or waits for an asynchronous op, or waits for a function on
the host; `neither`: far from both roofs; `unknown`: too little is known."""

BOUNDS: tuple[Bound, ...] = get_args(Bound)

MIN_BOUND_SHARE = 0.5
"""An op is bound by a roof if it reaches this share of it."""

NEAR_ROOF_SHARE = 0.8
"""Ops at this share of the roofline or above can hardly be improved."""

_BOUND_OF_KIND: dict[str, Bound] = {
    "collective": "link", "transfer": "link", "wait": "wait", "start": "wait", "callback": "wait",
    "container": "unknown",
}  # fmt: skip

_SECONDS_PER_PS = 1e-12


class Roof(NamedTuple):
    """The roofs of one device: its peak FLOP/s and memory bandwidth, None where not known."""

    flops_per_s: float | None = None
    bytes_per_s: float | None = None


def peak_share(amount: int | None, peak: float | None, time_ps: int) -> float | None:
    """Returns the rate of an amount as a share of the peak; None if either is not known, or without time."""
    return None if amount is None or not peak or not time_ps else amount / (peak * time_ps * _SECONDS_PER_PS)


def roof_time(row: Mapping[str, Any], roof: Roof) -> int | None:
    """Returns how long the row's FLOPs and bytes take at the peaks, in ps: the longer of both. None if something is not
    known."""
    flops, nbytes = row["flops"], row["hbm_bytes"]
    if flops is None or nbytes is None or not roof.flops_per_s or not roof.bytes_per_s:
        return None
    seconds: float = max(flops / roof.flops_per_s, nbytes / roof.bytes_per_s)
    return round(seconds / _SECONDS_PER_PS)


def bound_of(row: Mapping[str, Any], roof: Roof) -> Bound:
    """Returns what bounds one row of ops."""
    if row["kind"] != "work":
        return _BOUND_OF_KIND[row["kind"]]
    compute = peak_share(row["flops"], roof.flops_per_s, row["self_ps"])
    memory = peak_share(row["hbm_bytes"], roof.bytes_per_s, row["self_ps"])
    if max(compute or 0.0, memory or 0.0) >= MIN_BOUND_SHARE:
        return "compute" if (compute or 0.0) >= (memory or 0.0) else "memory"
    return "unknown" if compute is None or memory is None else "neither"


def main_bound(bound_ps: Mapping[str, int], total_ps: int) -> str:
    """Returns what bounds several rows: the bound with more than half of their time, else `mixed`; `unknown` if they
    have no time."""
    largest = max(bound_ps, key=lambda bound: bound_ps[bound], default="unknown")
    return largest if 2 * bound_ps.get(largest, 0) > total_ps else "mixed" if total_ps else "unknown"


def common_roof(devices: Sequence[Mapping[str, Any]]) -> Roof:
    """Returns the roof that all devices share; no peak where they differ."""
    flops, nbytes = ({row[name] for row in devices} for name in ("flops_per_s", "bytes_per_s"))
    return Roof(*(peaks.pop() if len(peaks) == 1 else None for peaks in (flops, nbytes)))
