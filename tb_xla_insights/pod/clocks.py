"""Hosts on one clock: the end of what they do together is one instant. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.trace.model import Int32, Int64

if TYPE_CHECKING:
    from tb_xla_insights.schema.parts import ClockOffset

FEWEST = 5
"""Ends that a host must share with others to be placed: the median of fewer is chance."""

MOST = 2_000
"""Ends that are used at most, evenly over the capture: more make the median no better."""

WIDEST = 8
"""A clock is not known if its residual is more than this part of the time between two ends of one collective."""

_ROUNDS = 30
_SETTLED_PS = 1_000.0
_NORMAL = 1.4826
"""The standard deviation of what is normally distributed, in median absolute deviations."""

_REAL = 5.0
"""How many times its own uncertainty a drift must be to be real."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Clocks:
    """Per host: `add_ps`, what makes its times those of the session's common clock, at `middle_ps` on its own;
    `offset_ps`, how far its clock is ahead of that one, beyond what its file says (the host in the middle has 0);
    `gain`, how much it gains a picosecond; `residual_ps`, how far the ends still are apart, as one standard deviation,
    or how far what one collective says is from what all say, if that is more; `count` of the ends that tell; `known`:
    whether there are enough of them, and agree."""

    add_ps: Int64
    offset_ps: Int64
    gain: Floats
    residual_ps: Int64
    middle_ps: Int64
    count: Int32
    known: NDArray[np.bool_]

    def common(self, host: int, times_ps: Int64) -> Int64:
        """Times of a host's clock, on the common one."""
        drift = np.rint((times_ps - self.middle_ps[host]) * self.gain[host]).astype(np.int64)
        common: Int64 = times_ps + self.add_ps[host] - drift
        return common


