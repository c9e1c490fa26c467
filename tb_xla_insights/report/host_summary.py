"""The summary of one host for the session's report: small enough to send to another process, and all that remains once
the trace is released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tb_xla_insights.analysis.findings import Findings
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.pod.collectives import HostCollectives, host_collectives
from tb_xla_insights.report.host_document import host_report
from tb_xla_insights.report.step_rows import StepRows
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.report.host_tables import HostTables
    from tb_xla_insights.schema.report import HostReport


@dataclass(frozen=True)
class HostSummary:
    """One host of a session. `base_unix_ns`: epoch nanoseconds of the document's time 0, 0 if the file records no
    epoch. `document`, `findings` and `diagnostics`: see `HostResults`. `collectives`: its collectives, for the
    comparison of hosts; `tables`: its tables for views, None unless they are wanted. `first_event_ps`: the start of its
    first event."""

    host: str
    base_unix_ns: int
    document: HostReport
    findings: Findings
    diagnostics: Sequence[Diagnostic]
    collectives: HostCollectives
    tables: HostTables | None = None
    first_event_ps: int = 0


def summarise(
    trace: Trace,
    name: str,
    path: str,
    all_gaps: bool = False,
    samples_per_step: float | None = None,
    with_tables: bool = False,
) -> HostSummary:
    """Summarises one host; `name` and `path` are the session's. Times count from the trace's own zero.

    Reads the files beside the capture (`report.sidecars`).
    """
    document, findings, diagnostics = host_report(trace, name, path, all_gaps, samples_per_step)
    document["steps"] = StepRows.from_rows(document["steps"])
    tables = None
    if with_tables:
        from tb_xla_insights.report.host_tables import host_tables  # only views need them

        tables = host_tables(trace)
    collectives = host_collectives(trace)
    return HostSummary(
        trace.host, trace.base_unix_ns, document, findings, diagnostics, collectives, tables, trace.span_ps[0]
    )
