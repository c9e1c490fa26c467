"""The answer of `data/compare`."""

from __future__ import annotations

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import ClassName
from tb_xla_insights.schema.compare import CommonComparison, ComparedOp, ComparedSteps, ComparedWork
from tb_xla_insights.schema.differences import ClassKey, TimePair


class StepInterval(TypedDict):
    """An interval, counted from the session's start."""

    start_ps: int
    """Start."""
    duration_ps: int
    """Duration."""


class StepPhase(StepInterval):
    """A phase of a step."""

    name: str
    """Name of the phase."""


class StepClass(ClassKey, StepInterval):
    """Adjacent pieces of a step in which one class takes most time; a step has 480 pieces."""


class StepRun(StepInterval):
    """A run between the step's start and the end of the last run that the step launched."""

    program: str
    """Name of the program."""
    is_own: bool
    """Whether the step launched it."""


class StepGap(StepInterval):
    """A gap between the step's start and the end of the last run that the step launched, cut there."""

    cause: ClassName
    """The cause of the gap."""


class DefaultStep(StepInterval):
    """The step of median duration, which other views show first as well."""

    number: int | None
    """Number that the program gave the step; `null` if it gave none."""
    name: str
    """Name of the step."""
    phases: list[StepPhase]
    """Its phases on the host that overlap it; of many the first."""
    host: list[StepClass]
    """What the host does."""
    device: str | None
    """Id of the first device; `null` without devices."""
    runs: list[StepRun]
    """The runs of the first device; of many the first."""
    gaps: list[StepGap]
    """The gaps of the first device; of many the longest."""
    is_cut: bool
    """Whether there are more phases, runs or gaps."""


class DefaultSteps(TypedDict):
    """The default step of both sessions."""

    a: DefaultStep | None
    """A; `null` without steps."""
    b: DefaultStep | None
    """B; `null` without steps."""


class ListedSteps(ComparedSteps):
    """Steps of both sessions, the first pairs."""

    count: int
    """Number of pairs."""


class ListedOp(ComparedOp):
    """Own time of one op, or of several, with a name."""

    name: str
    """The op's name; of changed ops, the one with most time in each session."""


class ListedWork(TypedDict):
    """Own time of ops, the largest differences."""

    annotations: list[ComparedWork]
    """By annotation."""
    ops: list[ListedOp]
    """By op."""


class DeviceTime(TypedDict):
    """Time of all device ops per step and core, with those of rows that are not listed."""

    all: TimePair
    """All ops; 0 if a session has no steps."""
    annotated_share: list[float | None]
    """The share of it in ops with an annotation, in A and in B; `null` without time."""


class RowCounts(TypedDict):
    """Numbers of rows, with those that are not listed."""

    device_annotations: int
    """Rows of `device_work.annotations`; those with the largest differences are listed."""
    device_ops: int
    """Rows of `device_work.ops`; those with the largest differences are listed."""
    annotations: int
    """Rows of `annotations`; phases are listed first."""
    programs: int
    """Rows of `programs`; those with most device time are listed."""
    compiles: int
    """Rows of `compiles`; the longest are listed."""
    between: list[int]
    """Pairs of programs that follow each other on a core, in A and in B; `lazy_dynamo` lists those with most time."""


class CompareAnswer(CommonComparison):
    """`data/compare`: two sessions side by side; long tables are cut."""

    lead: list[str]
    """The sentences of the verdict in parts, every second of which is emphasised."""
    class_total: TimePair
    """Sum of `classes`."""
    device_work: ListedWork
    """Device time of ops."""
    steps: ListedSteps
    """Steps of both."""
    device_time: DeviceTime
    """Sums of `device_work.annotations` before it is cut."""
    row_counts: RowCounts
    """Lengths of the tables before they are cut."""
    step: DefaultSteps
    """The default step of both."""
