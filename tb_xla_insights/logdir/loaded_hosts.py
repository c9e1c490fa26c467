"""Hosts in memory, with their timeline and views."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tb_xla_insights.escapes import escape_text
from tb_xla_insights.logdir.sessions import SessionFiles

if TYPE_CHECKING:
    from tb_xla_insights.pod.arrivals import Arrivals
    from tb_xla_insights.pod.comparison import HostComparison
    from tb_xla_insights.schema.compare_route import CompareAnswer
    from tb_xla_insights.schema.parts import SummaryKeys
    from tb_xla_insights.schema.report import Report
    from tb_xla_insights.schema.session_route import OpenedSession, OverviewStrip, TimelineHead
    from tb_xla_insights.timeline import Timeline
    from tb_xla_insights.trace.model import SessionTrace, Trace

_log = logging.getLogger(__name__)
_COMPARISONS_LOCK = threading.Lock()


@dataclass(frozen=True, eq=False)
class LoadedHosts:
    """A session in memory, or the chosen hosts of a pod, whose `report` covers all hosts."""

    files: SessionFiles
    trace: SessionTrace
    timeline: Timeline
    report: Report | None = None

    def choose(
        self, _items: Sequence[str] | None, _needed: Iterable[int] = (), _strict: bool = False
    ) -> LoadedHosts:
        """All hosts, as all are in memory; see `Pod.choose`."""
        return self

    def hosts_of(self, _ids: Iterable[str] = (), _devices: Iterable[str] = ()) -> set[int]:
        """Empty, as `choose` needs no indices; see `Pod.hosts_of`."""
        return set()

    def hosts_of_step(self, _step: int | None, _use_default: bool = False) -> set[int]:
        """Empty, as `choose` needs no indices; see `Pod.hosts_of_step`."""
        return set()

    def default_step_host(self) -> LoadedHosts:
        return self

    def find_scopes(self) -> None:
        """Prepares the scopes, which later views need. Never raises: a request for scopes gets the error."""
        try:
            self.timeline.find_scopes()
        except Exception:
            _log.exception("%s: cannot find scopes", escape_text(self.files.path))

    @cached_property
    def head(self) -> OpenedSession:
        """What the page needs before it draws: the report's summary, phases, rows and the overview strip. For chosen
        hosts also their indices (`chosen_hosts`) and the hosts to look at first (`ranks`, see `report.host_ranks`)."""
        from tb_xla_insights.report.host_document import session_summary

        if self.report is None:
            return _head(session_summary(self.trace), self.timeline.head())
        return _head_of_hosts(self.report, self.timeline.head(), self.trace.numbers)

    @property
    def arrivals(self) -> tuple[Arrivals, list[str]]:
        """When the hosts arrived at their collectives, and the hosts' names. Unlike `comparison`, needs no report."""
        from tb_xla_insights.analysis.memo import memoised_on

        return memoised_on(self, "arrivals", self._find_arrivals)

    @property
    def comparison(self) -> HostComparison:
        """The comparison of the hosts by their arrivals at collectives."""
        from tb_xla_insights.analysis.memo import memoised_on

        return memoised_on(self, "comparison", self._compare)

    def compare_with(self, baseline: LoadedHosts) -> CompareAnswer:
        """The comparison with another session (see `compare.document`), memoised while both are in memory."""
        from tb_xla_insights.analysis.memo import memoised_on
        from tb_xla_insights.compare.document import comparison_view

        memos: WeakKeyDictionary[LoadedHosts, _ComparisonMemo] = memoised_on(
            self, "comparisons", WeakKeyDictionary
        )
        with _COMPARISONS_LOCK:
            memo = memos.setdefault(baseline, _ComparisonMemo())
        return memoised_on(memo, "view", lambda: comparison_view(self.trace, baseline.trace))

    def _find_arrivals(self) -> tuple[Arrivals, list[str]]:
        from tb_xla_insights.pod.arrivals import find_arrivals
        from tb_xla_insights.pod.collectives import host_collectives

        traces = self._in_order()
        return find_arrivals([host_collectives(trace) for trace in traces]), [trace.host for trace in traces]

    def _compare(self) -> HostComparison:
        from tb_xla_insights.pod.collectives import host_collectives
        from tb_xla_insights.pod.comparison import compare_hosts
        from tb_xla_insights.pod.host_steps import HostInput
        from tb_xla_insights.report.document import session_report
        from tb_xla_insights.trace.model import SessionTrace

        name, path = self.trace.name, self.trace.path
        return compare_hosts(
            [
                HostInput(
                    trace.host, session_report(SessionTrace(name, path, [trace])), host_collectives(trace)
                )
                for trace in self._in_order()
            ]
        )

    def _in_order(self) -> list[Trace]:
        """The hosts' traces in natural order of the host names, which is that of the numbers of their cores."""
        from tb_xla_insights.host_order import natural_key

        return sorted(self.trace.traces, key=lambda trace: natural_key(trace.host))


class _ComparisonMemo:
    """Holds one memoised comparison."""


def head_without_rows(report: Report) -> OpenedSession:
    """What the page needs before it draws views of a report alone: as `LoadedHosts.head`, with no host chosen."""
    strip: OverviewStrip = {"buckets": 0, "devices": [], "host": []}
    return _head_of_hosts(report, {"phases": [], "rows": [], "more_rows": False, "strip": strip}, [])


def _head_of_hosts(report: Report, timeline: TimelineHead, hosts: list[int]) -> OpenedSession:
    from tb_xla_insights.report.host_ranks import rank_hosts

    return {**_head(report, timeline), "chosen_hosts": hosts, "ranks": rank_hosts(report)}


def _head(summary: SummaryKeys, timeline: TimelineHead) -> OpenedSession:
    from tb_xla_insights.report.device_columns import device_overview

    return {
        "session": summary["session"],
        "environment": summary["environment"],
        "diagnostics": summary["diagnostics"],
        "devices": device_overview(summary["devices"]),
        "phases": timeline["phases"],
        "rows": timeline["rows"],
        "more_rows": timeline["more_rows"],
        "strip": timeline["strip"],
    }
