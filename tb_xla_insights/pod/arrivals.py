"""Who comes last to what hosts do together, and who waits for it. (docs/definitions.md, "Pods")

A *party* is a host, or in a session of one host a core of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.align import NOT, Aligned, align
from tb_xla_insights.pod.clocks import Clocks, relate
from tb_xla_insights.pod.collectives import HostCollectives
from tb_xla_insights.pod.shared import Shared, numberings, share
from tb_xla_insights.trace.model import Int32, Int64

NOBODY = -1
_SLACK_PS = 50_000_000
"""How much sooner than the last one came a collective may end on a clock that is read wrong, here at the least."""

_IMPOSSIBLE = 0.05
"""Of the collectives, how many may be over before the last one came; of more, these are not those who wait for each
other."""


@dataclass(frozen=True)
class Instances:
    """What several parties did together, in order of time: a row per instance, a column per party, valid where `there`.

    `begin_ps`: when the party's last core took part, its arrival; `wait_ps`: from when on it waits; `end_ps`: when its
    first core is done. All on the common clock. `instruction`: index into `Shared.instructions`; `step`: index into the
    common steps, NOBODY outside of them; `of_row`: per party, for each row of its collectives, the instance it is a part
    of, -1: none.
    """

    instruction: Int32
    step: Int32
    there: NDArray[np.bool_]
    begin_ps: Int64
    wait_ps: Int64
    end_ps: Int64
    of_row: list[Int32]

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True)
class Arrivals:
    """Who comes last. Per instance `last`, the party that does; per instance and party `late_ps`, how long after the
    party in the middle it comes (negative: before; 0 where it is not there), `waits_ps`, how long it waits for the last
    one, and `charged`, the party that this is charged to (NOBODY where it does not wait).

    All waiting adds up to the same by who waits and by who is charged. `step_of`: per party, for each of its own steps
    the common one (NOBODY: none); `steps`: how many common ones there are. `shared`: what parties have in common.
    """

    parties: tuple[HostCollectives, ...]
    shared: Shared
    instances: Instances
    clocks: Clocks
    component: Int32
    last: Int32
    late_ps: Int64
    waits_ps: Int64
    charged: Int32
    step_of: list[Int32]
    steps: int

    @property
    def others_wait_ps(self) -> Int64:
        """Per party, how long others wait for it in all."""
        found = np.zeros(len(self.parties), np.int64)
        some = self.charged >= 0
        np.add.at(found, self.charged[some], self.waits_ps[some])
        return found

    @property
    def last_count(self) -> Int32:
        """Per party, how many times it comes last."""
        return np.bincount(self.last, minlength=len(self.parties)).astype(np.int32)

    @property
    def shared_count(self) -> Int32:
        """Per party, in how many instances it takes part."""
        return self.instances.there.sum(axis=0).astype(np.int32)

    def charges(self) -> Int64:
        """Per step and party, how long others wait for it; the last row is outside of steps."""
        found = np.zeros((self.steps + 1, len(self.parties)), np.int64)
        row, waits = np.nonzero(self.charged >= 0)
        np.add.at(found, (self.instances.step[row], self.charged[row, waits]), self.waits_ps[row, waits])
        return found

    def latest(self) -> Int64:
        """Per step and party, how late it comes to the collective to which it comes latest; -1 where it comes to none."""
        found = np.full((self.steps + 1, len(self.parties)), -1, np.int64)
        rows, which = np.nonzero(self.instances.there)
        np.maximum.at(found, (self.instances.step[rows], which), np.maximum(self.late_ps[rows, which], 0))
        return found[:-1]


def find_arrivals(hosts: Sequence[HostCollectives]) -> Arrivals:
    """Who comes last, of all hosts of a session. The hosts come in the order of their numbers."""
    base = _bases(hosts)
    found = None
    for number in numberings(hosts):
        shared = share(hosts, number)
        aligned = align(hosts, shared, base)
        found = _of(hosts, shared, aligned, base)
        if _possible(found):
            return found
    assert found is not None
    return found


def find_core_arrivals(host: HostCollectives) -> Arrivals:
    """Who comes last, of the cores of one host."""
    cores = [host.chosen(host.core == core) for core in range(len(host.cores))]
    parties = [replace(core, step_work_ps=host.step_work_ps[:, [number]]) for number, core in enumerate(cores)]
    number = numberings([host])[0]
    assert number is not None
    shared = share(parties, [number[0]] * len(parties))
    same = np.arange(len(host.run_program), dtype=np.int32)
    none = np.zeros(len(parties), np.int64)
    aligned = Aligned(np.zeros(len(parties), np.int32), none, [same] * len(parties))
    return _of(parties, shared, aligned, none)


def _bases(hosts: Sequence[HostCollectives]) -> Int64:
    """What to add to each host's times, as the epochs in their files say; 0 where a file has none."""
    known = [host.base_unix_ns for host in hosts if host.base_unix_ns]
    first = min(known, default=0)
    return np.array([(host.base_unix_ns - first) * 1000 if host.base_unix_ns else 0 for host in hosts], np.int64)


