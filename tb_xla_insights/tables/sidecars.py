"""Tables of the files beside a capture, and of a logdir's sessions."""

from __future__ import annotations

from tb_xla_insights.schema.texts import MetricsAgainstTrace
from tb_xla_insights.tables.definition import Column, Definition, table

COUNTS_AGAINST_TRACE = table(
    "Metrics and trace", MetricsAgainstTrace, derived={"metrics": [Column("time_ps", "Time", "ms")]}
)

SESSIONS = Definition(
    "",
    (
        Column("name", "Session"),
        Column("host", "Host"),
        Column("bytes", "Size", "bytes"),
        Column("modified", "Modified, UTC", "number"),
    ),
)
