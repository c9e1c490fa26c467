"""The parts of the capture outside the devices' span, before the first run and after the last one. No gap and no idle
time is counted there."""

from __future__ import annotations

from collections.abc import Iterable
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
from tb_xla_insights.schema.feeding import share_outside
from tb_xla_insights.text.english import join_words
from tb_xla_insights.text.units import brief_times, share
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.common import ByClass
    from tb_xla_insights.schema.feeding import OutsidePart, TimeOutsideSpan
    from tb_xla_insights.schema.gaps import Meanwhile

_MIN_LISTED_SHARE = 0.01
"""The sentence omits a part with a smaller share of the capture."""


def outside_span_report(trace: Trace) -> TimeOutsideSpan | None:
    """The report's `outside_span`; None if no device recorded work. (docs/definitions.md, "Busy, span, duty cycle")

    `before`: from the capture's first event, or from the end of the profiler's start, to the first run of any device;
    `after`: from the end of the last run to the capture's last event, or until the host begins to stop the profiler.
    """
    spans = [(start, end) for start, end in (device.span_ps for device in trace.devices) if end > start]
    if not spans:
        return None
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    capture_begin, capture_end = trace.span_ps
    profiler_starts, profiler_stops = _profiler_edges(trace, first, last)
    begin, end = max([capture_begin, *profiler_starts]), min([capture_end, *profiler_stops])
    starts, ends = np.array([begin, last], np.int64), np.array([first, end], np.int64)
    by_class = class_times(host_class_segments(trace), starts, ends)
    before, after = (
        _part(int(end_ps - start_ps), times, events)
        for start_ps, end_ps, times, events in zip(
            starts, ends, by_class, find_activities(trace, starts, ends), strict=True
        )
    )
    row: TimeOutsideSpan = {
        "before": before,
        "after": after,
        "profiler_start_ps": begin - capture_begin,
        "profiler_stop_ps": capture_end - end,
        "capture_ps": end - begin,
        "share": 0.0,
        "text": None,
    }
    row["share"] = share_outside(row)
    return with_outside_text(row, len(trace.devices), framework_of(trace))


def _part(duration_ps: int, by_class_ps: Int64, events: Iterable[Meanwhile]) -> OutsidePart:
    return {
        "duration_ps": duration_ps,
        "by_class_ps": times_by_class(by_class_ps),
        "longest": max(events, key=itemgetter("duration_ps"), default=None),
    }


def _profiler_edges(trace: Trace, first_ps: int, last_ps: int) -> tuple[list[int], list[int]]:
    """When the host has finished starting the profiler, before the first run, and when it begins to stop it, after the
    last one: what the Python tracer records of the profiler itself is not training."""
    rows = trace.rows_with_metadata(has_tag(trace, "profiler"))
    begin, end = trace.start_ps[rows], trace.end_ps[rows]
    return end[end <= first_ps].tolist(), begin[begin >= last_ps].tolist()


def with_outside_text(row: TimeOutsideSpan, devices: int, framework: str) -> TimeOutsideSpan:
    """The report's `outside_span` with its `text`, if it must be mentioned before anything else."""
    text = outside_sentence(row, devices, framework) if row["share"] >= OUTSIDE_SPAN_SHARE else None
    return {**row, "text": text}


def outside_sentence(row: TimeOutsideSpan, devices: int, framework: str) -> str:
    """`2.79 s, 34.9 % of the capture, are outside the device's span: 1.80 s before the first run (the host mostly
    compiles) and 0.993 s after the last run (the host mostly compiles).`"""
    spans = "device's span" if devices == 1 else "devices' spans"
    min_listed_ps = _MIN_LISTED_SHARE * row["capture_ps"]
    parts = (row["before"], "before the first run"), (row["after"], "after the last run")
    total_ps = sum(part["duration_ps"] for part, _ in parts)
    total, *times = brief_times(total_ps, *(part["duration_ps"] for part, _ in parts))
    text = " and ".join(
        f"{time} {when} ({_main_activity(part['by_class_ps'], framework)})"
        for time, (part, when) in zip(times, parts, strict=True)
        if part["duration_ps"] >= min_listed_ps
    )
    profiler = [
        (name, ps)
        for name, ps in (("start", row["profiler_start_ps"]), ("stop", row["profiler_stop_ps"]))
        if ps >= min_listed_ps
    ]
    without = ""
    if profiler:
        names, times_ps = zip(*profiler, strict=True)
        without = f" without the profiler's {join_words(names)} ({join_words(brief_times(*times_ps))})"
    return f"{total}, {share(row['share'])} of the capture{without}, are outside the {spans}: {text}."


def _main_activity(by_class_ps: ByClass, framework: str) -> str:
    """What the host does most of the time; the two classes with most time if none has more than half."""
    names = sorted(by_class_ps, key=lambda name: -by_class_ps[name])[:2]
    if 2 * by_class_ps[names[0]] > sum(by_class_ps.values()):
        return host_clause(names[0], framework, "mostly ")
    if "unrecorded" not in names:
        activities = host_activities(framework)
        return f"the host {' or '.join(activities[name] for name in names)}"
    return ", or ".join(host_clause(name, framework) for name in names)
