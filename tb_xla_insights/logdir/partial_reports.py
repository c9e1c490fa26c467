"""Reports of the hosts read so far, while the rest of a session is still being read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tb_xla_insights.logdir.pod import reported_session

if TYPE_CHECKING:
    from tb_xla_insights.logdir.session_hosts import HostExtras, SessionHosts
    from tb_xla_insights.pod.comparison import HostComparison
    from tb_xla_insights.report.merge import ReportMerger
    from tb_xla_insights.report.view_data import ViewData
    from tb_xla_insights.trace.model import SessionTrace

_MIN_INTERVAL_S = 2.0
"""Seconds from one report to the next, unless the number of hosts has reached a power of two; a page that changes more
often is hard to read."""
_PAUSE_PER_DURATION = 9
"""The pause after a report as a multiple of its duration, so that reports take a tenth of the time."""


@dataclass(frozen=True, eq=False)
class PartialReport:
    """The hosts read so far: `session` has their report and no trace, `comparison` their arrivals at collectives."""

    session: SessionTrace
    comparison: HostComparison

    @property
    def host_count(self) -> int:
        return len(self.comparison.hosts)


class PartialReporter:
    """Builds reports of the hosts read so far and passes each to `show`.

    Reports are built after 1, 2, 4, … hosts, which together cost at most twice the last one, and in between as time
    allows, so that the report is updated while one host is slow. `extras` grows with the hosts read."""

    def __init__(
        self,
        reader: SessionHosts,
        extras: HostExtras[ViewData],
        show: Callable[[PartialReport], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._extras = extras
        self._show = show
        self._clock = clock
        self._reported_hosts = 0
        self._next_report_at = 0.0

    def update(self, merger: ReportMerger) -> None:
        """Builds a report if one is due; called after every host and repeatedly while none arrives."""
        start = self._clock()
        host_count = len(self._extras.results)
        is_power_of_two = host_count & (host_count - 1) == 0
        if host_count == self._reported_hosts or not (is_power_of_two or start >= self._next_report_at):
            return
        self._reported_hosts = host_count
        from tb_xla_insights.report.partial import partial_report

        document = partial_report(self._reader.document(merger))
        session = reported_session(self._reader.files, document, self._extras.in_session_order())
        comparison = self._reader.comparison
        assert comparison is not None, "set by `document`"
        self._show(PartialReport(session, comparison))
        now = self._clock()
        self._next_report_at = now + max(_MIN_INTERVAL_S, _PAUSE_PER_DURATION * (now - start))
