"""Tables of a server's iterations."""

from __future__ import annotations

from tb_xla_insights.schema.iterations import IterationKind
from tb_xla_insights.tables.definition import Column, Definition, table

ITERATIONS = table(
    "Iterations",
    IterationKind,
    derived={
        "count": [
            Column("mean_ps", "Mean", "time"),
            Column("p50_ps", "p50", "time"),
            Column("p99_ps", "p99", "time"),
        ]
    },
    note="from the start of one to the start of the next",
)

PARTS = Definition(
    "Parts of an iteration",
    (
        Column("part", "Part", "words"),
        Column("exposed_ps", "The device waits", "time"),
        Column("hidden_ps", "While it works", "time"),
    ),
)
