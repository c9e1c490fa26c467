"""Tables of annotations and of the devices' work by annotation and op."""

from __future__ import annotations

from tb_xla_insights.tables.definition import Column, Definition

ANNOTATIONS = Definition(
    "Annotations",
    (
        Column("path", "Annotation"),
        Column("count", "Count", "count", priority=4),
        Column("host_ps", "Host", "time"),
        Column("device_ps", "Device", "time"),
        Column("device_ops", "Device ops", "count", priority=2),
        Column("executions", "Launches", "count", priority=1),
        Column("lost", "Lost", priority=3),
    ),
    note="host: all threads; device: all cores",
)

PHASES = Definition(
    "Order of phases on the device",
    (
        Column("program", "Program", "code"),
        Column("executions", "Executions", "count", priority=3),
        Column("device_ps", "Device", "time"),
        Column("runs", "Runs of phases", "count", priority=1),
        Column("phases", "Phases", "count", priority=2),
        Column("inversion_share", "Inverted", "share"),
    ),
    note="all cores; in an execution: runs of phases, and phases",
)

UNANNOTATED_OPS = Definition(
    "Device time without an annotation",
    (
        Column("op", "Op", "code"),
        Column("device_ps", "Time", "time"),
        Column("state", "Scope", priority=1),
        Column("source", "Line", priority=2),
    ),
)

SHARED_OPS = Definition(
    "Ops of several annotations",
    (
        Column("op", "Op", "code"),
        Column("device_ps", "Time", "time"),
        Column("parts", "Divided among"),
        Column("source", "Line", priority=1),
    ),
)

_RATES = (
    Column("tflops_per_s", "TFLOP/s", "number", priority=4, derived=True),
    Column("flops_share", "FLOP/s, of peak", "share"),
    Column("bytes_share", "HBM, of peak", "share"),
    Column("bound_by", "Bound by"),
)

WORK_BY_ANNOTATION = Definition(
    "Device work by annotation",
    (
        Column("path", "Annotation"),
        Column("self_ps", "Time", "time"),
        Column("share", "Share", "share", derived=True),
        Column("other_ps", "Not computing", "time", priority=1, derived=True),
        *_RATES,
    ),
    note="all cores; rates: while it computes",
)

WORK_BY_OP = Definition(
    "Device work by op",
    (
        Column("op", "Op", "code"),
        Column("category", "Category", priority=3),
        Column("annotation", "Annotation", priority=5),
        Column("executions", "Executions", "count", priority=2),
        Column("self_ps", "Own time", "time"),
        Column("share", "Share", "share", derived=True),
        *_RATES,
        Column("source", "Line", priority=1),
    ),
    note="all cores",
)
