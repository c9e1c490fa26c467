"""Hosts in memory, with their timeline and views."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tb_xla_insights.logdir.sessions import SessionFiles
from tb_xla_insights.text.escapes import escape_text

if TYPE_CHECKING:
    from tb_xla_insights.report.session_view import SessionResults, SessionView
    from tb_xla_insights.schema.compare_route import CompareAnswer
    from tb_xla_insights.schema.parts import SummaryKeys
    from tb_xla_insights.schema.report import Report
    from tb_xla_insights.schema.session import Diagnostic as DiagnosticRow
    from tb_xla_insights.schema.session_route import OpenedSession, OverviewStrip, TimelineHead
    from tb_xla_insights.timeline import Timeline
    from tb_xla_insights.trace.model import SessionTrace

_log = logging.getLogger(__name__)
_COMPARISONS_LOCK = threading.Lock()


@dataclass(frozen=True, eq=False)
class LoadedHosts:
    """The hosts of a session in memory: all, or chosen ones, of which `unread` are the diagnostics of those that cannot
    be read again."""

    files: SessionFiles
    view: SessionView
    timeline: Timeline
    unread: Sequence[DiagnosticRow] = ()

    @property
    def hosts(self) -> SessionTrace:
        return self.view.hosts

    @property
    def results(self) -> SessionResults:
        """The results of all hosts of the session."""
        return self.view.results

    @property
    def is_choice(self) -> bool:
        """Whether the session may have other hosts."""
        return self.view.has_results

    def find_more_rows(self) -> None:
        """Prepares the rows of gaps, scopes and asynchronous ops, which later requests need. Never raises: those get
        the error."""
        try:
            self.timeline.find_more_rows()
        except Exception:
            _log.exception("%s: cannot find gaps, scopes and asynchronous ops", escape_text(self.files.path))

    @cached_property
    def head(self) -> OpenedSession:
        """What the page needs before it draws: the report's summary, phases, rows and the overview strip. For chosen
        hosts also their indices (`chosen_hosts`) and the hosts to look at first (`ranks`, see `report.host_ranks`)."""
        from tb_xla_insights.report.merge.plain_keys import summary_of_hosts

        if not self.is_choice:
            return _head(summary_of_hosts(self.hosts), self.timeline.head())
        report = self.view.report
        return _head_of_hosts(
            {**report, "diagnostics": [*report["diagnostics"], *self.unread]},
            self.timeline.head(),
            self.hosts.numbers,
        )

    def compare_with(self, baseline: LoadedHosts) -> CompareAnswer:
        """The comparison with another session (see `compare.document`), memoised while both are in memory."""
        from tb_xla_insights.analysis.memo import memoised_on
        from tb_xla_insights.compare.document import comparison_view

        memos: WeakKeyDictionary[LoadedHosts, _ComparisonMemo] = memoised_on(
            self, "comparisons", WeakKeyDictionary
        )
        with _COMPARISONS_LOCK:
            memo = memos.setdefault(baseline, _ComparisonMemo())
        return memoised_on(memo, "view", lambda: comparison_view(self.view, baseline.view))


class _ComparisonMemo:
    """Holds one memoised comparison."""


def head_without_rows(report: Report) -> OpenedSession:
    """What the page needs before it draws views of a report alone: as `LoadedHosts.head`, with no host chosen."""
    strip: OverviewStrip = {"buckets": 0, "devices": [], "host": []}
    return _head_of_hosts(
        report,
        {"phases": [], "classes": [], "annotations": {}, "rows": [], "more_rows": False, "strip": strip},
        [],
    )


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
        "annotations": timeline["annotations"],
        "classes": timeline["classes"],
        "rows": timeline["rows"],
        "more_rows": timeline["more_rows"],
        "strip": timeline["strip"],
    }
