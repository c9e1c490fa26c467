"""Sections on what was recorded: text files beside the capture, the hosts' files, and what limits the analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_xla_insights.analysis.sidecar_contents import PRESERVED_COUNTERS
from tb_xla_insights.report.condensed import CONDENSED_FROM
from tb_xla_insights.report.metrics import counts_in_words
from tb_xla_insights.sections.blocks import (
    Block,
    Detail,
    Folded,
    Paragraph,
    Row,
    Section,
    SectionTable,
    noted,
)
from tb_xla_insights.tables.definition import Column, Definition
from tb_xla_insights.tables.devices import FILES
from tb_xla_insights.tables.sidecars import (
    COUNTS_AGAINST_TRACE,
    MATERIALIZATIONS,
    TRACED_BREAKS,
    TRACED_COMPILATIONS,
    TRACED_PROGRAMS,
)
from tb_xla_insights.text import units
from tb_xla_insights.text.english import plural

_COUNTERS = ("UncachedCompile", "CachedCompile", "ExecuteComputation", "ExecuteReplicated", "MarkStep")
_MAX_REASONS = 8

_ALL_COUNTERS = Definition("Counters", (Column("name", "Counter", "code"), Column("value", "Value", "count")))

_MAX_UNFOLDED_COUNTERS = 12


def text_files(report: Row, detail: Detail) -> Section | None:
    """The versions and flags of a recording, the metrics report against the trace, graph breaks, debug logs, advice."""
    blocks = [*_recording(report.get("recorded") or {}), *_metrics(report["metrics"] or {}, detail)]
    files = (report["metrics"] or {}).get("files") or []
    return Section(blocks, "Text files beside the capture", ", ".join(files), narrow=True) if blocks else None


def torch_trace(report: Row, detail: Detail) -> Section | None:
    """What the logs of TORCH_TRACE say: why graphs were made, broken and compiled again."""
    logged = (report["metrics"] or {}).get("torch_trace")
    if not logged:
        return None
    tables = (
        (MATERIALIZATIONS, "materializations"),
        (TRACED_PROGRAMS, "programs"),
        (TRACED_BREAKS, "graph_breaks"),
        (TRACED_COMPILATIONS, "compilations"),
    )
    blocks: list[Block] = []
    for definition, key in tables:
        if rows := logged[key]:
            cut = units.cut_note(detail.rows, len(rows))
            blocks.append(SectionTable(noted(_without_unknown(definition, rows), cut), rows[: detail.rows]))
    if logged["matched"] is None:
        blocks.append(
            Paragraph(
                "It is not known which log is of this capture's process, so that nothing is counted in the capture. "
                "Let each run write into a folder of its own, and keep only the logs of its run beside the capture; "
                "with several processes, let the name of each capture end with its rank, as in vm_3.xplane.pb."
            )
        )
    return Section(blocks, "From TORCH_TRACE", ", ".join(logged["files"])) if blocks else None


_COUNTS_IN_CAPTURE = ("in_capture", "calls")
_RARE = ("failed", "duration_ps")


def _without_unknown(definition: Definition, rows: Sequence[Row]) -> Definition:
    """The table without counts in the capture if none is known, and without failures and times if there are none."""
    left_out = [
        column.key
        for column in definition.columns
        if (column.key in _COUNTS_IN_CAPTURE and all(row[column.key] is None for row in rows))
        or (column.key in _RARE and not any(row[column.key] for row in rows))
    ]
    return definition.without(*left_out)


def _recording(recorded: Row) -> Iterator[Paragraph]:
    versions, flags = recorded.get("versions") or {}, recorded.get("flags") or {}
    texts = [f"{name} {version}" for name, version in versions.items()]
    texts += [f"{name}={value}" for name, value in flags.items()]
    if texts:
        yield Paragraph(f"Recorded with {', '.join(texts)}")


def _metrics(metrics: Row, detail: Detail) -> Iterator[Block]:
    if not metrics:
        return
    if metrics["against_trace"]:
        yield _counts_against_trace(metrics)
    if counters := _counter_texts(metrics):
        cleared = "; torch.compile cleared the others" if metrics["cleared"] else ""
        yield Paragraph(f"Counters beside the capture ({metrics['file']}): {', '.join(counters)}{cleared}")
    if dynamo := metrics["dynamo"]:
        yield Paragraph(f"Dynamo ({dynamo['file']}): graphs {dynamo['graphs']}, breaks {dynamo['breaks']}")
        for reason in dynamo["reasons"][:_MAX_REASONS]:
            place = f" at {reason['place']}" if reason["place"] else ""
            yield Paragraph(f"{reason['reason'] or 'no reason given'}{place}", indented=True)
    if debug := metrics["debug"]:
        yield Paragraph(
            f"Debug log: {plural(debug['compilations'], 'compilation')} and "
            f"{plural(debug['executions'], 'execution')}; it explains "
            f"{plural(debug['joined_compiles'], 'compilation')} and "
            f"{plural(debug['joined_executions'], 'execution')} in the capture."
        )
    yield from (Paragraph(advice, "PyTorch/XLA says") for advice in metrics["advice"])
    yield from _all_counters(metrics["counters"], detail)


def _counts_against_trace(metrics: Row) -> SectionTable:
    definition = (
        COUNTS_AGAINST_TRACE
        if metrics["difference"]
        else COUNTS_AGAINST_TRACE.without("since_earlier_report")
    )
    rows = [
        {**row, "operation": row["label"], "agrees": row["agreement"]} for row in counts_in_words(metrics)
    ]
    return SectionTable(noted(definition, metrics["file"]), rows)


def _counter_texts(metrics: Row) -> list[str]:
    """The values of counters that tell how the program runs."""
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


def _all_counters(counters: Row, detail: Detail) -> Iterator[Block]:
    rows = [{"name": name, "value": value} for name, value in counters.items()][: detail.counters]
    cut = units.cut_note(detail.counters, len(counters))
    table = SectionTable(noted(_ALL_COUNTERS, cut), rows)
    if len(rows) > _MAX_UNFOLDED_COUNTERS:
        yield Folded(f"{cut or units.count(len(rows))} counters", [table])
    elif rows:
        yield table


def hosts_and_diagnostics(report: Row, detail: Detail) -> Section:
    """The hosts' files, of many hosts the largest and the smallest, and what limits the analysis."""
    hosts = report["session"]["hosts"]
    notes = [_diagnostic(row) for row in report["diagnostics"]]
    if len(hosts) < CONDENSED_FROM:
        return Section([SectionTable(FILES, hosts), *notes])
    ordered = sorted(hosts, key=lambda host: -host["bytes"])
    chosen = [*ordered[: detail.rows - 1], ordered[-1]] if len(hosts) > detail.rows else ordered
    count = units.count(len(hosts))
    table = SectionTable(
        noted(FILES, count, "the largest and the smallest" if chosen != ordered else ""), chosen
    )
    return Section([Folded(f"{count} hosts and their files", [table]), *notes])


def _diagnostic(row: Row) -> Paragraph:
    host = f" ({row['host']})" if "host" in row else ""
    return Paragraph(row["message"], f"{row['severity'].capitalize()}{host}", row["severity"])