def _of(parties: Sequence[HostCollectives], shared: Shared, aligned: Aligned, base_ps: Int64) -> Arrivals:
    step_of, steps, step_of_label = _steps(parties, aligned)
    rough = _instances(parties, shared, aligned, step_of_label)
    tells = _telling(rough, shared, parties)
    clocks = relate(rough.end_ps[tells], rough.there[tells], aligned.component, aligned.shift_ps, base_ps)
    placed = _placed(rough, clocks)
    return Arrivals(
        tuple(parties), shared, placed, clocks, aligned.component, *_charged(placed), step_of, steps
    )  # fmt: skip


def charge(arrivals: Arrivals, instances: Instances) -> Arrivals:
    """The same parties, had they come as `instances` says."""
    last, late, waits, charged = _charged(instances)
    return replace(arrivals, instances=instances, last=last, late_ps=late, waits_ps=waits, charged=charged)


def _steps(
    parties: Sequence[HostCollectives], aligned: Aligned
) -> tuple[list[Int32], int, dict[tuple[int, int], int]]:
    """Per party, for each of its steps the common one; how many there are; and the common step of each run, by component
    and label. The party with most steps counts; another one's are as many earlier or later as most runs that it has in
    common with those before it say, else as the numbers of steps say."""
    of_run: dict[tuple[int, int], int] = {}
    of_number: dict[int, int] = {}
    shifts = np.zeros(len(parties), np.int64)
    begun: set[int] = set()
    alone = aligned.component == NOT
    waiting = sorted(range(len(parties)), key=lambda it: (alone[it], -len(parties[it].step_numbers)))
    while waiting:
        left = []
        for number in waiting:
            party, component = parties[number], int(aligned.component[number])
            runs = [
                (step, (component, label))
                for step, label in zip(party.run_step.tolist(), aligned.label[number].tolist(), strict=True)
                if step >= 0 and label != NOT
            ]
            numbered = list(enumerate(party.step_numbers.tolist()))
            apart = [of_run[run] - step for step, run in runs if run in of_run]
            if not apart and component != NOT and component in begun and len(left) + 1 < len(waiting):
                left.append(number)
                continue
            apart = apart or [of_number[told] - step for step, told in numbered if told in of_number]
            shift = shifts[number] = _most_common(apart)
            begun.add(component)
            for step, run in runs:
                of_run.setdefault(run, step + int(shift))
            for step, told in numbered:
                if told >= 0:
                    of_number.setdefault(told, step + int(shift))
        waiting = left
    counts = np.array([len(party.step_numbers) for party in parties], np.int64)
    some = counts > 0
    first = int(shifts[some].min()) if some.any() else 0
    number_of = int((shifts + counts)[some].max()) - first if some.any() else 0
    step_of = [
        (np.arange(count) + shift - first).astype(np.int32)
        for count, shift in zip(counts.tolist(), shifts.tolist(), strict=True)
    ]
    return step_of, number_of, {run: step - first for run, step in of_run.items()}


