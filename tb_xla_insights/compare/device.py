"""Compares the time of the device's ops in two sessions, by annotation and op by op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tb_xla_insights.arrays import Float64
from tb_xla_insights.compare.executions import ExecutionPair
from tb_xla_insights.compare.measures import better_step_time, judged_time_pair
from tb_xla_insights.compare.names import common_paths, kernel_without_sizes
from tb_xla_insights.compare.session_totals import Row, SessionTotals
from tb_xla_insights.compare.significance import PermutationResult, PermutationTest, StepSample
from tb_xla_insights.device_work.step_op_times import Key

if TYPE_CHECKING:
    from tb_xla_insights.schema.compare import (
        ComparedDeviceWork,
        ComparedOp,
        ComparedWork,
        Presence,
        WorkDifference,
    )
    from tb_xla_insights.schema.device_work import Op, OpKind
    from tb_xla_insights.schema.differences import BetterDirection

OpPair = tuple[list[Key], list[Key]]
"""Matching ops of A and of B."""

OpIdentity = Callable[[Key], tuple[str, ...]]
"""What identifies an op of a session where names may have changed."""

_MAX_NAMES = 20

_Row = TypeVar("_Row", bound="WorkDifference")


def compare_device_work(
    a: SessionTotals,
    b: SessionTotals,
    test: PermutationTest,
    programs: Iterable[Row],
    pair: ExecutionPair | None,
) -> ComparedDeviceWork:
    """Compares the own time of ops per step and core, the largest difference first; per run and core of `pair` if there
    is one. Empty if a session recorded no ops, or none in steps. Steps of hosts whose devices recorded no work are left
    out. `programs`: the rows of `match_programs`.

    `annotations` have a row per `path` (None: no annotation), whose differences add up to that of all ops. `ops` have a
    row per op: `program` (A's name if A has it), `annotation`, `category`, `kind`, `presence`, and the ops that the row
    stands for in A and in B (`ops_a`, `ops_b`: the first 20 names; `count`: how many). `of_step`: the difference as a
    share of A's mean step, or run. Differences are judged among those of all rows (`PermutationTest.test_many_means`);
    ops of kind `work` and others, such as waits and collectives, are tested separately. What is new or gone is neither
    better nor worse, and times of runs are not tested.
    """
    if pair:
        test = PermutationTest(StepSample([0], [0]), StepSample([0], [0]))  # of totals, which have no spread
        times_a, times_b = _times_of_runs(a, pair.program), _times_of_runs(b, pair.program_b)
    else:
        steps_a, steps_b = ([*compress(session.steps, session.has_device_work)] for session in (a, b))
        if len(steps_a) < len(a.steps) or len(steps_b) < len(b.steps):
            test = PermutationTest(StepSample.from_rows(steps_a), StepSample.from_rows(steps_b))
        times_a, times_b = _times_of_steps(a), _times_of_steps(b)
    if not (times_a and times_b):
        return {"annotations": [], "ops": []}
    names_in_a = {row["program_b"]: row["program"] for row in programs if row["program_b"]}
    recorded = [{row["path"] for row in session.report["annotations"]} for session in (a, b)]
    with_ops = [{path for _, _, path in times if path is not None} for times in (times_a, times_b)]
    paths_a, paths_b = common_paths(with_ops[0], with_ops[1], recorded[0] & recorded[1])
    work_a, work_b = _SessionWork(a, times_a, {}, paths_a), _SessionWork(b, times_b, names_in_a, paths_b)
    judge = _Judge(
        None if pair else better_step_time(a, b), (pair.medians_ps[0] if pair else a.mean_ps) or 0, test
    )
    paths = list({**work_a.by_annotation, **work_b.by_annotation})
    presences = [_presence(path, work_a, work_b) for path in paths]
    differences = judge.differences(
        [work_a.by_annotation.get(path, work_a.no_time) for path in paths],
        [work_b.by_annotation.get(path, work_b.no_time) for path in paths],
        presences,
    )
    annotations: list[ComparedWork] = [
        {"path": path, "presence": presence, **difference}
        for path, presence, difference in zip(paths, presences, differences, strict=True)
    ]
    ops: list[ComparedOp] = []
    for is_work in (True, False):
        pairs = match_ops(work_a.keys(is_work), work_b.keys(is_work), work_a.identity, work_b.identity)
        presences = [_presence_of_ops(*ops_of_both) for ops_of_both in pairs]
        differences = judge.differences(
            [work_a.total(keys_a) for keys_a, _ in pairs],
            [work_b.total(keys_b) for _, keys_b in pairs],
            presences,
        )
        ops += [
            _op_row(ops_of_both, work_a, work_b, presence, difference)
            for ops_of_both, presence, difference in zip(pairs, presences, differences, strict=True)
        ]
    return {"annotations": _largest_first(annotations), "ops": _largest_first(ops)}


@dataclass(frozen=True)
class _Judge:
    """Tests differences of times between two sessions. `better`: which direction is better; `whole_ps`: A's mean step,
    or run."""

    better: BetterDirection | None
    whole_ps: int
    test: PermutationTest

    def differences(
        self, times_a: Sequence[Float64], times_b: Sequence[Float64], presences: Sequence[Presence]
    ) -> list[WorkDifference]:
        """Returns, per row of times, the means of both sessions, the judgement, and `of_step`."""
        if not times_a:
            return []
        array_a, array_b = np.array(times_a), np.array(times_b)
        results: list[PermutationResult] = self.test.test_many_means(array_a, array_b)
        differences: list[WorkDifference] = []
        means = zip(array_a.mean(axis=1).tolist(), array_b.mean(axis=1).tolist(), strict=True)
        for result, presence, (mean_a, mean_b) in zip(results, presences, means, strict=True):
            a_ps, b_ps = round(mean_a), round(mean_b)
            of_step = (b_ps - a_ps) / self.whole_ps if self.whole_ps else None
            better = self.better if presence in ("both", "changed") else None
            differences.append({**judged_time_pair(a_ps, b_ps, better, result), "of_step": of_step})
        return differences


def _times_of_steps(session: SessionTotals) -> dict[Key, Float64]:
    """Returns the time of each op per core, in ps: an element per step of the hosts with device work. The ops that
    `OpTimes` sums up have no program and no name."""
    has_work = np.array(session.has_device_work, np.bool_)
    if not has_work.any() or not session.report["ops"]:
        return {}
    times: dict[Key, Float64] = {}
    first = 0
    for host in session.tables:
        summed_ops = {("", "", path): step_times for path, step_times in host.ops.rest.items()}
        for key, step_times in (host.ops.ops | summed_ops).items():
            total = times.setdefault(key, np.zeros(len(has_work)))
            total[first : first + host.steps] += step_times / max(1, host.ops.device_count)
        first += host.steps
    return {key: total[has_work] for key, total in times.items()}


def _times_of_runs(session: SessionTotals, program: str) -> dict[Key, Float64]:
    """Returns the mean time of each op in a run of a program, in ps, as the only element."""
    count = session.programs[program]["count"]
    return {
        (program, row["op"], row["annotation"]): np.array([row["self_ps"] / count])
        for row in session.report["ops"]
        if row["program"] == program
    }


class _SessionWork:
    """The ops of one session with their times, by their common names: `programs` and `paths` map names that differ from
    A's."""

    def __init__(
        self,
        session: SessionTotals,
        times: Mapping[Key, Float64],
        programs: Mapping[str, str],
        paths: Mapping[str, str],
    ) -> None:
        def common(program: str, op: str, path: str | None) -> Key:
            return programs.get(program, program), op, path and paths.get(path, path)

        self.no_time: Float64 = np.zeros_like(next(iter(times.values())))
        self.times: dict[Key, Float64] = {}
        for key, op_times in times.items():
            common_key = common(*key)
            self.times[common_key] = self.times.get(common_key, self.no_time) + op_times
        self._rows: dict[Key, Op] = {
            common(row["program"], row["op"], row["annotation"]): row for row in session.report["ops"]
        }
        self.common_paths = set(paths.values())

    @cached_property
    def by_annotation(self) -> dict[str | None, Float64]:
        """The times of an annotation's ops; by None, of ops without an annotation."""
        totals: dict[str | None, Float64] = {}
        for (_, _, path), step_times in self.times.items():
            totals[path] = totals.get(path, self.no_time) + step_times
        return totals

    def total(self, keys: Sequence[Key]) -> Float64:
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
    remaining ops of an annotation are kernels whose names differ only in the sizes that they are tuned to, or one
    changed pair if both sessions have some, else each is new or gone.
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
        kernels_a, kernels_b = _tuned_kernels(rest_a), _tuned_kernels(rest_b)
        for name in [name for name in kernels_a if name in kernels_b]:
            pairs.append((kernels_a[name], kernels_b[name]))
            rest_a = [key for key in rest_a if key not in kernels_a[name]]
            rest_b = [key for key in rest_b if key not in kernels_b[name]]
        if rest_a and rest_b:
            pairs.append((rest_a, rest_b))
        else:
            pairs += [([key], []) for key in rest_a] + [([], [key]) for key in rest_b]
    return pairs


def _tuned_kernels(keys: Iterable[Key]) -> dict[str, list[Key]]:
    """Returns the kernels whose names hold sizes, by their names without these."""
    kernels: dict[str, list[Key]] = {}
    for key in keys:
        if name := kernel_without_sizes(key[1]):
            kernels.setdefault(name, []).append(key)
    return kernels


def _op_row(
    pair: OpPair, work_a: _SessionWork, work_b: _SessionWork, presence: Presence, difference: WorkDifference
) -> ComparedOp:
    keys_a, keys_b = pair
    work, keys = (work_a, keys_a) if keys_a else (work_b, keys_b)
    longest = max(keys, key=lambda key: float(work.times[key].sum()))
    program, _, path = longest
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
    if path in work_a.common_paths | work_b.common_paths:
        return "changed"
    if path in work_a.by_annotation:
        return "both" if path in work_b.by_annotation else "only_a"
    return "only_b"


def _presence_of_ops(keys_a: Sequence[Key], keys_b: Sequence[Key]) -> Presence:
    if not (keys_a and keys_b):
        return "only_a" if keys_a else "only_b"
    is_same_op = len(keys_a) == len(keys_b) == 1 and keys_a[0][1] == keys_b[0][1]
    return "both" if is_same_op else "changed"


def _largest_first(rows: list[_Row]) -> list[_Row]:
    return sorted(rows, key=lambda row: -abs(row["difference_ps"] or 0))
