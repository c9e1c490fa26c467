"""What a log of TORCH_TRACE says of the graphs that TorchTPU makes in a capture, as sentences of findings."""

from __future__ import annotations

from typing import Any

from tb_xla_insights.analysis.compiles.torch_trace import REASONS, main_place, reasons_in_capture
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.text.english import Sentence
from tb_xla_insights.text.units import count

_READS = ("item()", ".cpu()")
"""Reasons that are reads."""


def main_reason(facts: Facts) -> Sentence | str:
    """Why TorchTPU makes most graphs in the capture, and where most of these are made; empty without such graphs."""
    log = facts.torch_trace
    reasons = reasons_in_capture(facts.trace, log) if log else None
    if not log or not reasons:
        return ""
    ((reason, number),) = reasons.most_common(1)
    place = main_place(facts.trace, log, reason)
    text = f"{log.file}: {count(number)} of {count(reasons.total())} graphs of operators run because "
    text += f"{reason_text(reason)}{f', most often at {place}' if place else ''}"
    return Sentence(text, begins_with_name=True)


def reason_text(reason: str) -> str:
    """`a value is read (item())`; of a reason that is not known, `of item()`."""
    return f"{meaning} ({reason})" if (meaning := REASONS.get(reason)) else f"of {reason}"


def read_place(facts: Facts) -> Sentence | str:
    """Where reads make TorchTPU run graphs; empty if the log does not say."""
    log = facts.torch_trace
    place = main_place(facts.trace, log, *_READS, ", ".join(_READS)) if log else None
    return (
        Sentence(f"{log.file}: reads run graphs at {place}", begins_with_name=True) if log and place else ""
    )


def compilation_cause(facts: Facts, cause: dict[str, Any]) -> Sentence | str:
    """Why the log's graph was compiled; `cause`: see `Facts.compile_causes`. Empty for causes of other logs."""
    log, text = facts.torch_trace, cause.get("cause")
    if not log or not text or cause.get("file") != log.file:
        return ""
    why = f"operators run because {reason_text(text)}" if text in REASONS else text
    return Sentence(f"{log.file}: {why}", begins_with_name=True)
