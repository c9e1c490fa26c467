"""Relates the clocks of hosts: a collective ends on all of them at one instant. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Float64, Int32, Int64

if TYPE_CHECKING:
    from tb_xla_insights.schema.parts import ClockOffset

MIN_ENDS = 5
"""Ends that a host must share with others for its clock to be related: the median of fewer is chance."""

MAX_ENDS = 2_000
"""Ends that are used at most, evenly over the capture: more do not improve the median."""

RESIDUAL_DIVISOR = 8
"""A clock is not known if its residual exceeds the time between two executions of one collective, divided by this
number."""

_MAX_ITERATIONS = 30
_CONVERGED_PS = 1_000.0
SIGMA_PER_MAD = 1.4826
"""The standard deviation of a normal distribution, in median absolute deviations."""

_SIGMA_OF_MEDIAN = 1.2533
"""The standard error of a median of n normal values, in standard deviations over √n."""

_MIN_DRIFT_SIGMAS = 5.0
"""A drift is applied if it exceeds its own uncertainty this many times."""


@dataclass(frozen=True)
class Clocks:
    """The clocks of hosts, one value per host.

    `correction_ps`: what to add to the host's times to get the session's common clock, at `reference_ps` on the host's
    clock.
    `offset_ps`: how far the host's clock is ahead of the common one, beyond what its file says; the median host has 0.
    `drift`: how much the clock gains per unit of time.
    `residual_ps`: the standard deviation of the ends from the common clock, or the largest disagreement between one
    collective and all of them, whichever is more.
    `end_count`: the number of ends used. `is_known`: whether there are enough of them, and they agree.
    """

    correction_ps: Int64
    offset_ps: Int64
    drift: Float64
    residual_ps: Int64
    reference_ps: Int64
    end_count: Int32
    is_known: NDArray[np.bool_]

    def to_common(self, host: int, times_ps: Int64) -> Int64:
        """Converts times of a host's clock to the common clock."""
        drift = np.rint((times_ps - self.reference_ps[host]) * self.drift[host]).astype(np.int64)
        common_ps: Int64 = times_ps + self.correction_ps[host] - drift
        return common_ps