def _most_common(values: Sequence[int]) -> int:
    """The number that comes most often, 0 without any."""
    if not values:
        return 0
    found, count = np.unique(np.array(values), return_counts=True)
    return int(found[count.argmax()])


def _instances(
    parties: Sequence[HostCollectives],
    shared: Shared,
    aligned: Aligned,
    step_of_label: dict[tuple[int, int], int],
) -> Instances:
    """What two parties or more recorded, on the clocks of each."""
    columns = []
    for number, party in enumerate(parties):
        label = aligned.label[number][party.run] if len(party) else np.zeros(0, np.int32)
        component = np.full(len(party), aligned.component[number], np.int32)
        columns.append(
            np.stack((component, shared.instruction[number], shared.group[number], label, party.repetition))
        )
    keys = np.concatenate(columns, axis=1).astype(np.int64)
    kept = (keys[0] >= 0) & (keys[2] >= 0) & (keys[3] >= 0)
    rows, of = np.flatnonzero(kept), np.repeat(np.arange(len(parties)), [len(party) for party in parties])
    kinds, inverse = np.unique(keys[:, rows], axis=1, return_inverse=True)
    which = np.full(keys.shape[1], -1, np.int64)
    which[rows] = inverse.reshape(-1)
    several = np.zeros((kinds.shape[1], len(parties)), np.bool_)
    several[which[rows], of[rows]] = True
    number = np.full(kinds.shape[1] + 1, -1, np.int64)
    chosen = np.flatnonzero(several.sum(axis=1) >= 2)
    begin, wait, end = (
        np.concatenate([getattr(party, name) for party in parties]) for name in ("begin_ps", "wait_ps", "end_ps")
    )
    number[chosen] = np.arange(len(chosen))
    which = number[which]
    rows = np.flatnonzero(which >= 0)
    there = several[chosen]
    made = [np.full(there.shape, low, np.int64) for low in (_LOW, _LOW, _HIGH)]
    np.maximum.at(made[0], (which[rows], of[rows]), begin[rows])
    np.maximum.at(made[1], (which[rows], of[rows]), wait[rows])
    np.minimum.at(made[2], (which[rows], of[rows]), end[rows])
    for column in made:
        column[~there] = 0
    kinds = kinds[:, chosen]
    step = np.array([step_of_label.get((it, text), NOBODY) for it, text in kinds[[0, 3]].T.tolist()], np.int32)
    bounds = np.cumsum([0, *(len(party) for party in parties)])
    of_row = [which[low:high].astype(np.int32) for low, high in zip(bounds[:-1], bounds[1:], strict=True)]
    return Instances(kinds[1].astype(np.int32), step, there, made[0], made[1], made[2], of_row)


_LOW, _HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def _telling(rough: Instances, shared: Shared, parties: Sequence[HostCollectives]) -> NDArray[np.bool_]:
    """The instances whose ends relate clocks: nobody was done before the others began to wait."""
    found = np.ones(len(rough), np.bool_)
    for number in range(len(parties)):
        some = rough.of_row[number]
        silent = some[(some >= 0) & ~shared.tells[number]]
        found[silent] = False
    return found


