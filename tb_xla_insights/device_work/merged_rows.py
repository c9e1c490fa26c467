"""Merges rows of ops of the same name: of distinct ops, of programs with the same name, of several hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]

KEY = ("program", "op", "annotation")
PROPERTIES = ("category", "body", "source", "shape", "product", "kind", "flops_source")
"""Properties of an op; if merged rows differ, those with most time count."""
SUMS = (
    "count", "executions", "self_ps", "in_steps_ps", "work_ps", "flops_known_ps", "bytes_known_ps",
    "flops", "model_flops", "bytes", "hbm_bytes",
)  # fmt: skip


def add_known(a: int | None, b: int | None) -> int | None:
    """Returns the sum of two numbers; None (not known) counts as 0 beside a number. None if both are None."""
    return b if a is None else a if b is None else a + b


class OpRows:
    """Merges rows of equal program, op and annotation; the result does not depend on the order of the rows."""

    def __init__(self) -> None:
        self._sums: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._property_times: dict[tuple[Any, ...], dict[tuple[Any, ...], int]] = {}
        """Per key, the time of each combination of PROPERTIES."""

    def add(self, row: Mapping[str, Any]) -> None:
        key = tuple(row[name] for name in KEY)
        sums = self._sums.get(key)
        if sums is None:
            self._sums[key] = {name: row[name] for name in SUMS}
        else:
            for name in SUMS:
                sums[name] = add_known(sums[name], row[name])
        times = self._property_times.setdefault(key, {})
        properties = tuple(row[name] for name in PROPERTIES)
        times[properties] = times.get(properties, 0) + row["self_ps"]

    def rows(self) -> list[Row]:
        """Returns the merged rows, those with most time first."""
        rows = []
        for key, sums in self._sums.items():
            times = self._property_times[key]
            properties = min(times, key=lambda values: (-times[values], [str(value) for value in values]))
            rows.append(
                dict(zip(KEY, key, strict=True)) | dict(zip(PROPERTIES, properties, strict=True)) | sums
            )
        return sorted(rows, key=lambda row: (-row["self_ps"], *(row[name] or "" for name in KEY)))
