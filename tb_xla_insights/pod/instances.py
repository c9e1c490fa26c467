"""What several hosts did together, and which steps of theirs are the same. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.align import NOT, Aligned
from tb_xla_insights.pod.clocks import Clocks
from tb_xla_insights.pod.collectives import HostCollectives
from tb_xla_insights.pod.shared import Shared
from tb_xla_insights.trace.model import Int32, Int64

NOBODY = -1

LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


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


def common_steps(
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


def find_instances(
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
        np.concatenate([getattr(party, name) for party in parties])
        for name in ("begin_ps", "wait_ps", "end_ps")
    )
    number[chosen] = np.arange(len(chosen))
    which = number[which]
    rows = np.flatnonzero(which >= 0)
    there = several[chosen]
    made = [np.full(there.shape, low, np.int64) for low in (LOW, LOW, HIGH)]
    np.maximum.at(made[0], (which[rows], of[rows]), begin[rows])
    np.maximum.at(made[1], (which[rows], of[rows]), wait[rows])
    np.minimum.at(made[2], (which[rows], of[rows]), end[rows])
    for column in made:
        column[~there] = 0
    kinds = kinds[:, chosen]
    step = np.array(
        [step_of_label.get((it, text), NOBODY) for it, text in kinds[[0, 3]].T.tolist()], np.int32
    )
    bounds = np.cumsum([0, *(len(party) for party in parties)])
    of_row = [which[low:high].astype(np.int32) for low, high in zip(bounds[:-1], bounds[1:], strict=True)]
    return Instances(kinds[1].astype(np.int32), step, there, made[0], made[1], made[2], of_row)


def placed_on(rough: Instances, clocks: Clocks) -> Instances:
    """The instances on the common clock, in order of time, and only parties whose clocks are known."""
    there = rough.there & clocks.known
    columns = [np.zeros_like(rough.begin_ps) for _ in range(3)]
    for host in np.flatnonzero(clocks.known).tolist():
        rows = there[:, host]
        for made, times in zip(columns, (rough.begin_ps, rough.wait_ps, rough.end_ps), strict=True):
            made[rows, host] = clocks.common(host, times[rows, host])
    kept = np.flatnonzero(there.sum(axis=1) >= 2)
    latest = np.where(there[kept], columns[0][kept], LOW).max(axis=1, initial=LOW)
    order = kept[np.argsort(latest, kind="stable")]
    place = np.full(len(rough) + 1, -1, np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    of_row = [
        place[rows] if known else np.full_like(rows, -1)
        for rows, known in zip(rough.of_row, clocks.known.tolist(), strict=True)
    ]
    begin, wait, end = (column[order] for column in columns)
    return Instances(rough.instruction[order], rough.step[order], there[order], begin, wait, end, of_row)
