"""Groups of keys that are built together; each key is described with the report, or with the row that has it."""

from __future__ import annotations

from typing_extensions import TypedDict

from tb_xla_insights.schema.annotations import (
    Annotation,
    AnnotationOrder,
    Propagation,
    SharedOp,
    SourceLine,
    UnannotatedOp,
)
from tb_xla_insights.schema.device_work import DeviceWork, Op
from tb_xla_insights.schema.findings import Finding, Mistakes
from tb_xla_insights.schema.session import Device, Diagnostic, Environment, SessionHead


class SummaryKeys(TypedDict):
    """Keys that need no analysis of causes."""

    session: SessionHead
    environment: Environment
    diagnostics: list[Diagnostic]
    devices: list[Device]


class AnnotationKeys(TypedDict):
    """Which annotations reached the devices."""

    annotations: list[Annotation]
    propagation: AnnotationOrder


class ScopedOps(TypedDict):
    """Ops without an annotation, ops with several, and lines of Python with their ops."""

    unannotated_ops: list[UnannotatedOp]
    shared_ops: list[SharedOp]
    lines: list[SourceLine]


class WorkKeys(TypedDict):
    """What the devices do."""

    ops: list[Op]
    device_work: DeviceWork


class PropagationKeys(WorkKeys):
    """What the devices do, and which annotations their ops carry."""

    annotations: list[Annotation]
    propagation: Propagation


class FindingKeys(TypedDict):
    """What to change."""

    findings: list[Finding]
    mistakes: Mistakes


class ClockOffset(TypedDict):
    """How a host's clock differs from the session's; `null` if that is not known."""

    clock_offset_ps: int | None
    residual_ps: int | None
    drift_ppm: float | None
