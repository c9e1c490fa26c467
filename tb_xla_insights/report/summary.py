"""What a session's report needs of one host: small enough to send, and all that is kept once the trace is let go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tb_xla_insights.pod.collectives import HostCollectives, host_collectives
from tb_xla_insights.report.host_document import host_report
from tb_xla_insights.report.step_rows import StepRows
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.report import HostReport


@dataclass(frozen=True)
class HostSummary:
    """One host of a session. `base_unix_ns`: epoch nanoseconds of the document's time 0, 0 where the file records no
    epoch. `document`: what the host's report says of it alone. `collectives`: what those of all hosts are compared by.
    """

    host: str
    base_unix_ns: int
    document: HostReport
    collectives: HostCollectives


def summarise(
    trace: Trace, name: str, path: str, all_gaps: bool = False, samples_per_step: float | None = None
) -> HostSummary:
    """The summary of one host; `name` and `path` are the session's. Times count from the trace's own zero.

    Files beside the capture (`report.beside`) are read here.
    """
    session = SessionTrace(name, path, [trace])
    document = host_report(session, all_gaps, samples_per_step)
    document["steps"] = StepRows.from_rows(document["steps"])
    return HostSummary(trace.host, trace.base_unix_ns, document, host_collectives(trace))
