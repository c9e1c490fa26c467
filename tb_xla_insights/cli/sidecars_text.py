"""Prints the sidecar files of a capture: the metrics report against the trace, graph breaks, debug logs, advice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.analysis.sidecars import PRESERVED_COUNTERS
from tb_xla_insights.cli import elements
from tb_xla_insights.english import plural
from tb_xla_insights.tables.sidecars import COUNTS_AGAINST_TRACE

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]

_COUNTERS = ("UncachedCompile", "CachedCompile", "ExecuteComputation", "ExecuteReplicated", "MarkStep")
_ACTIVITIES = {
    "compile": "Compilations",
    "execute": "Executions",
    "to_device": "Transfers to the device",
    "from_device": "Transfers from the device",
}
_MAX_REASONS = 8


def print_sidecars(out: Console, document: Document) -> None:
    """Prints the report's keys `metrics` and `recorded`, if present."""
    recording = _recording_text(document.get("recorded") or {})
    if recording:
        elements.print_paragraph(out, recording)
    metrics = document["metrics"]
    if metrics is None:
        if recording:
            out.print()
        return
    if metrics["against_trace"]:
        out.print(_counts_table(metrics))
    if counters := _counter_texts(metrics):
        cleared = "; torch.compile cleared the others" if metrics["cleared"] else ""
        elements.print_paragraph(
            out, f"Counters beside the capture ({metrics['file']}): {', '.join(counters)}{cleared}"
        )
    if metrics["dynamo"]:
        _print_dynamo(out, metrics["dynamo"])
    if metrics["debug"]:
        debug = metrics["debug"]
        elements.print_paragraph(
            out,
            f"Debug log: {plural(debug['compilations'], 'compilation')} and "
            f"{plural(debug['executions'], 'execution')}; it explains "
            f"{plural(debug['joined_compiles'], 'compilation')} and "
            f"{plural(debug['joined_executions'], 'execution')} in the capture.",
        )
    for advice in metrics["advice"]:
        elements.print_paragraph(out, f"PyTorch/XLA says: {advice}")
    out.print()


def _counter_texts(metrics: Document) -> list[str]:
    counters, changed = metrics["counters"], (metrics["difference"] or {}).get("counters")
    texts = []
    at_least = "at least " if metrics["cleared"] else ""
    names = [
        name
        for name in _COUNTERS
        if name in counters and (name in PRESERVED_COUNTERS or not metrics["cleared"])
    ]
    for name in [*names, *(f"aten::{op}" for op in metrics["fallbacks"])]:
        in_capture = f" ({units.count(changed.get(name, 0))} in the capture)" if changed is not None else ""
        texts.append(f"{name} {'' if name in names else at_least}{units.count(counters[name])}{in_capture}")
    return texts


def _counts_table(metrics: Document) -> Any:
    definition = (
        COUNTS_AGAINST_TRACE
        if metrics["difference"]
        else COUNTS_AGAINST_TRACE.without("since_earlier_report")
    )
    rows = [
        {
            **row,
            "operation": _ACTIVITIES[row["operation"]],
            "time_ps": metrics["figures"][f"{row['operation']}_ps"],
            "agrees": "" if row["agrees"] else "disagree",
        }
        for row in metrics["against_trace"]
    ]
    return elements.table(definition, rows, title=f"{definition.title} ({metrics['file']})")


def _print_dynamo(out: Console, dynamo: Document) -> None:
    elements.print_paragraph(
        out, f"Dynamo ({dynamo['file']}): graphs {dynamo['graphs']}, breaks {dynamo['breaks']}"
    )
    for reason in dynamo["reasons"][:_MAX_REASONS]:
        place = f" at {reason['place']}" if reason["place"] else ""
        elements.print_paragraph(out, f"{reason['reason'] or 'no reason given'}{place}", indent="   ")


def _recording_text(recorded: Document) -> str:
    """The versions and flags of a recording; empty without any."""
    versions, flags = recorded.get("versions") or {}, recorded.get("flags") or {}
    texts = [f"{name} {version}" for name, version in versions.items()]
    texts += [f"{name}={value}" for name, value in flags.items()]
    return f"Recorded with {', '.join(texts)}" if texts else ""
