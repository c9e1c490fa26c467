"""Finds the collectives that several parties took part in, and their common steps. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.pod.alignment import UNALIGNED, Alignment
from tb_xla_insights.pod.clocks import Clocks
from tb_xla_insights.pod.collective_columns import HostCollectives
from tb_xla_insights.pod.shared_instructions import SharedInstructions

NO_PARTY = -1
"""Stands for a party where there is none."""

NO_STEP = -1
"""The step of an instance outside of the common steps."""

MAX_CELLS = 4_000_000
"""The most cells, instances times parties, that are compared: 200 MB of columns."""

INT64_MIN, INT64_MAX = np.iinfo(np.int64).min, np.iinfo(np.int64).max

RunLabel = tuple[int, int]
"""The runs that belong together on several parties: their component and their label (see `Alignment`)."""


@dataclass(frozen=True)
class Instances:
    """Collectives that several parties took part in together: a row per instance, a column per party, valid where
    `present`. Times are on each party's own clock from `find_instances`, and on the common clock, in order of time,
    from `place_on_common_clock`.

    `begin_ps`: the party's arrival, when its last core joins. `wait_start_ps`: when it starts to wait. `end_ps`: when
    its first core is done. `instruction`: index into `SharedInstructions.instructions`. `execution`: the instances of
    one execution, one per group of cores, have the same number. `step`: index into the common steps, or NO_STEP.
    `instance_of_row`: per party, for each row of its collectives, the index of its instance (-1: none). `share`: the
    share of all matched rows that is compared, see MAX_CELLS. `point_to_point_ps`: how long the party has waited in
    point-to-point collectives before the instance, in total; None if no party does.
    """

    instruction: Int32
    execution: Int32
    step: Int32
    present: NDArray[np.bool_]
    begin_ps: Int64
    wait_start_ps: Int64
    end_ps: Int64
    instance_of_row: list[Int32]
    share: float = 1.0
    point_to_point_ps: Int64 | None = None

    def __len__(self) -> int:
        return len(self.step)

    def select(self, rows: NDArray[np.intp]) -> Instances:
        """Returns only these instances, in this order."""
        # The last element stays -1: index -1, no instance, maps to itself.
        position = np.full(len(self) + 1, -1, np.int32)
        position[rows] = np.arange(len(rows), dtype=np.int32)
        return Instances(
            self.instruction[rows],
            self.execution[rows],
            self.step[rows],
            self.present[rows],
            self.begin_ps[rows],
            self.wait_start_ps[rows],
            self.end_ps[rows],
            [position[instances] for instances in self.instance_of_row],
            self.share,
            None if self.point_to_point_ps is None else self.point_to_point_ps[rows],
        )


def common_steps(
    parties: Sequence[HostCollectives], alignment: Alignment
) -> tuple[list[Int32], int, dict[RunLabel, int]]:
    """Returns, per party, the common step of each of its steps; the number of common steps; and the common step of each
    run.

    The aligned party with most steps sets the indices. The steps of each other party are shifted by the difference that
    most of the runs that it shares with earlier parties imply; if it shares none, by the difference that most of
    the steps' numbers imply.
    """
    step_of_run: dict[RunLabel, int] = {}
    step_of_number: dict[int, int] = {}
    shifts = np.zeros(len(parties), np.int64)
    started_components: set[int] = set()
    is_unaligned = alignment.component == UNALIGNED
    remaining = sorted(
        range(len(parties)), key=lambda party: (is_unaligned[party], -len(parties[party].step_numbers))
    )
    while remaining:
        postponed: list[int] = []
        for index in remaining:
            party, component = parties[index], int(alignment.component[index])
            labels = alignment.label[index].tolist()
            runs = [
                (step, (component, label))
                for step, label in zip(party.run_step.tolist(), labels, strict=True)
                if step >= 0 and label != UNALIGNED
            ]
            numbered = list(enumerate(party.step_numbers.tolist()))
            differences = [step_of_run[run] - step for step, run in runs if run in step_of_run]
            is_aligned = component != UNALIGNED
            may_share_later = is_aligned and component in started_components
            # The last of them is not postponed, so that each round places at least one party.
            if not differences and may_share_later and len(postponed) + 1 < len(remaining):
                postponed.append(index)
                continue
            differences = differences or [
                step_of_number[number] - step for step, number in numbered if number in step_of_number
            ]
            shift = shifts[index] = _most_common(differences)
            started_components.add(component)
            for step, run in runs:
                step_of_run.setdefault(run, step + int(shift))
            for step, number in numbered:
                if number >= 0:
                    step_of_number.setdefault(number, step + int(shift))
        remaining = postponed
    counts = np.array([len(party.step_numbers) for party in parties], np.int64)
    has_steps = counts > 0
    first = int(shifts[has_steps].min()) if has_steps.any() else 0
    step_count = int((shifts + counts)[has_steps].max()) - first if has_steps.any() else 0
    common_step = [
        (np.arange(count) + shift - first).astype(np.int32)
        for count, shift in zip(counts.tolist(), shifts.tolist(), strict=True)
    ]
    return common_step, step_count, {run: step - first for run, step in step_of_run.items()}


def _most_common(values: Sequence[int]) -> int:
    """Returns the most frequent value, 0 without values."""
    if not values:
        return 0
    distinct, count = np.unique(np.array(values), return_counts=True)
    return int(distinct[count.argmax()])


def find_instances(
    parties: Sequence[HostCollectives],
    shared: SharedInstructions,
    alignment: Alignment,
    step_of_run: dict[RunLabel, int],
) -> Instances:
    """Returns the instances that two or more parties recorded, each party's times on its own clock. `step_of_run`: from
    `common_steps`."""
    keys = [_instance_keys(party, shared, alignment, index) for index, party in enumerate(parties)]
    columns = [np.concatenate([key[column] for key in keys]).astype(np.int64) for column in range(5)]
    party_of_row = np.repeat(np.arange(len(parties)), [len(party) for party in parties])
    component, instruction, group, label, repetition = columns
    rows = np.flatnonzero((component >= 0) & (group >= 0) & (label >= 0))
    key = np.zeros(len(rows), np.int64)
    for column in columns:  # combines all columns into one number
        key = key * (int(column.max(initial=0)) + 1) + column[rows]
    _, first, instance = np.unique(key, return_index=True, return_inverse=True)
    members = np.unique(instance * len(parties) + party_of_row[rows]) // max(len(parties), 1)
    is_shared = np.bincount(members, minlength=len(first)) >= 2
    durations = np.concatenate([party.end_ps - party.begin_ps for party in parties])[rows]
    instruction_of = instruction[rows[first]]
    is_affordable = _affordable_instructions(
        instruction_of[is_shared],
        np.bincount(instruction[rows], durations).astype(np.float64),
        len(parties),
    )
    is_compared = is_shared & is_affordable[instruction_of]
    share = float(is_compared[instance].sum() / max(is_shared[instance].sum(), 1))
    instance_of_row = np.full(len(party_of_row), -1, np.int32)
    instance_of_row[rows] = np.where(is_compared, np.cumsum(is_compared) - 1, -1)[instance]
    first = rows[first[is_compared]]
    rows = np.flatnonzero(instance_of_row >= 0)
    _, execution = np.unique(
        np.stack((component, instruction, label, repetition))[:, first], axis=1, return_inverse=True
    )
    cells = instance_of_row[rows], party_of_row[rows]
    present = np.zeros((len(first), len(parties)), np.bool_)
    present[cells] = True
    step = [
        step_of_run.get(run, NO_STEP)
        for run in zip(component[first].tolist(), label[first].tolist(), strict=True)
    ]
    begin, wait_start, end = (
        np.full(present.shape, limit, np.int64) for limit in (INT64_MIN, INT64_MIN, INT64_MAX)
    )
    for times, name in ((begin, "begin_ps"), (wait_start, "wait_start_ps")):
        np.maximum.at(times, cells, np.concatenate([getattr(party, name) for party in parties])[rows])
    np.minimum.at(end, cells, np.concatenate([party.end_ps for party in parties])[rows])
    begin, wait_start, end = (np.where(present, times, 0) for times in (begin, wait_start, end))
    point_to_point = np.zeros(present.shape, np.int64)
    np.maximum.at(point_to_point, cells, np.concatenate([party.point_to_point_ps for party in parties])[rows])
    bounds = np.cumsum([len(party) for party in parties])[:-1]
    return Instances(
        instruction[first].astype(np.int32),
        execution.reshape(-1).astype(np.int32),
        np.array(step, np.int32),
        present,
        begin,
        wait_start,
        end,
        np.split(instance_of_row, bounds),
        share,
        point_to_point if point_to_point.any() else None,
    )


def _affordable_instructions(
    instruction: Int64, time_ps: NDArray[np.float64], parties: int
) -> NDArray[np.bool_]:
    """Returns which instructions are compared, from the instruction of each shared instance and the time in each
    instruction: those with most time, as waiting takes time, up to MAX_CELLS; at least one of those with instances."""
    cells = np.bincount(instruction, minlength=len(time_ps)) * parties
    order = np.argsort(-time_ps, kind="stable")
    order = order[cells[order] > 0]
    is_affordable = np.zeros(len(time_ps), np.bool_)
    is_affordable[order[np.cumsum(cells[order]) <= MAX_CELLS]] = True
    is_affordable[order[:1]] = True
    return is_affordable


def _instance_keys(
    party: HostCollectives, shared: SharedInstructions, alignment: Alignment, index: int
) -> tuple[Int32, ...]:
    """Returns the columns (component, instruction, group, label, repetition) that identify the instance of a row."""
    label = alignment.label[index][party.run] if len(party) else np.zeros(0, np.int32)
    component = np.full(len(party), alignment.component[index], np.int32)
    return component, shared.instruction[index], shared.group[index], label, party.repetition


def place_on_common_clock(instances: Instances, clocks: Clocks) -> Instances:
    """Converts instances from each party's clock to the common one, in order of time. Parties whose clocks are not
    known are removed."""
    present = instances.present & clocks.is_known
    begin, wait_start, end = (np.zeros_like(instances.begin_ps) for _ in range(3))
    for host in np.flatnonzero(clocks.is_known).tolist():
        rows = present[:, host]
        for common, times in (
            (begin, instances.begin_ps),
            (wait_start, instances.wait_start_ps),
            (end, instances.end_ps),
        ):
            common[rows, host] = clocks.to_common(host, times[rows, host])
    shared = np.flatnonzero(present.sum(axis=1) >= 2)
    latest = np.where(present[shared], begin[shared], INT64_MIN).max(axis=1, initial=INT64_MIN)
    instance_of_row = [
        np.where(is_known, rows, -1).astype(np.int32)
        for rows, is_known in zip(instances.instance_of_row, clocks.is_known.tolist(), strict=True)
    ]
    placed = replace(
        instances,
        present=present,
        begin_ps=begin,
        wait_start_ps=wait_start,
        end_ps=end,
        instance_of_row=instance_of_row,
    )
    return placed.select(shared[np.argsort(latest, kind="stable")])
