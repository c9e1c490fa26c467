"""The report's document of a session, merged from those of its hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_xla_insights.device_work import with_peaks
from tb_xla_insights.device_work.bottlenecks import with_bottlenecks
from tb_xla_insights.report.host_summary import summarise
from tb_xla_insights.report.merge import ReportMerger
from tb_xla_insights.report.verdict import verdict
from tb_xla_insights.trace.model import SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.schema.report import Report


def session_report(
    session: SessionTrace, all_gaps: bool = False, samples_per_step: float | None = None
) -> Report:
    """The whole document, as the command line, Python and the page return it; docs/report.md lists every key.

    Steps and gaps of all hosts are in one list each; a `step` elsewhere in the document is an index into `steps`.
    Files beside the capture (`report.sidecars`) are read at the first call. `samples_per_step` overrides the number in
    the recording's file.
    """
    return merged_hosts(session, all_gaps, samples_per_step).document()


def merged_hosts(
    session: SessionTrace,
    all_gaps: bool = False,
    samples_per_step: float | None = None,
    with_tables: bool = False,
) -> ReportMerger:
    """The hosts of a session in memory, merged; `with_tables`: also the tables for its views."""
    merger = ReportMerger(session.name, session.path, all_gaps)
    for diagnostic in session.diagnostics:
        merger.add_diagnostic(diagnostic)
    for trace in session.traces:
        merger.add(summarise(trace, session.name, session.path, all_gaps, samples_per_step, with_tables))
    return merger


def report_with_peaks(document: Report, peaks: tuple[float, float]) -> Report:
    """The document with given peaks per device, in FLOP/s and bytes/s. They change the findings and the verdict only of
    devices that are the bottleneck, and these wait for nothing."""
    document = with_peaks(document, peaks)
    detailed = with_bottlenecks(document)
    return document if detailed is document else {**detailed, "verdict": verdict(detailed, {})}
