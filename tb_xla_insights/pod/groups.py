"""Which cores take part in a collective together: `replica_groups` of an instruction, from its text or its proto."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.xplane.proto.hlo_pb2 import HloInstruction

Groups = tuple[tuple[int, ...], ...]
"""The members of each group. Empty: all cores that run the program are one."""

_LISTED = re.compile(r"replica_groups=\{((?:\{[\d,]*\},?)*)\}", re.ASCII)
_IOTA = re.compile(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?", re.ASCII)
_MOST_DIGITS, _MOST_DIMENSIONS = 9, 16
_MOST_CORES = 1 << 16
"""More than any cluster has: a text of a few letters must not make groups that fill the memory."""


def groups_of_text(text: str) -> Groups | None:
    """The groups that an instruction's text tells, None where it tells none."""
    if listed := _LISTED.search(text):
        groups = re.findall(r"\{([\d,]*)\}", listed[1])
        return _told([_numbers(group) for group in groups])
    if iota := _IOTA.search(text):
        return _told(_iota(_numbers(iota[1]), _numbers(iota[2]), _numbers(iota[3] or "")))
    return None


def groups_of(instruction: HloInstruction) -> Groups:
    """The groups of a collective in a compiled program."""
    listed = [*instruction.replica_groups] or [*instruction.collective_device_list.replica_groups]
    if listed:
        return _told([group.replica_ids for group in listed])
    iota = instruction.collective_device_list.iota_replica_group_list
    if not iota.num_replica_groups:
        return ()
    shape = iota.num_replica_groups, iota.num_devices_per_group
    return _told(_iota(shape, iota.iota_reshape_dims, iota.iota_transpose_perm))


def _iota(shape: Sequence[int], dims: Sequence[int], order: Sequence[int]) -> NDArray[np.int64]:
    """Groups written as 0, 1, 2, … in some dimensions, turned, and cut into rows; none where they do not fit."""
    cores = math.prod(dims)
    turns = not order or sorted(order) == list(range(len(dims)))
    if not (0 < cores <= _MOST_CORES and math.prod(shape) == cores and len(shape) == 2 and turns):
        return np.zeros((0, 0), np.int64)
    if min(*shape, *dims) < 1 or len(dims) > _MOST_DIMENSIONS:
        return np.zeros((0, 0), np.int64)
    return np.arange(cores, dtype=np.int64).reshape(dims).transpose(order or None).reshape(shape)


def _told(groups: Sequence[Sequence[int]] | NDArray[np.int64]) -> Groups:
    """One group of all is what an instruction without groups means as well."""
    told = tuple(tuple(int(member) for member in group) for group in groups)
    return told if len(told) > 1 else ()


def _numbers(text: str) -> list[int]:
    """Whole numbers between commas, those that have more digits than any core has left out."""
    return [int(number) for number in text.split(",") if number and len(number) <= _MOST_DIGITS]
