"""Matches steps, annotations and programs of two sessions, and compares their idle time and compilations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from tb_xla_insights.analysis.propagation.path_names import outer_path, own_name
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.compare.executions import ExecutionPair
from tb_xla_insights.compare.measures import better_step_time, judged_time_pair, time_pair
from tb_xla_insights.compare.names import unique_names, without_last_number
from tb_xla_insights.compare.session_totals import Row, SessionTotals
from tb_xla_insights.compare.significance import PermutationResult, PermutationTest
from tb_xla_insights.report.compile_text import UNKNOWN_GRAPH

if TYPE_CHECKING:
    from tb_xla_insights.schema.compare import (
        ComparedAnnotation,
        ComparedCompiles,
        ComparedGaps,
        ComparedProgram,
        ComparedSteps,
        StepPair,
    )
    from tb_xla_insights.schema.differences import BetterDirection, GapClass, TestedTimePair, TimePair


def match_steps(a: SessionTotals, b: SessionTotals) -> ComparedSteps:
    """Matches steps by number if the sessions have numbers in common, else by order. If several hosts have steps of a
    number, these are matched in the order of hosts.

    `paired_by` is `number`, `order` or None; `only_a` and `only_b` count the steps without a partner.
    """
    numbered_a, numbered_b = _steps_by_number(a), _steps_by_number(b)
    by_number = [(step, numbered_b[key]) for key, step in numbered_a.items() if key in numbered_b]
    pairs = by_number or list(zip(a.steps, b.steps, strict=False))
    rows: list[StepPair] = [
        {
            "a": step_a["index"], "b": step_b["index"],
            "a_number": step_a["number"], "b_number": step_b["number"],
            **time_pair(step_a["duration_ps"], step_b["duration_ps"]),
            "device": time_pair(step_a["device_busy_ps"], step_b["device_busy_ps"]),
            "executions": [step_a["executions"], step_b["executions"]],
        }
        for step_a, step_b in pairs
    ]  # fmt: skip
    return {
        "paired_by": ("number" if by_number else "order") if rows else None,
        "rows": rows,
        "only_a": len(a.steps) - len(rows),
        "only_b": len(b.steps) - len(rows),
    }


def _steps_by_number(session: SessionTotals) -> dict[tuple[int, int], Row]:
    """Returns the steps with numbers, by their number and how many earlier ones have the same: steps of other hosts, or
    of other epochs."""
    counts: Counter[int] = Counter()
    steps: dict[tuple[int, int], Row] = {}
    for step in session.steps:
        if (number := step["number"]) is not None:
            steps[number, counts[number]] = step
            counts[number] += 1
    return steps


def match_annotations(a: SessionTotals, b: SessionTotals, test: PermutationTest) -> list[ComparedAnnotation]:
    """Matches annotations by path, in the order of A, then those only in B; `phase` marks the children of the steps'
    annotations.

    `host` and `device` are times per step; of the whole capture if it has no steps. Only host times of phases are
    judged: device times are means over the capture, so there is none of a single step to test.
    """
    better = better_step_time(a, b)
    rows_a, rows_b = ({row["path"]: row for row in session.report["annotations"]} for session in (a, b))
    paths = {**rows_a, **rows_b}
    of_driving_thread = [path for path, row in paths.items() if row["thread"] is None]
    phases = _phases(of_driving_thread, {step["name"] for session in (a, b) for step in session.steps})
    rows: list[ComparedAnnotation] = []
    for path in paths:
        row_a, row_b = rows_a.get(path), rows_b.get(path)
        host_a, device_a = _annotation_times(a, row_a)
        host_b, device_b = _annotation_times(b, row_b)
        is_phase = path in phases
        result = None
        if is_phase and row_a and row_b and a.steps and b.steps:
            result = test.test_means(a.annotation_times(path), b.annotation_times(path))
        rows.append(
            {
                "path": path,
                "phase": is_phase,
                "a": row_a,
                "b": row_b,
                "host": judged_time_pair(host_a, host_b, better, result),
                "device": time_pair(device_a, device_b),
            }
        )
    return rows


def _phases(paths: Collection[str], step_names: set[str]) -> set[str]:
    """Returns the children of annotations with the names of steps; without such annotations, those of the outermost
    ones."""
    parents = {path: outer_path(path, paths) for path in paths}
    outermost = {path for path, parent in parents.items() if not parent}
    steps = {path for path in paths if own_name(path, paths) in step_names} or outermost
    return {path for path, parent in parents.items() if parent in steps}


def _annotation_times(session: SessionTotals, row: Row | None) -> tuple[int | None, int | None]:
    """Returns the host and device time of an annotation per step. Its work may run after its step, so the device time
    is the mean of one occurrence, multiplied by the number of occurrences in steps."""
    if row is None:
        return None, None
    host_ps, count = session.annotation_totals.get(row["path"], (0, 0))
    steps = max(1, len(session.steps))
    device_ps = round(row["device_ps"] / row["count"] * count / steps) if row["count"] else None
    return round(host_ps / steps), device_ps


def match_programs(a: SessionTotals, b: SessionTotals) -> list[ComparedProgram]:
    """Matches programs; those with most device time first.

    `match` is `name` if both sessions have the name; `base` if the two names differ only in the number at their end,
    and what precedes the number is unique among the programs that only one session has; None if a program has no
    partner. `a` and `b` are totals; `host`, `device`, `queue` and `overhead` are mean times of a run. Device time and
    overhead are tested over the executions; queue time is the host's lead, of which neither direction is better.
    """
    only_a = [name for name in a.programs if name not in b.programs]
    only_b = [name for name in b.programs if name not in a.programs]
    bases_a, bases_b = (unique_names(names, without_last_number) for names in (only_a, only_b))
    renamed = {bases_a[base]: bases_b[base] for base in bases_a if base in bases_b}
    matched, better = set(renamed.values()), better_step_time(a, b)
    rows: list[ComparedProgram] = []
    for name in [*a.programs, *(name for name in only_b if name not in matched)]:
        name_b = renamed.get(name, name)
        totals_a, totals_b = a.programs.get(name), b.programs.get(name_b)
        times = a.mean_times(name), b.mean_times(name_b)
        pair = ExecutionPair(a, b, name, name_b) if totals_a and totals_b else None
        rows.append(
            {
                "program": name,
                "program_b": name_b if totals_b else None,
                "match": "base" if name in renamed else "name" if totals_a and totals_b else None,
                "kind": (totals_a or b.programs[name_b])["kind"],
                "a": totals_a,
                "b": totals_b,
                "host": _time_pair(times, "host_ps"),
                "device": _tested(times, "device_ps", better, pair.test_device_time() if pair else None),
                "queue": _time_pair(times, "queue_ps"),
                "overhead": _tested(times, "overhead_ps", better, pair.test_overhead() if pair else None),
            }
        )
    return sorted(
        rows, key=lambda row: -max(totals["device_ps"] for totals in (row["a"], row["b"]) if totals)
    )


def _time_pair(times: Iterable[Mapping[str, int | None]], key: str) -> TimePair:
    """Returns a mean time of a run, from those of both sessions."""
    return time_pair(*(session.get(key) for session in times))


def _tested(
    times: Iterable[Mapping[str, int | None]],
    key: str,
    better: BetterDirection | None,
    result: PermutationResult | None,
) -> TestedTimePair:
    pair = _time_pair(times, key)
    return judged_time_pair(pair["a_ps"], pair["b_ps"], better, result)


def compare_gaps(a: SessionTotals, b: SessionTotals) -> ComparedGaps:
    """Compares idle time per step and core: `idle` is all of it, `classes` what the host did meanwhile, `small` in gaps
    under 10 µs; None if a session has no steps, or no devices that recorded work. `count`: the number of gaps."""
    classes_a, classes_b = (
        None if session.step_idle.get("idle_ps") is None else session.step_idle["by_class_ps"]
        for session in (a, b)
    )
    rows: list[GapClass] = [
        {
            "class": name,
            **time_pair(*(None if times is None else times.get(name, 0) for times in (classes_a, classes_b))),
        }
        for name in CLASSES
        if name in (classes_a or {}) or name in (classes_b or {})
    ]
    return {
        "count": [session.report["gaps"]["count"] for session in (a, b)],
        "idle": time_pair(a.step_idle.get("idle_ps"), b.step_idle.get("idle_ps")),
        "classes": sorted(rows, key=lambda row: -max(row["a_ps"] or 0, row["b_ps"] or 0)),
        "small": time_pair(a.step_idle.get("small_ps"), b.step_idle.get("small_ps")),
    }


def compare_compiles(a: SessionTotals, b: SessionTotals) -> list[ComparedCompiles]:
    """Compares compilations by module: their number and time; the longest first."""
    counts: dict[str, list[int]] = {}
    times: dict[str, list[int]] = {}
    for index, session in enumerate((a, b)):
        for row in session.report["compiles"]:
            module = row["module"] or row["graph"] or UNKNOWN_GRAPH
            counts.setdefault(module, [0, 0])[index] += 1
            times.setdefault(module, [0, 0])[index] += row["duration_ps"]
    return [
        {"module": module, "count": counts[module], **time_pair(*times[module])}
        for module in sorted(times, key=lambda module: -max(times[module]))
    ]
