"""Matches the runs of programs between hosts, and estimates how far apart the hosts' clocks are.

A collective ends on all hosts at the same instant, so the right match is the one under which the ends agree. If several
matches fit equally well, run ids decide, then the numbers of steps, then the epoch. (docs/definitions.md, "Pods")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.pod.clocks import SIGMA_PER_MAD
from tb_xla_insights.pod.collective_columns import HostCollectives
from tb_xla_insights.pod.shared_instructions import SharedInstructions

MIN_COMMON_RUNS = 3
"""Runs that two hosts must share: with fewer, every shift fits."""

_NEAR_DIVISOR = 4
"""Two ends may belong to one run if they differ by at most the usual time between runs, divided by this number."""

_SPREAD_DIVISOR = 8
"""The standard deviation of the differences must not exceed the usual time between runs, divided by this number. For
unrelated runs it is about a fifth of that time."""

_BETTER_FACTOR = 3
"""How many times smaller the spread of a later candidate must be than that of an earlier one (run ids, then steps, then
the epoch, then searched shifts)."""

_MIN_COUNT_SHARE = 0.8
"""The share of the runs that agree under the earlier candidate that must also agree under a later, better one."""

_CERTAIN_SPREAD_PS = 2_000_000
"""A spread within the precision of the clocks: the search stops here."""

_MAX_RUNS_OFF = 40
"""How many runs the epoch may be wrong by."""

_MAX_COMPONENTS = 16
"""How many hosts are compared with all remaining ones, to find those that they share collectives with. Hosts that
remain after these searches count as hosts without shared collectives."""

_STEP_NUMBER_SHIFT = 20
"""Step positions hold the step number above this many bits, and the run's index within the step below."""

Anchor = tuple[int, int]
"""An instruction (index into `SharedInstructions.instructions`) and one of its groups."""

HostEnds = dict[Anchor, tuple[Int32, Int64]]
"""Per anchor, the runs of one host that contain it, and its ends in them on the host's clock."""

UNALIGNED = -1
"""The component of a host that shares no collectives, and the label of its runs."""


@dataclass(frozen=True)
class Alignment:
    """Per host: `component` (hosts with equal numbers share collectives), `shift_ps` (what to add to its times to get
    those of its component), and `label` (per run its number within the component: runs with equal labels are the same
    run of a program). UNALIGNED: the host shares no collectives."""

    component: Int32
    shift_ps: Int64
    label: list[Int32]


def align(hosts: Sequence[HostCollectives], shared: SharedInstructions, base_ps: Int64) -> Alignment:
    """Aligns hosts; `base_ps` is, per host, what to add to its times according to the epoch in its file."""
    component = np.full(len(hosts), UNALIGNED, np.int32)
    shift = base_ps.copy()
    label = [np.full(len(host.run_program), UNALIGNED, np.int32) for host in hosts]
    ends = [dict(_ends_of(host, shared, number)) for number, host in enumerate(hosts)]
    pending = sorted(
        (number for number in range(len(hosts)) if ends[number]), key=lambda host: -len(hosts[host])
    )
    for number in range(_MAX_COMPONENTS):
        if not pending:
            break
        first, *waiting = pending
        component[first] = number
        table = _ComponentRuns()
        label[first] = table.add(hosts[first], ends[first], int(base_ps[first]), label[first])
        pending = []
        while waiting:
            pending = []
            for host in waiting:
                host_shift = table.find_shift(hosts[host], ends[host], int(base_ps[host]))
                if host_shift is None:
                    pending.append(host)
                    continue
                component[host] = number
                shift[host] = host_shift
                label[host] = table.add(hosts[host], ends[host], host_shift, label[host])
            if len(pending) == len(waiting):
                break
            waiting = pending
        if np.count_nonzero(component == number) == 1:
            component[first] = UNALIGNED
            label[first].fill(UNALIGNED)
    return Alignment(component, shift, label)


def _ends_of(
    host: HostCollectives, shared: SharedInstructions, number: int
) -> Iterator[tuple[Anchor, tuple[Int32, Int64]]]:
    """Yields, per anchor, the host's runs that contain it, ascending, and its ends in them. The end is that of the
    earliest core, as an end can only be recorded late."""
    rows = np.flatnonzero((host.repetition == 0) & (shared.group[number] >= 0) & shared.ends_together[number])
    order = rows[np.lexsort((host.run[rows], shared.group[number][rows], shared.instruction[number][rows]))]
    keys = np.stack((shared.instruction[number][order], shared.group[number][order], host.run[order]))
    is_first = (
        np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)) if len(order) else np.zeros(0, np.bool_)
    )
    first = np.flatnonzero(is_first)
    if not len(first):
        return
    ends = np.minimum.reduceat(host.end_ps[order], first)
    anchors, begin = np.unique(keys[:2, first], axis=1, return_index=True)
    until = np.append(begin[1:], len(first))
    for (instruction, group), low, high in zip(
        anchors.T.tolist(), begin.tolist(), until.tolist(), strict=True
    ):
        yield (instruction, group), (keys[2, first[low:high]].astype(np.int32), ends[low:high])


