"""What can be told of a session of many hosts while some of them are still to come."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tb_xla_insights.logdir.pod import reported

if TYPE_CHECKING:
    from tb_xla_insights.logdir.hosts import SessionHosts
    from tb_xla_insights.pod.compared import Compared
    from tb_xla_insights.pod.hosts import HostInput
    from tb_xla_insights.report.host_parts import Parts
    from tb_xla_insights.report.merge import Merged
    from tb_xla_insights.trace.model import SessionTrace

_LEAST_SECONDS = 2.0
"""A page that changes more often cannot be read."""
_COST = 4
"""A report takes no more than one part in so many of the time since the last one."""


@dataclass(frozen=True, eq=False)
class SoFar:
    """The hosts that were read by some moment: `session` has their report and no trace, `told` what their comparison
    looks at."""

    session: SessionTrace
    told: list[HostInput]

    @property
    def hosts(self) -> int:
        return len(self.told)

    @cached_property
    def compared(self) -> Compared:
        """How these hosts came to what they did together."""
        from tb_xla_insights.pod.compared import compare_hosts

        return compare_hosts(self.told)


class Reports:
    """Makes the report of the hosts read so far: after the first, the second, the fourth, and so on, so that all of
    these cost no more than twice the last; and between them as time allows, so that a host that takes long does not
    hide those that came meanwhile. `parts` grows with the hosts, `show` is given each report."""

    def __init__(
        self,
        reader: SessionHosts,
        parts: dict[int, Parts],
        show: Callable[[SoFar], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._parts = parts
        self._show = show
        self._clock = clock
        self._hosts = 0
        self._next = 0.0

    def look(self, merged: Merged) -> None:
        """To be called after every host, and while none comes."""
        began = self._clock()
        hosts = len(self._parts)
        is_power = hosts & (hosts - 1) == 0
        if hosts == self._hosts or not (is_power or began >= self._next):
            return
        self._hosts = hosts
        from tb_xla_insights.report.unfinished import unfinished

        document = unfinished(self._reader.document(merged))
        parts = [self._parts[place] for place in sorted(self._parts)]
        self._show(SoFar(reported(self._reader.files, document, parts), merged.hosts()))
        now = self._clock()
        self._next = now + max(_LEAST_SECONDS, _COST * (now - began))
