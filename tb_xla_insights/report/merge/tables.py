"""Tables of many hosts as one: rows that agree in their key are one row, whatever the order in which hosts come."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from tb_xla_insights.analysis.launches.enqueues import JOINS
from tb_xla_insights.analysis.launches.executions import COST_COLUMNS
from tb_xla_insights.catalog.classes import CLASSES, ClassName
from tb_xla_insights.report.merge.parts import weighted_mean, weighted_median

if TYPE_CHECKING:
    from tb_xla_insights.schema import annotations as tree
    from tb_xla_insights.schema import gaps
    from tb_xla_insights.schema.common import ByClass

Row = dict[str, Any]
Rows = list[Row]
T = TypeVar("T", bound=Mapping[str, Any])
"""The rows of one table."""

HostKey = tuple[Any, ...]
"""What hosts are sorted by."""

MAX_GAPS = 1000


def in_class_order(by_class: Counter[ClassName]) -> ByClass:
    """Times by class as all tables give them, without the classes that have none."""
    return {name: by_class[name] for name in CLASSES if by_class[name]}


class SummedRows(Generic[T]):
    """Rows that agree in some columns as one, with the sums of the others."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys
        self._rows: dict[tuple[str, ...], Row] = {}

    def add(self, rows: Iterable[T]) -> None:
        for row in rows:
            known = self._rows.setdefault(tuple(repr(row[key]) for key in self._keys), dict.fromkeys(row, 0))
            for name, value in row.items():
                known[name] = value if name in self._keys else known[name] + value

    def rows(self, *, most: str) -> list[T]:
        """Those with most of a column first."""
        ordered = sorted(self._rows.items(), key=lambda it: (-it[1][most], it[0]))
        return [cast(T, row) for _, row in ordered]  # with the keys of the rows that were added


class MergedPrograms(Generic[T]):
    """The report's `executions` or `programs`. The median of a program's runs is that of its hosts' medians, each as
    often as the host has runs."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys
        self._rows: dict[tuple[str, ...], list[tuple[HostKey, T]]] = {}

    def add(self, host: HostKey, rows: Iterable[T]) -> None:
        for row in rows:
            self._rows.setdefault(tuple(row[key] for key in self._keys), []).append((host, row))

    def rows(self) -> list[T]:
        made = (
            self._row([row for _, row in sorted(its, key=lambda it: it[0])]) for its in self._rows.values()
        )
        return sorted(made, key=lambda row: (-row["device_ps"], *(row[key] for key in self._keys)))

    @staticmethod
    def _row(rows: Sequence[T]) -> T:
        made: Row = {**rows[0]}
        for name in ("launches", "count", *COST_COLUMNS):
            made[name] = sum(row[name] for row in rows)
        made["program_ids"] = sorted({id_ for row in rows for id_ in row["program_ids"]}, key=int)
        kinds: Counter[str] = Counter()
        joins: Counter[str] = Counter()
        causes: Counter[tuple[tuple[str, Any], ...]] = Counter()
        for row in rows:
            kinds[row["kind"]] += row["count"]
            joins.update(row.get("joins", {}))
            for cause in row["causes"]:
                causes[tuple((key, it) for key, it in cause.items() if key != "count")] += cause["count"]
        made["kind"] = min(kinds, key=lambda it: (-kinds[it], it))
        if "joins" in made:
            made["joins"] = {join: joins[join] for join in JOINS if joins[join]}
        made["causes"] = [dict(cause) | {"count": count} for cause, count in causes.most_common()]
        made["spread"] = {
            column: {
                "min": min(row["spread"][column]["min"] for row in rows),
                "median": weighted_median((row["spread"][column]["median"], row["count"]) for row in rows),
                "max": max(row["spread"][column]["max"] for row in rows),
            }
            for column in COST_COLUMNS
        }
        return cast(T, made)  # with the keys of the first one


class MergedAnnotations:
    """The report's `annotations`: a path of any host once, each below what encloses it, siblings as the first host
    that has them orders them. What one host's devices carry is not lost."""

    def __init__(self) -> None:
        self._rows: dict[str, tree.Annotation] = {}
        self._programs: dict[str, set[str]] = {}
        self._place: dict[str, tuple[HostKey, int]] = {}
        self._lost: dict[str, tuple[HostKey, tree.Lost]] = {}

    def add(self, host: HostKey, rows: Iterable[tree.Annotation]) -> None:
        for place, row in enumerate(rows):
            path, here = row["path"], (host, place)
            known = self._rows.get(path)
            if known is None:
                known = self._rows[path] = {
                    **row,
                    "count": 0,
                    "host_ps": 0,
                    "device_ps": 0,
                    "device_ops": 0,
                    "executions": 0,
                }
                self._place[path], self._programs[path] = here, set()
            known["count"] += row["count"]
            known["host_ps"] += row["host_ps"]
            known["device_ps"] += row["device_ps"]
            known["device_ops"] += row["device_ops"]
            known["executions"] += row["executions"]
            self._programs[path].update(row["programs"])
            if here <= self._place[path]:
                self._place[path] = here
                known["kind"] = row["kind"]
            if row["lost"] is not None:
                self._lost[path] = min(self._lost.get(path, (host, row["lost"])), (host, row["lost"]))

    def rows(self) -> list[tree.Annotation]:
        found: list[tree.Annotation] = []
        for path in sorted(self._rows, key=self._way):
            row = self._rows[path]
            lost = None if row["device_ps"] else self._lost.get(path, (None, None))[1]
            found.append({**row, "programs": sorted(self._programs[path]), "lost": lost})
        return found

    def _way(self, path: str) -> list[tuple[HostKey, int]]:
        """The places of all that encloses a path, from the outermost one, then its own."""
        parts = path.split("/")
        around = ("/".join(parts[: depth + 1]) for depth in range(len(parts)))
        return [self._place[it] for it in around if it in self._place]


