"""Tables of devices, hosts, their files and steps, of the devices' idle time, and of stalls and collectives."""

from __future__ import annotations

from tb_xla_insights.tables.definition import Column, Definition

DEVICES = Definition(
    "Devices",
    (
        Column("name", "Device"),
        Column("host", "Host", priority=1),
        Column("duty_cycle", "Duty cycle", "share"),
        Column("span_ps", "Span", "time", priority=5),
        Column("busy_ps", "Busy", "time"),
        Column("idle_ps", "Idle", "time"),
        Column("stall_ps", "Stall", "time", priority=4),
        Column("modules", "Modules", "count", priority=3),
        Column("ops", "Ops", "count", priority=2),
    ),
    note="each core",
)

HOSTS = Definition(
    "Hosts side by side",
    (
        Column("name", "Host"),
        Column("steps", "Steps", "count"),
        Column("step_ps", "Step (median)", "time"),
        Column("duty_cycle", "Duty cycle", "share"),
        Column("last_share", "Last in", "share"),
        Column("others_wait_ps", "Others wait", "time", unit_basis="sum"),
        Column("difference", "Differs most"),
        Column("clock_offset_ps", "Clock offset, µs", "number"),
    ),
)

STEPS = Definition(
    "Steps",
    (
        Column("number", "Step"),
        Column("host", "Host", priority=7),
        Column("start_ps", "Start", "ms", priority=1),
        Column("duration_ps", "Time", "time"),
        Column("device_busy_ps", "Launched work (busiest core)", "time"),
        Column("executions", "Executions", "count", priority=5),
        Column("compiles", "Compiles", "count", priority=6),
        Column("early_syncs", "Early syncs", "count", priority=4),
        Column("input_syncs", "Input syncs", "count", priority=2),
        Column("from_device", "Reads", "count", priority=3),
        Column("host_ps", "What the host did", "by class"),
    ),
)

STEPS_OF_HOSTS = Definition(
    "Steps",
    (
        Column("number", "Step"),
        Column("hosts", "Hosts", "count", derived=True),
        Column("median_ps", "Median", "time", derived=True),
        Column("duration_ps", "Longest", "time"),
        Column("host", "On"),
        Column("host_ps", "What that host did", "by class"),
    ),
)

IDLE = Definition(
    "Idle time by cause",
    (
        Column("class", "What the host did", "class"),
        Column("idle_ps", "Idle", "time"),
        Column("share", "Share", "share", derived=True),
        Column("all_cores_ps", "All cores", "time", unit_basis="column", derived=True),
    ),
)

GAP_PATTERNS = Definition(
    "Recurring gaps",
    (
        Column("before", "Before", "code"),
        Column("after", "After", "code"),
        Column("cause", "Cause", "class"),
        Column("by_class_ps", "What the host did", "by class", priority=3),
        Column("count", "Count", "count", priority=2),
        Column("total_ps", "Total", "time"),
        Column("mean_ps", "Mean", "time", priority=1, unit_basis="column"),
    ),
    note="between the same two programs; all cores",
)

GAPS = Definition(
    "Gaps",
    (
        Column("device", "Device"),
        Column("start_ps", "Start", "ms", priority=4),
        Column("duration_ps", "Time", "time"),
        Column("step", "Step", "number"),
        Column("kind", "Kind", priority=2),
        Column("all_cores_idle_ps", "Whole host idle", priority=3),  # shown as yes, no or in part
        Column("cause", "Cause", "class", priority=1),
        Column("by_class_ps", "What the host did", "by class"),
        Column("before", "Before", "code", priority=5),
        Column("after", "After", "code", priority=6),
    ),
)

GAP_CHAIN = Definition(
    "Why the gap ended",
    (
        Column("name", "Event"),
        Column("thread", "Thread"),
        Column("class", "Class", "class"),
        Column("start_ps", "From", "ms"),
        Column("duration_ps", "Time", "time"),
    ),
)

STALLS = Definition(
    "Ops that only wait",
    (
        Column("op", "Op", "code"),
        Column("count", "Count", "count", priority=1),
        Column("duration_ps", "Time", "time"),
    ),
    note="all cores",
)

COLLECTIVES = Definition(
    "Collectives",
    (
        Column("op", "Op", "code"),
        Column("kind", "Kind"),
        Column("count", "Count", "count"),
        Column("duration_ps", "Time", "time"),
        Column("exposed_ps", "Exposed", "time"),
    ),
    note="all cores",
)

FILES = Definition(
    "Hosts",
    (
        Column("name", "Host"),
        Column("bytes", "Size", "bytes"),
        Column("events", "Events", "count", priority=1),
        Column("file", "File", "code"),
    ),
)
