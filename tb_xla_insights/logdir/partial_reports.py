"""Reports of a session of many hosts while some of them are still read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tb_xla_insights.logdir.pod import reported

if TYPE_CHECKING:
    from tb_xla_insights.logdir.session_hosts import Also, SessionHosts
    from tb_xla_insights.pod.comparison import HostComparison
    from tb_xla_insights.report.host_parts import HostParts
    from tb_xla_insights.report.merge import ReportMerger
    from tb_xla_insights.trace.model import SessionTrace

_LEAST_SECONDS = 2.0
"""Between two reports; people cannot read a page that changes more often."""
_COST = 9
"""After a report the next one waits for this many times its duration, so that reports take a tenth of the time."""


@dataclass(frozen=True, eq=False)
class PartialReport:
    """The hosts read by some moment: `session` has their report and no trace, `compared` their arrivals at
    collectives."""

    session: SessionTrace
    compared: HostComparison

    @property
    def hosts(self) -> int:
        return len(self.compared.hosts)


class Reports:
    """Makes reports of the hosts read so far: after 1, 2, 4, … hosts, so that all of these cost at most twice the last
    one; and in between as time allows, so that one slow host does not hide the hosts read since. `parts` grows with
    the hosts; `show` gets each report."""

    def __init__(
        self,
        reader: SessionHosts,
        parts: Also[HostParts],
        show: Callable[[PartialReport], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._parts = parts
        self._show = show
        self._clock = clock
        self._hosts = 0
        self._next = 0.0

    def look(self, merged: ReportMerger) -> None:
        """To be called after every host, and while none comes."""
        began = self._clock()
        hosts = len(self._parts.found)
        is_power = hosts & (hosts - 1) == 0
        if hosts == self._hosts or not (is_power or began >= self._next):
            return
        self._hosts = hosts
        from tb_xla_insights.report.partial import partial_report

        document = partial_report(self._reader.document(merged))
        read = reported(self._reader.files, document, self._parts.in_order())
        compared = self._reader.compared
        assert compared is not None, "a document of hosts compares them"
        self._show(PartialReport(read, compared))
        now = self._clock()
        self._next = now + max(_LEAST_SECONDS, _COST * (now - began))
