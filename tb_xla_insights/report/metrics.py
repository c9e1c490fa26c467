"""The report's `metrics`, from the sidecar files of a capture, and diagnostics if they contradict the trace.

(docs/definitions.md, "Metrics and debug logs")
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.compiles.calls import UNFINISHED
from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.compiles.debug_log import match_logged_executions
from tb_xla_insights.analysis.compiles.torch_trace import is_later, torch_trace_document
from tb_xla_insights.analysis.delays.transfers import find_transfers
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.sidecar_contents import (
    EXTRACTED_GRAPHS_COUNTER,
    PRESERVED_COUNTERS,
    GraphBreaks,
    Metrics,
    Sidecars,
)
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.report.sidecar_files import read_sidecars
from tb_xla_insights.text.english import plural
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.texts import (
        Counted,
        DebugLog,
        DynamoExplanation,
        Figures,
        MetricsAgainstTrace,
        MetricsDifference,
        MetricsRow,
    )
    from tb_xla_insights.schema.texts import (
        Metrics as MetricsPart,
    )

# The metrics behind each figure, by their names in all versions, with PJRT and with XRT.
_METRIC_NAMES: dict[Counted, tuple[str, ...]] = {
    "compile": ("CompileTime", "XrtCompile"),
    "execute": ("ExecuteTime", "ExecuteReplicatedTime", "ExecuteChainedTime"),
    "to_device": ("TransferToDeviceTime", "TransferToServerTime"),
    "from_device": ("TransferFromDeviceTime", "TransferFromServerTime"),
}
_MAX_REASON_CHARS = 300
_NOUNS = {
    "compile": ("compilation", "compilations"),
    "execute": ("execution", "executions"),
    "to_device": ("transfer to the device", "transfers to the device"),
    "from_device": ("transfer from the device", "transfers from the device"),
}


def metrics_document(trace: Trace) -> MetricsPart | None:
    """The report's `metrics`; None without a metrics report, an explanation or a log.

    `file`, `counters`, `cleared` (whether torch.compile cleared most counters), `metrics` (by name: `samples`, `total`
    in `unit`, `percentiles`), `fallbacks` and `figures` are those of the metrics report from the end of the trace.
    `difference` has the differences to the report from before it. `against_trace` has counts of the report and of the
    trace side by side. `dynamo` is an explanation of torch._dynamo, `debug` counts the blocks of PT_XLA_DEBUG logs,
    `advice` is the advice in them, and `unread` has the lines that were not understood.
    """
    sidecars = read_sidecars(trace)
    if not sidecars.files:
        return None
    report, breaks = sidecars.metrics, sidecars.breaks
    return {
        "file": report.file if report else None,
        "counters": report.counters if report else {},
        "cleared": report.is_cleared if report else False,
        "metrics": report.metrics if report else {},
        "fallbacks": report.fallbacks() if report else {},
        "figures": _figures(report) if report else None,
        "difference": _difference(sidecars),
        "against_trace": against_trace(trace),
        "dynamo": _explanation(breaks) if breaks else None,
        "debug": _debug_log(trace, sidecars),
        "torch_trace": torch_trace_document(trace, sidecars.torch_traces),
        "advice": sidecars.advice,
        "files": sidecars.files,
        "unread": [line.as_json() for line in sidecars.unread],
    }


def _explanation(breaks: GraphBreaks) -> DynamoExplanation:
    return {
        "file": breaks.file,
        "graphs": breaks.graphs,
        "breaks": breaks.breaks,
        "ops": breaks.ops,
        "reasons": [graph_break.as_json() for graph_break in breaks.explained],
    }


def _figures(report: Metrics) -> Figures:
    """The main figures of a metrics report. A figure is None if the report lacks it or torch.compile cleared it."""
    return {
        "uncached_compiles": report.counters.get("UncachedCompile"),
        "cached_compiles": None if report.is_cleared else report.counters.get("CachedCompile"),
        "step_markers": None if report.is_cleared else report.counters.get("MarkStep"),
        "fallback_calls": None if report.is_cleared else sum(report.fallbacks().values()),
        "compile_count": report.samples(*_METRIC_NAMES["compile"]),
        "compile_ps": report.total("ps", *_METRIC_NAMES["compile"]),
        "execute_count": report.samples(*_METRIC_NAMES["execute"]),
        "execute_ps": report.total("ps", *_METRIC_NAMES["execute"]),
        "to_device_count": report.samples(*_METRIC_NAMES["to_device"]),
        "to_device_ps": report.total("ps", *_METRIC_NAMES["to_device"]),
        "from_device_count": report.samples(*_METRIC_NAMES["from_device"]),
        "from_device_ps": report.total("ps", *_METRIC_NAMES["from_device"]),
        "to_device_bytes": report.total("bytes", "OutboundData"),
        "from_device_bytes": report.total("bytes", "InboundData"),
    }


def _difference(sidecars: Sidecars) -> MetricsDifference | None:
    if sidecars.metrics is None or sidecars.before is None:
        return None
    difference = sidecars.metrics.since(sidecars.before)
    if difference is None:
        return None
    return {
        "before": sidecars.before.file,
        "after": sidecars.metrics.file,
        "counters": {name: value for name, value in difference.counters.items() if value},
        "metrics": {name: metric for name, metric in difference.metrics.items() if metric["samples"] != 0},
        "fallbacks": difference.fallbacks(),
        "figures": _figures(difference),
    }


def against_trace(trace: Trace) -> list[MetricsAgainstTrace]:
    """Counts of operations in a metrics report and in the trace: `operation`, `metrics` (None: not in the report),
    `since_earlier_report` (the count since the report from before the trace; None without one) and `trace`. Operations
    that occur in neither have no row. A report covers at least the capture of its own process, so `agrees` is false if
    it counts less."""
    sidecars = read_sidecars(trace)
    if sidecars.metrics is None:
        return []
    difference = sidecars.metrics.since(sidecars.before) if sidecars.before else None
    rows: list[MetricsAgainstTrace] = []
    for operation, names in _METRIC_NAMES.items():
        total = sidecars.metrics.samples(*names)
        count_since = difference.samples(*names) if difference else None
        reported = total if count_since is None else count_since
        in_trace = _count(trace, operation)
        if total is not None or in_trace:
            rows.append(
                {
                    "operation": operation,
                    "metrics": total,
                    "since_earlier_report": count_since,
                    "trace": in_trace,
                    "agrees": reported is None or reported >= in_trace,
                }
            )
    return rows


def counts_in_words(metrics: Mapping[str, Any]) -> list[MetricsRow]:
    """The `against_trace` of a report's `metrics` with the time in the metrics report, and in words."""
    rows: list[MetricsAgainstTrace] = metrics["against_trace"]
    return [
        {
            **row,
            "time_ps": metrics["figures"][f"{row['operation']}_ps"],
            "label": _NOUNS[row["operation"]][1].capitalize(),
            "agreement": "" if row["agrees"] else "disagree",
        }
        for row in rows
    ]


