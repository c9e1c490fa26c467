"""Merges the contents of sidecar files; the hosts of a session share a directory, so each host has read the same
files."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tb_xla_insights.report.merge.tables import HostKey

if TYPE_CHECKING:
    from tb_xla_insights.schema.texts import Metrics, MetricsAgainstTrace, Recorded

T = TypeVar("T")


class MergedSidecars:
    """The report's `metrics` and `recorded`: those of the first host that has them. The counts of the traces are
    summed. A metrics report is of one process, so it agrees with the traces if it agrees with one host."""

    def __init__(self) -> None:
        self._metrics: tuple[HostKey, Metrics] | None = None
        self._recorded: tuple[HostKey, Recorded] | None = None
        self._counts: dict[str, MetricsAgainstTrace] = {}
        self._joined_compiles = self._joined_executions = 0

    def add(self, key: HostKey, metrics: Metrics | None, recorded: Recorded | None) -> None:
        self._metrics = _first(self._metrics, key, metrics)
        self._recorded = _first(self._recorded, key, recorded)
        if metrics is None:
            return
        for row in metrics["against_trace"]:
            count = self._counts.setdefault(row["operation"], {**row, "trace": 0, "agrees": False})
            count["trace"] += row["trace"]
            count["agrees"] |= row["agrees"]
        if metrics["debug"]:
            self._joined_compiles += metrics["debug"]["joined_compiles"]
            self._joined_executions += metrics["debug"]["joined_executions"]

    @property
    def metrics(self) -> Metrics | None:
        if self._metrics is None:
            return None
        _, metrics = self._metrics
        debug = metrics["debug"]
        if debug:
            debug = {
                **debug,
                "joined_compiles": self._joined_compiles,
                "joined_executions": self._joined_executions,
            }
        return {**metrics, "against_trace": [*self._counts.values()], "debug": debug}

    @property
    def recorded(self) -> Recorded | None:
        return self._recorded and self._recorded[1]


def _first(current: tuple[HostKey, T] | None, key: HostKey, value: T | None) -> tuple[HostKey, T] | None:
    """The value of the first host: the current one, unless the new `value` is of an earlier host."""
    return current if value is None or (current and current[0] < key) else (key, value)
