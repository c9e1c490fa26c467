"""Which run of a program on one host is which one on another, and how far apart their clocks are about.

What hosts do together ends on all of them at one instant, so the right answer is the one under which ends agree. Where
several do as well, run ids decide, then the numbers of steps, then the epoch. (docs/definitions.md, "Pods")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.collective_columns import HostCollectives
from tb_xla_insights.pod.shared_instructions import Shared
from tb_xla_insights.trace.model import Int32, Int64

FEWEST_RUNS = 3
"""Runs that two hosts must share: of fewer, every answer fits."""

_NEAR = 4
"""Ends within this part of the time between two runs may be of one run."""

_AGREE = 8
"""The spread of the differences must be below this part of that time. Runs that have nothing to do with each other have
a fifth."""

_BETTER = 3
"""How many times smaller the spread must be for another answer than what run ids, steps or the epoch say."""

_CERTAIN_PS = 2_000_000
"""A smaller spread is as good as clocks can be read: no other answer is looked for."""

_FARTHEST_RUNS = 40
"""By how many runs the epoch may be wrong."""

_MOST_COMPONENTS = 16

Anchor = tuple[int, int]
"""An instruction (of `Shared`) and a group of it."""

NOT = -1


@dataclass(frozen=True)
class Aligned:
    """Per host: `component`, hosts with equal numbers share collectives (NOT: with nobody); `shift_ps`, what to add to
    its times for those of its component; `label`, per run its number among the runs of the component (those of one
    label are one run of a program), NOT where the host is in none."""

    component: Int32
    shift_ps: Int64
    label: list[Int32]


def align(hosts: Sequence[HostCollectives], shared: Shared, base_ps: Int64) -> Aligned:
    """Relates hosts; `base_ps` is what to add to each one's times for those of the epoch."""
    component = np.full(len(hosts), NOT, np.int32)
    shift = base_ps.copy()
    label = [np.full(len(host.run_program), NOT, np.int32) for host in hosts]
    anchors = [dict(_anchors(host, shared, number)) for number, host in enumerate(hosts)]
    left = sorted((number for number in range(len(hosts)) if anchors[number]), key=lambda it: -len(hosts[it]))
    for which in range(_MOST_COMPONENTS):
        if not left:
            break
        component[left[0]] = which
        table = _Table()
        label[left[0]] = table.add(hosts[left[0]], anchors[left[0]], int(base_ps[left[0]]), label[left[0]])
        waiting, left = left[1:], []
        while waiting:
            left = []
            for number in waiting:
                found = table.place(hosts[number], anchors[number], int(base_ps[number]))
                if found is None:
                    left.append(number)
                    continue
                component[number] = which
                shift[number] = found
                label[number] = table.add(hosts[number], anchors[number], found, label[number])
            if len(left) == len(waiting):
                break
            waiting = left
        if np.count_nonzero(component == which) == 1:
            component[component == which] = NOT
    return Aligned(component, shift, label)


def _anchors(
    host: HostCollectives, shared: Shared, number: int
) -> Iterator[tuple[Anchor, tuple[Int32, Int64]]]:
    """Per instruction and group that others may share, the host's runs that have it, in order, and its ends; the
    earliest core's, as an end can only be recorded late."""
    rows = np.flatnonzero((host.repetition == 0) & (shared.group[number] >= 0) & shared.tells[number])
    order = rows[np.lexsort((host.run[rows], shared.group[number][rows], shared.instruction[number][rows]))]
    keys = np.stack((shared.instruction[number][order], shared.group[number][order], host.run[order]))
    new = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)) if len(order) else np.zeros(0, np.bool_)
    first = np.flatnonzero(new)
    if not len(first):
        return
    ends = np.minimum.reduceat(host.end_ps[order], first)
    kinds, begin = np.unique(keys[:2, first], axis=1, return_index=True)
    until = np.append(begin[1:], len(first))
    for (instruction, group), low, high in zip(kinds.T.tolist(), begin.tolist(), until.tolist(), strict=True):
        yield (instruction, group), (keys[2, first[low:high]].astype(np.int32), ends[low:high])


@dataclass
class _Table:
    """What is known of the runs of a component: per anchor the ends, ascending, and their labels; per label the run id
    and the place in the numbered steps."""

    ends: dict[Anchor, tuple[Int64, Int32]] = field(default_factory=dict)
    run_ids: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def place(
        self, host: HostCollectives, anchors: dict[Anchor, tuple[Int32, Int64]], base_ps: int
    ) -> int | None:
        """What to add to the host's times, None where no answer fits."""
        common = [anchor for anchor in anchors if anchor in self.ends]
        if not common:
            return None
        anchor = max(common, key=lambda it: (min(len(anchors[it][0]), len(self.ends[it][0])), -it[0], -it[1]))
        runs, own = anchors[anchor]
        known, labels = self.ends[anchor]
        told = (
            *_paired(host.run_id[runs], own, np.array(self.run_ids, np.int64)[labels], known),
            *_paired(_places(host)[runs], own, np.array(self.places, np.int64)[labels], known),
            base_ps,
        )
        best = _best(own, known, told, None)
        best = _best(own, known, _shifts(own, known, base_ps), best)
        if best is None or self._contradicted(_places(host)[runs], own, anchor, best.shift_ps, base_ps):
            return None
        return best.shift_ps

    def _contradicted(self, place: Int64, own: Int64, anchor: Anchor, shift_ps: int, base_ps: int) -> bool:
        """Whether the numbers of steps say that runs are others under a shift, and the epoch that it is too large:
        captures one after the other, whose runs are as far apart."""
        known, labels = self.ends[anchor]
        if abs(shift_ps - base_ps) <= _between(own, known):
            return False
        mine, others = _nearest(own + shift_ps, known)
        here, there = place[mine], np.array(self.places, np.int64)[labels[others]]
        told = (here > 0) & (there > 0)
        return bool(told.any()) and float((here == there)[told].mean()) < 0.5

    def add(
        self, host: HostCollectives, anchors: dict[Anchor, tuple[Int32, Int64]], shift_ps: int, label: Int32
    ) -> Int32:
        """Adds a host's runs; their labels."""
        label = label.copy()
        for anchor in sorted(anchors, key=lambda it: -len(anchors[it][0])):
            if anchor not in self.ends:
                continue
            runs, own = anchors[anchor]
            known, labels = self.ends[anchor]
            mine, others = _nearest(own + shift_ps, known)
            new = label[runs[mine]] == NOT
            label[runs[mine[new]]] = labels[others[new]]
        places = _places(host)
        unknown = np.flatnonzero(label == NOT)
        label[unknown] = len(self.run_ids) + np.arange(len(unknown))
        self.run_ids += host.run_id[unknown].tolist()
        self.places += places[unknown].tolist()
        for anchor, (runs, own) in anchors.items():
            known, labels = self.ends.get(anchor, (np.zeros(0, np.int64), np.zeros(0, np.int32)))
            more = ~np.isin(label[runs], labels)
            ends = np.concatenate((known, own[more] + shift_ps))
            order = np.argsort(ends, kind="stable")
            self.ends[anchor] = ends[order], np.concatenate((labels, label[runs[more]]))[order]
        return label


