"""The comparison of lazy execution with dynamo, and the table of speed-ups from a file of pairs."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import ClassName
from tb_xla_insights.columns.head import Head
from tb_xla_insights.schema.common import ExecutionKind
from tb_xla_insights.schema.differences import TestVerdict


class LazyDynamoStep(TypedDict):
    """The mean step of one session."""

    steps: Annotated[int, Head("Steps")]
    """Number of steps."""
    tracing_ps: Annotated[int | None, Head("IR tracing", "ms")]
    """IR tracing in a step; `null` if nothing was traced."""
    device_ps: Annotated[int | None, Head("Device", "ms")]
    """Device time of a step, per core; `null` without steps or runs."""
    wall_ps: Annotated[int | None, Head("Wall", "ms")]
    """Duration of a step; `null` without steps."""
    executions: Annotated[float | None, Head("Executions")]
    """Launches in a step; `null` without steps."""


class LazyDynamoSteps(TypedDict):
    """The step of both sessions."""

    a: LazyDynamoStep
    """A."""
    b: LazyDynamoStep
    """B."""


class Speedup(TypedDict):
    """Times of the lazy session divided by those of the other one; `null` if one of them is unknown or 0."""

    tracing: float | None
    """IR tracing."""
    device: float | None
    """Device time."""
    wall: float | None
    """Duration of a step."""


class LazyDynamoProgram(TypedDict):
    """A program, in the order of execution on the device; times are means of a run: queue time and overhead of those
    runs whose launch is known, host time the sum of the other three."""

    program: Annotated[str, Head("Program", "code")]
    """Name of the program."""
    kind: Annotated[ExecutionKind, Head("Kind")]
    """What launched it."""
    count: int
    """Number of runs."""
    per_step: Annotated[float | None, Head("Per step")]
    """Number of launches per step; `null` without steps."""
    host_ps: Annotated[int | None, Head("Host", "ms")]
    """Host time; `null` if no launch is known."""
    device_ps: Annotated[int, Head("Device", "ms")]
    """Device time."""
    queue_ps: Annotated[int | None, Head("Queue", "ms")]
    """Queue time; `null` if no launch is known."""
    overhead_ps: Annotated[int | None, Head("Overhead", "ms")]
    """Overhead; `null` if no launch is known."""


class LazyDynamoPrograms(TypedDict):
    """The programs of both sessions."""

    a: list[LazyDynamoProgram]
    """A."""
    b: list[LazyDynamoProgram]
    """B."""


class IdleBetweenPrograms(TypedDict):
    """Idle time between two programs that follow each other, on all cores."""

    before: Annotated[str, Head("Before", "code")]
    """Program before."""
    after: Annotated[str, Head("After", "code")]
    """Program after."""
    count: Annotated[int, Head("Count")]
    """Number of occurrences."""
    total_ps: int
    """Sum of the idle times."""
    mean_ps: Annotated[int, Head("Mean", "ms")]
    """Mean idle time."""
    cause: ClassName | None
    """The cause with most time in gaps; `null` without a gap of at least 10 µs."""
    queued: bool
    """Whether the cause is `wait` because the gaps are queued: the device waits, not the host."""


class IdleBetweenProgramsOfBoth(TypedDict):
    """Idle time between programs, in both sessions."""

    a: list[IdleBetweenPrograms]
    """A."""
    b: list[IdleBetweenPrograms]
    """B."""


class LazyDynamo(TypedDict):
    """Lazy against dynamo."""

    lazy: Literal["a", "b"]
    """The session that launched lazily."""
    dynamo: Literal["a", "b"]
    """The session that launched through dynamo."""
    step: LazyDynamoSteps
    """What a step takes."""
    speedup: Speedup
    """Times of the lazy session divided by those of the other one."""
    executions: LazyDynamoPrograms
    """What each execution costs."""
    between: IdleBetweenProgramsOfBoth
    """Idle time between executions."""


class PairValue(TypedDict):
    """A pair of times or sessions in a speed-up table."""

    a: str
    """Cell of the file."""
    b: str
    """Cell of the file."""
    a_ps: int
    """Time of A: the one in its cell, or the median step of the session there."""
    b_ps: int
    """Time of B: the one in its cell, or the median step of the session there."""
    steps: list[int | None] | None
    """Number of steps behind each; `null` if the file gives both times."""
    p: float | None
    """Probability that chance alone causes such a difference; `null` unless both are sessions with enough steps."""
    verdict: TestVerdict | None
    """Result of the significance test; `null` unless both are sessions, with equal samples per step if recorded."""


class PairRow(TypedDict):
    """One model of a speed-up table."""

    model: Annotated[str, Head("Model")]
    """Name of the model."""
    speedups: list[float | None]
    """A value per column; `null` where the file has none."""
    pairs: list[PairValue | None]
    """The pair behind each value; `null` where the file gives the value."""


class Pairs(TypedDict):
    """A table of speed-ups: `compare --pairs`."""

    columns: list[str]
    """Names of the columns."""
    rows: list[PairRow]
    """One row per model."""
    means: list[float | None]
    """Arithmetic mean of each column; `null` where it is empty."""
    counts: list[int]
    """Number of values in each column."""
