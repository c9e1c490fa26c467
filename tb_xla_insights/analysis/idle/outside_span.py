"""What of the capture lies outside the devices' span: before the first run and after the last one, where no gap is
listed and no device has idle time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.environment import framework_of
from tb_xla_insights.analysis.frameworks import host_does
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.thresholds import OUTSIDE_SPAN_SHARE
from tb_xla_insights.analysis.time.class_times import by_class, class_times
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Int64, SessionTrace
from tb_xla_insights.units import brief_times, share

if TYPE_CHECKING:
    from tb_xla_insights.schema.feeding import Outside as OutsidePart

_SHORT = 0.01
"""A part below this share of the capture is left out of the sentence."""


@dataclass(frozen=True)
class OutsideSpan:
    """The two parts of a session outside the devices' span, in ps. (docs/definitions.md, "Busy, span, duty cycle")

    `before_ps`: from the capture's first event to the first run of any device; `after_ps`: from the end of the last run
    to the capture's last event, or when a host begins to stop the profiler; `session_ps` is all that time. `before` and
    `after`: what the hosts with devices do meanwhile, one column per class; each adds up to its part times the number
    of those hosts.
    """

    before_ps: int
    after_ps: int
    before: Int64
    after: Int64
    session_ps: int

    @property
    def total_ps(self) -> int:
        return self.before_ps + self.after_ps

    @property
    def share(self) -> float:
        """Of the session."""
        return self.total_ps / self.session_ps if self.session_ps else 0.0

    @property
    def matters(self) -> bool:
        """Whether it is so much that a reader must know of it before anything else."""
        return self.share >= OUTSIDE_SPAN_SHARE


def find_outside_span(session: SessionTrace) -> OutsideSpan | None:
    """What lies outside the devices' span; None where no device recorded work."""
    spans = {
        number: [(start, end) for start, end in (device.span_ps for device in trace.devices) if end > start]
        for number, trace in enumerate(session.traces)
    }
    known = [span for of_host in spans.values() for span in of_host]
    if not known:
        return None
    first, last = min(start for start, _ in known), max(end for _, end in known)
    begin = min(trace.span_ps[0] for trace in session.traces)
    end = min([session.duration_ps, *_stops(session, last)])
    starts, ends = np.array([begin, last], np.int64), np.array([first, end], np.int64)
    shares = sum(
        (
            class_times(host_class_segments(session.traces[number]), starts, ends)
            for number, its in spans.items()
            if its
        ),
        np.zeros((2, len(CLASSES)), np.int64),
    )
    return OutsideSpan(first - begin, end - last, shares[0], shares[1], end - begin)


def _stops(session: SessionTrace, after_ps: int) -> list[int]:
    """When hosts begin to stop the profiler, after an instant: what the Python tracer records of that is nobody's
    training."""
    found: list[int] = []
    for trace in session.traces:
        start = trace.start_ps[trace.rows_with_metadata(has_tag(trace, "profiler"))]
        found += start[start >= after_ps].tolist()
    return found


def outside_span_report(session: SessionTrace) -> OutsidePart | None:
    """The report's `outside`; None where no device recorded work."""
    found = find_outside_span(session)
    if found is None:
        return None
    return outside_span_json(found, len(session.devices), framework_of(session))


def outside_span_json(found: OutsideSpan, devices: int, framework: str) -> OutsidePart:
    """`before` and `after`, each with `duration_ps` and `by_class_ps` (see `OutsideSpan`), their `share` of
    `capture_ps`, and `text`, the sentence where they matter."""
    does = host_does(framework)
    return {
        "before": {"duration_ps": found.before_ps, "by_class_ps": by_class(found.before)},
        "after": {"duration_ps": found.after_ps, "by_class_ps": by_class(found.after)},
        "capture_ps": found.session_ps,
        "share": found.share,
        "text": outside_sentence(found, devices, does) if found.matters else None,
    }


def outside_sentence(outside: OutsideSpan, devices: int, does: Mapping[str, str]) -> str:
    """`2.79 s, 34.9 % of the capture, lie outside the device's span: 1.80 s before the first run (the host mostly
    compiles) and 0.993 s after the last run (the host mostly compiles).`"""
    whose = "device's span" if devices == 1 else "devices' spans"
    parts = (
        (outside.before_ps, "before the first run", outside.before),
        (outside.after_ps, "after the last run", outside.after),
    )
    whole, *times = brief_times(outside.total_ps, *(ps for ps, *_ in parts))
    text = " and ".join(
        f"{time} {where} ({_most(shares, does)})"
        for time, (ps, where, shares) in zip(times, parts, strict=True)
        if ps >= _SHORT * outside.session_ps
    )
    return f"{whole}, {share(outside.share)} of the capture, lie outside the {whose}: {text}."


def _most(shares: Int64, does: Mapping[str, str]) -> str:
    """What the host does most of the time; the two classes with most of it where none has half."""
    order = np.argsort(-shares, kind="stable")
    one, other = (does[CLASSES[int(it)]] for it in order[:2])
    if 2 * int(shares[order[0]]) > int(shares.sum()):
        return f"the host mostly {one}"
    return f"the host {one} or {other}"
