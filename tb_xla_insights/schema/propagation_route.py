"""The answer of `data/propagation`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from tb_xla_insights.schema.annotations import (
    AnnotationOrder,
    AnnotationTotals,
    Coverage,
    Lost,
    SharedOp,
    SourceLine,
    UnannotatedOp,
)

Interval = tuple[int, int]
"""Start and end in picoseconds."""


class PropagationStep(TypedDict):
    """The step that is shown."""

    index: int
    """Index in the report's `steps`."""
    number: int | None
    """Number that the program gave the step; `null` if it gave none."""
    name: str
    """Name of the step."""
    start_ps: int
    """Start."""
    duration_ps: int
    """Duration."""


class StepNumbers(TypedDict):
    """The steps of the host, at most 2,000 around the one that is shown."""

    first: int
    """Index of the first one in the report's `steps`."""
    numbers: list[int | None]
    """Their numbers; `null` for a step without one."""


class DeviceName(TypedDict):
    """The device that is shown."""

    id: str
    """Id of the device."""
    name: str
    """Name on its host."""


class MeanCounts(TypedDict):
    """The numbers of steps and devices that the tree's means cover."""

    steps: int
    """Number of steps."""
    devices: int
    """Number of devices."""


class AnnotationNode(AnnotationTotals):
    """One path of annotations or scopes; means are per step, those of device times also per device."""

    name: str
    """The last of the path's names."""
    depth: int
    """Number of paths that enclose it."""
    programs: int
    """Number of programs with its ops."""
    mean_host_ps: int
    """Mean host time."""
    mean_device_ps: int
    """Mean device time."""
    step_host_ps: int
    """Host time in the step."""
    step_device_ps: int
    """Device time of the step on the device."""
    step_device_ops: int
    """Number of its ops of the step on the device."""
    host_interval: Interval | None
    """From the first to the last of its annotations in the step; `null` without any."""
    device_interval: Interval | None
    """From the first to the last of its ops of the step on the device; `null` without any."""
    phase: int | None
    """Index into `phases`; `null` if it is no phase."""


class UnannotatedWork(TypedDict):
    """Ops without an annotation."""

    device_ps: int
    """Own time on all devices."""
    device_ops: int
    """Number of ops."""
    mean_device_ps: int
    """Mean device time."""
    step_device_ps: int
    """Device time of the step on the device."""
    step_device_ops: int
    """Number of ops of the step on the device."""


class PhaseOfStep(TypedDict):
    """A phase, in the order of the host."""

    name: str
    """Name of the phase."""
    repetition: int
    """How many phases of that name precede it in the step."""
    lost: Lost | None
    """Why no op carries its name; `null` where one does."""


class HostPhase(TypedDict):
    """A phase or a step marker on the host."""

    phase: int | None
    """Index into `phases`; `null` for step markers."""
    name: str
    """Name of the event."""
    start_ps: int
    """Start."""
    end_ps: int
    """End."""


class DevicePhase(TypedDict):
    """An uninterrupted sequence of ops of one phase on the device, or several that could not be drawn apart."""

    phase: int | None
    """Index into `phases`; `null` for ops without a phase."""
    start_ps: int
    """Start of its first op."""
    end_ps: int
    """End of its last op."""
    device_ps: int
    """Own time of its ops."""
    ops: int
    """Number of its ops."""
    run: int
    """Its first run, as an index into `runs`."""
    inverted: bool
    """Whether it begins after a later phase has begun."""
    merged: int
    """Number of sequences that are one here: neighbours of the phase, and short ones of the phase that begin in the
    same twentieth of the step's work. 1: not merged."""


class PhaseRun(TypedDict):
    """A run of the step on the device."""

    program: str
    """Name of the program."""
    program_id: str
    """Id of the program."""
    start_ps: int
    """Start."""
    end_ps: int
    """End."""


class PhaseRows(TypedDict):
    """The step, row by row."""

    host: list[HostPhase]
    """Phases and step markers on the host, by start."""
    device: list[DevicePhase]
    """Sequences of ops on the device."""
    runs: list[PhaseRun]
    """Runs on the device."""


