"""Tables of the files beside a capture, and of a logdir's sessions."""

from __future__ import annotations

from tb_xla_insights.tables.definition import Column, Definition

COUNTS_AGAINST_TRACE = Definition(
    "Metrics and trace",
    (
        Column("operation", "What"),
        Column("metrics", "Report", "count"),
        Column("time_ps", "Time", "ms", derived=True),
        Column("since_earlier_report", "During the capture", "count"),
        Column("trace", "Trace", "count"),
        Column("agrees", ""),
    ),
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
