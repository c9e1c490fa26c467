"""Matches the collective instructions of all hosts, and finds the group of cores of each execution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.pod.collective_columns import HostCollectives, Instruction
from tb_xla_insights.pod.groups import Groups

MIN_DONE_PS = 5_000_000
"""An asynchronous collective whose `done` takes less than this was over before: its recorded end says nothing about the
other parties' ends."""


@dataclass(frozen=True)
class SharedInstructions:
    """`instructions`: the distinct collectives of all hosts. Per host, for each of its rows: `instruction` (index into
    `instructions`), `group` (index of the row's group among the instruction's groups, -1: not known), and
    `ends_together` (whether the row ends at the same instant on all parties)."""

    instructions: list[Instruction]
    instruction: list[Int32]
    group: list[Int32]
    ends_together: list[NDArray[np.bool_]]


def match_instructions(
    hosts: Sequence[HostCollectives], numbering: Sequence[Int64] | None
) -> SharedInstructions:
    """Matches the instructions of several hosts.

    `numbering`: per host and core, the core's number in `replica_groups`. If it is None (not known), so is the group of
    the rows of instructions with several groups.
    """
    indices: dict[tuple[str, str], int] = {}
    instructions: list[Instruction] = []
    groups: dict[int, Groups] = {}
    for host in hosts:
        for instruction in host.instructions:
            index = indices.setdefault((instruction.program, instruction.name), len(instructions))
            if index == len(instructions):
                instructions.append(instruction)
            if instruction.groups is not None:
                groups.setdefault(index, host.groups[instruction.groups])
    shared = SharedInstructions(instructions, [], [], [])
    for number, host in enumerate(hosts):
        index_of = np.array([indices[item.program, item.name] for item in host.instructions], np.int32)
        rows = index_of[host.instruction] if len(index_of) else np.zeros(0, np.int32)
        shared.instruction.append(rows)
        shared.group.append(
            _groups_of_rows(host, rows, groups, None if numbering is None else numbering[number])
        )
        is_synchronous = host.wait_start_ps == host.begin_ps
        shared.ends_together.append(is_synchronous | (host.end_ps - host.wait_start_ps >= MIN_DONE_PS))
    return shared


def _groups_of_rows(
    host: HostCollectives, instruction: Int32, groups: dict[int, Groups], core_numbers: Int64 | None
) -> Int32:
    """Returns, per row, the index of its group among those of its instruction; 0 without groups, -1 if not known."""
    group_of_row = np.zeros(len(instruction), np.int32)
    for index in np.unique(instruction).tolist():
        members_of_group = groups.get(index, ())
        if not members_of_group:
            continue
        rows = np.flatnonzero(instruction == index)
        if core_numbers is None:
            group_of_row[rows] = -1
            continue
        group_of = {member: group for group, members in enumerate(members_of_group) for member in members}
        group_of_core = np.array([group_of.get(core, -1) for core in core_numbers.tolist()], np.int32)
        group_of_row[rows] = group_of_core[host.core[rows]]
    return group_of_row


def candidate_numberings(hosts: Sequence[HostCollectives]) -> list[list[Int64] | None]:
    """Returns the possible numbers of the cores in `replica_groups`, per host and core, the likeliest first: the ranks
    of the recorded ordinals, else host by host in the given order; then None (not known)."""
    ordinals = [ordinal for host in hosts for ordinal in host.ordinals]
    first_core = np.cumsum([0, *(len(host.cores) for host in hosts)])
    if ordinals and min(ordinals) >= 0 and len(set(ordinals)) == len(ordinals):
        rank = np.argsort(np.argsort(ordinals)).astype(np.int64)
        return [[rank[low:high] for low, high in pairwise(first_core.tolist())], None]
    host_by_host = [
        np.arange(len(host.cores), dtype=np.int64) + first
        for host, first in zip(hosts, first_core.tolist(), strict=False)
    ]
    return [host_by_host, None]
