"""Tables of the files beside a capture, and of a logdir's sessions."""

from __future__ import annotations

from tb_xla_insights.schema.texts import MetricsAgainstTrace
from tb_xla_insights.schema.torch_trace import (
    MaterializationReason,
    TracedBreak,
    TracedCompilation,
    TracedProgram,
)
from tb_xla_insights.tables.definition import Column, Definition, table

COUNTS_AGAINST_TRACE = table(
    "Metrics and trace", MetricsAgainstTrace, derived={"metrics": [Column("time_ps", "Time", "ms")]}
)

MATERIALIZATIONS = table("Why TorchTPU made graphs of deferred operators", MaterializationReason)

TRACED_PROGRAMS = table("Programs that the log compiles", TracedProgram)

TRACED_BREAKS = table("Graph breaks", TracedBreak)

TRACED_COMPILATIONS = table("Compilations by torch.compile", TracedCompilation)

SESSIONS = Definition(
    "",
    (
        Column("name", "Session"),
        Column("host", "Host"),
        Column("bytes", "Size", "bytes"),
        Column("modified", "Modified, UTC", "number"),
    ),
)
