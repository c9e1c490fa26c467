"""Tables of many hosts as one: rows that agree in their key are one row, whatever the order in which hosts come."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice, takewhile
from typing import Any

from tb_xla_insights.analysis.executions import COST_COLUMNS
from tb_xla_insights.analysis.runs import JOINS
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.report.merge.parts import weighted_mean, weighted_median

Row = dict[str, Any]
Rows = list[Row]
HostKey = tuple[Any, ...]
"""What hosts are sorted by."""

MOST_GAPS = 1000


def in_class_order(by_class: Counter[str]) -> dict[str, int]:
    """Times by class as all tables give them, without the classes that have none."""
    return {name: by_class[name] for name in CLASSES if by_class[name]}


class Sums:
    """Rows that agree in some columns as one, with the sums of the others."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys
        self._rows: dict[tuple[str, ...], Row] = {}

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            known = self._rows.setdefault(tuple(repr(row[key]) for key in self._keys), dict.fromkeys(row, 0))
            for name, value in row.items():
                known[name] = value if name in self._keys else known[name] + value

    def rows(self, *, most: str) -> Rows:
        """Those with most of a column first."""
        return [row for _, row in sorted(self._rows.items(), key=lambda it: (-it[1][most], it[0]))]


class Programs:
    """The report's `executions` or `programs`. The median of a program's runs is that of its hosts' medians, each as
    often as the host has runs."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys
        self._rows: dict[tuple[str, ...], list[tuple[HostKey, Row]]] = {}

    def add(self, host: HostKey, rows: Iterable[Row]) -> None:
        for row in rows:
            self._rows.setdefault(tuple(row[key] for key in self._keys), []).append((host, row))

    def rows(self) -> Rows:
        made = (
            self._row([row for _, row in sorted(its, key=lambda it: it[0])]) for its in self._rows.values()
        )
        return sorted(made, key=lambda row: (-row["device_ps"], *(row[key] for key in self._keys)))

    @staticmethod
    def _row(rows: Rows) -> Row:
        made = dict(rows[0])
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
        return made


class Annotations:
    """The report's `annotations`: a path of any host once, each below what encloses it, siblings as the first host
    that has them orders them. What one host's devices carry is not lost."""

    _SUMS = ("count", "host_ps", "device_ps", "device_ops", "executions")

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._programs: dict[str, set[str]] = {}
        self._place: dict[str, tuple[HostKey, int]] = {}
        self._lost: dict[str, tuple[HostKey, str]] = {}

    def add(self, host: HostKey, rows: Iterable[Row]) -> None:
        for place, row in enumerate(rows):
            path, here = row["path"], (host, place)
            known = self._rows.get(path)
            if known is None:
                known = self._rows[path] = row | dict.fromkeys(self._SUMS, 0)
                self._place[path], self._programs[path] = here, set()
            for name in self._SUMS:
                known[name] += row[name]
            self._programs[path].update(row["programs"])
            if here <= self._place[path]:
                self._place[path] = here
                known["kind"] = row["kind"]
            if row["lost"] is not None:
                self._lost[path] = min(self._lost.get(path, (host, row["lost"])), (host, row["lost"]))

    def rows(self) -> Rows:
        found = []
        for path in sorted(self._rows, key=self._way):
            row = self._rows[path]
            lost = None if row["device_ps"] else self._lost.get(path, (None, None))[1]
            found.append(row | {"programs": sorted(self._programs[path]), "lost": lost})
        return found

    def _way(self, path: str) -> list[tuple[HostKey, int]]:
        """The places of all that encloses a path, from the outermost one, then its own."""
        parts = path.split("/")
        around = ("/".join(parts[: depth + 1]) for depth in range(len(parts)))
        return [self._place[it] for it in around if it in self._place]


