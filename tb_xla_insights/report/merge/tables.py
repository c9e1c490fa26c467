"""Merges the tables of many hosts: rows with equal keys become one, whatever the order in which hosts are added."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from tb_xla_insights.analysis.idle.gaps import MAX_LISTED_GAPS
from tb_xla_insights.analysis.launches.enqueues import JOINS
from tb_xla_insights.analysis.launches.executions import TIME_COLUMNS
from tb_xla_insights.analysis.launches.launches import KINDS, OTHER
from tb_xla_insights.analysis.weighted import weighted_mean, weighted_median
from tb_xla_insights.catalog.classes import CLASSES, ClassName

if TYPE_CHECKING:
    from tb_xla_insights.schema import annotations as tree
    from tb_xla_insights.schema import gaps
    from tb_xla_insights.schema.common import ByClass, Spread

Row = dict[str, Any]
Rows = list[Row]
T = TypeVar("T", bound=Mapping[str, Any])
"""The type of a table's rows."""

HostKey = tuple[Any, ...]
"""The sort key of a host."""


def in_class_order(by_class: Counter[ClassName]) -> ByClass:
    """Times by class in the order of CLASSES, without classes that have no time."""
    return {name: by_class[name] for name in CLASSES if by_class[name]}


class SummedRows(Generic[T]):
    """Merges rows with equal values in the key columns, and sums the other columns."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys
        self._rows: dict[tuple[str, ...], Row] = {}

    def add(self, rows: Iterable[T]) -> None:
        for row in rows:
            key = tuple(repr(row[name]) for name in self._keys)  # as texts: a key column may have lists
            merged = self._rows.setdefault(key, dict.fromkeys(row, 0))
            for name, value in row.items():
                merged[name] = value if name in self._keys else merged[name] + value

    def rows(self, *, order_by: str) -> list[T]:
        """The merged rows, the largest value of the column `order_by` first."""
        ordered = sorted(self._rows.items(), key=lambda item: (-item[1][order_by], item[0]))
        return [cast(T, row) for _, row in ordered]  # a merged row has the keys of the added rows


class MergedPrograms(Generic[T]):
    """Merges the report's `executions` or `programs`. The median of a program's runs is the median of its hosts'
    medians, weighted by their numbers of runs."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys
        self._rows: dict[tuple[str, ...], list[tuple[HostKey, T]]] = {}

    def add(self, host: HostKey, rows: Iterable[T]) -> None:
        for row in rows:
            self._rows.setdefault(tuple(row[key] for key in self._keys), []).append((host, row))

    def rows(self) -> list[T]:
        merged = (
            self._merge([row for _, row in sorted(rows, key=lambda pair: pair[0])])
            for rows in self._rows.values()
        )
        return sorted(merged, key=lambda row: (-row["device_ps"], *(row[key] for key in self._keys)))

    @staticmethod
    def _merge(rows: Sequence[T]) -> T:
        merged: Row = {**rows[0]}
        for name in ("launches", "count", *TIME_COLUMNS):
            merged[name] = sum(row[name] for row in rows)
        merged["program_ids"] = sorted({id_ for row in rows for id_ in row["program_ids"]}, key=int)
        kinds: Counter[str] = Counter()
        joins: Counter[str] = Counter()
        all_runs, known_runs = [row["count"] for row in rows], []
        causes: Counter[tuple[tuple[str, Any], ...]] = Counter()
        for row in rows:
            joins_of_row = row["joins"] if "joins" in row else {row["join"]: row["count"]}
            known_runs.append(row["count"] - joins_of_row.get("none", 0))
            kinds[row["kind"]] += known_runs[-1]
            joins.update(joins_of_row)
            for cause in row["causes"]:
                key = tuple((name, value) for name, value in cause.items() if name != "count")
                causes[key] += cause["count"]
        known_kinds = +kinds  # without kinds of rows whose launches are all unknown
        merged["kind"] = min(known_kinds, key=lambda kind: (-known_kinds[kind], kind), default=KINDS[OTHER])
        if "joins" in merged:
            merged["joins"] = {join: joins[join] for join in JOINS if joins[join]}
        merged["causes"] = [dict(cause) | {"count": count} for cause, count in causes.most_common()]
        # Other times than the device's are those of runs whose launch is known, if there are any.
        launched = known_runs if any(known_runs) else all_runs
        merged["spread"] = {
            column: _merged_spread(
                [row["spread"][column] for row in rows], all_runs if column == "device_ps" else launched
            )
            for column in TIME_COLUMNS
        }
        return cast(T, merged)  # a merged row has the keys of the first one


def _merged_spread(spreads: Sequence[Spread], runs: Sequence[int]) -> Spread:
    """The spread of the rows that have `runs`."""
    counted = [(spread, count) for spread, count in zip(spreads, runs, strict=True) if count]
    return {
        "min": min(spread["min"] for spread, _ in counted),
        "median": weighted_median((spread["median"], count) for spread, count in counted),
        "max": max(spread["max"] for spread, _ in counted),
    }


