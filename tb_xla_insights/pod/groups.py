"""Reads which cores take part in a collective together: an instruction's `replica_groups`, from its text or proto."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.xplane.proto.hlo_pb2 import HloInstruction

Groups = tuple[tuple[int, ...], ...]
"""The members of each group. Empty: all cores that run the program form one group."""

_LISTED = re.compile(r"replica_groups=\{((?:\{[\d,]*\},?)*)\}", re.ASCII)
_IOTA = re.compile(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?", re.ASCII)
_MAX_DIGITS, _MAX_DIMENSIONS = 9, 16
_MAX_CORES = 1 << 16
"""More than any cluster has; limits the memory that a short but malicious text can request."""


def groups_of_text(text: str) -> Groups | None:
    """Returns the groups in an instruction's text, None if the text has none."""
    if listed := _LISTED.search(text):
        groups = re.findall(r"\{([\d,]*)\}", listed[1])
        return _normalise([_numbers(group) for group in groups])
    if iota := _IOTA.search(text):
        return _normalise(_expand_iota(_numbers(iota[1]), _numbers(iota[2]), _numbers(iota[3] or "")))
    return None


def groups_of(instruction: HloInstruction) -> Groups:
    """Returns the groups of a collective in a compiled program."""
    listed = [*instruction.replica_groups] or [*instruction.collective_device_list.replica_groups]
    if listed:
        return _normalise([group.replica_ids for group in listed])
    iota = instruction.collective_device_list.iota_replica_group_list
    if not iota.num_replica_groups:
        return ()
    shape = iota.num_replica_groups, iota.num_devices_per_group
    return _normalise(_expand_iota(shape, iota.iota_reshape_dims, iota.iota_transpose_perm))


def _expand_iota(
    shape: Sequence[int], dimensions: Sequence[int], permutation: Sequence[int]
) -> NDArray[np.int64]:
    """Expands groups written as 0, 1, 2, … in some dimensions, transposed, and cut into rows; no groups if the numbers
    are inconsistent."""
    cores = math.prod(dimensions)
    is_permutation = not permutation or sorted(permutation) == list(range(len(dimensions)))
    if not (0 < cores <= _MAX_CORES and math.prod(shape) == cores and len(shape) == 2 and is_permutation):
        return np.zeros((0, 0), np.int64)
    if min(*shape, *dimensions) < 1 or len(dimensions) > _MAX_DIMENSIONS:
        return np.zeros((0, 0), np.int64)
    return np.arange(cores, dtype=np.int64).reshape(dimensions).transpose(permutation or None).reshape(shape)


def _normalise(groups: Sequence[Sequence[int]] | NDArray[np.int64]) -> Groups:
    """Returns groups as tuples; a single group of all cores becomes empty, as in an instruction without groups."""
    members = tuple(tuple(int(member) for member in group) for group in groups)
    return members if len(members) > 1 else ()


def _numbers(text: str) -> list[int]:
    """Returns the whole numbers between commas, without those that have more digits than any core's number."""
    return [int(number) for number in text.split(",") if number and len(number) <= _MAX_DIGITS]