class MergedGaps:
    """The report's `gaps`: sums, and the longest of all hosts' gaps, of which no more are held than are told."""

    def __init__(self, all_gaps: bool) -> None:
        self._most = None if all_gaps else MAX_GAPS
        self._count = self._total = self._listed = 0
        self._by_class: Counter[ClassName] = Counter()
        self._by_kind: gaps.GapsByKind = {"starved": 0, "queued": 0, "unknown": 0}
        self._items: list[tuple[tuple[int, HostKey, int], int, gaps.Gap]] = []
        self._patterns: dict[tuple[str | None, str | None, bool], _Pattern] = {}

    def add(self, host: HostKey, number: int, told: gaps.Gaps, cores: int) -> None:
        """Those of a host, its number as `items` is told it, and how many of its cores recorded work."""
        self._count += told["count"]
        self._total += told["total_ps"]
        self._listed += told["listed_ps"]
        self._by_class.update(told["by_class_ps"])
        self._by_kind["starved"] += told["by_kind_ps"]["starved"]
        self._by_kind["queued"] += told["by_kind_ps"]["queued"]
        self._by_kind["unknown"] += told["by_kind_ps"]["unknown"]
        items = told["items"]
        if self._most is not None and len(self._items) >= self._most:
            longer = -self._items[-1][0][0]  # no shorter one is told
            items = [*takewhile(lambda row: row["duration_ps"] >= longer, items)]
        new = [((-row["duration_ps"], host, place), number, row) for place, row in enumerate(items)]
        self._items = list(islice(heapq.merge(self._items, new), self._most))
        for row in told["patterns"]:
            key = row["before"], row["after"], row["inside_run"]
            self._patterns.setdefault(key, _Pattern()).add(row, cores)

    @property
    def items(self) -> list[tuple[int, gaps.Gap]]:
        """The longest ones, each with its host's number."""
        return [(number, row) for _, number, row in self._items]

    def document(self, items: list[gaps.Gap], steps: int) -> gaps.Gaps:
        """The report's key, with the items as they are in it; `steps`: those of hosts whose devices recorded work."""
        ordered = sorted(self._patterns.items(), key=lambda it: (-it[1].total_ps, *map(str, it[0])))
        return {
            "count": self._count,
            "total_ps": self._total,
            "listed_ps": self._listed,
            "by_class_ps": in_class_order(self._by_class),
            "by_kind_ps": self._by_kind,
            "items": items,
            "patterns": [pattern.row(*between, steps) for between, pattern in ordered],
        }


