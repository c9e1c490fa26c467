"""What the files beside a capture say, as the report's `metrics`, and where they and the trace disagree.

(docs/definitions.md, "Metrics and debug logs")
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tb_xla_insights.analysis.compiles.calls import UNFINISHED
from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.compiles.debug_log import match_logged_executions
from tb_xla_insights.analysis.findings.base import plural
from tb_xla_insights.analysis.host.transfers import find_transfers
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.sidecars import (
    EXTRACTED_GRAPHS_COUNTER,
    PRESERVED_COUNTERS,
    GraphBreaks,
    Metrics,
    Sidecars,
)
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.report.sidecars import read_sidecars
from tb_xla_insights.trace.model import SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.schema.texts import (
        Counted,
        DebugLog,
        DynamoExplanation,
        Figures,
        MetricsAgainstTrace,
        MetricsDifference,
    )
    from tb_xla_insights.schema.texts import (
        Metrics as MetricsPart,
    )

# The metrics behind each figure, in the names of all versions: with PJRT and with XRT.
_NAMES: dict[Counted, tuple[str, ...]] = {
    "compile": ("CompileTime", "XrtCompile"),
    "execute": ("ExecuteTime", "ExecuteReplicatedTime", "ExecuteChainedTime"),
    "to_device": ("TransferToDeviceTime", "TransferToServerTime"),
    "from_device": ("TransferFromDeviceTime", "TransferFromServerTime"),
}
_LONGEST_REASON = 300
_WORDS = {
    "compile": ("compilation", "compilations"),
    "execute": ("execution", "executions"),
    "to_device": ("transfer to the device", "transfers to the device"),
    "from_device": ("transfer from the device", "transfers from the device"),
}


def metrics_document(session: SessionTrace) -> MetricsPart | None:
    """The report's `metrics`; None where nothing lies beside the capture.

    `file`, `counters`, `cleared` (whether torch.compile cleared most of them), `metrics` (by name: `samples`, `total`
    in `unit`, `percentiles`), `fallbacks` and `figures` are of the report at the end, `difference` has the same since
    the one from before the trace. `against_trace` lays counts of both side by side. `dynamo` is an explanation of
    torch._dynamo, `debug` counts the blocks of PT_XLA_DEBUG logs, `unread` tells what was not understood.
    """
    found = read_sidecars(session)
    if not found.files:
        return None
    report, breaks = found.metrics, found.breaks
    return {
        "file": report.file if report else None,
        "counters": report.counters if report else {},
        "cleared": report.cleared if report else False,
        "metrics": report.metrics if report else {},
        "fallbacks": report.fallbacks() if report else {},
        "figures": _figures(report) if report else None,
        "difference": _difference(found),
        "against_trace": against_trace(session),
        "dynamo": _explanation(breaks) if breaks else None,
        "debug": _debug(session, found),
        "advice": found.advice,
        "files": found.files,
        "unread": [it.as_json() for it in found.unread],
    }


def _explanation(breaks: GraphBreaks) -> DynamoExplanation:
    return {
        "file": breaks.file,
        "graphs": breaks.graphs,
        "breaks": breaks.breaks,
        "ops": breaks.ops,
        "reasons": breaks.reasons,
    }


def _figures(report: Metrics) -> Figures:
    """What people look for first. A figure is None where the report has nothing of it, or torch.compile cleared it."""
    return {
        "uncached_compiles": report.counters.get("UncachedCompile"),
        "cached_compiles": None if report.cleared else report.counters.get("CachedCompile"),
        "step_markers": None if report.cleared else report.counters.get("MarkStep"),
        "fallback_calls": None if report.cleared else sum(report.fallbacks().values()),
        "compile_count": report.samples(*_NAMES["compile"]),
        "compile_ps": report.total("ps", *_NAMES["compile"]),
        "execute_count": report.samples(*_NAMES["execute"]),
        "execute_ps": report.total("ps", *_NAMES["execute"]),
        "to_device_count": report.samples(*_NAMES["to_device"]),
        "to_device_ps": report.total("ps", *_NAMES["to_device"]),
        "from_device_count": report.samples(*_NAMES["from_device"]),
        "from_device_ps": report.total("ps", *_NAMES["from_device"]),
        "to_device_bytes": report.total("bytes", "OutboundData"),
        "from_device_bytes": report.total("bytes", "InboundData"),
    }


def _difference(found: Sidecars) -> MetricsDifference | None:
    if found.metrics is None or found.before is None:
        return None
    changed = found.metrics.since(found.before)
    if changed is None:
        return None
    return {
        "before": found.before.file,
        "after": found.metrics.file,
        "counters": {name: value for name, value in changed.counters.items() if value},
        "metrics": {name: it for name, it in changed.metrics.items() if it["samples"] != 0},
        "fallbacks": changed.fallbacks(),
        "figures": _figures(changed),
    }


def against_trace(session: SessionTrace) -> list[MetricsAgainstTrace]:
    """Counts that a metrics report and the trace both have: `what`, `metrics` (None: not in the report), `since` (since
    the report from before the trace) and `trace`. A report covers at least the capture of its own process, so `agrees`
    is false where it counts less than the host with the fewest."""
    found = read_sidecars(session)
    if found.metrics is None or not session.traces:
        return []
    changed = found.metrics.since(found.before) if found.before else None
    rows: list[MetricsAgainstTrace] = []
    for what, names in _NAMES.items():
        whole, part = found.metrics.samples(*names), changed.samples(*names) if changed else None
        least = part if part is not None else whole
        trace = _counts(session, what)
        if whole is not None or any(trace):
            rows.append(
                {
                    "what": what,
                    "metrics": whole,
                    "since": part,
                    "trace": sum(trace),
                    "agrees": least is None or least >= min(trace),
                }
            )
    return rows


def _counts(session: SessionTrace, what: str) -> list[int]:
    """Per host, how often the trace shows it."""
    if what == "compile":
        # A report counts a compilation when it is finished.
        return [int((find_compilations(trace).cut & UNFINISHED == 0).sum()) for trace in session.traces]
    if what == "execute":
        return [len(find_launches(trace)) for trace in session.traces]
    direction = 0 if what == "to_device" else 1
    return [int((find_transfers(trace).direction == direction).sum()) for trace in session.traces]


def _debug(session: SessionTrace, found: Sidecars) -> DebugLog | None:
    """`compilations` and `executions` in the logs, and how many of the trace's are among them."""
    if not found.compilations and not found.executions:
        return None
    compiled = [graph for trace in session.traces for graph in find_compilations(trace).graph_hash if graph]
    return {
        "compilations": len(found.compilations),
        "executions": len(found.executions),
        "graphs": len({it.graph for it in [*found.compilations, *found.executions] if it.graph}),
        "joined_compiles": sum(graph in found.causes for graph in compiled),
        "joined_executions": len(match_logged_executions(session, found.executions)),
    }


