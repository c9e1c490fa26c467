"""Tables of the host's work for devices: executions, compilations, transfers."""

from __future__ import annotations

from tb_xla_insights.schema.feeding import Transfers
from tb_xla_insights.schema.launches import Compile, EarlyExecution, Execution
from tb_xla_insights.tables.definition import Column, table

EARLY_EXECUTIONS = table(
    "Early executions",
    EarlyExecution,
    order="step host annotation thread trigger program frame cause start_ps device_ps idle_ps",
)

EXECUTIONS = table(
    "Executions",
    Execution,
    {
        "device_ps": Column("device_spread", "Device min / median / max", "number", priority=2, derived=True),
        "overhead_ps": Column("overhead_spread", "Overhead min / median / max", "number", derived=True),
        "overhead_spread": Column("overhead_share", "Of host", "share", priority=6, derived=True),
    },
    note="means of a run on one core, queue and overhead of runs with a known launch; host = device + queue + overhead",
)

COMPILES = table(
    "Compilations",
    Compile,
    {"idle_ps": Column("state", "When", derived=True)},
    order="module host step start_ps duration_ps idle_ps difference graph_hash "
    "graphs_of_same_name annotation frame cause",
)

TRANSFERS = table(
    "Transfers",
    Transfers,
    {None: Column("direction", "Direction", "class")},
    order="count per_step duration_ps bytes bytes_per_step",
    note="time on the host",
)
