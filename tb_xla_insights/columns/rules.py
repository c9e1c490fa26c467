"""How the values of a column on several hosts become one value.

Each rule is a sum that takes hosts in any order, one by one or group by group: `lift` makes a sum of one value, `add`
adds two sums, `value` ends it. A column of a row type carries its rule in `Annotated`.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tb_xla_insights.columns.weighted import weighted_mean, weighted_median

Row = Mapping[str, Any]
At = tuple[Any, ...]
"""The position of a row: the sort key of its host, then its index there."""
Weight = str | Callable[[Row], int]
"""A column, or what counts a row's runs, steps or time."""


@dataclass(frozen=True, eq=False)
class Rule:
    """A sum: `lift` makes one of a value, `add` adds two, `value` ends it. `empty`: the value of no rows. `computed`: a
    function of the merged row's other columns, instead of a sum."""

    add: Callable[[Any, Any], Any] = operator.add
    lift: Callable[[Any, Row, At], Any] = lambda value, *_: value
    value: Callable[[Any], Any] = lambda total: total
    empty: Any = None
    computed: Callable[[Row], Any] | None = None


key = Rule(lambda first, _: first)
"""Rows whose key columns are equal become one."""

total = Rule(empty=0)
smallest, largest = Rule(min), Rule(max)

known_total = Rule(lambda a, b: b if a is None else a if b is None else a + b)
"""The sum of the values that are known; None if none is."""

first = Rule(min, lambda value, _, at: (value is None, at, value), operator.itemgetter(2))
"""That of the first host that knows it."""

anywhere = Rule(operator.or_, empty=False)
"""Whether it is so on any host."""

entries = Rule(operator.or_)
"""The entries of all hosts' dicts, which have no key in common."""


def union(order: Callable[[Any], Any]) -> Rule:
    """All different values, in the order of this key."""
    return Rule(operator.or_, lambda value, *_: {*value}, lambda values: sorted(values, key=order))


def counts(order: Iterable[str]) -> Rule:
    """The sums of dicts of numbers, in this order, without zeros."""
    names = tuple(order)
    return Rule(
        lift=lambda value, *_: Counter(value), value=lambda sums: {n: sums[n] for n in names if sums[n]}
    )


def most(weight: Weight, otherwise: str) -> Rule:
    """The value with most weight; `otherwise` if none has any."""
    return Rule(
        lift=lambda value, row, _: Counter({value: _weight(weight, row)}),
        value=lambda sums: min(+sums, key=lambda name: (-sums[name], name), default=otherwise),
    )


def median(weight: Weight) -> Rule:
    """The median of the hosts' values, each as often as its weight says."""
    return Rule(lift=lambda value, row, _: [(value, _weight(weight, row))], value=weighted_median)


def mean(weight: Weight, otherwise: float | None = 0.0) -> Rule:
    """The weighted mean of the hosts' values, exact before it is rounded to a float; `otherwise` without any weight."""
    return Rule(
        lift=lambda value, row, _: [(value, _weight(weight, row))],
        value=lambda pairs: otherwise if (known := weighted_mean(pairs)) is None else known,
    )


def whole_mean(weight: Weight) -> Rule:
    """As `mean`, rounded down to a whole number."""
    return Rule(
        lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lambda value, row, _: (value * (n := _weight(weight, row)), n),
        lambda sums: sums[0] // sums[1],
    )


def known_mean(weight: Weight) -> Rule:
    """As `whole_mean` of the values that are known; None without any weight."""
    return Rule(
        lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lambda value, row, _: (
            (value * _weight(weight, row), _weight(weight, row)) if value is not None else (0, 0)
        ),
        lambda sums: sums[0] // sums[1] if sums[1] else None,
    )


def most_known(weight: Weight) -> Rule:
    """The value with most weight, which may be None; None if none has any."""
    return Rule(
        lift=lambda value, row, _: Counter({value: _weight(weight, row)}),
        value=lambda sums: min(+sums, key=lambda value: (-sums[value], value or ""), default=None),
    )


def of_median(column: str, weight: Weight) -> Rule:
    """The value in the row that has the median of another column; in the first such row."""

    def value(rows: list[tuple[int, At, int, Any]]) -> Any:
        middle = weighted_median((by, n) for by, _, n, _ in rows)
        return min((at, of) for by, at, _, of in rows if by == middle)[1]

    return Rule(lift=lambda value, row, at: [(row[column], at, _weight(weight, row), value)], value=value)


def computed(function: Callable[[Row], Any]) -> Rule:
    """A function of the merged row's other columns."""
    return Rule(lambda first, _: first, computed=function)


def of_first(table: str, column: str, otherwise: Any) -> Rule:
    """The value of a column in the first row of a table beside it."""
    return computed(lambda row: row[table][0][column] if row[table] else otherwise)


def _weight(weight: Weight, row: Row) -> int:
    return int(row[weight] if isinstance(weight, str) else weight(row))