def _count(trace: Trace, operation: str) -> int:
    """The count of `operation` in the trace."""
    if operation == "compile":
        # A report counts a compilation when it is finished.
        return int((find_compilations(trace).cut & UNFINISHED == 0).sum())
    if operation == "execute":
        return len(find_launches(trace))
    direction = 0 if operation == "to_device" else 1
    return int((find_transfers(trace).direction == direction).sum())


def _debug_log(trace: Trace, sidecars: Sidecars) -> DebugLog | None:
    """The numbers of `compilations` and `executions` in the logs, and of those in the trace that the logs explain."""
    if not sidecars.compilations and not sidecars.executions:
        return None
    hashes = [graph for graph in find_compilations(trace).graph_hash if graph]
    blocks = [*sidecars.compilations, *sidecars.executions]
    return {
        "compilations": len(sidecars.compilations),
        "executions": len(sidecars.executions),
        "graphs": len({block.graph for block in blocks if block.graph}),
        "joined_compiles": sum(graph in sidecars.causes for graph in hashes),
        "joined_executions": len(match_logged_executions(trace, sidecars.executions)),
    }


def sidecar_diagnostics(trace: Trace) -> list[Diagnostic]:
    """Diagnostics about contradictions between sidecar files and trace, and about lines that are not understood."""
    sidecars = read_sidecars(trace)
    disagreements = _disagreements(trace) if sidecars.files else ()
    return [*disagreements, *_unread_lines(sidecars)] if sidecars.files or sidecars.unread else []


