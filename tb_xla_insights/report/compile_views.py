"""The document of the view on compilations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from tb_xla_insights.analysis.compiles.graph_words import types_text
from tb_xla_insights.analysis.findings.compile_advice import (
    CAPTURE_AGAIN,
    HOW_TO_LOG_COMPILATIONS,
    Tracer,
    advise_change,
    advise_unknown_change,
    find_tracer,
    location_text,
)
from tb_xla_insights.analysis.memo import memoised_on
from tb_xla_insights.columns.merge import merged
from tb_xla_insights.report.compile_text import (
    UNKNOWN_GRAPH,
    compile_heading,
    compile_reason,
    compile_state,
    difference_text,
)
from tb_xla_insights.report.execution_views import step_numbers
from tb_xla_insights.report.metrics import counts_in_words
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.schema.compiles_route import GraphRow
from tb_xla_insights.text.english import plural
from tb_xla_insights.text.units import count

if TYPE_CHECKING:
    from tb_xla_insights.schema.compiles_route import CompileRow, Compiles, CountedMetrics
    from tb_xla_insights.schema.launches import Compile
    from tb_xla_insights.schema.texts import Metrics

_MAX_GRAPHS = 100
_CAUSES_SOURCE = "from the log beside the capture"


def compiles(session: SessionView) -> Compiles:
    """The document of `data/compiles`: the report's rows, each with texts (see `compile_text`) and `advice` (None in
    warm-up); the first _MAX_GRAPHS graphs, each with the steps in which it was compiled or ran; the steps' numbers and
    hosts (`step_hosts`: `[host, number of steps]` in the order of steps); the counts of a metrics report beside the
    capture; the source of the causes (`note`), and how to record them."""
    return memoised_on(session, "compiles", lambda: _compiles(session))


def _compiles(session: SessionView) -> Compiles:
    report = session.report
    uses_dynamo = any(row["kind"] == "dynamo" for row in report["executions"])
    tracer = find_tracer(uses_dynamo, report["environment"]["framework"])
    is_server = report["iterations"] is not None
    compiled = {
        (row["host"], row["module"], row["program_id"]) for row in report["compiles"] if row["module"]
    }
    programs = Counter((host, module) for host, module, _ in compiled)
    graphs = _graphs(session)
    return {
        "compiles": [
            _compile_row(row, tracer, programs[row["host"], row["module"] or ""], is_server)
            for row in report["compiles"]
        ],
        "graphs": graphs[:_MAX_GRAPHS],
        "graph_count": len(graphs),
        "steps": step_numbers(report["steps"]),
        "step_hosts": [
            (host, sum(1 for _ in steps))
            for host, steps in groupby(report["steps"], key=lambda step: step["host"])
        ],
        "metrics": counted_metrics(report["metrics"]),
        "note": _CAUSES_SOURCE if any(row["cause"] or row["frame"] for row in report["compiles"]) else None,
        "how_to_record_causes": HOW_TO_LOG_COMPILATIONS[tracer],
    }


def _compile_row(row: Compile, tracer: Tracer, programs: int, is_server: bool) -> CompileRow:
    """A row with its texts. `programs`: the number of programs of its module's name that its host compiled."""
    return {
        **row,
        "graph": row["graph"] or UNKNOWN_GRAPH,
        "state": compile_state(row),
        "what_is_new": difference_text(row),
        "heading": compile_heading(row),
        "reason": compile_reason(row),
        "advice": _compile_advice(row, tracer, programs, is_server),
    }


def _compile_advice(row: Compile, tracer: Tracer, programs: int, is_server: bool) -> str | None:
    """Advice on one compilation; None in warm-up. `programs`: see `_compile_row`."""
    if row["warm_up"]:
        return None
    place = location_text(row["frame"], None, row["annotation"])
    if row["change"] is not None:
        parameters = row["nearest"]["parameters"] if row["nearest"] else []
        types = types_text((parameter["before"], parameter["after"]) for parameter in parameters)
        return advise_change(row["change"], tracer, place, types, is_server)
    if row["cut"]:
        return CAPTURE_AGAIN
    # Without hashes, graphs of the same name differ in their programs only.
    return advise_unknown_change(place, "", variants=max(programs, 1 + len(row["graphs_of_same_name"])))


def counted_metrics(metrics: Metrics | None) -> CountedMetrics | None:
    """The counts of a metrics report beside the capture, next to the trace's own; None without a report."""
    figures = metrics["figures"] if metrics is not None else None
    if metrics is None or metrics["file"] is None or figures is None:
        return None
    compiled, cached = figures["uncached_compiles"], figures["cached_compiles"]
    fallbacks = metrics["fallbacks"] or (None if figures["fallback_calls"] is None else {})
    return {
        "file": metrics["file"],
        "rows": counts_in_words(metrics),
        "uncached_compiles": compiled,
        "cached_compiles": cached,
        "fallbacks": fallbacks,
        "text": _counts_text(compiled, cached, fallbacks),
    }


def _counts_text(compiled: int | None, cached: int | None, fallbacks: Mapping[str, int] | None) -> str:
    """Sentences on what a metrics report counts; nothing about counts that are None."""
    graphs = [] if compiled is None else [f"{plural(compiled, 'graph')} compiled"]
    graphs += [] if cached is None else [f"{count(cached)} taken from the cache"]
    sentences = [f"{', '.join(graphs)}."] if graphs else []
    if fallbacks:
        operators = ", ".join(f"{name} {count(calls)}×" for name, calls in fallbacks.items())
        sentences.append(f"Operators on the CPU: {operators}.")
    elif fallbacks is not None:
        sentences.append("No operator ran on the CPU.")
    return " ".join(sentences)


def _graphs(session: SessionView) -> list[GraphRow]:
    """The graphs of all hosts: those with most compilations first, then those that took longest to compile, or ran in
    most steps, then as they first occur. The keys of `steps` are indices into the session's steps,
    as text."""
    hosts, offset = [], 0
    for host in session.results.tables:
        hosts.append([_with_step_offset(row, offset) for row in host.graphs])
        offset += host.steps
    names = dict.fromkeys(row["graph"] for rows in hosts for row in rows)
    by_name = {row["graph"]: row for row in merged(GraphRow, hosts, "compiles")}
    return sorted(
        (by_name[name] for name in names),
        key=lambda graph: (-graph["compiles"], -graph["cost_ps"], -len(graph["steps"])),
    )


def _with_step_offset(row: GraphRow, offset: int) -> GraphRow:
    return {**row, "steps": {str(int(step) + offset): state for step, state in row["steps"].items()}}
