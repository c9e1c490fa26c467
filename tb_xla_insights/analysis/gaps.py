"""When each device is idle, what the host did meanwhile, and why it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tb_xla_insights.analysis.busy import busy, device_span, idle
from tb_xla_insights.analysis.classes import partition
from tb_xla_insights.analysis.intervals import Intervals, union
from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.analysis.launches import find_launches
from tb_xla_insights.analysis.shares import class_shares, covered
from tb_xla_insights.catalog.classes import CLASSES, WAIT
from tb_xla_insights.trace.model import Int8, Int32, Int64, SessionTrace, Trace

LISTED_PS = 10_000_000
"""Gaps from this length on are listed; shorter ones are summed."""

SLACK_PS = 10_000_000
"""Host and device clocks agree to some microseconds: what lies closer together has no order."""

KINDS = ("starved", "queued", "unknown")
STARVED, QUEUED, UNKNOWN = range(3)


@dataclass(frozen=True)
class Gaps:
    """Idle stretches of a host's devices from LISTED_PS up, by device and time.

    `device`: index into the trace's devices. `shares`: one column per class, adds up to the gap. `before` and `after`:
    indices into Launches.programs, -1: none. `run`: the run whose work ended the gap, index into Launches.runs, -1: not
    known. `step`: the one that run belongs to, -1: none. `kind`: index into KINDS; `cause`: index into CLASSES.
    `together_ps`: the part in which every device of the host was idle.
    """

    device: Int32
    start_ps: Int64
    end_ps: Int64
    shares: Int64
    before: Int32
    after: Int32
    run: Int32
    step: Int32
    kind: Int8
    cause: Int8
    together_ps: Int64

    def __len__(self) -> int:
        return len(self.device)

    @property
    def duration_ps(self) -> Int64:
        return self.end_ps - self.start_ps


@kept
def idle_times(trace: Trace) -> list[Intervals]:
    """Each device's idle stretches within its span, the shortest ones included."""
    return [idle(trace, device) for device in trace.devices]


@kept
def find_gaps(trace: Trace) -> Gaps:
    """The gaps of one host's devices. (design.md, "Gap", "Why a gap ended")

    A gap is `starved` where the run that ended it was enqueued after the gap began, `queued` where it had been before,
    and `unknown` where the two lie within SLACK_PS or the run's call is not known. The cause of a starved gap is the class
    with most of its time until the run was enqueued, that of a queued one `wait`, else the class with most of its time.
    """
    idles = idle_times(trace)
    parts = [np.flatnonzero(it.end_ps - it.start_ps >= LISTED_PS) for it in idles]
    device = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])
    none = np.zeros(0, np.int64)
    start = np.concatenate([it.start_ps[p] for it, p in zip(idles, parts, strict=True)] or [none])
    end = np.concatenate([it.end_ps[p] for it, p in zip(idles, parts, strict=True)] or [none])
    before, run = _neighbours(trace, device, start, end)
    launches = find_launches(trace)
    runs = launches.runs
    enqueue = np.where(run >= 0, np.append(runs.enqueue_ps, -1)[run], -1)
    known = (run >= 0) & (np.append(runs.enqueue_row, -1)[run] >= 0)
    kind = np.where(enqueue > start + SLACK_PS, STARVED, np.where(enqueue < start - SLACK_PS, QUEUED, UNKNOWN))
    kind = np.where(known, kind, UNKNOWN).astype(np.int8)
    segments = partition(trace)
    shares = class_shares(segments, start, end)
    until = np.where(kind == STARVED, np.minimum(enqueue, end), end)
    cause = class_shares(segments, start, until).argmax(axis=1) if len(start) else np.zeros(0)
    cause = np.where(kind == QUEUED, WAIT, cause).astype(np.int8)
    program = np.append(runs.program, np.int32(-1))
    launch = np.append(runs.launch, np.int32(-1))[run]
    step = np.append(launches.step, np.int32(-1))[launch]
    together = end - start - covered(*_any_busy(trace), start, end)
    return Gaps(
        device, start, end, shares, program[before], program[run], run, step, kind, cause, together
    )


def _any_busy(trace: Trace) -> tuple[Int64, Int64]:
    """When some device of the host is busy."""
    some = [busy(trace, device) for device in trace.devices]
    none = np.zeros(0, np.int64)
    all_ = union(
        np.concatenate([it.start_ps for it in some] or [none]), np.concatenate([it.end_ps for it in some] or [none])
    )
    return all_.start_ps, all_.end_ps


def _neighbours(trace: Trace, device: Int32, start: Int64, end: Int64) -> tuple[Int32, Int32]:
    """The last run that began before each gap, and the run whose work ends it (-1: none)."""
    runs = find_launches(trace).runs
    before, after = np.full(len(device), -1, np.int32), np.full(len(device), -1, np.int32)
    for number in np.unique(device).tolist():
        mine = device == number
        its = runs.of_device(number)
        begins = runs.start_ps[its]
        if not len(begins):
            continue
        last = np.searchsorted(begins, start[mine], "left") - 1
        before[mine] = np.where(last >= 0, last + its.start, -1)
        at = np.searchsorted(begins, end[mine], "right") - 1
        # A gap at the end of the span is ended by nothing; one that ends in no run by something that is no program's.
        works = (at >= 0) & (runs.end_ps[its][at] >= end[mine]) & (end[mine] < device_span(trace.devices[number])[1])
        after[mine] = np.where(works, at + its.start, -1)
    return before, after


