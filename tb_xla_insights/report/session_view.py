"""A session as its views and comparisons see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tb_xla_insights.analysis.memo import memoised_on
from tb_xla_insights.report.document import merged_hosts
from tb_xla_insights.report.host_tables import HostTables
from tb_xla_insights.trace.model import SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.pod.comparison import HostComparison
    from tb_xla_insights.schema.report import Report


@dataclass(frozen=True, eq=False)
class SessionResults:
    """What is known of a session without its events: the report with all gaps, the further tables of each host, in the
    session's order, and the comparison of the hosts."""

    report: Report
    tables: Sequence[HostTables]
    comparison: HostComparison


class SessionView:
    """The results of all hosts of a session, and the hosts whose events are in memory: all, some, or none. Views keep
    their answers with it (see `memoised_on`)."""

    def __init__(self, hosts: SessionTrace, results: SessionResults | None = None) -> None:
        """`results`: None if all hosts are in memory; they are computed when they are first needed."""
        self.hosts = hosts
        self._given = results

    @property
    def has_results(self) -> bool:
        """Whether the results were given, as not all hosts need to be in memory."""
        return self._given is not None

    @property
    def results(self) -> SessionResults:
        return self._given or memoised_on(self, "results", lambda: results_of_hosts(self.hosts))

    @property
    def report(self) -> Report:
        """The report with all gaps."""
        return self.results.report


def results_of_hosts(hosts: SessionTrace) -> SessionResults:
    """The results of hosts in memory, which are all of the session."""
    merger = merged_hosts(hosts, all_gaps=True, with_tables=True)
    assert merger.comparison is not None, "a session has a host"
    return SessionResults(merger.document(), merger.tables, merger.comparison)
