"""Reports of the hosts read so far, while the rest of a session is still being read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tb_xla_insights.logdir.opened_session import hosts_without_traces

if TYPE_CHECKING:
    from tb_xla_insights.logdir.session_hosts import SessionHosts
    from tb_xla_insights.report.merge import ReportMerger
    from tb_xla_insights.report.session_view import SessionView

_MIN_INTERVAL_S = 2.0
"""Seconds from one report to the next, unless the number of hosts has reached a power of two; a page that changes more
often is hard to read."""
_PAUSE_PER_DURATION = 9
"""The pause after a report as a multiple of its duration, so that reports take a tenth of the time."""


class PartialReporter:
    """Builds reports of the hosts read so far and passes each to `show`, as a view without events.

    Reports are built after 1, 2, 4, … hosts, which together cost at most twice the last one, and in between as time
    allows, so that the report is updated while one host is slow."""

    def __init__(
        self,
        reader: SessionHosts,
        show: Callable[[SessionView], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._show = show
        self._clock = clock
        self._reported_hosts = 0
        self._next_report_at = 0.0

    def update(self, merger: ReportMerger) -> None:
        """Builds a report if one is due; called after every host and repeatedly while none arrives."""
        start = self._clock()
        host_count = merger.host_count
        is_power_of_two = host_count & (host_count - 1) == 0
        if host_count == self._reported_hosts or not (is_power_of_two or start >= self._next_report_at):
            return
        self._reported_hosts = host_count
        from tb_xla_insights.report.partial import partial_report
        from tb_xla_insights.report.session_view import SessionView

        results = self._reader.results_of(merger)
        results = replace(results, report=partial_report(results.report))
        self._show(SessionView(hosts_without_traces(self._reader.files, results), results))
        now = self._clock()
        self._next_report_at = now + max(_MIN_INTERVAL_S, _PAUSE_PER_DURATION * (now - start))