@dataclass
class _ComponentRuns:
    """The runs of a component. `ends`: per anchor the ends, ascending, and the labels of their runs; per label
    `run_ids` and `step_positions` (see `_step_positions`)."""

    ends: dict[Anchor, tuple[Int64, Int32]] = field(default_factory=dict)
    run_ids: list[int] = field(default_factory=list)
    step_positions: list[int] = field(default_factory=list)

    def find_shift(self, host: HostCollectives, ends: HostEnds, base_ps: int) -> int | None:
        """Returns what to add to the host's times to get those of the component, None if no shift fits."""
        common = [anchor for anchor in ends if anchor in self.ends]
        if not common:
            return None
        anchor = max(
            common,
            key=lambda anchor: (min(len(ends[anchor][0]), len(self.ends[anchor][0])), -anchor[0], -anchor[1]),
        )
        runs, host_ends = ends[anchor]
        reference_ends, labels = self.ends[anchor]
        positions = _step_positions(host)[runs]
        reference_run_ids = np.array(self.run_ids, np.int64)[labels]
        reference_positions = np.array(self.step_positions, np.int64)[labels]
        recorded_shifts = (
            *_shift_by_key(host.run_id[runs], host_ends, reference_run_ids, reference_ends),
            *_shift_by_key(positions, host_ends, reference_positions, reference_ends),
            base_ps,
        )
        fit = _best_fit(host_ends, reference_ends, recorded_shifts, None)
        fit = _best_fit(host_ends, reference_ends, _search_shifts(host_ends, reference_ends, base_ps), fit)
        if fit is None or self._is_contradicted(positions, host_ends, anchor, fit.shift_ps, base_ps):
            return None
        return fit.shift_ps

    def _is_contradicted(
        self, positions: Int64, host_ends: Int64, anchor: Anchor, shift_ps: int, base_ps: int
    ) -> bool:
        """Whether the numbers of steps say that a shift matches different runs, and the epoch says that the shift is
        too large. This happens with captures taken one after the other, whose runs are equally far apart."""
        reference_ends, labels = self.ends[anchor]
        if abs(shift_ps - base_ps) <= _usual_interval(host_ends, reference_ends):
            return False
        own_rows, reference_rows = _nearest_pairs(host_ends + shift_ps, reference_ends)
        own_positions = positions[own_rows]
        reference_positions = np.array(self.step_positions, np.int64)[labels[reference_rows]]
        are_known = (own_positions > 0) & (reference_positions > 0)
        return bool(are_known.any()) and float((own_positions == reference_positions)[are_known].mean()) < 0.5

    def add(self, host: HostCollectives, ends: HostEnds, shift_ps: int, label: Int32) -> Int32:
        """Adds the runs of a host, and returns their labels."""
        label = label.copy()
        for anchor in sorted(ends, key=lambda anchor: -len(ends[anchor][0])):
            if anchor not in self.ends:
                continue
            runs, host_ends = ends[anchor]
            reference_ends, labels = self.ends[anchor]
            own_rows, reference_rows = _nearest_pairs(host_ends + shift_ps, reference_ends)
            is_new = label[runs[own_rows]] == UNALIGNED
            label[runs[own_rows[is_new]]] = labels[reference_rows[is_new]]
        positions = _step_positions(host)
        unlabelled = np.flatnonzero(label == UNALIGNED)
        label[unlabelled] = len(self.run_ids) + np.arange(len(unlabelled))
        self.run_ids += host.run_id[unlabelled].tolist()
        self.step_positions += positions[unlabelled].tolist()
        for anchor, (runs, host_ends) in ends.items():
            reference_ends, labels = self.ends.get(anchor, (np.zeros(0, np.int64), np.zeros(0, np.int32)))
            is_new = ~np.isin(label[runs], labels)
            all_ends = np.concatenate((reference_ends, host_ends[is_new] + shift_ps))
            order = np.argsort(all_ends, kind="stable")
            self.ends[anchor] = all_ends[order], np.concatenate((labels, label[runs[is_new]]))[order]
        return label


def _step_positions(host: HostCollectives) -> Int64:
    """Returns, per run, a number made of its step's number and its index within the step and program. The same run on
    another host has the same number if the hosts number steps equally. 0: outside of numbered steps."""
    step = host.run_step
    number = np.append(host.step_numbers, -1)[step]
    key = np.stack((step.astype(np.int64), host.run_program.astype(np.int64)))
    order = np.lexsort((host.run_start_ps, *key))
    repeats = (
        np.append(False, (key[:, order][:, 1:] == key[:, order][:, :-1]).all(axis=0))
        if len(step)
        else order > 0
    )
    first = np.maximum.accumulate(np.where(repeats, 0, np.arange(len(order)))) if len(step) else order
    rank = np.empty(len(step), np.int64)
    rank[order] = np.arange(len(order)) - first
    return np.where((step >= 0) & (number >= 0), ((number + 1) << _STEP_NUMBER_SHIFT) + rank, 0)


