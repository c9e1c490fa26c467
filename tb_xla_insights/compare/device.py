"""Compares the time of the device's ops in two sessions, by annotation and op by op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tb_xla_insights.compare.measures import better_step_time, judged_time_pair
from tb_xla_insights.compare.session_totals import Row, SessionTotals
from tb_xla_insights.compare.significance import Floats, PermutationResult, PermutationTest, StepSample
from tb_xla_insights.device_work import OpTimes
from tb_xla_insights.device_work.step_op_times import Key
from tb_xla_insights.report.view_data import view_data_of_hosts

if TYPE_CHECKING:
    from tb_xla_insights.schema.compare import (
        ComparedDeviceWork,
        ComparedOp,
        ComparedWork,
        Presence,
        WorkDifference,
    )
    from tb_xla_insights.schema.device_work import Op, OpKind

OpPair = tuple[list[Key], list[Key]]
"""Matching ops of A and of B."""

OpIdentity = Callable[[Key], tuple[str, ...]]
"""What identifies an op of a session where names may have changed."""

_MAX_NAMES = 20

_Row = TypeVar("_Row", bound="WorkDifference")


def compare_device_work(
    a: SessionTotals, b: SessionTotals, test: PermutationTest, programs: Iterable[Row]
) -> ComparedDeviceWork:
    """Compares the own time of ops per step and core, the largest difference first; empty if a session has no steps,
    or recorded no ops. Steps of hosts whose devices recorded no work are left out. `programs`: the rows of
    `match_programs`.

    `annotations` have a row per `path` (None: no annotation), whose differences add up to that of all ops. `ops` have a
    row per op: `program` (A's name if A has it), `annotation`, `category`, `kind`, `presence`, and the ops that the row
    stands for in A and in B (`ops_a`, `ops_b`: the first 20 names; `count`: how many). `of_step`: the difference as a
    share of A's mean step. Differences are judged among those of all rows (`PermutationTest.test_many_means`); ops of
    kind `work` and others, such as waits and collectives, are tested separately.
    """
    steps_a, steps_b = ([*compress(session.steps, session.has_device_work)] for session in (a, b))
    if not (steps_a and steps_b and a.report["ops"] and b.report["ops"]):
        return {"annotations": [], "ops": []}
    if len(steps_a) < len(a.steps) or len(steps_b) < len(b.steps):
        test = PermutationTest(StepSample.from_rows(steps_a), StepSample.from_rows(steps_b))
    names_in_a = {row["program_b"]: row["program"] for row in programs if row["program_b"]}
    work_a, work_b = _SessionWork(a, {}), _SessionWork(b, names_in_a)
    judge = _Judge(a, b, test)
    paths = list({**work_a.by_annotation, **work_b.by_annotation})
    differences = judge.differences(
        [work_a.by_annotation.get(path, work_a.no_time) for path in paths],
        [work_b.by_annotation.get(path, work_b.no_time) for path in paths],
    )
    annotations: list[ComparedWork] = [
        {"path": path, "presence": _presence(path, work_a, work_b), **difference}
        for path, difference in zip(paths, differences, strict=True)
    ]
    ops: list[ComparedOp] = []
    for is_work in (True, False):
        pairs = match_ops(work_a.keys(is_work), work_b.keys(is_work), work_a.identity, work_b.identity)
        differences = judge.differences(
            [work_a.total(keys_a) for keys_a, _ in pairs], [work_b.total(keys_b) for _, keys_b in pairs]
        )
        ops += [
            _op_row(pair, work_a, work_b, difference)
            for pair, difference in zip(pairs, differences, strict=True)
        ]
    return {"annotations": _largest_first(annotations), "ops": _largest_first(ops)}


@dataclass(frozen=True)
class _Judge:
    """Tests differences of step times between two sessions."""

    a: SessionTotals
    b: SessionTotals
    test: PermutationTest

    def differences(self, times_a: Sequence[Floats], times_b: Sequence[Floats]) -> list[WorkDifference]:
        """Returns, per row of step times, the means of both sessions, the judgement, and `of_step`."""
        if not times_a:
            return []
        array_a, array_b = np.array(times_a), np.array(times_b)
        results: list[PermutationResult] = self.test.test_many_means(array_a, array_b)
        better, step_ps = better_step_time(self.a, self.b), self.a.mean_ps or 0
        differences: list[WorkDifference] = []
        means = zip(array_a.mean(axis=1).tolist(), array_b.mean(axis=1).tolist(), strict=True)
        for result, (mean_a, mean_b) in zip(results, means, strict=True):
            a_ps, b_ps = round(mean_a), round(mean_b)
            of_step = (b_ps - a_ps) / step_ps if step_ps else None
            differences.append({**judged_time_pair(a_ps, b_ps, better, result), "of_step": of_step})
        return differences


class _SessionWork:
    """The ops of one session, each with its time per core in the steps of hosts with device work. `common_names`: A's
    name of each program that has another name in this session."""

    def __init__(self, session: SessionTotals, common_names: Mapping[str, str]) -> None:
        self._hosts: list[OpTimes] = view_data_of_hosts(session.session, "op_times")
        self._steps_of_hosts: list[int] = view_data_of_hosts(session.session, "steps")
        self._common_names = common_names
        self._has_work = np.array(session.has_device_work, np.bool_)
        self.no_time: Floats = np.zeros(int(self._has_work.sum()))
        self._rows: dict[Key, Op] = {
            (self._common_name(row["program"]), row["op"], row["annotation"]): row
            for row in session.report["ops"]
        }

    def _common_name(self, program: str) -> str:
        return self._common_names.get(program, program)

    @cached_property
    def times(self) -> dict[Key, Floats]:
        """Time of each op per core, in ps: an element per step. The ops that `OpTimes` sums up have no program and no
        name."""
        times: dict[Key, Floats] = {}
        first = 0
        for host, steps in zip(self._hosts, self._steps_of_hosts, strict=True):
            summed_ops = {("", "", path): step_times for path, step_times in host.rest.items()}
            for (program, op, path), step_times in (host.ops | summed_ops).items():
                total = times.setdefault(
                    (self._common_name(program), op, path), np.zeros(len(self._has_work))
                )
                total[first : first + steps] += step_times / max(1, host.device_count)
            first += steps
        return {key: total[self._has_work] for key, total in times.items()}

    @cached_property
    def by_annotation(self) -> dict[str | None, Floats]:
        """The times of an annotation's ops; by None, of ops without an annotation."""
        totals: dict[str | None, Floats] = {}
        for (_, _, path), step_times in self.times.items():
            totals[path] = totals.get(path, self.no_time) + step_times
        return totals

    def total(self, keys: Sequence[Key]) -> Floats:
        return sum((self.times[key] for key in keys), self.no_time)

    def keys(self, is_work: bool) -> list[Key]:
        """Returns the ops that are work, or those that are not."""
        return [key for key in self.times if (self.kind(key) == "work") == is_work]

    def kind(self, key: Key) -> OpKind:
        """Returns the op's kind; `work` for ops that are not listed individually."""
        return self._rows[key]["kind"] if key in self._rows else "work"

    def category(self, key: Key) -> str | None:
        """Returns the op's category; None for ops that are not listed individually."""
        return self._rows[key]["category"] if key in self._rows else None

    def identity(self, key: Key) -> tuple[str, ...]:
        """Returns name, category and shape: an op of the same name may differ in another compilation."""
        shape = self._rows[key]["shape"] if key in self._rows else None
        return key[1], self.category(key) or "", shape or ""


def match_ops(
    a: Sequence[Key], b: Sequence[Key], identity_a: OpIdentity, identity_b: OpIdentity
) -> list[OpPair]:
    """Matches ops of two sessions.

    Within a program and annotation, ops are matched by name if both sessions have the same names there. Otherwise the
    compiler has renumbered them, and a name alone identifies no op: ops are matched by name, category and shape. The
    remaining ops of an annotation are one changed pair if both sessions have some, else each is new or gone.
    """
    pairs: list[OpPair] = []
    unmatched: dict[str | None, OpPair] = {}
    groups: dict[tuple[str, str | None], OpPair] = {}
    for side, keys in enumerate((a, b)):
        for key in keys:
            program, _, path = key
            groups.setdefault((program, path), ([], []))[side].append(key)
    for (_, path), (keys_a, keys_b) in groups.items():
        has_same_names = {key[1] for key in keys_a} == {key[1] for key in keys_b}
        candidates = {(key[1],) if has_same_names else identity_b(key): key for key in keys_b}
        rest_a, rest_b = unmatched.setdefault(path, ([], []))
        for key in keys_a:
            partner = candidates.pop((key[1],) if has_same_names else identity_a(key), None)
            if partner is None:
                rest_a.append(key)
            else:
                pairs.append(([key], [partner]))
        rest_b.extend(candidates.values())
    for rest_a, rest_b in unmatched.values():
        if rest_a and rest_b:
            pairs.append((rest_a, rest_b))
        else:
            pairs += [([key], []) for key in rest_a] + [([], [key]) for key in rest_b]
    return pairs


def _op_row(
    pair: OpPair, work_a: _SessionWork, work_b: _SessionWork, difference: WorkDifference
) -> ComparedOp:
    keys_a, keys_b = pair
    work, keys = (work_a, keys_a) if keys_a else (work_b, keys_b)
    longest = max(keys, key=lambda key: float(work.times[key].sum()))
    program, _, path = longest
    if keys_a and keys_b:
        is_same_op = len(keys_a) == len(keys_b) == 1 and keys_a[0][1] == keys_b[0][1]
        presence: Presence = "both" if is_same_op else "changed"
    else:
        presence = "only_a" if keys_a else "only_b"
    return {
        "program": program,
        "annotation": path,
        "category": work.category(longest),
        "kind": work.kind(longest),
        "presence": presence,
        "count": [len(keys_a), len(keys_b)],
        "ops_a": _op_names(keys_a, work_a),
        "ops_b": _op_names(keys_b, work_b),
        **difference,
    }


def _op_names(keys: Sequence[Key], work: _SessionWork) -> list[str]:
    """Returns the first _MAX_NAMES names, those with most time first."""
    ordered = sorted(keys, key=lambda key: (-float(work.times[key].sum()), key[1]))
    return [name or "all others" for _, name, _ in ordered[:_MAX_NAMES]]


def _presence(path: str | None, work_a: _SessionWork, work_b: _SessionWork) -> Presence:
    if path in work_a.by_annotation:
        return "both" if path in work_b.by_annotation else "only_a"
    return "only_b"


def _largest_first(rows: list[_Row]) -> list[_Row]:
    return sorted(rows, key=lambda row: -abs(row["difference_ps"] or 0))
