"""The parts of the capture outside the devices' span, before the first run and after the last one. No gap and no idle
time is counted there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.environment import framework_of
from tb_xla_insights.analysis.frameworks import host_activities, host_clause
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.idle.chains import find_activities
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.thresholds import OUTSIDE_SPAN_SHARE
from tb_xla_insights.analysis.time.class_times import class_times, times_by_class
from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.text.english import join_words
from tb_xla_insights.text.units import brief_times, share
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import TimeOutsideSpan
    from tb_xla_insights.schema.gaps import Meanwhile

_MIN_LISTED_SHARE = 0.01
"""The sentence omits a part with a smaller share of the capture."""


@dataclass(frozen=True)
class OutsideSpan:
    """The two parts of a capture outside the devices' span, in ps. (docs/definitions.md, "Busy, span, duty cycle")

    `before_ps`: from the capture's first event, or from the end of the profiler's start, to the first run of any
    device; `after_ps`: from the end of the last run to the capture's last event, or until a host begins to stop the
    profiler; `session_ps`: the time from that begin to that end. `before` and `after`: what the hosts with devices do
    meanwhile, one column per class; each adds up to its part times the number of those hosts. `longest_before` and
    `longest_after`: the event in which any host spends most of that time, with its time. `profiler_ps`: how long the
    profiler's start and stop take, which count as neither.
    """

    before_ps: int
    after_ps: int
    before: Int64
    after: Int64
    session_ps: int
    longest_before: Meanwhile | None = None
    longest_after: Meanwhile | None = None
    profiler_ps: tuple[int, int] = (0, 0)

    @property
    def total_ps(self) -> int:
        return self.before_ps + self.after_ps

    @property
    def share(self) -> float:
        """The share of the session."""
        return self.total_ps / self.session_ps if self.session_ps else 0.0

    @property
    def is_significant(self) -> bool:
        """Whether the report must mention it before anything else."""
        return self.share >= OUTSIDE_SPAN_SHARE


def find_outside_span(trace: Trace) -> OutsideSpan | None:
    """The parts outside the devices' span; None if no device recorded work."""
    spans = [(start, end) for start, end in (device.span_ps for device in trace.devices) if end > start]
    if not spans:
        return None
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    capture_begin, capture_end = trace.span_ps
    profiler_starts, profiler_stops = _profiler_edges(trace, first, last)
    begin, end = max([capture_begin, *profiler_starts]), min([capture_end, *profiler_stops])
    starts, ends = np.array([begin, last], np.int64), np.array([first, end], np.int64)
    before, after = class_times(host_class_segments(trace), starts, ends)
    longest_before, longest_after = map(longest_event, find_activities(trace, starts, ends))
    return OutsideSpan(
        first - begin, end - last, before, after, end - begin, longest_before, longest_after,
        (begin - capture_begin, capture_end - end),
    )  # fmt: skip


def _profiler_edges(trace: Trace, first_ps: int, last_ps: int) -> tuple[list[int], list[int]]:
    """When the host has finished starting the profiler, before the first run, and when it begins to stop it, after the
    last one: what the Python tracer records of the profiler itself is not training."""
    rows = trace.rows_with_metadata(has_tag(trace, "profiler"))
    begin, end = trace.start_ps[rows], trace.end_ps[rows]
    return end[end <= first_ps].tolist(), begin[begin >= last_ps].tolist()


def longest_event(events: Iterable[Meanwhile | None]) -> Meanwhile | None:
    """The longest of some events; None without any."""
    return max(filter(None, events), key=itemgetter("duration_ps"), default=None)


def outside_span_report(trace: Trace) -> TimeOutsideSpan | None:
    """The report's `outside_span`; None if no device recorded work."""
    outside = find_outside_span(trace)
    if outside is None:
        return None
    return outside_span_json(outside, len(trace.devices), framework_of(trace))


def outside_span_json(outside: OutsideSpan, devices: int, framework: str) -> TimeOutsideSpan:
    """`before` and `after`, each with `duration_ps` and `by_class_ps` (see `OutsideSpan`), their `share` of
    `capture_ps`, and `text`, the sentence if they are significant."""
    return {
        "before": {
            "duration_ps": outside.before_ps,
            "by_class_ps": times_by_class(outside.before),
            "longest": outside.longest_before,
        },
        "after": {
            "duration_ps": outside.after_ps,
            "by_class_ps": times_by_class(outside.after),
            "longest": outside.longest_after,
        },
        "profiler_start_ps": outside.profiler_ps[0],
        "profiler_stop_ps": outside.profiler_ps[1],
        "capture_ps": outside.session_ps,
        "share": outside.share,
        "text": outside_sentence(outside, devices, framework) if outside.is_significant else None,
    }


def outside_sentence(outside: OutsideSpan, devices: int, framework: str) -> str:
    """`2.79 s, 34.9 % of the capture, are outside the device's span: 1.80 s before the first run (the host mostly
    compiles) and 0.993 s after the last run (the host mostly compiles).`"""
    spans = "device's span" if devices == 1 else "devices' spans"
    parts = (
        (outside.before_ps, "before the first run", outside.before),
        (outside.after_ps, "after the last run", outside.after),
    )
    total, *times = brief_times(outside.total_ps, *(ps for ps, *_ in parts))
    text = " and ".join(
        f"{time} {when} ({_main_activity(by_class_ps, framework)})"
        for time, (ps, when, by_class_ps) in zip(times, parts, strict=True)
        if ps >= _MIN_LISTED_SHARE * outside.session_ps
    )
    profiler_ps = [ps for ps in outside.profiler_ps if ps >= _MIN_LISTED_SHARE * outside.session_ps]
    without = ""
    if profiler_ps:
        names = [
            name for name, ps in zip(("start", "stop"), outside.profiler_ps, strict=True) if ps in profiler_ps
        ]
        without = f" without the profiler's {join_words(names)} ({join_words(brief_times(*profiler_ps))})"
    return f"{total}, {share(outside.share)} of the capture{without}, are outside the {spans}: {text}."


def _main_activity(by_class_ps: Int64, framework: str) -> str:
    """What the host does most of the time; the two classes with most time if none has more than half."""
    order = np.argsort(-by_class_ps, kind="stable")
    adverb = "mostly " if 2 * int(by_class_ps[order[0]]) > int(by_class_ps.sum()) else ""
    names = [CLASSES[int(index)] for index in order[:2]]
    if adverb:
        return host_clause(names[0], framework, adverb)
    if "unrecorded" not in names:
        activities = host_activities(framework)
        return f"the host {' or '.join(activities[name] for name in names)}"
    return ", or ".join(host_clause(name, framework) for name in names)
