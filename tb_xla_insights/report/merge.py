"""The report of a session, from the summaries of its hosts."""

from __future__ import annotations

from typing import Any

from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.report.host_document import host_report
from tb_xla_insights.report.summary import HostSummary
from tb_xla_insights.trace.model import SessionTrace


class Merged:
    """One session's report, from summaries that come one by one in the session's order of hosts."""

    def __init__(self, name: str, path: str, all_gaps: bool = False) -> None:
        self._name, self._path, self._all_gaps = name, path, all_gaps
        self._diagnostics: list[Diagnostic] = []
        self._documents: list[dict[str, Any]] = []

    def add(self, summary: HostSummary) -> None:
        """Takes the next host in."""
        self._documents.append(summary.document)

    def skip(self, diagnostic: Diagnostic) -> None:
        """Says why a host is not in the report, or what else there is to know of the session."""
        self._diagnostics.append(diagnostic)

    def document(self) -> dict[str, Any]:
        """The report's document."""
        made = dict(next(iter(self._documents), None) or host_report(SessionTrace(self._name, self._path, [])))
        for other in self._documents[1:]:
            for key, value in other.items():
                if isinstance(value, list):
                    made[key] = made[key] + value
        made["diagnostics"] = [*(it.as_json() for it in self._diagnostics), *made["diagnostics"]]
        return made