def _placed(rough: Instances, clocks: Clocks) -> Instances:
    """The instances on the common clock, in order of time, and only parties whose clocks are known."""
    there = rough.there & clocks.known
    columns = [np.zeros_like(rough.begin_ps) for _ in range(3)]
    for host in np.flatnonzero(clocks.known).tolist():
        rows = there[:, host]
        for made, times in zip(columns, (rough.begin_ps, rough.wait_ps, rough.end_ps), strict=True):
            made[rows, host] = clocks.common(host, times[rows, host])
    kept = np.flatnonzero(there.sum(axis=1) >= 2)
    latest = np.where(there[kept], columns[0][kept], _LOW).max(axis=1, initial=_LOW)
    order = kept[np.argsort(latest, kind="stable")]
    place = np.full(len(rough) + 1, -1, np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    of_row = [
        place[rows] if known else np.full_like(rows, -1)
        for rows, known in zip(rough.of_row, clocks.known.tolist(), strict=True)
    ]
    begin, wait, end = (column[order] for column in columns)
    return Instances(rough.instruction[order], rough.step[order], there[order], begin, wait, end, of_row)


def _charged(placed: Instances) -> tuple[Int32, Int64, Int64, Int32]:
    """Who is last, lateness, waiting, and to whom it is charged.

    The last one is charged, but for what it lost itself by waiting for another one, in a collective of which the waiting
    party was no part: that is passed on to whom it was charged to.
    """
    there = placed.there
    begin = np.where(there, placed.begin_ps, _LOW)
    last = begin.argmax(axis=1).astype(np.int32) if len(placed) else np.zeros(0, np.int32)
    latest = begin[np.arange(len(placed)), last] if len(placed) else np.zeros(0, np.int64)
    until = np.minimum(latest[:, None], placed.end_ps)
    waits = np.where(there, np.maximum(until - placed.wait_ps, 0), 0)
    if len(placed):
        waits[np.arange(len(placed)), last] = 0
    late = np.where(there, placed.begin_ps - middle_of(placed.begin_ps, there)[:, None], 0)
    charged = np.where(waits > 0, last[:, None], np.int32(NOBODY)).astype(np.int32)
    if not there.all():
        waits, charged = _passed_on(there, last, waits, charged)
    return last, late, waits, charged


def _passed_on(
    there: NDArray[np.bool_], last: Int32, waits: Int64, charged: Int32
) -> tuple[Int64, Int32]:
    """Charges after what hosts lost themselves was passed on; see `_charged`. A wait that is only in part another one's
    fault is charged to whom most of it is due."""
    charged = charged.copy()
    before = np.full(there.shape[1], -1, np.int64)
    for row in range(len(there)):
        late = int(last[row])
        since = int(before[late])
        if since >= 0 and charged[since, late] >= 0:
            lost = waits[since, late]
            apart = (waits[row] > 0) & ~there[since] & (2 * lost >= waits[row])
            charged[row, apart] = charged[since, late]
        before[there[row]] = row
    return waits, charged


def middle_of(values: Int64, there: NDArray[np.bool_]) -> Int64:
    """Per row the lower median of the values that are there, 0 without any."""
    if not len(values):
        return np.zeros(0, np.int64)
    ordered = np.sort(np.where(there, values, _HIGH), axis=1)
    at = np.maximum(there.sum(axis=1) - 1, 0) // 2
    found: Int64 = ordered[np.arange(len(values)), at]
    return np.where(there.any(axis=1), found, 0)


def waiting_for_others(arrivals: Arrivals) -> Int64:
    """Per party, how much of the exposed time in its collectives it only waits for the last one to come, over its
    cores."""
    its = arrivals.instances
    found = np.zeros(len(arrivals.parties), np.int64)
    if not len(its):
        return found
    latest = its.begin_ps[np.arange(len(its)), arrivals.last]
    for party, host in enumerate(arrivals.parties):
        rows = np.flatnonzero(its.of_row[party] >= 0)
        until = np.minimum(
            latest[its.of_row[party][rows]], arrivals.clocks.common(party, host.end_ps[rows])
        )
        waits = np.maximum(until - arrivals.clocks.common(party, host.wait_ps[rows]), 0)
        found[party] = int(np.minimum(waits, host.exposed_ps[rows]).sum())
    return found


def _possible(found: Arrivals) -> bool:
    """Whether nobody is done before the last one came, in all but a few instances."""
    its = found.instances
    if not len(its):
        return False
    latest = its.begin_ps[np.arange(len(its)), found.last]
    first = np.where(its.there, its.end_ps, _HIGH).min(axis=1)
    slack = max(_SLACK_PS, 3 * int(np.median(found.clocks.residual_ps[found.clocks.known])))
    asynchronous = np.where(its.there, its.wait_ps - its.begin_ps, 0).any(axis=1)
    early = (first + slack < latest) & ~asynchronous
    return bool(early.sum() <= _IMPOSSIBLE * len(its))
