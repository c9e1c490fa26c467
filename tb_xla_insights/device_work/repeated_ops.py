"""Ops that repeat, such as those of the layers of an unrolled model, as groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

Row = Mapping[str, Any]

_MAX_TIMES_OF_MEAN = 2
"""Beside ops that repeat, one that does not is listed singly if an execution takes longer than theirs, times this. The
first layer of an unrolled model may have another body, as its input comes from elsewhere."""


def group_repeated(rows: Iterable[Row]) -> list[list[Row]]:
    """Groups rows of the report's `ops`, in their order. Ops of a program with the same `body` repeat. All those of one
    category and in the same annotations are a group, together with other ops of the category there that take no longer;
    without an annotation, each body is one. Every other row is a group of its own. (docs/definitions.md, "Ops")"""
    rows_of_body: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        rows_of_body.setdefault((row["program"], row["category"], row["kind"], row["body"]), []).append(row)
    bodies_of_group: dict[tuple[Any, ...], list[list[Row]]] = {}
    for (program, category, kind, body), same in rows_of_body.items():
        annotations = frozenset(row["annotation"] for row in same)
        separate = body if annotations == {None} else ""
        bodies_of_group.setdefault((program, category, kind, annotations, separate), []).append(same)
    groups: list[list[Row]] = []
    for bodies in bodies_of_group.values():
        repeated = [*chain(*(same for same in bodies if op_count(same) > 1))]
        others = [*chain(*(same for same in bodies if op_count(same) == 1))]
        limit = _MAX_TIMES_OF_MEAN * _mean_ps(repeated) if repeated else 0.0
        groups += [[row] for row in others if _mean_ps([row]) > limit or not repeated]
        if repeated:
            groups.append(repeated + [row for row in others if _mean_ps([row]) <= limit])
    return groups


def group_name(rows: Sequence[Row]) -> str:
    """The name of a group: that of its only op, or the number of its ops with their category: `64 × convolution
    fusion`."""
    ops = op_count(rows)
    return str(rows[0]["op"]) if ops == 1 else f"{ops} × {rows[0]['category']}"


def op_count(rows: Iterable[Row]) -> int:
    """The number of distinct ops of a program."""
    return len({row["op"] for row in rows})


def _mean_ps(rows: Sequence[Row]) -> float:
    """The mean time of an execution."""
    return float(sum(row["self_ps"] for row in rows) / max(1, sum(row["executions"] for row in rows)))
