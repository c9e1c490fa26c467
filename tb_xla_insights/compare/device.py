"""What the device's ops took in both sessions, by annotation and one by one: slower, faster, new, gone, changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from tb_xla_insights.compare.measures import judged, way_of
from tb_xla_insights.compare.session_totals import Row, SessionTotals
from tb_xla_insights.compare.significance import Floats, PermutationResult, PermutationTest
from tb_xla_insights.device_work import OpTimes
from tb_xla_insights.device_work.step_op_times import Key
from tb_xla_insights.report.host_parts import parts_of_hosts

if TYPE_CHECKING:
    from tb_xla_insights.schema.compare import ComparedDeviceWork, ComparedOp, ComparedWork, WorkDifference

Found = Literal["both", "only_a", "only_b", "changed"]
"""`changed`: ops of the same annotation with other names or shapes, which cannot be told from each other."""

Pair = tuple[list[Key], list[Key]]
"""Ops of A and ops of B that belong together."""

_MOST_NAMES = 20

_Row = TypeVar("_Row", bound="WorkDifference")


def device_work(
    a: SessionTotals, b: SessionTotals, test: PermutationTest, programs: Iterable[Row]
) -> ComparedDeviceWork:
    """Own time of ops per step and core, B against A, the largest difference first; nothing where a session has no
    steps. `programs` are the rows of `matches.programs`.

    `annotations` have a row per `path` (None: no annotation), whose differences add up to that of all ops; `ops` a row
    per op: `program` (A's where it has it), `annotation`, `category`, `kind`, `found`, and the names of the ops that it
    stands for in A and in B (`ops_a`, `ops_b`; the first 20, and their `count`). `of_step`: the difference as a share
    of A's mean step. Beyond chance are differences that stand out from those of all rows (`ChanceTest.of_many_means`);
    ops that are work and those that are not, such as waits and collectives, are tested apart.
    """
    if not a.steps or not b.steps:
        return {"annotations": [], "ops": []}
    names = {row["program_b"]: row["program"] for row in programs if row["program_b"]}
    one, other = _Work(a, {}), _Work(b, names)
    paths = list({**one.by_annotation, **other.by_annotation})
    judge = _Judge(a, b, test)
    rows = judge.rows(
        [one.by_annotation.get(path, one.nothing) for path in paths],
        [other.by_annotation.get(path, other.nothing) for path in paths],
    )
    annotations: list[ComparedWork] = [
        {"path": path, "found": _found(path, one, other), **row}
        for path, row in zip(paths, rows, strict=True)
    ]
    ops: list[ComparedOp] = []
    for works in (True, False):
        pairs = matched(one.keys(works), other.keys(works), one.identity, other.identity)
        judged_rows = judge.rows([one.sum(it[0]) for it in pairs], [other.sum(it[1]) for it in pairs])
        ops += [_op(pair, one, other, row) for pair, row in zip(pairs, judged_rows, strict=True)]
    return {"annotations": _largest_first(annotations), "ops": _largest_first(ops)}


@dataclass(frozen=True)
class _Judge:
    a: SessionTotals
    b: SessionTotals
    test: PermutationTest

    def rows(self, of_a: Sequence[Floats], of_b: Sequence[Floats]) -> list[WorkDifference]:
        """Both means, what the test says of them, and the share of the step."""
        if not of_a:
            return []
        one, other = np.array(of_a), np.array(of_b)
        answers: list[PermutationResult] = self.test.of_many_means(one, other)
        way, step_ps = way_of(self.a, self.b), self.a.step_ps or 0
        found: list[WorkDifference] = []
        for answer, a_ps, b_ps in zip(
            answers, one.mean(axis=1).tolist(), other.mean(axis=1).tolist(), strict=True
        ):
            a_whole, b_whole = round(a_ps), round(b_ps)
            of_step = (b_whole - a_whole) / step_ps if step_ps else None
            found.append({**judged(a_whole, b_whole, way, answer), "of_step": of_step})
        return found


class _Work:
    """The ops of one session: a time per step and core of each. `programs` are other names for them."""

    def __init__(self, side: SessionTotals, programs: Mapping[str, str]) -> None:
        self._hosts: list[OpTimes] = parts_of_hosts(side.session, "op_times")
        self._steps: list[int] = parts_of_hosts(side.session, "steps")
        self._programs = programs
        self.nothing: Floats = np.zeros(sum(self._steps))
        rows = side.report["ops"]
        self.told = {(self._named(row["program"]), row["op"], row["annotation"]): row for row in rows}

    def _named(self, program: str) -> str:
        return self._programs.get(program, program)

    @cached_property
    def times(self) -> dict[Key, Floats]:
        """Ops that are not told one by one have no program and no name."""
        found: dict[Key, Floats] = {}
        first = 0
        for host, steps in zip(self._hosts, self._steps, strict=True):
            rest = {("", "", path): times for path, times in host.rest.items()}
            for (program, op, path), times in (host.ops | rest).items():
                row = found.setdefault((self._named(program), op, path), self.nothing.copy())
                row[first : first + steps] += times / max(1, host.cores)
            first += steps
        return found

    @cached_property
    def by_annotation(self) -> dict[str | None, Floats]:
        found: dict[str | None, Floats] = {}
        for (_, _, path), times in self.times.items():
            found[path] = found.get(path, self.nothing) + times
        return found

    def sum(self, keys: Sequence[Key]) -> Floats:
        return sum((self.times[key] for key in keys), self.nothing)

    def keys(self, works: bool) -> list[Key]:
        return [key for key in self.times if (self.told.get(key, {}).get("kind", "work") == "work") == works]

    def identity(self, key: Key) -> tuple[str, ...]:
        """What an op is: others of that name may be something else in another compilation."""
        row = self.told.get(key, {})
        return key[1], row.get("category") or "", row.get("shape") or ""


def matched(a: Sequence[Key], b: Sequence[Key], of_a: Any, of_b: Any) -> list[Pair]:
    """Which ops belong together. `of_a`, `of_b` tell what an op is.

    Those of one program and annotation by name, where both sessions have the same names there; else the compiler has
    numbered them anew, and a name says nothing: those of which name, category and shape are the same. What is left of
    an annotation is one change where both sessions have some of it, else each op is new or gone.
    """
    pairs: list[Pair] = []
    left: dict[str | None, Pair] = {}
    groups: dict[tuple[str, str | None], Pair] = {}
    for side, keys in enumerate((a, b)):
        for key in keys:
            groups.setdefault((key[0], key[2]), ([], []))[side].append(key)
    for (_, path), (one, other) in groups.items():
        same = {key[1] for key in one} == {key[1] for key in other}
        known = {(key[1],) if same else of_b(key): key for key in other}
        rest = left.setdefault(path, ([], []))
        for key in one:
            partner = known.pop((key[1],) if same else of_a(key), None)
            if partner is None:
                rest[0].append(key)
            else:
                pairs.append(([key], [partner]))
        rest[1].extend(known.values())
    for one, other in left.values():
        if one and other:
            pairs.append((one, other))
        else:
            pairs += [([key], []) for key in one] + [([], [key]) for key in other]
    return pairs


def _op(pair: Pair, a: _Work, b: _Work, difference: WorkDifference) -> ComparedOp:
    one, other = pair
    work, keys = (a, one) if one else (b, other)
    program, op, path = max(keys, key=lambda key: float(work.times[key].sum()))
    told = work.told.get((program, op, path), {})
    known = one and other and one[0][1] == other[0][1] and len(one) == len(other) == 1
    found: Found = "both" if known else "changed" if one and other else "only_a" if one else "only_b"
    return {
        "program": program,
        "annotation": path,
        "category": told.get("category"),
        "kind": told.get("kind", "work"),
        "found": found,
        "count": [len(one), len(other)],
        "ops_a": _names(one, a),
        "ops_b": _names(other, b),
        **difference,
    }


def _names(keys: Sequence[Key], work: _Work) -> list[str]:
    """Those with most time first."""
    ordered = sorted(keys, key=lambda key: (-float(work.times[key].sum()), key[1]))
    return [name or "all others" for _, name, _ in ordered[:_MOST_NAMES]]


def _found(path: str | None, a: _Work, b: _Work) -> Found:
    if path in a.by_annotation:
        return "both" if path in b.by_annotation else "only_a"
    return "only_b"


def _largest_first(rows: list[_Row]) -> list[_Row]:
    return sorted(rows, key=lambda row: -abs(row["difference_ps"] or 0))
