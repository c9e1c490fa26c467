"""Tables of the host's work for devices: executions, compilations, transfers."""

from __future__ import annotations

from tb_xla_insights.schema.feeding import Transfers
from tb_xla_insights.schema.launches import Compile, EarlyExecution, Execution
from tb_xla_insights.tables.definition import Column, table

EARLY_EXECUTIONS = table("Early executions", EarlyExecution)

EXECUTIONS = table(
    "Executions",
    Execution,
    derived={
        "device_ps": [Column("device_spread", "Device min / median / max", "number", priority=2)],
        "overhead_ps": [
            Column("overhead_spread", "Overhead min / median / max", "number"),
            Column("overhead_share", "Of host", "share", priority=6),
        ],
    },
    note="means of a run on one core, queue and overhead of runs with a known launch; host = device + queue + overhead",
)

COMPILES = table("Compilations", Compile, derived={"idle_ps": [Column("state", "When")]})

TRANSFERS = table("Transfers", Transfers, Column("direction", "Direction", "class"), note="time on the host")
