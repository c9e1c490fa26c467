"""Tables of a window of the session."""

from __future__ import annotations

from tb_xla_insights.tables.definition import Column, Definition
from tb_xla_insights.tables.devices import DEVICES

WINDOW_CLASSES = Definition(
    "What the host did",
    (
        Column("class", "Class", "class"),
        Column("ps", "Time", "time"),
        Column("share", "Share", "share", derived=True),
    ),
)

WINDOW_CLASSES_OF_HOSTS = Definition(
    "What the hosts did, by class",
    (
        Column("class", "Class", "class"),
        Column("median_ps", "Median", "time", derived=True),
        Column("share", "Share", "share", derived=True),
        Column("min_ps", "Least", "time", derived=True),
        Column("max_ps", "Most", "time", derived=True),
        Column("host", "Most on", derived=True),
    ),
)

WINDOW_THREADS = Definition(
    "Threads",
    (
        Column("name", "Thread"),
        Column("role", "Role"),
        Column("host", "Host", priority=3),
        Column("busy_ps", "Busy", "time"),
        Column("events", "Events", "count", priority=4),
        Column("by_class_ps", "By class", "by class", priority=1),
        Column("top", "Most own time in", priority=2),
    ),
)

WINDOW_DEVICES = Definition(
    DEVICES.title,
    (
        DEVICES["name"],
        DEVICES["host"],
        DEVICES["busy_ps"],
        DEVICES["idle_ps"],
        Column("outside_ps", "Before or after all runs", "time", priority=5, derived=True),
        DEVICES["stall_ps"],
        DEVICES["modules"],
        DEVICES["ops"],
    ),
    note=DEVICES.note,
)
"""Devices in a window, with their busy and idle time in it, and the rest of the window, outside of their spans."""

WINDOW_ANNOTATIONS = Definition(
    "Device ops by annotation",
    (
        Column("path", "Annotation"),
        Column("count", "Count", "count", priority=2),
        Column("self_ps", "Own time", "time"),
        Column("share", "Share", "share", derived=True),
        Column("top_ops", "Most own time in", priority=1),
    ),
)

WINDOW_OPS = Definition(
    "Ops",
    (
        Column("device", "Device"),
        Column("host", "Host"),
        Column("op", "Op", "code"),
        Column("count", "Count", "number"),
        Column("self_ps", "Own time", "time"),
    ),
    note="the longest; mean per core",
)

WINDOW_EVENTS = Definition(
    "Longest by own time",
    (
        Column("name", "Event"),
        Column("class", "Class", "class", priority=1),
        Column("count", "Count", "count", priority=2),
        Column("total_ps", "Total", "time", priority=3),
        Column("self_ps", "Own time", "time"),
    ),
)