class MergedAnnotations:
    """Merges the report's `annotations`: each path of any host once, below its parent. Siblings are in the order of the
    first host that has them. A path that reaches the devices of any host is not lost."""

    def __init__(self) -> None:
        self._rows: dict[str, tree.Annotation] = {}
        self._programs: dict[str, set[str]] = {}
        self._first_positions: dict[str, tuple[HostKey, int]] = {}
        self._lost: dict[str, tuple[HostKey, tree.Lost]] = {}

    def add(self, host: HostKey, rows: Iterable[tree.Annotation]) -> None:
        for index, row in enumerate(rows):
            path, position = row["path"], (host, index)
            merged = self._rows.get(path)
            if merged is None:
                merged = self._rows[path] = {
                    **row,
                    "count": 0,
                    "host_ps": 0,
                    "device_ps": 0,
                    "device_ops": 0,
                    "executions": 0,
                }
                self._first_positions[path], self._programs[path] = position, set()
            merged["count"] += row["count"]
            merged["host_ps"] += row["host_ps"]
            merged["device_ps"] += row["device_ps"]
            merged["device_ops"] += row["device_ops"]
            merged["executions"] += row["executions"]
            self._programs[path].update(row["programs"])
            if position <= self._first_positions[path]:
                self._first_positions[path] = position
                merged["kind"] = row["kind"]
            if row["lost"] is not None:
                self._lost[path] = min(self._lost.get(path, (host, row["lost"])), (host, row["lost"]))

    def rows(self) -> list[tree.Annotation]:
        result: list[tree.Annotation] = []
        for path in sorted(self._rows, key=self._sort_key):
            row = self._rows[path]
            lost = None if row["device_ps"] else self._lost.get(path, (None, None))[1]
            result.append({**row, "programs": sorted(self._programs[path]), "lost": lost})
        return result

    def _sort_key(self, path: str) -> list[tuple[HostKey, int]]:
        """The positions of a path's ancestors, the outermost first, then its own."""
        parts = path.split("/")
        prefixes = ("/".join(parts[: depth + 1]) for depth in range(len(parts)))
        return [self._first_positions[prefix] for prefix in prefixes if prefix in self._first_positions]


class MergedGaps:
    """Merges the report's `gaps`: sums, and the longest gaps of all hosts. Holds no more gaps than the report lists."""

    def __init__(self, all_gaps: bool) -> None:
        self._max_items = None if all_gaps else MAX_LISTED_GAPS
        self._count = self._total_ps = self._listed_ps = 0
        self._by_class: Counter[ClassName] = Counter()
        self._by_kind: gaps.GapsByKind = {"starved": 0, "queued": 0, "unknown": 0}
        self._items: list[tuple[tuple[int, HostKey, int], int, gaps.Gap]] = []
        self._patterns: dict[tuple[str | None, str | None, bool], _MergedPattern] = {}

    def add(self, host: HostKey, number: int, document: gaps.Gaps, cores: int) -> None:
        """Adds the gaps of a host; `number` is the host's number in `items`, `cores` the number of its cores with
        work."""
        self._count += document["count"]
        self._total_ps += document["total_ps"]
        self._listed_ps += document["listed_ps"]
        self._by_class.update(document["by_class_ps"])
        self._by_kind["starved"] += document["by_kind_ps"]["starved"]
        self._by_kind["queued"] += document["by_kind_ps"]["queued"]
        self._by_kind["unknown"] += document["by_kind_ps"]["unknown"]
        items = document["items"]
        if self._max_items is not None and len(self._items) >= self._max_items:
            shortest_ps = -self._items[-1][0][0]  # shorter gaps do not enter the list
            items = [*takewhile(lambda row: row["duration_ps"] >= shortest_ps, items)]
        new = [((-row["duration_ps"], host, index), number, row) for index, row in enumerate(items)]
        self._items = list(islice(heapq.merge(self._items, new), self._max_items))
        for row in document["patterns"]:
            key = row["before"], row["after"], row["inside_run"]
            self._patterns.setdefault(key, _MergedPattern()).add(row, cores)

    @property
    def items(self) -> list[tuple[int, gaps.Gap]]:
        """The longest gaps, each with its host's number."""
        return [(number, row) for _, number, row in self._items]

    def document(self, items: list[gaps.Gap], steps: int) -> gaps.Gaps:
        """The report's key. `items` are the gaps as the report lists them, `steps` is the number of steps of hosts
        whose devices recorded work."""
        ordered = sorted(self._patterns.items(), key=lambda item: (-item[1].total_ps, *map(str, item[0])))
        return {
            "count": self._count,
            "total_ps": self._total_ps,
            "listed_ps": self._listed_ps,
            "by_class_ps": in_class_order(self._by_class),
            "by_kind_ps": self._by_kind,
            "items": items,
            "patterns": [pattern.row(*key, steps) for key, pattern in ordered],
        }


