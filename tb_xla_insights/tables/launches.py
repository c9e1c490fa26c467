"""Tables of the host's work for devices: executions, compilations, transfers."""

from __future__ import annotations

from tb_xla_insights.tables.definition import Column, Definition

EARLY_EXECUTIONS = Definition(
    "Early executions",
    (
        Column("step", "Step"),
        Column("host", "Host", priority=7),
        Column("annotation", "Annotation"),
        Column("thread", "Thread", priority=2),
        Column("trigger", "How", priority=4),
        Column("program", "Program"),
        Column("frame", "Where", priority=6),
        Column("cause", "Why", priority=5),
        Column("start_ps", "Start", "ms", priority=1),
        Column("device_ps", "Device", "time", priority=3),
        Column("idle_ps", "Idle after", "time"),
    ),
)

EXECUTIONS = Definition(
    "Executions",
    (
        Column("program", "Program", "code"),
        Column("kind", "Kind", priority=3),
        Column("launches", "Launches", "count", priority=1),
        Column("count", "Runs", "count"),
        Column("host_ps", "Host", "time"),
        Column("device_ps", "Device", "time"),
        Column("device_spread", "Device min / median / max", "number", priority=2, derived=True),
        Column("queue_ps", "Queue", "time", priority=4),
        Column("overhead_ps", "Overhead", "time"),
        Column("overhead_spread", "Overhead min / median / max", "number", derived=True),
        Column("overhead_share", "Of host", "share", priority=6, derived=True),
        Column("join", "Join", priority=5),
    ),
    note="means of a run on one core, queue and overhead of runs with a known launch; host = device + queue + overhead",
)

COMPILES = Definition(
    "Compilations",
    (
        Column("module", "Module", "code"),
        Column("host", "Host", priority=8),
        Column("step", "Step", "number"),
        Column("start_ps", "Start", "ms", priority=2),
        Column("duration_ps", "Time", "time"),
        Column("idle_ps", "Idle for it", "time", priority=5, unit_basis="column"),
        Column("state", "When", derived=True),
        Column("difference", "What is new"),
        Column("graph_hash", "Graph", "code", priority=6),
        Column("graphs_of_same_name", "Other graphs", priority=1),
        Column("annotation", "During", priority=3),
        Column("frame", "Where", priority=7),
        Column("cause", "Cause", priority=4),
    ),
)

TRANSFERS = Definition(
    "Transfers",
    (
        Column("direction", "Direction", "class"),
        Column("count", "Count", "count"),
        Column("per_step", "Per step", "number", priority=2),
        Column("duration_ps", "Time", "time"),
        Column("bytes", "Size", "bytes"),
        Column("bytes_per_step", "Size per step", "bytes", priority=1),
    ),
    note="time on the host",
)
