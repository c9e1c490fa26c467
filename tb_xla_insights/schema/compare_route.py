"""The answer of `data/compare`."""

from __future__ import annotations

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import ClassName
from tb_xla_insights.schema.compare import ComparedSteps, ComparisonWithoutSteps
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
    """A run that overlaps a step."""

    program: str
    """Name of the program."""


class StepGap(StepInterval):
    """A gap, cut at the edges of a step."""

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


class DeviceTime(TypedDict):
    """Time of all device ops per step and core, with those of rows that are not listed."""

    all: TimePair
    """All ops; 0 if a session has no steps."""
    without_annotation: TimePair
    """Ops without an annotation."""


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


class CompareAnswer(ComparisonWithoutSteps):
    """`data/compare`: two sessions side by side; long tables are cut."""

    steps: ListedSteps
    """Steps of both."""
    device_time: DeviceTime
    """Sums of `device_work.annotations` before it is cut."""
    row_counts: RowCounts
    """Lengths of the tables before they are cut."""
    step: DefaultSteps
    """The default step of both."""
