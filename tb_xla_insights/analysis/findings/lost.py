"""The finding about annotations that reach no device op."""

from __future__ import annotations

from collections.abc import Mapping

from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import (
    Finding,
    ShownWindow,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.propagation.annotations_report import capture_coverage, reported_lost
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.lost import ADVICE, AUTOGRAD, DYNAMO, FLAG_OFF, OPTIMISED
from tb_xla_insights.analysis.propagation.path_names import short_names
from tb_xla_insights.text.english import Sentence, sentences
from tb_xla_insights.text.units import share
from tb_xla_insights.trace.model import Trace

_REPORTED_REASONS = (FLAG_OFF, DYNAMO, AUTOGRAD, OPTIMISED)
"""Reasons worth a finding; those that the user can change most easily come first."""

_CAUSES = {
    DYNAMO: "dynamo keeps only the outermost scope",
    AUTOGRAD: "autograd runs on a thread of its own, where no scope is set",
    OPTIMISED: "the compiler merged or removed the ops",
}

_CHANGES = {
    FLAG_OFF: "set XLA_HLO_DEBUG=1 (or XLA_IR_DEBUG=1) in the environment before the script starts, and capture "
    "again",
    DYNAMO: "put the annotation around the compiled call, or compile its parts one by one",
    AUTOGRAD: "annotate in module backward hooks or in an autograd.Function's backward, which run on that thread",
    OPTIMISED: "leave what the compiler merged or removed as it is",
}
"""Short advice; the full text (`ADVICE`) is in the report's `propagation` and in the evidence."""


def annotations_not_propagated(facts: Facts) -> Finding | None:
    """Annotations that lead to no device work although the user would expect it. They cost no time. Annotations without
    ops of their own are listed in the evidence, but cause no finding."""
    lost = reported_lost(facts.trace)
    reasons = [reason for reason in _REPORTED_REASONS if reason in lost.values()]
    if not reasons:
        return None
    coverage = capture_coverage(facts.trace)
    unexplained_ps = coverage["bare_ps"] + coverage["none_ps"]
    main_reason = reasons[0]
    lost_paths = [path for path, reason in lost.items() if reason in _REPORTED_REASONS]
    names_by_reason = _names_by_reason(facts.trace, lost, reasons)
    names = names_by_reason[main_reason]
    summary = (
        f"{share(unexplained_ps / coverage['device_ps'])} of the device's work has no annotation"
        if coverage["device_ps"]
        else "no device work has an annotation"
    )
    if main_reason == FLAG_OFF:
        title = "Device ops carry no annotations: debug flag off"
        subject = (
            f"none of {len(lost_paths)} annotations reaches"
            if len(lost_paths) > 1
            else "the only annotation does not reach"
        )
        detail = sentences(f"{subject} the device: XLA_HLO_DEBUG=1 was not set at tracing")
    else:
        title = first_fitting_title(
            f"{_some_names(names)} cannot be seen on the device", "Annotations cannot be seen on the device"
        )
        causes = "; ".join(f"{_some_names(names_by_reason[reason])}: {_CAUSES[reason]}" for reason in reasons)
        detail = sentences(summary, Sentence(causes, begins_with_name=True))
    return Finding(
        "annotations_not_propagated",
        title,
        "annotations that cannot be seen on the device",
        detail,
        str(Sentence("; ".join(_CHANGES[reason] for reason in reasons))),
        0,
        {
            "lost": [{"path": path, "reason": reason} for path, reason in lost.items()],
            "advice": {reason: ADVICE[reason] for reason in reasons},
            "unexplained_ps": unexplained_ps,
            **coverage,
        },
        _windows(facts.trace, set(lost_paths)),
    )


def _names_by_reason(trace: Trace, lost: Mapping[str, str], reasons: list[str]) -> dict[str, list[str]]:
    """Per reason, the distinct names of the annotations lost for it."""
    names = short_names(host_annotations(trace).path_texts)
    return {
        reason: list(dict.fromkeys(names[path] for path, why in lost.items() if why == reason))
        for reason in reasons
    }


def _some_names(names: list[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _windows(trace: Trace, paths: set[str]) -> list[ShownWindow]:
    """The longest annotation of each of some paths, at most MAX_WINDOWS, the longest first."""
    host = host_annotations(trace)
    windows = []
    for index, path in enumerate(host.path_texts):
        if path in paths:
            rows = host.row[host.path == index]
            row = int(rows[trace.duration_ps[rows].argmax()])
            windows.append(ShownWindow(int(trace.start_ps[row]), int(trace.end_ps[row])))
    return longest_windows(windows)