def _shift_by_key(key: Int64, ends: Int64, reference_key: Int64, reference_ends: Int64) -> list[int]:
    """Returns what to add to the host's ends so that ends with equal keys (0: none) agree; empty if too few do."""
    _, own_rows, reference_rows = np.intersect1d(key, reference_key, return_indices=True)
    has_key = key[own_rows] != 0
    if has_key.sum() < MIN_COMMON_RUNS:
        return []
    return [int(np.median(reference_ends[reference_rows[has_key]] - ends[own_rows[has_key]]))]


def _search_shifts(ends: Int64, reference_ends: Int64, base_ps: int) -> Iterator[int]:
    """Yields what to add to the host's ends so that each agrees with the reference end some runs earlier or later, the
    closest to the epoch first."""
    start = int(np.searchsorted(reference_ends, ends[0] + base_ps))
    for position in sorted(range(-len(ends) + 1, len(reference_ends)), key=lambda index: abs(index - start)):
        if abs(position - start) > _MAX_RUNS_OFF:
            return
        low, high = max(position, 0), min(position + len(ends), len(reference_ends))
        if high - low >= MIN_COMMON_RUNS:
            yield int(np.median(reference_ends[low:high] - ends[low - position : high - position]))


@dataclass(frozen=True)
class _Fit:
    """A shift, the number of runs that agree under it, and the spread of their differences (the median absolute
    deviation)."""

    count: int
    spread_ps: float
    shift_ps: int


def _best_fit(ends: Int64, reference_ends: Int64, shifts: Iterable[int], best: _Fit | None) -> _Fit | None:
    """Returns the first shift that fits, or a later one under which ends agree much better; `best` is the fit so far.
    Stops once the spread is at most _CERTAIN_SPREAD_PS."""
    for shift in shifts:
        if best and best.spread_ps <= _CERTAIN_SPREAD_PS:
            break
        fit = _fit(ends, reference_ends, shift)
        if fit and (
            best is None
            or (
                fit.count >= _MIN_COUNT_SHARE * best.count and _BETTER_FACTOR * fit.spread_ps < best.spread_ps
            )
        ):
            best = fit
    return best


def _fit(ends: Int64, reference_ends: Int64, shift_ps: int) -> _Fit | None:
    """Refines a shift; None if it does not fit: too few of the runs in the time that both cover match, or their
    differences vary too much."""
    own_rows, reference_rows = _nearest_pairs(ends + shift_ps, reference_ends)
    if len(own_rows) < MIN_COMMON_RUNS:
        return None
    refined = int(np.median(reference_ends[reference_rows] - ends[own_rows]))
    own_rows, reference_rows = _nearest_pairs(ends + refined, reference_ends)
    if len(own_rows) < MIN_COMMON_RUNS:
        return None
    differences = reference_ends[reference_rows] - ends[own_rows] - refined
    spread = float(np.median(np.abs(differences - np.median(differences))))
    is_covered = (ends + refined >= reference_ends[0]) & (ends + refined <= reference_ends[-1])
    sigma = spread * SIGMA_PER_MAD
    if len(own_rows) < is_covered.sum() / 2 or sigma * _SPREAD_DIVISOR > _usual_interval(
        ends, reference_ends
    ):
        return None
    return _Fit(len(own_rows), spread, refined + int(np.median(differences)))


def _nearest_pairs(ends: Int64, reference_ends: Int64) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns pairs of ends, as indices into either, that are mutually nearest and near; both inputs ascend."""
    if not len(ends) or not len(reference_ends):
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    to_reference, to_own = _nearest(ends, reference_ends), _nearest(reference_ends, ends)
    own_rows = np.flatnonzero(to_own[to_reference] == np.arange(len(ends)))
    reference_rows = to_reference[own_rows]
    distances = np.abs(reference_ends[reference_rows] - ends[own_rows])
    is_near = distances * _NEAR_DIVISOR <= _usual_interval(ends, reference_ends)
    return own_rows[is_near], reference_rows[is_near]


def _nearest(times: Int64, candidates: Int64) -> NDArray[np.intp]:
    """Returns, per time, the index of the nearest candidate."""
    after = np.clip(np.searchsorted(candidates, times), 1, max(len(candidates) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(candidates) - 1)
    return np.where(times - candidates[before] <= candidates[after] - times, before, after)


def _usual_interval(ends: Int64, reference_ends: Int64) -> float:
    """Returns the median time between two runs."""
    intervals = np.concatenate((np.diff(ends), np.diff(reference_ends)))
    return float(np.median(intervals)) if len(intervals) else 0.0