class _Pattern:
    """The gaps between two programs, on all hosts."""

    def __init__(self) -> None:
        self.total_ps = 0
        self._count = self._in_steps = self._most = 0
        self._least: int | None = None
        self._per_core = Fraction()
        self._by_class: Counter[ClassName] = Counter()
        self._by_cause: Counter[ClassName] = Counter()

    def add(self, row: gaps.GapPattern, cores: int) -> None:
        self._count += row["count"]
        self.total_ps += row["total_ps"]
        self._in_steps += row["in_steps_ps"]
        self._per_core += Fraction(row["in_steps_ps"], max(1, cores))
        self._least = row["min_ps"] if self._least is None else min(self._least, row["min_ps"])
        self._most = max(self._most, row["max_ps"])
        self._by_class.update(row["by_class_ps"])
        self._by_cause.update(row["by_cause_ps"])

    def row(self, before: str | None, after: str | None, inside_run: bool, steps: int) -> gaps.GapPattern:
        """What the report tells of it, between these two programs."""
        by_cause = in_class_order(self._by_cause)
        return {
            "before": before,
            "after": after,
            "inside_run": inside_run,
            "count": self._count,
            "total_ps": self.total_ps,
            "mean_ps": self.total_ps // self._count,
            "in_steps_ps": self._in_steps,
            "per_step_ps": self._per_core // steps if steps else None,
            "min_ps": self._least or 0,
            "max_ps": self._most,
            "cause": max(by_cause, key=lambda it: by_cause[it]),
            "by_cause_ps": by_cause,
            "by_class_ps": in_class_order(self._by_class),
        }


class MergedPropagation:
    """The report's `propagation`. Of a program that runs on many hosts, `runs` and `phases` are the medians of the
    hosts', `inversion_share` is of the device time of all."""

    def __init__(self) -> None:
        self._device = self._direct = self._recovered = self._bare = self._none = 0
        self._programs: dict[tuple[str, str], list[tree.ProgramOrder]] = {}
        self._unexplained: SummedRows[tree.UnexplainedOp] = SummedRows("op", "source", "state")
        self._mixed: SummedRows[tree.MixedOp] = SummedRows("op", "name", "source", "parts", "unscoped_share")
        self._lines: SummedRows[tree.SourceLine] = SummedRows("source", "path")

    def add(self, propagation: tree.Propagation) -> None:
        self._device += propagation["device_ps"]
        self._direct += propagation["direct_ps"]
        self._recovered += propagation["recovered_ps"]
        self._bare += propagation["bare_ps"]
        self._none += propagation["none_ps"]
        for row in propagation["programs"]:
            self._programs.setdefault((row["program"], row["program_id"]), []).append(row)
        self._unexplained.add(propagation["unexplained"])
        self._mixed.add(propagation["mixed"])
        self._lines.add(propagation["lines"])

    def document(self) -> tree.Propagation:
        programs = sorted(
            map(self._program, self._programs.values()),
            key=lambda row: (-row["device_ps"], row["program"], row["program_id"]),
        )
        main = programs[0] if programs else None
        return {
            "device_ps": self._device,
            "direct_ps": self._direct,
            "recovered_ps": self._recovered,
            "bare_ps": self._bare,
            "none_ps": self._none,
            "runs": main["runs"] if main else 0,
            "phases": main["phases"] if main else 0,
            "inversion_share": main["inversion_share"] if main else 0.0,
            "programs": programs,
            "unexplained": self._unexplained.rows(most="device_ps"),
            "mixed": self._mixed.rows(most="device_ps"),
            "lines": self._lines.rows(most="device_ps"),
        }

    @staticmethod
    def _program(rows: Sequence[tree.ProgramOrder]) -> tree.ProgramOrder:
        inverted = weighted_mean((row["inversion_share"], row["device_ps"]) for row in rows)
        return {
            **rows[0],
            "executions": sum(row["executions"] for row in rows),
            "device_ps": sum(row["device_ps"] for row in rows),
            "runs": weighted_median((row["runs"], row["executions"]) for row in rows),
            "phases": weighted_median((row["phases"], row["executions"]) for row in rows),
            "inversion_share": inverted or 0.0,
        }