def _disagreements(trace: Trace) -> Iterator[Diagnostic]:
    sidecars = read_sidecars(trace)
    file = sidecars.metrics.file if sidecars.metrics else ""
    for row in against_trace(trace):
        if not row["agrees"]:
            singular, plural_noun = _NOUNS[row["operation"]]
            count_since = row["since_earlier_report"]
            reported_count = row["metrics"] or 0 if count_since is None else count_since
            count = plural(reported_count, singular, plural_noun)
            period = "in all" if count_since is None else "since the report from before the trace"
            yield Diagnostic(
                "metrics_disagree",
                "warning",
                f"{file} counts {count} {period}, the capture alone has {row['trace']}: the report is from "
                "another run or process.",
                variant=f"{row['operation']} {period}",
            )
    if sidecars.before and sidecars.metrics and sidecars.metrics.since(sidecars.before) is None:
        yield Diagnostic(
            "metrics_disagree",
            "warning",
            f"{sidecars.metrics.file} counts less than {sidecars.before.file}: they are not two reports of one "
            "run in this order, the metrics were cleared between them, or the file is truncated. No difference "
            "is shown.",
            variant="not in this order",
        )
    if sidecars.metrics and sidecars.metrics.is_cleared:
        extractions = plural(sidecars.metrics.counters[EXTRACTED_GRAPHS_COUNTER], "time")
        yield Diagnostic(
            "metrics_disagree",
            "info",
            f"{sidecars.metrics.file}: torch.compile cleared the counters whenever it extracted a graph "
            f"({extractions}), so all but {' and '.join(sorted(PRESERVED_COUNTERS))} "
            "count only the time after the last extraction. Metrics with samples are complete.",
            variant="",
        )
    yield from _log_disagreements(trace, sidecars)


def _log_disagreements(trace: Trace, sidecars: Sidecars) -> Iterator[Diagnostic]:
    blocks = [*sidecars.compilations, *sidecars.executions]
    names = list(dict.fromkeys(block.file for block in blocks))
    files_cover = f"{', '.join(names)} {'covers' if len(names) == 1 else 'cover'}"
    compiled = {graph for graph in find_compilations(trace).graph_hash if graph}
    explained = compiled & set(sidecars.causes)
    if sidecars.compilations and compiled and len(explained) < len(compiled):
        graphs, meaning = (
            (f"{len(explained)} of the {len(compiled)} graphs", "no cause is known for the others")
            if explained
            else ("no graph", "the log is from another run or process, or incomplete")
        )
        yield Diagnostic(
            "debug_log_disagrees",
            "info" if explained else "warning",
            f"{files_cover} {graphs} compiled in the capture: {meaning}.",
            variant="graphs",
        )
    for log in sidecars.torch_traces:
        if is_later(trace, log):
            yield Diagnostic(
                "debug_log_disagrees",
                "info",
                f"{log.file} begins after the capture's end: it is of another run, and not used.",
                variant=log.file,
            )
    launches = len(find_launches(trace))
    if sidecars.executions and launches and not match_logged_executions(trace, sidecars.executions):
        yield Diagnostic(
            "debug_log_disagrees",
            "info",
            f"{files_cover} {plural(len(sidecars.executions), 'execution')} in an order that does not match the "
            f"capture's {launches}: no cause of an execution is known.",
            variant="executions",
        )


def _unread_lines(sidecars: Sidecars) -> Iterator[Diagnostic]:
    for file in dict.fromkeys(line.file for line in sidecars.unread):
        rows = [row for row in sidecars.unread if row.file == file]
        if reasons := "; ".join(row.text for row in rows if not row.line)[:_MAX_REASON_CHARS]:
            yield Diagnostic(
                "text_not_understood", "info", f"{file} is not used, or only in part: {reasons}."
            )
        if lines := [row for row in rows if row.line]:
            more = f", and {plural(len(lines) - 1, 'more place')}" if len(lines) > 1 else ""
            rest = "" if reasons else "; the rest is used"
            yield Diagnostic(
                "text_not_understood",
                "info",
                f"{file}: line {lines[0].line} is not understood ({lines[0].text[:80]}){more}{rest}.",
            )