def relate(
    ends_ps: Int64,
    there: NDArray[np.bool_],
    kind: Int32,
    component: Int32,
    shift_ps: Int64,
    base_ps: Int64,
) -> Clocks:
    """The clocks of hosts, from the ends of what they did together: a row per instance, a column per host, valid where
    `there`. `kind`: which collective each instance is one of. `shift_ps`: about what to add to each host's times,
    `base_ps`: what its file says. `component`: hosts with other numbers (or negative ones) are not related.

    Medians twice over: an instance ends when the host in the middle says so, a host is late by what it is in its middle
    instance; so a quarter of both may be wrong.
    """
    hosts = ends_ps.shape[1]
    shared = np.flatnonzero(there.sum(axis=1) >= 2)
    chosen = (
        shared[np.linspace(0, len(shared) - 1, min(MOST, len(shared))).astype(np.intp)]
        if len(shared)
        else shared
    )
    ends, valid = ends_ps[chosen], there[chosen]
    counts = valid.sum(axis=0).astype(np.int32)
    known = (counts >= FEWEST) & (component >= 0)
    middle = np.array([_middle(ends[valid[:, host], host]) for host in range(hosts)], np.int64)
    # Differences of large numbers, so that floats are exact to a thousandth of a picosecond.
    zero = int(np.min(ends[valid] + np.broadcast_to(shift_ps, ends.shape)[valid])) if valid.any() else 0
    times = np.where(valid & known, (ends + shift_ps - zero).astype(np.float64), np.nan)
    add, gain = np.zeros(hosts), np.zeros(hosts)
    with np.errstate(invalid="ignore"):
        add = _settled(times, add)
        gain = _drifts(ends - middle, _apart(times + add), known)
        if gain.any():
            times -= np.where(valid, (ends - middle) * gain, 0.0)
            add = _settled(times, add)
        apart = _apart(times + add) * _others(times)
    residual = np.array(
        [
            max(_spread(apart[:, host]), _disagreement(apart[:, host], kind[chosen])) if known[host] else 0
            for host in range(hosts)
        ]
    )
    known &= residual <= _between(ends, valid, kind[chosen]) / WIDEST
    ahead = np.where(known, base_ps - shift_ps - np.rint(add).astype(np.int64), 0)
    for which in np.unique(component[known]).tolist():
        some = known & (component == which)
        ahead[some] -= int(np.sort(ahead[some])[(some.sum() - 1) // 2])
    return Clocks(base_ps - ahead, ahead, gain, np.rint(residual).astype(np.int64), middle, counts, known)


def _between(ends: Int64, valid: NDArray[np.bool_], kind: Int32) -> float:
    """The usual time between two ends of one collective, on the host that has most."""
    if not len(ends):
        return 0.0
    host = int(valid.sum(axis=0).argmax())
    gaps = [np.diff(np.sort(ends[valid[:, host] & (kind == it), host])) for it in np.unique(kind).tolist()]
    together = np.concatenate(gaps)
    return float(np.median(together)) if len(together) else 0.0


def _middle(times: Int64) -> int:
    return (int(times.min()) + int(times.max())) // 2 if len(times) else 0


def _settled(times: Floats, add: Floats) -> Floats:
    """What to add to each host's times so that ends agree."""
    for _ in range(_ROUNDS):
        change = _medians(-_apart(times + add), 0)
        add = add + change
        if np.abs(change).max(initial=0.0) < _SETTLED_PS:
            break
    return add


def _apart(times: Floats) -> Floats:
    """How much later than the host in the middle each host says that an instance ended."""
    found: Floats = times - _medians(times, 1)[:, None]
    return found


def _others(times: Floats) -> Floats:
    """Per instance, how much farther a host is from the others than from the middle, of which it is a part: two hosts
    are twice as far apart."""
    number = np.maximum((~np.isnan(times)).sum(axis=1, keepdims=True), 2)
    found: Floats = number / (number - 1)
    return found


def _medians(values: Floats, axis: int) -> Floats:
    """Medians without what is not a number; 0 where there is nothing."""
    some = ~np.isnan(values).all(axis=axis)
    found = np.zeros(values.shape[1 - axis])
    if some.any():
        found[some] = np.nanmedian(values[:, some] if axis == 0 else values[some], axis=axis)
    return found


def _drifts(since: Int64, apart: Floats, known: NDArray[np.bool_]) -> Floats:
    """Per host how much its clock gains, 0 where chance explains it as well: by the medians of the first and the last
    third of its ends."""
    found = np.zeros(apart.shape[1])
    for host in np.flatnonzero(known).tolist():
        rows = np.flatnonzero(~np.isnan(apart[:, host]))
        rows = rows[np.argsort(since[rows, host], kind="stable")]
        third = len(rows) // 3
        if third < FEWEST:
            continue
        first, last = rows[:third], rows[-third:]
        change = np.median(apart[last, host]) - np.median(apart[first, host])
        length = np.median(since[last, host]) - np.median(since[first, host])
        noise = 1.2533 * np.hypot(_spread(apart[first, host]), _spread(apart[last, host])) / np.sqrt(third)
        if length > 0 and abs(change) > _REAL * noise:
            found[host] = change / length
    return found


def _spread(values: Floats) -> float:
    values = values[~np.isnan(values)]
    return float(_NORMAL * np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


def _disagreement(apart: Floats, kind: Int32) -> float:
    """How far what one collective says of a clock is from what all of them say."""
    there = ~np.isnan(apart)
    medians = [
        np.median(apart[there & (kind == it)])
        for it in np.unique(kind[there])
        if (there & (kind == it)).sum() >= FEWEST
    ]
    return float(np.abs(medians).max()) if len(medians) > 1 else 0.0


def offset_rows(clocks: Clocks) -> list[ClockOffset]:
    """Per host `clock_offset_ps` and `residual_ps`, null where too little is shared, and `drift_ppm`."""
    rows = zip(
        clocks.offset_ps.tolist(),
        clocks.residual_ps.tolist(),
        clocks.gain.tolist(),
        clocks.known.tolist(),
        strict=True,
    )
    return [
        {
            "clock_offset_ps": offset if known else None,
            "residual_ps": residual if known or residual else None,
            "drift_ppm": gain * 1e6 if known else None,
        }
        for offset, residual, gain, known in rows
    ]
