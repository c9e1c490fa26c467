"""Documents of a session's views, cached with the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from tb_xla_insights.analysis.memo import memoised_on
from tb_xla_insights.report.document import session_report
from tb_xla_insights.trace.model import SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.schema.report import Report

Answer = TypeVar("Answer")


def cached_view(session: SessionTrace, name: str, build: Callable[[SessionTrace], Answer]) -> Answer:
    """Returns `build(session)`, built once under this name even if several threads request it at the same time (see
    `memoised_on`)."""
    return memoised_on(session, name, lambda: build(session))


def whole_report(session: SessionTrace) -> Report:
    """The report with all gaps, shared by the views."""
    return memoised_on(session, "report", lambda: session_report(session, all_gaps=True))


def cache_report(session: SessionTrace, report: Report) -> None:
    """Caches the report of all hosts with a session, so that its views need no host in memory."""
    cached_view(session, "report", lambda _: report)