def relate_clocks(
    ends_ps: Int64,
    present: NDArray[np.bool_],
    instruction: Int32,
    execution: Int32,
    component: Int32,
    shift_ps: Int64,
    base_ps: Int64,
) -> Clocks:
    """Relates the clocks of hosts.

    `ends_ps`: the ends of collectives, a row per instance, a column per host, valid where `present`. `instruction` and
    `execution`: the collective of each instance, and its execution. `component`: hosts with different or negative
    numbers are not related. Per host, `shift_ps` is the approximate correction of its times, `base_ps` the one
    that its file records.

    Alternates two medians: an instance ends when the median host says so, and a host's correction is the median over
    its instances. So a quarter of all ends may be wrong.
    """
    hosts = ends_ps.shape[1]
    shared = np.flatnonzero(present.sum(axis=1) >= 2)
    rows = (
        shared[np.linspace(0, len(shared) - 1, min(MAX_ENDS, len(shared))).astype(np.intp)]
        if len(shared)
        else shared
    )
    ends, valid, instruction, execution = ends_ps[rows], present[rows], instruction[rows], execution[rows]
    end_count = valid.sum(axis=0).astype(np.int32)
    is_known = (end_count >= MIN_ENDS) & (component >= 0)
    reference = np.array([_midrange(ends[valid[:, host], host]) for host in range(hosts)], np.int64)
    # Times from the first end on, so that floats are exact to a fraction of a picosecond.
    origin_ps = int(np.min(ends[valid] + np.broadcast_to(shift_ps, ends.shape)[valid])) if valid.any() else 0
    times = np.where(valid & is_known, (ends + shift_ps - origin_ps).astype(np.float64), np.nan)
    with np.errstate(invalid="ignore"):
        correction = _iterate_corrections(times, np.zeros(hosts))
        drift = _estimate_drifts(ends - reference, _deviations(times + correction), is_known)
        if drift.any():
            times -= np.where(valid, (ends - reference) * drift, 0.0)
            correction = _iterate_corrections(times, correction)
        deviations = _deviations(times + correction) * _leave_one_out_factors(times)
    residual = np.array(
        [
            max(_spread(deviations[:, host]), _disagreement(deviations[:, host], instruction))
            if is_known[host]
            else 0
            for host in range(hosts)
        ]
    )
    is_known &= residual <= _usual_interval(ends, valid, instruction, execution) / RESIDUAL_DIVISOR
    offset = np.where(is_known, base_ps - shift_ps - np.rint(correction).astype(np.int64), 0)
    for number in np.unique(component[is_known]).tolist():
        members = is_known & (component == number)
        offset[members] -= int(np.sort(offset[members])[(members.sum() - 1) // 2])
    return Clocks(
        base_ps - offset, offset, drift, np.rint(residual).astype(np.int64), reference, end_count, is_known
    )


def _usual_interval(ends: Int64, valid: NDArray[np.bool_], instruction: Int32, execution: Int32) -> float:
    """Returns the median time between the ends of two executions of one collective, on the host with the most ends. An
    execution ends with the first group of the host's cores; the others end at about the same time."""
    if not len(ends):
        return 0.0
    host = int(valid.sum(axis=0).argmax())
    rows = np.flatnonzero(valid[:, host])
    rows = rows[np.argsort(ends[rows, host], kind="stable")]
    _, first = np.unique(execution[rows], return_index=True)
    rows = rows[np.sort(first)]
    rows = rows[np.argsort(instruction[rows], kind="stable")]
    intervals = np.diff(ends[rows, host])[np.diff(instruction[rows]) == 0]
    return float(np.median(intervals)) if len(intervals) else 0.0


def _midrange(times: Int64) -> int:
    return (int(times.min()) + int(times.max())) // 2 if len(times) else 0


def _iterate_corrections(times: Float64, correction: Float64) -> Float64:
    """Returns what to add to each host's times so that ends agree, from a first estimate."""
    for _ in range(_MAX_ITERATIONS):
        change = _medians(-_deviations(times + correction), 0)
        correction = correction + change
        if np.abs(change).max(initial=0.0) < _CONVERGED_PS:
            break
    return correction


def _deviations(times: Float64) -> Float64:
    """Returns how much later than the median host each host says that an instance ended."""
    deviations: Float64 = times - _medians(times, 1)[:, None]
    return deviations


def _leave_one_out_factors(times: Float64) -> Float64:
    """Returns, per instance, how many times farther a host is from the other hosts than from the median, which includes
    the host itself: 2 for two hosts."""
    hosts = np.maximum((~np.isnan(times)).sum(axis=1, keepdims=True), 2)
    factors: Float64 = hosts / (hosts - 1)
    return factors


def _medians(values: Float64, axis: int) -> Float64:
    """Returns medians that ignore NaN; 0 where all values are NaN."""
    has_values = ~np.isnan(values).all(axis=axis)
    medians = np.zeros(values.shape[1 - axis])
    if has_values.any():
        medians[has_values] = np.nanmedian(
            values[:, has_values] if axis == 0 else values[has_values], axis=axis
        )
    return medians


def _estimate_drifts(elapsed: Int64, deviations: Float64, is_known: NDArray[np.bool_]) -> Float64:
    """Returns each host's drift, from the medians of the first and the last third of its ends; 0 if it is within
    chance."""
    drifts = np.zeros(deviations.shape[1])
    for host in np.flatnonzero(is_known).tolist():
        rows = np.flatnonzero(~np.isnan(deviations[:, host]))
        rows = rows[np.argsort(elapsed[rows, host], kind="stable")]
        third = len(rows) // 3
        if third < MIN_ENDS:
            continue
        first, last = rows[:third], rows[-third:]
        change = np.median(deviations[last, host]) - np.median(deviations[first, host])
        length = np.median(elapsed[last, host]) - np.median(elapsed[first, host])
        spread = np.hypot(_spread(deviations[first, host]), _spread(deviations[last, host]))
        noise = _SIGMA_OF_MEDIAN * spread / np.sqrt(third)
        if length > 0 and abs(change) > _MIN_DRIFT_SIGMAS * noise:
            drifts[host] = change / length
    return drifts


def _spread(values: Float64) -> float:
    """Returns the standard deviation, by the median absolute deviation."""
    values = values[~np.isnan(values)]
    return float(SIGMA_PER_MAD * np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


def _disagreement(deviations: Float64, instruction: Int32) -> float:
    """Returns how far the clock is off, relative to all collectives, by the one collective that deviates most (by its
    median); 0 with a single collective."""
    is_present = ~np.isnan(deviations)
    medians = [
        np.median(deviations[is_present & (instruction == number)])
        for number in np.unique(instruction[is_present])
        if (is_present & (instruction == number)).sum() >= MIN_ENDS
    ]
    return float(np.abs(medians).max()) if len(medians) > 1 else 0.0


def offset_rows(clocks: Clocks) -> list[ClockOffset]:
    """Returns, per host, `clock_offset_ps` and `drift_ppm` (None: the clock is not known), and `residual_ps` (None: too
    few ends are shared)."""
    rows = zip(
        clocks.offset_ps.tolist(),
        clocks.residual_ps.tolist(),
        clocks.drift.tolist(),
        clocks.is_known.tolist(),
        strict=True,
    )
    return [
        {
            "clock_offset_ps": offset if is_known else None,
            "residual_ps": residual if is_known or residual else None,
            "drift_ppm": drift * 1e6 if is_known else None,
        }
        for offset, residual, drift, is_known in rows
    ]
