"""Hosts that are in memory, and what draws them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tb_xla_insights.escapes import escaped
from tb_xla_insights.logdir.sessions import SessionFiles

if TYPE_CHECKING:
    from tb_xla_insights.pod.arrivals import Arrivals
    from tb_xla_insights.pod.comparison import HostComparison
    from tb_xla_insights.schema.report import Report
    from tb_xla_insights.timeline import Timeline
    from tb_xla_insights.trace.model import SessionTrace, Trace

_log = logging.getLogger(__name__)
_COMPARING = threading.Lock()


@dataclass(frozen=True, eq=False)
class LoadedHosts:
    """A session that is in memory, or some hosts of one whose `report` is."""

    files: SessionFiles
    trace: SessionTrace
    timeline: Timeline
    report: Report | None = None

    def choose(
        self, _items: Sequence[str] | None, _needed: Iterable[int] = (), _strict: bool = False
    ) -> LoadedHosts:
        """All hosts: they are all in memory."""
        return self

    def places(self, _ids: Iterable[str] = (), _devices: Iterable[str] = ()) -> set[int]:
        return set()

    def places_of_step(self, _step: int | None, _usual: bool = False) -> set[int]:
        return set()

    def usual(self) -> LoadedHosts:
        return self

    def find_scopes(self) -> None:
        """What the first view does not need and others do. Never raises: whoever asks for it gets the error."""
        try:
            self.timeline.find_scopes()
        except Exception:
            _log.exception("%s: scopes cannot be told", escaped(self.files.path))

    @cached_property
    def head(self) -> dict[str, Any]:
        """What a page needs before it draws: the report's summary, phases, rows and the overview strip; of hosts that
        were chosen also their places (`chosen`), and which to look at first (`ranks`, see `report.host_ranks`)."""
        from tb_xla_insights.report.device_columns import device_overview
        from tb_xla_insights.report.host_document import session_summary

        if self.report is None:
            summary = session_summary(self.trace)
            return {**summary, "devices": device_overview(summary["devices"]), **self.timeline.head()}
        return {**head_without_rows(self.report), **self.timeline.head(), "chosen": self.trace.numbers}

    @property
    def arrivals(self) -> tuple[Arrivals, list[str]]:
        """When its hosts came to what all did together, and their names: what of `compared` needs no report."""
        from tb_xla_insights.analysis.memo import memoised_on

        return memoised_on(self, "arrivals", self._find_arrivals)

    @property
    def compared(self) -> HostComparison:
        """How its hosts came to what all did together."""
        from tb_xla_insights.analysis.memo import memoised_on

        return memoised_on(self, "compared", self._compare)

    def beside(self, other: LoadedHosts) -> dict[str, Any]:
        """The comparison with another session (see `compare.document`), made once as long as both are in memory."""
        from tb_xla_insights.analysis.memo import memoised_on
        from tb_xla_insights.compare.document import comparison_view

        known: WeakKeyDictionary[LoadedHosts, _Comparison] = memoised_on(
            self, "comparisons", WeakKeyDictionary
        )
        with _COMPARING:
            comparison = known.setdefault(other, _Comparison())
        found: dict[str, Any] = memoised_on(
            comparison, "view", lambda: comparison_view(self.trace, other.trace)
        )
        return found

    def _find_arrivals(self) -> tuple[Arrivals, list[str]]:
        from tb_xla_insights.pod.arrivals import find_arrivals
        from tb_xla_insights.pod.collectives import host_collectives

        traces = self._in_order()
        return find_arrivals([host_collectives(it) for it in traces]), [it.host for it in traces]

    def _compare(self) -> HostComparison:
        from tb_xla_insights.pod.collectives import host_collectives
        from tb_xla_insights.pod.comparison import compare_hosts
        from tb_xla_insights.pod.host_steps import HostInput
        from tb_xla_insights.report.document import session_report
        from tb_xla_insights.trace.model import SessionTrace

        name, path = self.trace.name, self.trace.path
        return compare_hosts(
            [
                HostInput(it.host, session_report(SessionTrace(name, path, [it])), host_collectives(it))
                for it in self._in_order()
            ]
        )

    def _in_order(self) -> list[Trace]:
        """Its hosts, in the order in which their cores are counted."""
        from tb_xla_insights.host_order import natural_key

        return sorted(self.trace.traces, key=lambda it: natural_key(it.host))


class _Comparison:
    """Where a comparison stays."""


def head_without_rows(report: Report) -> dict[str, Any]:
    """What a page needs before it draws views that a report is enough for: as `Loaded.head`, with no host chosen."""
    from tb_xla_insights.report.device_columns import device_overview
    from tb_xla_insights.report.host_ranks import rank_hosts

    summary = {
        "session": report["session"],
        "environment": report["environment"],
        "diagnostics": report["diagnostics"],
        "devices": device_overview(report["devices"]),
    }
    empty: dict[str, Any] = {"phases": [], "rows": [], "more_rows": False, "chosen": []}
    return {
        **summary,
        **empty,
        "strip": {"buckets": 0, "devices": [], "host": []},
        "ranks": rank_hosts(report),
    }
