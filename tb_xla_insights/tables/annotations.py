"""Tables of annotations and of the devices' work by annotation and op."""

from __future__ import annotations

from tb_xla_insights.schema.annotations import Annotation, ProgramOrder, SharedOp, UnannotatedOp
from tb_xla_insights.schema.device_route import WorkTree
from tb_xla_insights.schema.device_work import Op
from tb_xla_insights.tables.definition import Column, table

ANNOTATIONS = table("Annotations", Annotation, note="device: all cores")

PHASES = table(
    "Order of phases on the device",
    ProgramOrder,
    note="all cores; in an execution: runs of phases, and phases",
)

UNANNOTATED_OPS = table("Device time without an annotation", UnannotatedOp)

SHARED_OPS = table("Ops of several annotations", SharedOp)

WORK_BY_ANNOTATION = table(
    "Device work by annotation",
    WorkTree,
    derived={
        "self_ps": [
            Column("share", "Share", "share"),
            Column("other_ps", "Not computing", "time", priority=1),
            Column("tflops_per_s", "TFLOP/s", "number", priority=4),
        ]
    },
    note="all cores; rates: while it computes",
)

WORK_BY_OP = table(
    "Device work by op",
    Op,
    derived={
        "self_ps": [
            Column("share", "Share", "share"),
            Column("tflops_per_s", "TFLOP/s", "number", priority=4),
        ]
    },
    note="all cores",
)