def sidecar_diagnostics(session: SessionTrace) -> list[Diagnostic]:
    """Where texts and trace disagree, and what in the texts is not understood."""
    found = read_sidecars(session)
    disagreements = _disagreements(session) if found.files else ()
    return [*disagreements, *_unread(found)] if found.files or found.unread else []


def _disagreements(session: SessionTrace) -> Iterator[Diagnostic]:
    found = read_sidecars(session)
    file = found.metrics.file if found.metrics else ""
    for row in against_trace(session):
        if not row["agrees"]:
            one, many = _WORDS[row["what"]]
            part = row["since"] is not None
            counted = row["since"] if row["since"] is not None else row["metrics"] or 0
            told = plural(counted, one, many)
            covers = "since the one from before the trace" if part else "in all"
            yield Diagnostic(
                "metrics_disagree",
                "warning",
                f"{file} counts {told} {covers}, the capture alone has {row['trace']}: the report is of another run or "
                "another process.",
            )
    if found.before and found.metrics and found.metrics.since(found.before) is None:
        yield Diagnostic(
            "metrics_disagree",
            "warning",
            f"{found.metrics.file} has less than {found.before.file}: they are not two reports of one run in this "
            "order, the metrics were cleared between them, or it is cut short. No difference is shown.",
        )
    if found.metrics and found.metrics.cleared:
        yield Diagnostic(
            "metrics_disagree",
            "info",
            f"{found.metrics.file}: torch.compile cleared the counters whenever it extracted a graph "
            f"({plural(found.metrics.counters[EXTRACTED_GRAPHS_COUNTER], 'time')}), so all but "
            f"{' and '.join(sorted(PRESERVED_COUNTERS))} count only what came after the last one. "
            "Metrics with samples are whole.",
        )
    yield from _log_disagrees(session, found)


def _log_disagrees(session: SessionTrace, found: Sidecars) -> Iterator[Diagnostic]:
    files = ", ".join(dict.fromkeys(it.file for it in [*found.compilations, *found.executions]))
    compiled = {graph for trace in session.traces for graph in find_compilations(trace).graph_hash if graph}
    known = compiled & set(found.causes)
    if found.compilations and compiled and len(known) < len(compiled):
        told, meaning = (
            (str(len(known)), "the others have no cause here")
            if known
            else ("none", "it is of another run or process, or a part of a log")
        )
        yield Diagnostic(
            "debug_log_disagrees",
            "info" if known else "warning",
            f"{files} tells of {told} of the {plural(len(compiled), 'graph')} compiled in the capture: {meaning}.",
        )
    launches = sum(len(find_launches(trace)) for trace in session.traces)
    if (
        len(session.traces) == 1
        and found.executions
        and launches
        and not match_logged_executions(session, found.executions)
    ):
        yield Diagnostic(
            "debug_log_disagrees",
            "info",
            f"{files} tells of {plural(len(found.executions), 'execution')} in an order that does not fit the "
            f"capture's {launches}: no execution gets a cause from it.",
        )


def _unread(found: Sidecars) -> Iterator[Diagnostic]:
    for file in dict.fromkeys(it.file for it in found.unread):
        mine = [it for it in found.unread if it.file == file]
        if not mine[0].line:
            reasons = "; ".join(it.text for it in mine)[:_LONGEST_REASON]
            yield Diagnostic(
                "text_not_understood", "info", f"{file} is not used, or not all of it: {reasons}."
            )
            continue
        more = f", and {plural(len(mine) - 1, 'more place')}" if len(mine) > 1 else ""
        yield Diagnostic(
            "text_not_understood",
            "info",
            f"{file}: line {mine[0].line} is not understood ({mine[0].text[:80]}){more}; the rest is used.",
        )
