"""The report's `gaps`: the longest gaps with their chains, and recurring patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.idle.busy import idle_ps
from tb_xla_insights.analysis.idle.chains import find_chains
from tb_xla_insights.analysis.idle.idle_time import GAP_KINDS, QUEUED, Gaps, find_gaps
from tb_xla_insights.analysis.idle.in_steps import devices_with_work
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps, step_times
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.names import number_distinct
from tb_xla_insights.analysis.time.class_times import covered_times, times_by_class
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.text.name_limit import shorten_name
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.gaps import Gap, GapPattern, Link
    from tb_xla_insights.schema.gaps import Gaps as GapsPart


MAX_LISTED_GAPS = 1000
"""The maximum number of gaps that the report lists, unless all are requested."""


def gaps_report(trace: Trace, all_gaps: bool = False, max_items: int = MAX_LISTED_GAPS) -> GapsPart:
    """The report's `gaps`. `items` has the `max_items` longest gaps, or all with `all_gaps`, the longest first.

    `step` is a step's index in the report's `steps`, `step_number` its number; `all_cores_idle_ps` is the part of the
    gap in which all devices of the host were idle; `inside_run` is true if the same run was at work before and after
    the gap. The cause of a pattern is the cause with most time among its gaps (`by_cause_ps`); `queued_ps` is the time
    of its queued gaps, whose cause is `wait`. `in_steps_ps` is the part of its time in whole steps, `per_step_ps` that
    time per step and core as in `step_idle`, None without steps. All other times are sums over all cores.
    `by_finding_ps` is filled in when the findings are known."""
    gaps = find_gaps(trace)
    longest = np.argsort(-gaps.duration_ps, kind="stable")
    longest = longest if all_gaps else longest[:max_items]
    chains = find_chains(trace, longest)
    starved, queued, unknown = (
        int(gaps.duration_ps[gaps.kind == kind].sum()) for kind in range(len(GAP_KINDS))
    )
    return {
        "count": len(gaps),
        "total_ps": sum(idle_ps(trace, device) for device in trace.devices),
        "listed_ps": int(gaps.duration_ps.sum()),
        "by_class_ps": times_by_class(gaps.by_class_ps.sum(axis=0)),
        "by_kind_ps": {"starved": starved, "queued": queued, "unknown": unknown},
        "items": [
            _item(trace, gaps, gap, chain) for gap, chain in zip(longest.tolist(), chains, strict=True)
        ],
        "patterns": _patterns(trace, gaps),
    }


@memoised
def _program_names(trace: Trace) -> list[str | None]:
    """The name of each program, shortened; the last element (index -1) is None, for an unknown program."""
    return [*(shorten_name(name) for name, _ in find_launches(trace).programs), None]


def _item(trace: Trace, gaps: Gaps, gap: int, chain: list[Link]) -> Gap:
    step = int(gaps.step[gap])
    return {
        "device": trace.devices[gaps.device[gap]].id,
        "start_ps": int(gaps.start_ps[gap]),
        "duration_ps": int(gaps.end_ps[gap] - gaps.start_ps[gap]),
        "step": step if step >= 0 else None,
        "step_number": find_steps(trace)[step].number if step >= 0 else None,
        "before": _program_names(trace)[gaps.before[gap]],
        "after": _program_names(trace)[gaps.after[gap]],
        "inside_run": bool(gaps.inside[gap]),
        "kind": GAP_KINDS[gaps.kind[gap]],
        "cause": CLASSES[gaps.cause[gap]],
        "all_cores_idle_ps": int(gaps.all_cores_idle_ps[gap]),
        "barrier_ps": int(gaps.barrier_ps[gap]),
        "late_device": trace.devices[gaps.late_device[gap]].id if gaps.late_device[gap] >= 0 else None,
        "by_class_ps": times_by_class(gaps.by_class_ps[gap]),
        "chain": chain,
        "by_finding_ps": {},
    }


def _patterns(trace: Trace, gaps: Gaps) -> list[GapPattern]:
    """The gaps between the same two programs, or inside the runs of one program, as a row each; most time first."""
    step_union, names = union(*step_times(trace)), _program_names(trace)
    in_steps_ps = covered_times(step_union.start_ps, step_union.end_ps, gaps.start_ps, gaps.end_ps)
    core_steps = len(find_steps(trace)) * len(devices_with_work(trace))
    number = number_distinct(names).astype(np.int64)
    pattern = (number[gaps.before] * len(names) + number[gaps.after]) * 2 + gaps.inside
    order = np.argsort(pattern, kind="stable")
    rows: list[GapPattern] = []
    for group in np.split(order, np.flatnonzero(np.diff(pattern[order])) + 1) if len(order) else []:
        duration, first = gaps.duration_ps[group], group[0]
        by_cause_ps = np.zeros(len(CLASSES), np.int64)
        np.add.at(by_cause_ps, gaps.cause[group], duration)
        total_ps, total_in_steps_ps = int(duration.sum()), int(in_steps_ps[group].sum())
        rows.append(
            {
                "before": names[gaps.before[first]],
                "after": names[gaps.after[first]],
                "inside_run": bool(gaps.inside[first]),
                "count": len(group),
                "total_ps": total_ps,
                "mean_ps": total_ps // len(group),
                "in_steps_ps": total_in_steps_ps,
                "per_step_ps": total_in_steps_ps // core_steps if core_steps else None,
                "min_ps": int(duration.min()),
                "max_ps": int(duration.max()),
                "cause": CLASSES[int(by_cause_ps.argmax())],
                "by_cause_ps": times_by_class(by_cause_ps),
                "queued_ps": int(duration[gaps.kind[group] == QUEUED].sum()),
                "by_class_ps": times_by_class(gaps.by_class_ps[group].sum(axis=0)),
            }
        )
    return sorted(rows, key=lambda row: -row["total_ps"])
