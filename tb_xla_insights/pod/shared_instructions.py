"""What is the same on several hosts: instructions, and who takes part in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.collective_columns import HostCollectives, Instruction
from tb_xla_insights.trace.model import Int32, Int64

WAITED_PS = 5_000_000
"""An asynchronous collective of which the end takes less than this was over before: its end tells nothing."""


@dataclass(frozen=True)
class Shared:
    """Per host, for each of its rows: `instruction` (index into `instructions`), `group`, which group of that (-1: not
    known), and whether the end of the row `tells` when all others end."""

    instructions: list[Instruction]
    instruction: list[Int32]
    group: list[Int32]
    tells: list[NDArray[np.bool_]]


def share(hosts: Sequence[HostCollectives], number: Sequence[Int64] | None) -> Shared:
    """What hosts have in common. `number`: of each core of each host, its number in `replica_groups`; None: not known,
    and collectives of which the groups are known are no one's then."""
    places: dict[tuple[str, str], int] = {}
    found: list[Instruction] = []
    groups: dict[int, tuple[tuple[int, ...], ...]] = {}
    for host in hosts:
        for it in host.instructions:
            place = places.setdefault((it.program, it.name), len(found))
            if place == len(found):
                found.append(it)
            if it.groups is not None:
                groups.setdefault(place, host.groups[it.groups])
    instruction, group, tells = [], [], []
    for which, host in enumerate(hosts):
        of_own = np.array([places[it.program, it.name] for it in host.instructions], np.int32)
        rows = of_own[host.instruction] if len(of_own) else np.zeros(0, np.int32)
        instruction.append(rows)
        group.append(_groups(host, rows, groups, None if number is None else number[which]))
        tells.append((host.wait_ps == host.begin_ps) | (host.end_ps - host.wait_ps >= WAITED_PS))
    return Shared(found, instruction, group, tells)


def _groups(
    host: HostCollectives, rows: Int32, groups: dict[int, tuple[tuple[int, ...], ...]], number: Int64 | None
) -> Int32:
    found = np.zeros(len(rows), np.int32)
    for place in np.unique(rows).tolist():
        told = groups.get(place, ())
        if not told:
            continue
        mine = np.flatnonzero(rows == place)
        if number is None:
            found[mine] = -1
            continue
        of_member = {member: which for which, members in enumerate(told) for member in members}
        of_core = np.array([of_member.get(member, -1) for member in number.tolist()], np.int32)
        found[mine] = of_core[host.core[mine]]
    return found


def numberings(hosts: Sequence[HostCollectives]) -> list[list[Int64] | None]:
    """What the numbers of the cores in `replica_groups` may be, the likeliest first: in the order of the recorded
    ordinals, or host by host in their order; then None, not known."""
    told = [number for host in hosts for number in host.ordinals]
    first = np.cumsum([0, *(len(host.cores) for host in hosts)])
    by_host = [
        np.arange(len(host.cores), dtype=np.int64) + low
        for host, low in zip(hosts, first.tolist(), strict=False)
    ]
    if told and min(told) >= 0 and len(set(told)) == len(told):
        rank = np.argsort(np.argsort(told)).astype(np.int64)
        return [[rank[low:high] for low, high in pairwise(first.tolist())], None]
    return [by_host, None]
