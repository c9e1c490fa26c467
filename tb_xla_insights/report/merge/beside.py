"""What the files beside the captures of many hosts say: a session's hosts share a directory, so each has read them."""

from __future__ import annotations

from typing import Any

from tb_xla_insights.report.merge.tables import HostKey, Row


class Texts:
    """The report's `metrics` and `recorded`: those of the first host that has them. The traces' counts beside them are
    sums; a metrics report is of one process, so it agrees where it does with one host."""

    def __init__(self) -> None:
        self._metrics: tuple[HostKey, Row] | None = None
        self._recorded: tuple[HostKey, Row] | None = None
        self._counts: dict[str, Row] = {}
        self._joined: dict[str, int] = {}

    def add(self, key: HostKey, metrics: Row | None, recorded: Row | None) -> None:
        self._metrics = _first(self._metrics, key, metrics)
        self._recorded = _first(self._recorded, key, recorded)
        if metrics is None:
            return
        for row in metrics["against_trace"]:
            known = self._counts.setdefault(row["what"], row | {"trace": 0, "agrees": False})
            known["trace"] += row["trace"]
            known["agrees"] |= row["agrees"]
        for name in ("joined_compiles", "joined_executions"):
            self._joined[name] = self._joined.get(name, 0) + (metrics["debug"] or {}).get(name, 0)

    @property
    def metrics(self) -> Row | None:
        if self._metrics is None:
            return None
        _, told = self._metrics
        debug = told["debug"] and told["debug"] | self._joined
        return told | {"against_trace": [*self._counts.values()], "debug": debug}

    @property
    def recorded(self) -> Row | None:
        return self._recorded and self._recorded[1]


def _first(known: tuple[HostKey, Any] | None, key: HostKey, told: Any) -> tuple[HostKey, Any] | None:
    """What the first host tells."""
    return known if told is None or (known and known[0] < key) else (key, told)
