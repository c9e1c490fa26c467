"""What several hosts did together, and which steps of theirs are the same. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.alignment import NOT, Aligned
from tb_xla_insights.pod.clocks import Clocks
from tb_xla_insights.pod.collective_columns import HostCollectives
from tb_xla_insights.pod.shared_instructions import Shared
from tb_xla_insights.trace.model import Int32, Int64

NOBODY = -1

MOST_CELLS = 4_000_000
"""Instances times parties that are compared, at most: 200 MB of columns."""

LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True)
class Instances:
    """What several parties did together, in order of time: a row per instance, a column per party, valid where `there`.

    `begin_ps`: when the party's last core took part, its arrival; `wait_ps`: from when on it waits; `end_ps`: when its
    first core is done. All on the common clock. `instruction`: index into `Shared.instructions`; `step`: index into the
    common steps, NOBODY outside of them; `of_row`: per party, for each row of its collectives, the instance that it is
    a part of, -1: none. `share`: of all rows that are part of one, how many are compared: see MOST_CELLS. `handed_ps`:
    how long the party has waited by then, in all, for what one other sends (None: nobody does).
    """

    instruction: Int32
    step: Int32
    there: NDArray[np.bool_]
    begin_ps: Int64
    wait_ps: Int64
    end_ps: Int64
    of_row: list[Int32]
    share: float = 1.0
    handed_ps: Int64 | None = None

    def __len__(self) -> int:
        return len(self.step)

    def chosen(self, rows: NDArray[np.intp]) -> Instances:
        """Only some instances, in that order."""
        place = np.full(len(self) + 1, -1, np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        return Instances(
            self.instruction[rows],
            self.step[rows],
            self.there[rows],
            self.begin_ps[rows],
            self.wait_ps[rows],
            self.end_ps[rows],
            [place[it] for it in self.of_row],
            self.share,
            None if self.handed_ps is None else self.handed_ps[rows],
        )


def common_steps(
    parties: Sequence[HostCollectives], aligned: Aligned
) -> tuple[list[Int32], int, dict[tuple[int, int], int]]:
    """Per party, for each of its steps the common one; how many there are; and the common step of each run, by
    component and label. The party with most steps counts; another one's are as many earlier or later as most runs say
    that it has in common with those before it, else as the numbers of steps say."""
    of_run: dict[tuple[int, int], int] = {}
    of_number: dict[int, int] = {}
    shifts = np.zeros(len(parties), np.int64)
    begun: set[int] = set()
    alone = aligned.component == NOT
    waiting = sorted(range(len(parties)), key=lambda it: (alone[it], -len(parties[it].step_numbers)))
    while waiting:
        left: list[int] = []
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


def find_instances(
    parties: Sequence[HostCollectives],
    shared: Shared,
    aligned: Aligned,
    step_of_run: dict[tuple[int, int], int],
) -> Instances:
    """What two parties or more recorded, on the clocks of each. `step_of_run`: as `common_steps` gives it."""
    keys = [_keys(party, shared, aligned, number) for number, party in enumerate(parties)]
    columns = [np.concatenate([key[at] for key in keys]).astype(np.int64) for at in range(5)]
    party_of = np.repeat(np.arange(len(parties)), [len(party) for party in parties])
    component, instruction, group, label, _ = columns
    rows = np.flatnonzero((component >= 0) & (group >= 0) & (label >= 0))
    key = np.zeros(len(rows), np.int64)
    for column in columns:  # all of them in one number
        key = key * (int(column.max(initial=0)) + 1) + column[rows]
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    members = np.unique(which * len(parties) + party_of[rows]) // max(len(parties), 1)
    several = np.bincount(members, minlength=len(first)) >= 2
    lengths = np.concatenate([party.end_ps - party.begin_ps for party in parties])[rows]
    of_instance = instruction[rows[first]]
    longest = _affordable(
        of_instance[several], np.bincount(instruction[rows], lengths).astype(np.float64), len(parties)
    )
    chosen = several & longest[of_instance]
    share = float(chosen[which].sum() / max(several[which].sum(), 1))
    instance = np.full(len(party_of), -1, np.int32)
    instance[rows] = np.where(chosen, np.cumsum(chosen) - 1, -1)[which]
    first = rows[first[chosen]]
    rows = np.flatnonzero(instance >= 0)
    cells = instance[rows], party_of[rows]
    there = np.zeros((len(first), len(parties)), np.bool_)
    there[cells] = True
    step = [
        step_of_run.get(run, NOBODY)
        for run in zip(component[first].tolist(), label[first].tolist(), strict=True)
    ]
    begin, wait, end = (np.full(there.shape, limit, np.int64) for limit in (LOW, LOW, HIGH))
    for column, name in ((begin, "begin_ps"), (wait, "wait_ps")):
        np.maximum.at(column, cells, np.concatenate([getattr(party, name) for party in parties])[rows])
    np.minimum.at(end, cells, np.concatenate([party.end_ps for party in parties])[rows])
    begin, wait, end = (np.where(there, column, 0) for column in (begin, wait, end))
    handed = np.zeros(there.shape, np.int64)
    np.maximum.at(handed, cells, np.concatenate([party.handed_ps for party in parties])[rows])
    bounds = np.cumsum([len(party) for party in parties])[:-1]
    return Instances(
        instruction[first].astype(np.int32),
        np.array(step, np.int32),
        there,
        begin,
        wait,
        end,
        np.split(instance, bounds),
        share,
        handed if handed.any() else None,
    )


def _affordable(instruction: Int64, time_ps: NDArray[np.float64], parties: int) -> NDArray[np.bool_]:
    """Which instructions are compared, given that of each instance, and the time in each: those that take longest, as
    waiting does, until there are MOST_CELLS; one at least."""
    number = np.bincount(instruction, minlength=len(time_ps)) * parties
    order = np.argsort(-time_ps, kind="stable")
    found = np.zeros(len(time_ps), np.bool_)
    found[order[np.cumsum(number[order]) <= MOST_CELLS]] = True
    found[order[:1]] = True
    return found


def _keys(party: HostCollectives, shared: Shared, aligned: Aligned, number: int) -> tuple[Int32, ...]:
    """Per row what it shares with those of the same instance elsewhere."""
    label = aligned.label[number][party.run] if len(party) else np.zeros(0, np.int32)
    component = np.full(len(party), aligned.component[number], np.int32)
    return component, shared.instruction[number], shared.group[number], label, party.repetition


def placed_on(rough: Instances, clocks: Clocks) -> Instances:
    """The instances on the common clock, in order of time, and only parties whose clocks are known."""
    there = rough.there & clocks.known
    begin, wait, end = (np.zeros_like(rough.begin_ps) for _ in range(3))
    for host in np.flatnonzero(clocks.known).tolist():
        rows = there[:, host]
        for column, times in ((begin, rough.begin_ps), (wait, rough.wait_ps), (end, rough.end_ps)):
            column[rows, host] = clocks.common(host, times[rows, host])
    kept = np.flatnonzero(there.sum(axis=1) >= 2)
    latest = np.where(there[kept], begin[kept], LOW).max(axis=1, initial=LOW)
    known = zip(rough.of_row, clocks.known.tolist(), strict=True)
    of_row = [np.where(has, rows, -1).astype(np.int32) for rows, has in known]
    placed = replace(rough, there=there, begin_ps=begin, wait_ps=wait, end_ps=end, of_row=of_row)
    return placed.chosen(kept[np.argsort(latest, kind="stable")])
