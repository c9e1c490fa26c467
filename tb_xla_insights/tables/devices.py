"""Tables of devices, hosts, their files and steps, of the devices' idle time, and of stalls and collectives."""

from __future__ import annotations

from tb_xla_insights.schema.feeding import Collective
from tb_xla_insights.schema.gaps import Gap, GapPattern, Link
from tb_xla_insights.schema.session import Device, Host, HostFile, Stall
from tb_xla_insights.schema.steps import Step
from tb_xla_insights.tables.definition import Column, Definition, table

DEVICES = table("Devices", Device, note="each core")

HOSTS = table("Hosts side by side", Host)

STEPS = table("Steps", Step)

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

GAP_PATTERNS = table("Recurring gaps", GapPattern, note="between the same two programs; all cores")

GAPS = table("Gaps", Gap)

GAP_CHAIN = table("Why the gap ended", Link)

STALLS = table("Ops that only wait", Stall, note="all cores")

COLLECTIVES = table("Collectives", Collective, note="all cores")

FILES = table("Hosts", HostFile)
