"""How tables of several hosts become one: each rule against its definition, in any order of hosts and in groups."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import TypedDict

from tb_xla_insights.columns.merge import MergedTable, merged_row, row_of, rows_of
from tb_xla_insights.columns.rules import (
    computed,
    counts,
    first,
    key,
    known_mean,
    known_total,
    largest,
    mean,
    median,
    most,
    most_known,
    of_first,
    of_median,
    smallest,
    total,
    union,
    whole_mean,
)
from tb_xla_insights.columns.shift import instant, shifted, step_index


class Part(TypedDict):
    name: Annotated[str, key]
    time: Annotated[int, total]


class Extra(TypedDict):
    cost: Annotated[int, total]


class Sample(TypedDict):
    program: Annotated[str, key]
    runs: Annotated[int, total]
    known: Annotated[int | None, known_total]
    shortest: Annotated[int, smallest]
    longest: Annotated[int, largest]
    label: Annotated[str, first]
    ids: Annotated[list[int], union(int)]
    by_class: Annotated[dict[str, int], counts("ba")]
    kind: Annotated[str, most("weight", "other")]
    typical: Annotated[int, median("runs")]
    share: Annotated[float, mean("weight")]
    whole: Annotated[int, whole_mean("runs")]
    of_typical: Annotated[str, of_median("typical", "runs")]
    known_whole: Annotated[int | None, known_mean("weight")]
    cause: Annotated[str | None, most_known("weight")]
    weight: Annotated[int, total]
    parts: Annotated[list[Part], rows_of(Part, "time")]
    extra: Annotated[Extra | None, row_of(Extra)]
    ratio: Annotated[float, computed(lambda row: row["weight"] / row["runs"])]
    main: Annotated[str, of_first("parts", "name", "")]


class Window(TypedDict):
    start_ps: Annotated[int, instant]
    duration_ps: int


class Event(TypedDict):
    name: str
    step: Annotated[int | None, step_index]
    windows: list[Window]
    longest: Window | None


numbers = st.integers(0, 9)
names = st.sampled_from("abc")
samples = st.fixed_dictionaries(
    {
        "program": names,
        "runs": st.integers(1, 9),
        "known": st.none() | numbers,
        "shortest": numbers,
        "longest": numbers,
        "label": names,
        "ids": st.lists(numbers),
        "by_class": st.dictionaries(st.sampled_from("ab"), numbers),
        "kind": names,
        "typical": numbers,
        "share": st.floats(0, 1),
        "whole": numbers,
        "of_typical": names,
        "known_whole": st.none() | numbers,
        "cause": st.none() | names,
        "weight": numbers,
        "parts": st.lists(st.fixed_dictionaries({"name": names, "time": numbers})),
        "extra": st.none() | st.fixed_dictionaries({"cost": numbers}),
        "ratio": st.just(0.0),
        "main": st.just(""),
    }
)


def middle(values: list[Any]) -> Any:
    return sorted(values)[(len(values) - 1) // 2]


def by_definition(program: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The merged row of a program, from its rows in the order of hosts."""
    known = [row["known"] for row in rows if row["known"] is not None]
    weight_of_kind = {kind: sum(row["weight"] for row in rows if row["kind"] == kind) for kind in "abc"}
    by_class = sum((Counter(row["by_class"]) for row in rows), Counter[str]())
    runs, weight = (sum(row[name] for row in rows) for name in ("runs", "weight"))
    typical = middle([row["typical"] for row in rows for _ in range(row["runs"])])
    times = sum(
        (Counter({part["name"]: part["time"]}) for row in rows for part in row["parts"]), Counter[str]()
    )
    seen = {part["name"] for row in rows for part in row["parts"]}
    parts = [
        {"name": name, "time": times[name]} for name in sorted(seen, key=lambda name: (-times[name], name))
    ]
    extra = [row["extra"]["cost"] for row in rows if row["extra"]]
    known_wholes = [(row["known_whole"], row["weight"]) for row in rows if row["known_whole"] is not None]
    known_weight = sum(of_row for _, of_row in known_wholes)
    weight_of_cause = {
        cause: sum(row["weight"] for row in rows if row["cause"] == cause) for cause in (None, *"abc")
    }
    return {
        "program": program,
        "runs": runs,
        "known": sum(known) if known else None,
        "shortest": min(row["shortest"] for row in rows),
        "longest": max(row["longest"] for row in rows),
        "label": rows[0]["label"],
        "ids": sorted({id_ for row in rows for id_ in row["ids"]}),
        "by_class": {name: by_class[name] for name in "ba" if by_class[name]},
        "kind": max("abc", key=lambda kind: (weight_of_kind[kind], -ord(kind))) if weight else "other",
        "typical": typical,
        "share": float(sum(Fraction(row["share"]) * row["weight"] for row in rows) / weight) if weight else 0.0,
        "whole": sum(row["whole"] * row["runs"] for row in rows) // runs,
        "of_typical": next(row["of_typical"] for row in rows if row["typical"] == typical),
        "known_whole": sum(value * of_row for value, of_row in known_wholes) // known_weight if known_weight else None,
        "cause": max(weight_of_cause, key=lambda cause: weight_of_cause[cause]) if weight else None,
        "weight": weight,
        "parts": parts,
        "extra": {"cost": sum(extra)} if extra else None,
        "ratio": weight / runs,
        "main": parts[0]["name"] if parts else "",
    }  # fmt: skip


@given(hosts=st.lists(st.lists(samples, max_size=4), max_size=4), data=st.data())
def test_hosts_merge_by_the_definition_of_each_rule_in_any_order_and_in_groups(
    hosts: list[Any], data: st.DataObject
) -> None:
    table, others = MergedTable(Sample), MergedTable(Sample)
    for number in data.draw(st.permutations(range(len(hosts)))):
        data.draw(st.sampled_from((table, others))).add(number, hosts[number])
    table.include(others)
    rows = [row for host in hosts for row in host]
    expected = [
        by_definition(program, [row for row in rows if row["program"] == program])
        for program in sorted({row["program"] for row in rows})
    ]
    assert table.rows("runs") == sorted(expected, key=lambda row: -row["runs"])


def test_the_sum_of_no_rows_is_0() -> None:
    assert merged_row(Extra, []) == {"cost": 0}


def test_a_column_without_a_rule_is_refused() -> None:
    class Unruled(TypedDict):
        name: Annotated[str, key]
        time: int

    with pytest.raises(TypeError, match=r"Unruled\.time does not say how hosts merge"):
        MergedTable(Unruled)


def test_instants_and_indices_of_steps_shift_at_any_depth() -> None:
    window, later_window = Window(start_ps=3, duration_ps=2), Window(start_ps=13, duration_ps=2)
    rows: list[Event] = [
        {"name": "a", "step": 0, "windows": [window, window], "longest": window},
        {"name": "b", "step": None, "windows": [], "longest": None},
    ]
    assert shifted(list[Event], rows, by_ps=10, steps=7) == [
        {"name": "a", "step": 7, "windows": [later_window, later_window], "longest": later_window},
        {"name": "b", "step": None, "windows": [], "longest": None},
    ]
    assert rows[0]["windows"] == [Window(start_ps=3, duration_ps=2)] * 2
    assert shifted(list[Event], rows) is rows
