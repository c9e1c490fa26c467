"""Tables of a window of the session."""

from __future__ import annotations

from tb_xla_insights.schema.window import NameTime, OpTime, WindowAnnotation, WindowDevice, WindowThread
from tb_xla_insights.tables.definition import Column, Definition, table

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

WINDOW_THREADS = table("Threads", WindowThread)

WINDOW_DEVICES = table(
    "Devices",
    WindowDevice,
    derived={"idle_ps": [Column("outside_ps", "Before or after all runs", "time", priority=5)]},
    note="each core",
)
"""Devices in a window, with their busy and idle time in it, and the rest of the window, outside of their spans."""

WINDOW_ANNOTATIONS = table(
    "Device ops by annotation", WindowAnnotation, derived={"self_ps": [Column("share", "Share", "share")]}
)

WINDOW_OPS = table(
    "Ops", OpTime, Column("device", "Device"), Column("host", "Host"), note="the longest; mean per core"
)

WINDOW_EVENTS = table("Longest by own time", NameTime)