def _places(host: HostCollectives) -> Int64:
    """Per run a number that it shares with the same run elsewhere if steps have the same numbers there, 0: none."""
    step = host.run_step
    number = np.append(host.step_numbers, -1)[step]
    key = np.stack((step.astype(np.int64), host.run_program.astype(np.int64)))
    order = np.lexsort((host.run_start_ps, *key))
    same = (
        np.append(False, (key[:, order][:, 1:] == key[:, order][:, :-1]).all(axis=0))
        if len(step)
        else order > 0
    )
    first = np.maximum.accumulate(np.where(same, 0, np.arange(len(order)))) if len(step) else order
    rank = np.empty(len(step), np.int64)
    rank[order] = np.arange(len(order)) - first
    return np.where((step >= 0) & (number >= 0), ((number + 1) << 20) + rank, 0)


def _paired(key: Int64, own: Int64, known_key: Int64, known: Int64) -> list[int]:
    """What to add to the host's ends so that those with equal keys (0: none) agree."""
    _, mine, others = np.intersect1d(key, known_key, return_indices=True)
    some = key[mine] != 0
    return [int(np.median(known[others[some]] - own[mine[some]]))] if some.sum() >= FEWEST_RUNS else []


def _shifts(own: Int64, known: Int64, base_ps: int) -> Iterator[int]:
    """What to add to the host's ends so that they agree with those some runs earlier or later."""
    at = int(np.searchsorted(known, own[0] + base_ps))
    for place in sorted(range(-len(own) + 1, len(known)), key=lambda it: abs(it - at)):
        if abs(place - at) > _FARTHEST_RUNS:
            return
        low, high = max(place, 0), min(place + len(own), len(known))
        if high - low >= FEWEST_RUNS:
            yield int(np.median(known[low:high] - own[low - place : high - place]))


@dataclass(frozen=True)
class _Fit:
    """An answer: how many runs agree, and the spread of their differences."""

    count: int
    spread_ps: float
    shift_ps: int


def _best(own: Int64, known: Int64, shifts: Iterable[int], best: _Fit | None) -> _Fit | None:
    """The first shift that fits, or a later one under which ends agree much better. Nothing is better than certain."""
    for shift in shifts:
        if best and best.spread_ps <= _CERTAIN_PS:
            break
        found = _fit(own, known, shift)
        if found and (
            best is None or (found.count >= 0.8 * best.count and _BETTER * found.spread_ps < best.spread_ps)
        ):
            best = found
    return best


def _fit(own: Int64, known: Int64, shift_ps: int) -> _Fit | None:
    """What agrees after about this shift; None where it does not fit: too few of the runs within the time that both
    cover, or too far apart."""
    mine, others = _nearest(own + shift_ps, known)
    if len(mine) < FEWEST_RUNS:
        return None
    apart = known[others] - own[mine]
    better = int(np.median(apart))
    mine, others = _nearest(own + better, known)
    if len(mine) < FEWEST_RUNS:
        return None
    apart = known[others] - own[mine] - better
    spread = float(np.median(np.abs(apart - np.median(apart))))
    within = ((own + better >= known[0]) & (own + better <= known[-1])).sum()
    if len(mine) < within / 2 or spread * 1.4826 * _AGREE > _between(own, known):
        return None
    return _Fit(len(mine), spread, better + int(np.median(apart)))


def _nearest(own: Int64, known: Int64) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of ends (indices into either) that are each other's nearest and near; both ascend."""
    if not len(own) or not len(known):
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    to_known, to_own = _closest(own, known), _closest(known, own)
    mine = np.flatnonzero(to_own[to_known] == np.arange(len(own)))
    others = to_known[mine]
    near = np.abs(known[others] - own[mine]) * _NEAR <= _between(own, known)
    return mine[near], others[near]


def _closest(times: Int64, others: Int64) -> NDArray[np.intp]:
    after = np.clip(np.searchsorted(others, times), 1, max(len(others) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(others) - 1)
    return np.where(times - others[before] <= others[after] - times, before, after)


def _between(own: Int64, known: Int64) -> float:
    """The usual time between two runs."""
    gaps = np.concatenate((np.diff(own), np.diff(known)))
    return float(np.median(gaps)) if len(gaps) else 0.0