class Gaps:
    """The report's `gaps`: sums, and the longest of all hosts' gaps, of which no more are held than are told."""

    def __init__(self, all_gaps: bool) -> None:
        self._most = None if all_gaps else MOST_GAPS
        self._sums: Counter[str] = Counter()
        self._by_class: Counter[str] = Counter()
        self._by_kind: Counter[str] = Counter()
        self._items: list[tuple[tuple[int, HostKey, int], int, Row]] = []
        self._patterns: dict[tuple[str | None, str | None, bool], _Pattern] = {}

    def add(self, host: HostKey, number: int, gaps: Row, cores: int) -> None:
        """Those of a host, its number as `items` is told it, and how many of its cores recorded work."""
        for name in ("count", "total_ps", "listed_ps"):
            self._sums[name] += gaps[name]
        self._by_class.update(gaps["by_class_ps"])
        self._by_kind.update(gaps["by_kind_ps"])
        items = gaps["items"]
        if self._most is not None and len(self._items) >= self._most:
            longer = -self._items[-1][0][0]  # no shorter one is told
            items = [*takewhile(lambda row: row["duration_ps"] >= longer, items)]
        new = [((-row["duration_ps"], host, place), number, row) for place, row in enumerate(items)]
        self._items = list(islice(heapq.merge(self._items, new), self._most))
        for row in gaps["patterns"]:
            key = row["before"], row["after"], row["inside_run"]
            self._patterns.setdefault(key, _Pattern()).add(row, cores)

    @property
    def items(self) -> list[tuple[int, Row]]:
        """The longest ones, each with its host's number."""
        return [(number, row) for _, number, row in self._items]

    def document(self, items: Rows, steps: int) -> Row:
        """The report's key, with the items as they are in it; `steps`: those of hosts whose devices recorded work."""
        rows = [
            dict(zip(("before", "after", "inside_run"), key, strict=True)) | pattern.row(steps)
            for key, pattern in self._patterns.items()
        ]
        return {
            **{name: self._sums[name] for name in ("count", "total_ps", "listed_ps")},
            "by_class_ps": in_class_order(self._by_class),
            "by_kind_ps": dict(self._by_kind),
            "items": items,
            "patterns": sorted(rows, key=lambda row: (-row["total_ps"], *map(str, list(row.values())[:3]))),
        }


class _Pattern:
    """The gaps between two programs, on all hosts."""

    def __init__(self) -> None:
        self._count = self._total = self._in_steps = self._most = 0
        self._least: int | None = None
        self._per_core = Fraction()
        self._by_class: Counter[str] = Counter()
        self._by_cause: Counter[str] = Counter()

    def add(self, row: Row, cores: int) -> None:
        self._count += row["count"]
        self._total += row["total_ps"]
        self._in_steps += row["in_steps_ps"]
        self._per_core += Fraction(row["in_steps_ps"], max(1, cores))
        self._least = row["min_ps"] if self._least is None else min(self._least, row["min_ps"])
        self._most = max(self._most, row["max_ps"])
        self._by_class.update(row["by_class_ps"])
        self._by_cause.update(row["by_cause_ps"])

    def row(self, steps: int) -> Row:
        by_cause = in_class_order(self._by_cause)
        return {
            "count": self._count,
            "total_ps": self._total,
            "mean_ps": self._total // self._count,
            "in_steps_ps": self._in_steps,
            "per_step_ps": self._per_core // steps if steps else None,
            "min_ps": self._least,
            "max_ps": self._most,
            "cause": max(by_cause, key=lambda it: by_cause[it]),
            "by_cause_ps": by_cause,
            "by_class_ps": in_class_order(self._by_class),
        }


class Propagation:
    """The report's `propagation`. Of a program that runs on many hosts, `runs` and `phases` are the medians of the
    hosts', `inversion_share` is of the device time of all."""

    _SUMS = ("device_ps", "direct_ps", "recovered_ps", "bare_ps", "none_ps")

    def __init__(self) -> None:
        self._sums: Counter[str] = Counter()
        self._programs: dict[tuple[str, str], Rows] = {}
        self._ops = {
            "unexplained": Sums("op", "source", "state"),
            "mixed": Sums("op", "name", "source", "parts", "unscoped_share"),
            "lines": Sums("source", "path"),
        }

    def add(self, propagation: Row) -> None:
        for name in self._SUMS:
            self._sums[name] += propagation[name]
        for row in propagation["programs"]:
            self._programs.setdefault((row["program"], row["program_id"]), []).append(row)
        for name, sums in self._ops.items():
            sums.add(propagation[name])

    def document(self) -> Row:
        programs = sorted(
            map(self._program, self._programs.values()),
            key=lambda row: (-row["device_ps"], row["program"], row["program_id"]),
        )
        main = programs[0] if programs else {"runs": 0, "phases": 0, "inversion_share": 0.0}
        return {
            **{name: self._sums[name] for name in self._SUMS},
            **{name: main[name] for name in ("runs", "phases", "inversion_share")},
            "programs": programs,
            **{name: sums.rows(most="device_ps") for name, sums in self._ops.items()},
        }

    @staticmethod
    def _program(rows: Sequence[Row]) -> Row:
        sums = {name: sum(row[name] for row in rows) for name in ("executions", "device_ps")}
        medians = {
            name: weighted_median((row[name], row["executions"]) for row in rows)
            for name in ("runs", "phases")
        }
        inverted = weighted_mean((row["inversion_share"], row["device_ps"]) for row in rows)
        return rows[0] | sums | medians | {"inversion_share": inverted or 0.0}
