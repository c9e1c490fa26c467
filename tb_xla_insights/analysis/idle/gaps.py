"""The report's `gaps`: the longest gaps with their chains, and recurring patterns."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.idle.busy import idle_ps
from tb_xla_insights.analysis.idle.chains import find_chains
from tb_xla_insights.analysis.idle.idle_time import GAP_KINDS, QUEUED, Gaps, find_gaps
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.steps.idle import devices_with_work
from tb_xla_insights.analysis.steps.step_times import find_steps, step_times, traces_with_step_offsets
from tb_xla_insights.analysis.time.class_times import covered_times, times_by_class
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.name_limit import shorten_name
from tb_xla_insights.trace.model import Int64, SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.gaps import Gap, GapPattern, Link
    from tb_xla_insights.schema.gaps import Gaps as GapsPart


MAX_LISTED_GAPS = 1000
"""The maximum number of gaps that the report lists, unless all are requested."""


def gaps_report(session: SessionTrace, all_gaps: bool = False, max_items: int = MAX_LISTED_GAPS) -> GapsPart:
    """The report's `gaps`. `items` has the `max_items` longest gaps, or all with `all_gaps`, the longest first.

    `step` is a step's index in the report's `steps`, `step_number` its number; `all_cores_idle_ps` is the part of the
    gap in which all devices of the host were idle; `inside_run` is true if the same run was at work before and after
    the gap. The cause of a pattern is the cause with most time among its gaps (`by_cause_ps`); `queued_ps` is the time
    of its queued gaps, whose cause is `wait`. `in_steps_ps` is the part of its time in whole steps, `per_step_ps` that
    time per step and core as in `step_idle`, None without steps. All other times are sums over all cores.
    `by_finding_ps` is filled in when the findings are known."""
    gaps_of_hosts = [find_gaps(trace) for trace in session.traces]
    duration = np.concatenate([gaps.duration_ps for gaps in gaps_of_hosts] or [np.zeros(0, np.int64)])
    host = np.repeat(np.arange(len(gaps_of_hosts)), [len(gaps) for gaps in gaps_of_hosts])
    index_in_host = np.concatenate(
        [np.arange(len(gaps)) for gaps in gaps_of_hosts] or [np.zeros(0, np.int64)]
    )
    longest = np.argsort(-duration, kind="stable")
    longest = longest if all_gaps else longest[:max_items]
    items_by_position: dict[int, Gap] = {}
    for host_index, (trace, offset) in enumerate(traces_with_step_offsets(session)):
        positions = longest[host[longest] == host_index]
        chains = find_chains(trace, index_in_host[positions])
        for position, gap, chain in zip(
            positions.tolist(), index_in_host[positions].tolist(), chains, strict=True
        ):
            items_by_position[position] = _item(trace, gaps_of_hosts[host_index], gap, offset, chain)
    starved, queued, unknown = (
        sum(int(gaps.duration_ps[gaps.kind == kind].sum()) for gaps in gaps_of_hosts)
        for kind in range(len(GAP_KINDS))
    )
    totals_ps = sum(
        (gaps.by_class_ps.sum(axis=0) for gaps in gaps_of_hosts), np.zeros(len(CLASSES), np.int64)
    )
    return {
        "count": len(duration),
        "total_ps": sum(idle_ps(trace, device) for trace in session.traces for device in trace.devices),
        "listed_ps": int(duration.sum()),
        "by_class_ps": times_by_class(totals_ps),
        "by_kind_ps": {"starved": starved, "queued": queued, "unknown": unknown},
        "items": [items_by_position[position] for position in longest.tolist()],
        "patterns": _patterns(session, gaps_of_hosts),
    }


@memoised
def _program_names(trace: Trace) -> list[str | None]:
    """The name of each program, shortened; the last element (index -1) is None, for an unknown program."""
    return [*(shorten_name(name) for name, _ in find_launches(trace).programs), None]


def _item(trace: Trace, gaps: Gaps, gap: int, offset: int, chain: list[Link]) -> Gap:
    step = int(gaps.step[gap])
    return {
        "device": trace.devices[gaps.device[gap]].id,
        "start_ps": int(gaps.start_ps[gap]),
        "duration_ps": int(gaps.end_ps[gap] - gaps.start_ps[gap]),
        "step": step + offset if step >= 0 else None,
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


def _patterns(session: SessionTrace, gaps_of_hosts: list[Gaps]) -> list[GapPattern]:
    """The gaps between the same two programs, or inside the runs of one program, as a row each; most time first."""
    patterns: dict[tuple[str | None, str | None, bool], _Pattern] = {}
    for trace, gaps in zip(session.traces, gaps_of_hosts, strict=True):
        steps, names = union(*step_times(trace)), _program_names(trace)
        in_steps = covered_times(steps.start_ps, steps.end_ps, gaps.start_ps, gaps.end_ps)
        cores = max(1, len(devices_with_work(trace)))
        pair = (gaps.before + np.int64(1)) * len(names) + gaps.after + 1
        _, first, group_of_gap = np.unique(2 * pair + gaps.inside, return_index=True, return_inverse=True)
        order = np.argsort(group_of_gap, kind="stable")
        ends = np.cumsum(np.bincount(group_of_gap, minlength=len(first)))
        for gap, rows in zip(first.tolist(), np.split(order, ends[:-1]), strict=False):
            key = names[gaps.before[gap]], names[gaps.after[gap]], bool(gaps.inside[gap])
            patterns.setdefault(key, _Pattern()).add(gaps, rows, int(in_steps[rows].sum()), cores)
    count = sum(len(find_steps(trace)) for trace in session.traces if devices_with_work(trace))
    pattern_rows = [pattern.row(*key, count) for key, pattern in patterns.items()]
    return sorted(pattern_rows, key=lambda row: -row["total_ps"])


class _Pattern:
    """The sums over the gaps of one pattern."""

    def __init__(self) -> None:
        self._durations: list[Int64] = []
        self._causes = np.zeros(len(CLASSES), np.int64)
        self._by_class_ps = np.zeros(len(CLASSES), np.int64)
        self._queued = self._in_steps = 0
        self._per_core = Fraction()

    def add(self, gaps: Gaps, rows: NDArray[np.intp], in_steps_ps: int, cores: int) -> None:
        """Adds gaps (`rows`) of one host; `in_steps_ps`: their time in whole steps; `cores`: the host's
        number of cores with work."""
        duration = gaps.duration_ps[rows]
        self._durations.append(duration)
        np.add.at(self._causes, gaps.cause[rows], duration)
        self._by_class_ps += gaps.by_class_ps[rows].sum(axis=0)
        self._queued += int(duration[gaps.kind[rows] == QUEUED].sum())
        self._in_steps += in_steps_ps
        self._per_core += Fraction(in_steps_ps, cores)

    def row(self, before: str | None, after: str | None, inside_run: bool, steps: int) -> GapPattern:
        durations = np.concatenate(self._durations)
        total = int(durations.sum())
        return {
            "before": before,
            "after": after,
            "inside_run": inside_run,
            "count": len(durations),
            "total_ps": total,
            "mean_ps": total // len(durations),
            "in_steps_ps": self._in_steps,
            "per_step_ps": self._per_core // steps if steps else None,
            "min_ps": int(durations.min()),
            "max_ps": int(durations.max()),
            "cause": CLASSES[int(self._causes.argmax())],
            "by_cause_ps": times_by_class(self._causes),
            "queued_ps": self._queued,
            "by_class_ps": times_by_class(self._by_class_ps),
        }