class Ribbon(TypedDict):
    """A link from a phase on the host to a sequence of its ops on the device."""

    host: int
    """Index into the row of the host."""
    device: int
    """Index into the row of the device."""
    inverted: bool
    """Whether the sequence begins after a later phase has begun."""


class PhaseTime(TypedDict):
    """The device time of one phase in the step."""

    phase: int | None
    """Index into `phases`; `null` for ops without a phase."""
    runs: int
    """Number of uninterrupted sequences of its ops."""
    device_ps: int
    """Own time of its ops."""
    start_ps: int
    """Start of its first op."""
    end_ps: int
    """End of its last op."""
    inverted_ps: int
    """The part of `device_ps` in sequences that begin after a later phase has begun."""


class PhaseOrder(TypedDict):
    """The order of phases in the step on the device."""

    runs: int
    """Number of uninterrupted sequences of ops of one phase."""
    phases: int
    """Number of different phases; ops without a phase count as one."""
    inversion_share: float
    """Share of device time in sequences that begin after a later phase has begun."""
    by_phase: list[PhaseTime]
    """By phase, in the order of the host."""


class StepPhases(TypedDict):
    """The phases of one step on the host and on a device."""

    phases: list[PhaseOfStep]
    """The phases, in the order of the host."""
    phase_rows: PhaseRows
    """Host and device."""
    ribbons: list[Ribbon]
    """Links from the host to the device."""
    order: PhaseOrder
    """The order on the device."""


class LostAnnotation(TypedDict):
    """An annotation whose name no op carries."""

    path: str
    """Path of the annotation."""
    reason: Lost
    """Why no op carries its name."""
    advice: str
    """What to do about it."""


class OriginWords(TypedDict):
    """What users read for how the scope of an op was found."""

    direct: str
    """In its own metadata."""
    recovered: str
    """From what it consists of or calls or, for copies, from its neighbours."""
    bare: str
    """It has an op name, but no scope."""
    none: str
    """It has no op name."""


class LeftOutRows(TypedDict):
    """How many rows each list leaves out."""

    tree: int
    """Of `tree`."""
    unannotated_ops: int
    """Of `unannotated_ops`."""
    shared_ops: int
    """Of `shared_ops`."""
    lines: int
    """Of `lines`."""


class PropagationView(StepPhases):
    """The device time of annotations, in one step on one device."""

    state: Literal["shown", "no_ops", "flag_off"]
    """`no_ops`: no device ops were recorded; `flag_off`: ops carry no scopes."""
    hint: str | None
    """What to do about the state; `null` if annotations are shown."""
    step: PropagationStep | None
    """The step; `null` if no step's work is known."""
    steps: StepNumbers
    """The steps of its host."""
    device: DeviceName | None
    """The device; `null` without devices."""
    coverage: Coverage
    """Own time of ops of the step on the device by the source of their scope."""
    words: OriginWords
    """The words for these sources."""
    total: AnnotationOrder
    """The same for the whole session, on all hosts, and the order of phases by program."""
    means: MeanCounts
    """The numbers of steps and devices that the tree's means cover."""
    tree: list[AnnotationNode]
    """The paths with most time, each before those inside it."""
    unannotated: UnannotatedWork
    """Ops without an annotation."""
    lost: list[LostAnnotation]
    """Annotations whose names no op carries."""
    unannotated_ops: list[UnannotatedOp]
    """Ops of the step without an annotation; most time first."""
    shared_ops: list[SharedOp]
    """Ops of the step that consist of several annotations' ops; most time first."""
    lines: list[SourceLine]
    """Device time of the step by line of Python and annotation; most time first."""
    left_out: LeftOutRows
    """How many rows each list leaves out."""


class PropagationAnswer(PropagationView):
    """`data/propagation`."""

    hosts: list[str]
    """Names of the hosts that everything but `total` covers."""
    requested_path: str | None
    """Path of the requested annotation or scope; `null` for none."""
    stale: bool
    """Whether there is no event at the requested row, start and depth."""
