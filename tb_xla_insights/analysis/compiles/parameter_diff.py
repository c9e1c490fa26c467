"""The differences between the parameters of two graphs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Literal, NamedTuple

ParameterChange = Literal["grows", "shrinks", "shape", "dtype", "parameters", "fewer_parameters"]
"""How the parameters of a graph differ from those of another: in dimensions, of which none is smaller, none is larger,
or neither; in types; some are new; or some are gone and none is new."""

_MAX_ALIGNED_PARAMETERS = 500
"""If two graphs have different numbers of parameters, and none has more than this, the sequences are aligned to find
the parameters that only one graph has."""

_SHAPE = re.compile(r"(\w+)\[((?:\d{1,18}(?:,\d{1,18})*)?)\]", re.ASCII)


@dataclass(frozen=True)
class ParameterDifference:
    """A parameter that differs: its shape (such as `s64[4,16]`) in the nearest graph and in the compiled one, None in
    the graph that has no such parameter. `index`: its position in the compiled graph; in the nearest graph if the
    compiled one lacks it."""

    index: int
    before: str | None
    after: str | None


def differences_of(before: Sequence[str], after: Sequence[str]) -> list[ParameterDifference]:
    """Returns the parameters in which two graphs differ. Parameters correspond by position if both graphs have the same
    number of them; otherwise, sequences of equal parameters are aligned."""
    if len(before) == len(after) or max(len(before), len(after)) > _MAX_ALIGNED_PARAMETERS:
        pairs = enumerate(zip_longest(before, after))
        return [ParameterDifference(index, old, new) for index, (old, new) in pairs if old != new]
    differences: list[ParameterDifference] = []
    for operation, i, i_end, j, j_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if operation != "equal":
            for offset, (old, new) in enumerate(zip_longest(before[i:i_end], after[j:j_end])):
                differences.append(ParameterDifference(i + offset if new is None else j + offset, old, new))
    return differences


def parameter_change(differences: Sequence[ParameterDifference]) -> ParameterChange:
    """Returns how graphs differ whose parameters differ."""
    shapes = [(_array_shape(diff.before), _array_shape(diff.after)) for diff in differences]
    if any(before is None or after is None for before, after in shapes):
        if all(diff.after is None for diff in differences):
            return "fewer_parameters"
        is_missing = any(diff.before is None or diff.after is None for diff in differences)
        return "parameters" if is_missing else "shape"
    arrays = [(before, after) for before, after in shapes if before and after]
    if all(before.sizes == after.sizes for before, after in arrays):
        return "dtype"
    if any(before.type != after.type or len(before.sizes) != len(after.sizes) for before, after in arrays):
        return "shape"
    sizes = [size for before, after in arrays for size in zip(before.sizes, after.sizes, strict=True)]
    if all(old <= new for old, new in sizes):
        return "grows"
    return "shrinks" if all(old >= new for old, new in sizes) else "shape"


class _ArrayShape(NamedTuple):
    """The type of an array's elements, and the sizes of its dimensions."""

    type: str
    sizes: list[int]


def _array_shape(shape: str | None) -> _ArrayShape | None:
    """Parses an array's shape; None for a tuple's, or without a shape."""
    match = _SHAPE.fullmatch(shape or "")
    return _ArrayShape(match[1], [int(size) for size in match[2].split(",") if size]) if match else None
