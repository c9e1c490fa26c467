"""The sentence of the verdict about the time before the first and after the last run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tb_xla_insights.analysis.findings.finding import NO_FAULT
from tb_xla_insights.analysis.frameworks import host_clause
from tb_xla_insights.analysis.thresholds import OUTSIDE_SPAN_SHARE
from tb_xla_insights.catalog.frames import parse_frame
from tb_xla_insights.text.english import Sentence
from tb_xla_insights.text.units import brief_time, rounded_share

Row = Mapping[str, Any]

_MAX_NORMAL_EDGE_STEPS = 1.5
"""The time before the first and after the last run, in mean steps, that a normal capture may have."""

_SHORT_RECORDS = (
    ("device_record_begins", "begins late", "before"),
    ("device_record_ends", "ends early", "after"),
)
"""By diagnostic, what it says about the devices' record, and the edge of the capture."""


_EDGES = {"before": "before the first", "after": "after the last"}
"""Where the time at an edge of the capture is, without `run`."""


def is_the_story(report: Row) -> bool:
    """Whether a capture is about the time outside its devices' span: that is most of it, there are no steps, it is
    known what the host did, and the devices are not the bottleneck."""
    outside = report["outside_span"]
    if not _is_most(report) or report["steps"]:
        return False
    is_device_bound = any(finding["id"] in NO_FAULT for finding in report["findings"])
    return not is_device_bound and _main_class(outside) not in (None, "unrecorded")


def _is_most(report: Row) -> bool:
    """Whether most of the capture is outside the devices' span."""
    return bool(report["outside_span"]) and report["outside_span"]["share"] > 0.5


def outside_clause(report: Row) -> str:
    """`94 % of the capture is before the first run`, if that is most of it and known to be idle; else empty. The
    headline then ends with it: how much the devices work says little about such a capture."""
    where, activity = _outside_parts(report)
    return f"{_share(report)} {where}" if activity and _is_most(report) and not is_the_story(report) else ""


def outside_details(report: Row) -> str:
    """The sentence of `outside_text`, or what the headline's `outside_clause` leaves of it, with the Python function
    that takes most of the time (`: the host waits, in get at queue.py:154`), and with what the profiler itself took, if
    that is worth mentioning."""
    outside = report["outside_span"]
    if outside_clause(report):
        sentence: Sentence | None = Sentence(" ".join(_outside_parts(report)))
    else:
        sentence = _outside_sentence(report)
    if not sentence:
        return ""
    edges = outside["before"], outside["after"]
    event = max((edge["longest"] for edge in edges if edge["longest"]), key=_duration_ps, default=None)
    if event and 2 * event["duration_ps"] > sum(edge["duration_ps"] for edge in edges):
        frame = parse_frame(event["name"])
        sentence = sentence.continued(f", in {frame.text}") if frame else sentence
    profiler_ps = outside["profiler_start_ps"] + outside["profiler_stop_ps"]
    if profiler_ps >= OUTSIDE_SPAN_SHARE * outside["capture_ps"]:
        return f"{sentence} The profiler's own start and stop ({brief_time(profiler_ps)}) do not count."
    return str(sentence)


def outside_text(report: Row) -> str:
    """`52 % of the capture is before the first run: the host compiles.` `52 % of the capture is after the last recorded
    run, as the device's record ends early.` Empty if the time is below OUTSIDE_SPAN_SHARE, or normal for the building
    of a first step."""
    return str(_outside_sentence(report) or "")


def _outside_sentence(report: Row) -> Sentence | None:
    where, activity = _outside_parts(report)
    if not where:
        return None
    sentence = f"{_share(report)} {where}"
    return Sentence(f"{sentence}: {activity}" if activity else sentence)


def _share(report: Row) -> str:
    return f"{rounded_share(report['outside_span']['share'])} of the capture is"


def _outside_parts(report: Row) -> tuple[str, str]:
    """Where the time outside of the devices' span is (`before the first run`), and what the host does in it; empty
    where there is nothing to say."""
    outside, steps = report["outside_span"], report["steps"]
    if outside is None or outside["share"] < OUTSIDE_SPAN_SHARE:
        return "", ""
    before, after = outside["before"]["duration_ps"], outside["after"]["duration_ps"]
    mean_step_ps = sum(step["duration_ps"] for step in steps) / len(steps) if steps else 0.0
    if before + after < _MAX_NORMAL_EDGE_STEPS * mean_step_ps:
        return "", ""
    edges = ["before", "after"]
    if after <= OUTSIDE_SPAN_SHARE * before:
        edges = ["before"]
    elif before <= OUTSIDE_SPAN_SHARE * after:
        edges = ["after"]
    where = " and ".join(_EDGES[edge] for edge in edges)
    if record := _record_clause(report, edges):
        return f"{where} recorded run, as {record}", ""
    main_class = _main_class(outside)
    return f"{where} run", host_clause(main_class, report["environment"]["framework"]) if main_class else ""


def _duration_ps(event: Row) -> int:
    return int(event["duration_ps"])


def _main_class(outside: Row) -> str | None:
    """The class with more than half of the time; None without one."""
    by_class = Counter(outside["before"]["by_class_ps"]) + Counter(outside["after"]["by_class_ps"])
    return next((name for name, ps in by_class.most_common(1) if 2 * ps > by_class.total()), None)


def _record_clause(report: Row, edges: Sequence[str]) -> str:
    """How the devices' record is shorter than the host's at some edges: `the device's record ends early`; empty
    if it is not, or if that is not a warning because it explains at most half of the time at the edge."""
    hosts = {
        text: sum(
            row.get("hosts", 1)
            for row in report["diagnostics"]
            if (row["id"], row["severity"]) == (id_, "warning")
        )
        for id_, text, edge in _SHORT_RECORDS
        if edge in edges
    }
    texts = [text for text, count_of_hosts in hosts.items() if count_of_hosts]
    if not texts:
        return ""
    owner = "the device's" if len(report["devices"]) == 1 else "the devices'"
    on_some = " on some hosts" if min(filter(None, hosts.values())) < len(report["session"]["hosts"]) else ""
    return f"{owner} record {' and '.join(texts)}{on_some}"
