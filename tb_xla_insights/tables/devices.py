"""Tables of devices, hosts, their files and steps, of the devices' idle time, and of stalls and collectives."""

from __future__ import annotations

from tb_xla_insights.schema.feeding import Collective
from tb_xla_insights.schema.gaps import Gap, GapPattern, Link
from tb_xla_insights.schema.session import Device, HostFile, Stall
from tb_xla_insights.schema.steps import Step
from tb_xla_insights.tables.definition import Column, Definition, table

DEVICES = table(
    "Devices",
    Device,
    order="name host duty_cycle span_ps busy_ps idle_ps stall_ps modules ops",
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

STEPS = table(
    "Steps",
    Step,
    order="number host start_ps duration_ps device_busy_ps executions "
    " compiles early_syncs input_syncs from_device host_ps",
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

GAP_PATTERNS = table(
    "Recurring gaps",
    GapPattern,
    order="before after cause by_class_ps count total_ps mean_ps",
    note="between the same two programs; all cores",
)

GAPS = table(
    "Gaps",
    Gap,
    order="device start_ps duration_ps step kind all_cores_idle_ps cause by_class_ps before after",
)

GAP_CHAIN = table("Why the gap ended", Link, {"thread": Column("class", "Class", "class")})

STALLS = table("Ops that only wait", Stall, note="all cores")

COLLECTIVES = table("Collectives", Collective, note="all cores")

FILES = table("Hosts", HostFile, order="name bytes events file")
