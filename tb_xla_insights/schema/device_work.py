"""The report's `ops` and `device_work`: what the devices are busy with, and how close to their peaks."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from tb_xla_insights.columns.head import Head
from tb_xla_insights.schema.common import BoundBy

OpKind = Literal["work", "wait", "start", "collective", "transfer", "callback", "container"]


class _Amounts(TypedDict):
    flops: int | None
    """FLOPs; `null` if not known."""
    model_flops: int | None
    """FLOPs that the program requests, recomputed activations included; `null` if not known. `flops` is what the device
    computes."""
    bytes: int | None
    """Bytes read and written; `null` if not known."""
    hbm_bytes: int | None
    """Bytes read from and written to the device's main memory; `null` if not known."""


class _Times(_Amounts):
    self_ps: Annotated[int, Head("Own time")]
    """Own time."""
    work_ps: int
    """The part of it that is work."""
    flops_known_ps: int
    """The part of the work with known FLOPs."""
    bytes_known_ps: int
    """The part of the work with known bytes."""


class _Shares(TypedDict):
    flops_share: Annotated[float | None, Head("FLOP/s, of peak")]
    """`flops` per second of work as a share of the peak of one device; `null` if either is not known."""
    mfu: float | None
    """`model_flops` per second of own time as a share of the peak; `null` if either is not known."""
    bytes_share: Annotated[float | None, Head("HBM, of peak")]
    """`hbm_bytes` per second of work as a share of the peak; `null` if either is not known."""


class _OpNames(TypedDict):
    program: str
    """Name of the program; empty for a kernel without one."""
    op: Annotated[str, Head("Op", "code")]
    """Name of the op."""
    category: Annotated[str, Head("Category", priority=3)]
    """Category, as the capture or the program names it."""
    annotation: Annotated[str | None, Head("Annotation", priority=5)]
    """Path of its annotation; `null` without one."""
    body: str
    """The first op of its program with the same instructions, as the capture names it; else the op itself."""
    shape: str | None
    """Shape of its result; `null` if unknown."""
    product: str | None
    """Shapes of its largest matrix product or convolution: `bf16[128,96] × bf16[96,160] = f32[128,160]`; `null` without
    one."""
    kind: OpKind
    """`work`, or why its time is not work."""
    flops_source: Literal["stats", "kernel", "shapes"] | None
    """Source of its FLOPs: the capture's `stats`; the same, of a custom call, whose `kernel` states its cost; or the
    `shapes` in the program. `null` if they are unknown."""
    count: int
    """Number of events."""
    executions: Annotated[int, Head("Executions", priority=2)]
    """Number of executions; one of a GPU's op may be several events."""


class Op(_OpNames, _Times, _Shares):
    """One op of one program in one annotation: sums over all cores and executions. Shares of the peaks are also `null`
    if the op is not work."""

    bound: Literal["compute", "memory"] | None
    """The roof that bounds it; `null` if neither does, or if that is unknown."""
    bound_by: Annotated[BoundBy, Head("Bound by")]
    """The same, or `link`, `wait`, `neither`, `unknown`."""
    roof_ps: int | None
    """How long its FLOPs or its bytes take at the peaks, whichever is longer; `null` if unknown, or if the op is not
    work."""
    source: Annotated[str | None, Head("Line", priority=1)]
    """Its line of Python; `null` if unknown."""
    in_steps_ps: int
    """The part of `self_ps` in whole steps."""


BoundTimes = dict[BoundBy, int]


class WorkSums(_Times, _Shares):
    """Sums over ops; of FLOPs and bytes over those that are work."""

    in_steps_ps: int
    """The part of `self_ps` in whole steps."""
    share: float
    """Share of the own time of all ops."""
    bound_by: BoundBy
    """What bounds most of the time; `mixed` where nothing bounds most."""
    bound_ps: BoundTimes
    """Own time by what bounds the ops."""


class AnnotationWork(WorkSums):
    """Sums over the ops of an annotation and all below it."""

    path: str | None
    """Path of the annotation; `null`: ops without one."""
    kind: Literal["annotation", "scope"] | None
    """`scope`: a scope without an annotation; `null`: ops without either."""
    own: WorkSums
    """Sums over its ops outside of any inner annotation; all `own` add up to `total`."""


class StepWork(_Times, _Shares):
    """Sums over the ops of one step."""

    index: int
    """Index of the step."""
    duration_ps: int
    """Duration of the step."""
    cores: int
    """Number of cores over which the sums are: all of the host, or 1 if the work is of one device."""
    mfu_of_step: float | None
    """`model_flops` over the step's duration on its cores, as a share of the peak; `null` where either is not known."""


class MeanStepWork(_Times, _Shares):
    """The mean step: sums per step and core."""

    steps: int
    """Number of steps of hosts with devices."""
    duration_ps: int
    """Their mean duration, each step once per core of its host."""
    mfu_of_step: float | None
    """`model_flops` over the step's duration, as a share of the peak; `null` where either is not known."""


class DevicePeak(TypedDict):
    """Peaks of one kind of device; `null` where they are not known."""

    kind: str
    """Kind of the device."""
    count: int
    """Number of devices."""
    flops_per_s: float | None
    """Peak FLOP/s."""
    bytes_per_s: float | None
    """Peak bytes/s of the main memory."""
    source: Literal["table", "capture"] | None
    """The capture itself, or the product's table of published figures."""
    cite: str | None
    """Address of the publication of a peak from the table; else `null`."""


class Peaks(TypedDict):
    """Peaks of one device; `null` where devices differ or nothing is known."""

    flops_per_s: float | None
    """Peak FLOP/s."""
    bytes_per_s: float | None
    """Peak bytes/s of the main memory."""
    source: Literal["table", "capture", "user"] | None
    """Source of the values; `user`: given by the user."""
    devices: list[DevicePeak]
    """One row per kind of device."""


class OpWithoutFlops(TypedDict):
    """An op whose FLOPs are not known."""

    program: str
    """Name of the program."""
    op: str
    """Name of the op."""
    category: str
    """Category of the op."""
    self_ps: int
    """Own time."""
    share: float
    """Share of the own time of all ops."""


class DeviceWork(TypedDict):
    """Sums over `ops`."""

    peaks: Peaks
    """Peaks that shares refer to."""
    total: WorkSums
    """All ops."""
    annotations: list[AnnotationWork]
    """By path of annotation."""
    steps: list[StepWork]
    """By step."""
    mean_step: MeanStepWork | None
    """Per step and core; `null` without steps."""
    ops_without_flops: list[OpWithoutFlops]
    """The first 100 ops that are work without a FLOP count; most time first."""
