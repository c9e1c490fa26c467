"""Merges the contents of sidecar files; the hosts of a session share a directory, so each host has read the same
files."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, get_args

from tb_xla_insights.columns.merge import MergedTable
from tb_xla_insights.report.merge.tables import HostKey
from tb_xla_insights.schema.texts import Counted, DebugLog, MetricsAgainstTrace

if TYPE_CHECKING:
    from tb_xla_insights.schema.texts import Metrics, Recorded

T = TypeVar("T")


class MergedSidecars:
    """The report's `metrics` and `recorded`: those of the first host that has them. The counts of the traces are
    summed. A metrics report is of one process, so it agrees with the traces if it agrees with one host."""

    def __init__(self) -> None:
        self._metrics: tuple[HostKey, Metrics] | None = None
        self._recorded: tuple[HostKey, Recorded] | None = None
        self._counts, self._debug = MergedTable(MetricsAgainstTrace), MergedTable(DebugLog)

    def add(self, key: HostKey, metrics: Metrics | None, recorded: Recorded | None) -> None:
        self._metrics = _first(self._metrics, key, metrics)
        self._recorded = _first(self._recorded, key, recorded)
        if metrics is not None:
            self._counts.add(key, metrics["against_trace"])
            self._debug.add(key, [metrics["debug"]] if metrics["debug"] else [])

    @property
    def metrics(self) -> Metrics | None:
        if self._metrics is None:
            return None
        counts = sorted(self._counts.rows("trace"), key=lambda row: get_args(Counted).index(row["operation"]))
        return {**self._metrics[1], "against_trace": counts, "debug": self._debug.row()}

    @property
    def recorded(self) -> Recorded | None:
        return self._recorded and self._recorded[1]


def _first(current: tuple[HostKey, T] | None, key: HostKey, value: T | None) -> tuple[HostKey, T] | None:
    """The value of the first host: the current one, unless the new `value` is of an earlier host."""
    return current if value is None or (current and current[0] < key) else (key, value)