class _MergedPattern:
    """The gaps between two programs, or inside the runs of one, on all hosts."""

    def __init__(self) -> None:
        self.total_ps = 0
        self._count = self._queued_ps = self._in_steps_ps = self._max_ps = 0
        self._min_ps: int | None = None
        self._in_steps_ps_per_core = Fraction()
        self._by_class: Counter[ClassName] = Counter()
        self._by_cause: Counter[ClassName] = Counter()

    def add(self, row: gaps.GapPattern, cores: int) -> None:
        self._count += row["count"]
        self.total_ps += row["total_ps"]
        self._queued_ps += row["queued_ps"]
        self._in_steps_ps += row["in_steps_ps"]
        self._in_steps_ps_per_core += Fraction(row["in_steps_ps"], max(1, cores))
        self._min_ps = row["min_ps"] if self._min_ps is None else min(self._min_ps, row["min_ps"])
        self._max_ps = max(self._max_ps, row["max_ps"])
        self._by_class.update(row["by_class_ps"])
        self._by_cause.update(row["by_cause_ps"])

    def row(self, before: str | None, after: str | None, inside_run: bool, steps: int) -> gaps.GapPattern:
        """The report's row of the pattern."""
        by_cause = in_class_order(self._by_cause)
        return {
            "before": before,
            "after": after,
            "inside_run": inside_run,
            "count": self._count,
            "total_ps": self.total_ps,
            "mean_ps": self.total_ps // self._count,
            "in_steps_ps": self._in_steps_ps,
            "per_step_ps": self._in_steps_ps_per_core // steps if steps else None,
            "min_ps": self._min_ps or 0,
            "max_ps": self._max_ps,
            "cause": max(by_cause, key=lambda name: by_cause[name]),
            "by_cause_ps": by_cause,
            "queued_ps": self._queued_ps,
            "by_class_ps": in_class_order(self._by_class),
        }


class MergedPropagation:
    """Merges the report's `propagation`. For a program on many hosts, `runs` and `phases` are medians over the hosts;
    `inversion_share` refers to the device time of all hosts."""

    def __init__(self) -> None:
        self._device_ps = self._direct_ps = self._recovered_ps = self._bare_ps = self._none_ps = 0
        self._programs: dict[tuple[str, str], list[tree.ProgramOrder]] = {}
        self._unannotated_ops: SummedRows[tree.UnannotatedOp] = SummedRows("op", "source", "state")
        self._shared_ops: SummedRows[tree.SharedOp] = SummedRows(
            "op", "name", "source", "parts", "unscoped_share"
        )
        self._lines: SummedRows[tree.SourceLine] = SummedRows("source", "path")

    def add(self, propagation: tree.Propagation) -> None:
        self._device_ps += propagation["device_ps"]
        self._direct_ps += propagation["direct_ps"]
        self._recovered_ps += propagation["recovered_ps"]
        self._bare_ps += propagation["bare_ps"]
        self._none_ps += propagation["none_ps"]
        for row in propagation["programs"]:
            self._programs.setdefault((row["program"], row["program_id"]), []).append(row)
        self._unannotated_ops.add(propagation["unannotated_ops"])
        self._shared_ops.add(propagation["shared_ops"])
        self._lines.add(propagation["lines"])

    def document(self) -> tree.Propagation:
        programs = sorted(
            map(self._merge_program, self._programs.values()),
            key=lambda row: (-row["device_ps"], row["program"], row["program_id"]),
        )
        main = programs[0] if programs else None
        return {
            "device_ps": self._device_ps,
            "direct_ps": self._direct_ps,
            "recovered_ps": self._recovered_ps,
            "bare_ps": self._bare_ps,
            "none_ps": self._none_ps,
            "runs": main["runs"] if main else 0,
            "phases": main["phases"] if main else 0,
            "inversion_share": main["inversion_share"] if main else 0.0,
            "programs": programs,
            "unannotated_ops": self._unannotated_ops.rows(order_by="device_ps"),
            "shared_ops": self._shared_ops.rows(order_by="device_ps"),
            "lines": self._lines.rows(order_by="device_ps"),
        }

    @staticmethod
    def _merge_program(rows: Sequence[tree.ProgramOrder]) -> tree.ProgramOrder:
        inverted = weighted_mean((row["inversion_share"], row["device_ps"]) for row in rows)
        return {
            **rows[0],
            "executions": sum(row["executions"] for row in rows),
            "device_ps": sum(row["device_ps"] for row in rows),
            "runs": weighted_median((row["runs"], row["executions"]) for row in rows),
            "phases": weighted_median((row["phases"], row["executions"]) for row in rows),
            "inversion_share": inverted or 0.0,
        }