def gaps_report(session: SessionTrace, all_gaps: bool = False, items: int = 1000) -> dict[str, Any]:
    """The report's `gaps`. `items` are the longest ones, all with `all_gaps`, the longest first.

    `step` is a step's index in the report's `steps`, `step_number` its number; `together_ps` the part of the gap in which
    all devices of the host were idle. `cause` of a pattern is that of most of its time.
    """
    from tb_xla_insights.analysis.chains import find_chains

    found = [find_gaps(trace) for trace in session.traces]
    duration = np.concatenate([gaps.duration_ps for gaps in found] or [np.zeros(0, np.int64)])
    host = np.repeat(np.arange(len(found)), [len(gaps) for gaps in found])
    place = np.concatenate([np.arange(len(gaps)) for gaps in found] or [np.zeros(0, np.int64)])
    longest = np.argsort(-duration, kind="stable")
    longest = longest if all_gaps else longest[:items]
    listed: dict[int, dict[str, Any]] = {}
    offset = 0
    for number, (trace, gaps) in enumerate(zip(session.traces, found, strict=True)):
        which = longest[host[longest] == number]
        chains = find_chains(trace, place[which])
        for position, gap, chain in zip(which.tolist(), place[which].tolist(), chains, strict=True):
            listed[position] = _item(trace, gaps, gap, offset) | {"chain": chain}
        offset += len(_steps(trace))
    totals = sum((gaps.shares.sum(axis=0) for gaps in found), np.zeros(len(CLASSES), np.int64))
    return {
        "count": len(duration),
        "total_ps": sum(it.total_ps for trace in session.traces for it in idle_times(trace)),
        "listed_ps": int(duration.sum()),
        "by_class_ps": _by_class(totals),
        "items": [listed[position] for position in longest.tolist()],
        "patterns": _patterns(session, found),
    }


def _steps(trace: Trace) -> list[Any]:
    from tb_xla_insights.analysis.reach import steps_of

    return steps_of(trace)


def _by_class(shares: Int64) -> dict[str, int]:
    from tb_xla_insights.analysis.shares import by_class

    return by_class(shares)


def _program(trace: Trace, program: int) -> str | None:
    return find_launches(trace).programs[program][0] if program >= 0 else None


def _item(trace: Trace, gaps: Gaps, gap: int, offset: int) -> dict[str, Any]:
    step = int(gaps.step[gap])
    return {
        "device": trace.devices[gaps.device[gap]].id,
        "start_ps": int(gaps.start_ps[gap]),
        "duration_ps": int(gaps.end_ps[gap] - gaps.start_ps[gap]),
        "step": step + offset if step >= 0 else None,
        "step_number": _steps(trace)[step].number if step >= 0 else None,
        "before": _program(trace, int(gaps.before[gap])),
        "after": _program(trace, int(gaps.after[gap])),
        "kind": KINDS[gaps.kind[gap]],
        "cause": CLASSES[gaps.cause[gap]],
        "together_ps": int(gaps.together_ps[gap]),
        "by_class_ps": _by_class(gaps.shares[gap]),
    }


def _patterns(session: SessionTrace, found: list[Gaps]) -> list[dict[str, Any]]:
    """Gaps between the same two programs, those with most time first."""
    totals: dict[tuple[str | None, str | None], list[int]] = {}
    causes: dict[tuple[str | None, str | None], list[int]] = {}
    for trace, gaps in zip(session.traces, found, strict=True):
        width = len(find_launches(trace).programs) + 1
        key = ((gaps.before + 1).astype(np.int64) * width + gaps.after + 1) * len(CLASSES) + gaps.cause
        keys, place, counts = np.unique(key, return_inverse=True, return_counts=True)
        times = np.zeros(len(keys), np.int64)
        np.add.at(times, place, gaps.duration_ps)
        for its, count, time in zip(keys.tolist(), counts.tolist(), times.tolist(), strict=True):
            before, after = divmod(its // len(CLASSES), width)
            names = _program(trace, before - 1), _program(trace, after - 1)
            total = totals.setdefault(names, [0, 0])
            total[0] += count
            total[1] += time
            causes.setdefault(names, [0] * len(CLASSES))[its % len(CLASSES)] += time
    rows = [
        {
            "before": before,
            "after": after,
            "count": count,
            "total_ps": time,
            "mean_ps": time // count,
            "cause": CLASSES[max(range(len(CLASSES)), key=causes[before, after].__getitem__)],
        }
        for (before, after), (count, time) in totals.items()
    ]
    return sorted(rows, key=lambda row: (-row["total_ps"], str(row["before"]), str(row["after"])))  # type: ignore[operator]
