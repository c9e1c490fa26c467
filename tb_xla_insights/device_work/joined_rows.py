"""Joins rows of ops: of several parts of an op, of programs that share a name, of several hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]

KEYS = ("program", "op", "annotation")
TOLD = ("category", "source", "shape", "product", "kind", "counted")
"""Properties of an op; where joined rows differ, those of the row with most time count."""
SUMS = (
    "count", "executions", "self_ps", "in_steps_ps", "work_ps", "counted_ps", "sized_ps",
    "flops", "model_flops", "bytes", "hbm_bytes",
)  # fmt: skip


def plus(one: int | None, other: int | None) -> int | None:
    """The sum, where None is not known and counts as 0; None where both are."""
    return other if one is None else one if other is None else one + other


class OpRows:
    """Joins rows of equal program, op and annotation; the result does not depend on the order of the rows."""

    def __init__(self) -> None:
        self._sums: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._told: dict[tuple[Any, ...], dict[tuple[Any, ...], int]] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        key = tuple(row[name] for name in KEYS)
        known = self._sums.get(key)
        if known is None:
            self._sums[key] = {name: row[name] for name in SUMS}
        else:
            for name in SUMS:
                known[name] = plus(known[name], row[name])
        told = self._told.setdefault(key, {})
        what = tuple(row[name] for name in TOLD)
        told[what] = told.get(what, 0) + row["self_ps"]

    def rows(self) -> list[Row]:
        """Those with most time first."""
        found = []
        for key, sums in self._sums.items():
            told = self._told[key]
            what = min(told, key=lambda it: (-told[it], [str(text) for text in it]))
            found.append(dict(zip(KEYS, key, strict=True)) | dict(zip(TOLD, what, strict=True)) | sums)
        return sorted(found, key=lambda row: (-row["self_ps"], *(row[name] or "" for name in KEYS)))
