"""A comparison: `xla-insights compare --json`, `session.compare()`, `data/compare`.

Differences are B - A, ratios B / A.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from tb_xla_insights.columns.head import Head
from tb_xla_insights.columns.rules import total
from tb_xla_insights.schema.annotations import Annotation
from tb_xla_insights.schema.common import ByClass, ExecutionKind, Sums
from tb_xla_insights.schema.differences import (
    BothTimes,
    ClassDifference,
    GapClass,
    Measure,
    Tested,
    TestedTimePair,
    TimePair,
)
from tb_xla_insights.schema.feeding import TransfersByDirection
from tb_xla_insights.schema.session import Environment, SessionHead
from tb_xla_insights.schema.speedups import LazyDynamo, Pairs
from tb_xla_insights.schema.texts import Throughput

Presence = Literal["both", "only_a", "only_b", "changed"]
"""The sessions that have ops. `changed`: both have ops in the annotation, but with different names or shapes, so that
they cannot be matched one by one."""


Verdict = Literal["better", "worse", "same", "chance", "few", "unknown"] | None


class DeviceTotals(TypedDict):
    """Sums over devices."""

    span_ps: Annotated[int, total]
    """Spans."""
    busy_ps: Annotated[int, total]
    """Busy time."""
    idle_ps: Annotated[int, total]
    """Idle time."""
    stall_ps: Annotated[int, total]
    """Time in ops that only wait."""


class StepTotals(TypedDict):
    """Sums over steps."""

    duration_ps: Annotated[int, total]
    """Durations."""
    device_busy_ps: Annotated[int, total]
    """Work of the busiest cores."""
    executions: Annotated[int, total]
    """Launches."""
    compiles: Annotated[int, total]
    """Compilations."""
    early_syncs: Annotated[int, total]
    """Early executions."""
    input_syncs: Annotated[int, total]
    """Input syncs: executions that compute the inputs of a dynamo execution."""
    from_device: Annotated[int, total]
    """Reads from devices on the driving threads."""


class GapTotals(TypedDict):
    """Sums over gaps, as in the report."""

    count: int
    """Number of gaps of at least 10 µs."""
    total_ps: int
    """Idle time, shorter gaps included."""
    listed_ps: int
    """Idle time in gaps of at least 10 µs."""
    by_class_ps: ByClass
    """What the host did in these."""


class CompileTotals(TypedDict):
    """Sums over compilations."""

    count: int
    """Number of compilations."""
    after_warm_up: int
    """Number of those after the warm-up."""
    duration_ps: int
    """Their time."""


class CollectiveTotals(TypedDict):
    """Sums over collectives."""

    count: Annotated[int, total]
    """Number of events."""
    duration_ps: Annotated[int, total]
    """Their time."""
    exposed_ps: Annotated[int, total]
    """The part of it in which nothing else runs on the device."""


class Totals(TypedDict):
    """Sums over the session's own report."""

    devices: DeviceTotals
    """Devices."""
    steps: StepTotals
    """Steps."""
    gaps: GapTotals
    """Gaps."""
    executions: Sums
    """Executions."""
    compiles: CompileTotals
    """Compilations."""
    transfers: TransfersByDirection
    """Transfers."""
    collectives: CollectiveTotals
    """Collectives."""


class ComparedSession(TypedDict):
    """One of the two sessions."""

    session: SessionHead
    """The session."""
    environment: Environment
    """Framework, runtime and accelerator."""
    devices: int
    """Number of devices."""
    steps: int
    """Number of whole steps."""
    source: Literal["annotation", "steps_line", "step_marker", "modules"] | None
    """What steps are found by; `null` without steps."""
    kind: ExecutionKind
    """What launched the device's work: `dynamo` if dynamo launched any of it."""
    launched_by: str
    """The framework and `kind` as text, such as `PyTorch/XLA (lazy)`; the framework alone for `other`."""
    throughput: Throughput | None
    """Samples per second; `null` if unknown."""
    totals: Totals
    """Sums."""


class CompareVerdict(TypedDict):
    """What the comparison says in one to three sentences."""

    text: str
    """The sentences: how B's steps, or runs, differ from A's, and why."""
    verdict: Verdict
    """The verdict of the headline's row in `measures`, `null` if that row has none; `unknown`: a session has no
    steps, and no program runs in both."""
    program: str | None
    """The program, as named in A, by whose runs the sessions are compared, because one has no steps; `null`: by steps,
    or not at all."""


class Chance(TypedDict):
    """Result of the significance test for the difference in the verdict."""

    measure: str | None
    """Name of the figure in `measures`; `null` if the verdict is `unknown`."""
    p: float | None
    """Probability that chance alone causes such a difference; `null` where it was not tested."""
    share: float | None
    """Largest difference, as a share of A's value, that may be chance; `null` if the tested difference is larger, or if
    none was tested."""
    text: str | None
    """The same in words; `null` if the verdict is `unknown`."""


class StepPair(TimePair):
    """A step of A and its partner in B."""

    a: int
    """Index of the step in A."""
    b: int
    """Index of the step in B."""
    a_number: int | None
    """Number of the step in A; `null` without one."""
    b_number: int | None
    """Number of the step in B; `null` without one."""
    device: TimePair
    """Work of the busiest core."""
    executions: list[int]
    """Launches in A and in B."""


class ComparedSteps(TypedDict):
    """Steps of both sessions."""

    paired_by: Literal["number", "order"] | None
    """How steps are paired; `null` if one session has no steps."""
    rows: list[StepPair]
    """One row per pair."""
    only_a: int
    """Steps of A without a partner."""
    only_b: int
    """Steps of B without a partner."""


class ComparedAnnotation(TypedDict):
    """One path of annotations."""

    path: str
    """Path of the annotation."""
    phase: bool
    """Whether it is a child of the step's annotation, or, if none is a step, of an outermost one; only then `host` is
    tested."""
    a: Annotation | None
    """Its row in A's report; `null` if A lacks it."""
    b: Annotation | None
    """Its row in B's report; `null` if B lacks it."""
    host: TestedTimePair
    """Host time per step; of the whole capture if the session has no steps."""
    device: TimePair
    """Device time per step; of the whole capture if the session has no steps."""


class WorkChange(BothTimes):
    """Own time of ops per step and core, or per run and core of the verdict's program."""

    difference_ps: Annotated[int | None, Head("B − A", "change", priority=4)]
    """B − A; `null` if either is."""
    of_step: Annotated[float | None, Head("Of A’s mean")]
    """The difference as a share of A's mean step, or run; `null` if that takes no time."""
    ratio: Annotated[float | None, Head("B / A", priority=3)]
    """B / A; `null` if either is, or A is 0."""


class WorkDifference(WorkChange, Tested):
    """The same, and the result of the significance test."""


class WorkPath(TypedDict):
    """An annotation."""

    path: Annotated[str | None, Head("Annotation")]
    """Path of the annotation; `null`: ops without one."""


class OpPath(TypedDict):
    """Ops of an annotation."""

    program: str
    """Name of the program, A's where A has it."""
    annotation: Annotated[str | None, Head("Annotation", priority=1)]
    """Path of the annotation; `null` without one."""
    category: str | None
    """Category of the op; `null`: ops that are not listed individually."""
    kind: str
    """`work`, or why its time is not work."""


class InSessions(TypedDict):
    """Which sessions have it."""

    presence: Annotated[Presence, Head("In", priority=2)]
    """The sessions that have it; `changed`: both have ops there, with other names or shapes."""


class ComparedWork(WorkPath, WorkChange, InSessions, Tested):
    """Own time per step and core of the ops in one annotation."""


class ComparedOp(OpPath, WorkChange, InSessions, Tested):
    """Own time per step and core of one op, or of several ops that cannot be distinguished."""

    count: list[int]
    """Number of ops in A and in B."""
    ops_a: list[str]
    """Names in A, the first 20."""
    ops_b: list[str]
    """Names in B, the first 20."""


class ComparedDeviceWork(TypedDict):
    """Own time of ops per step and core, or per run and core of the verdict's program; empty where a session recorded
    no ops."""

    annotations: list[ComparedWork]
    """By annotation; the differences add up to that of all ops. The largest difference first."""
    ops: list[ComparedOp]
    """By op; the largest difference first."""


class ProgramTotals(Sums):
    """Runs of a program."""

    kind: ExecutionKind
    """What launched them."""


class ComparedProgram(TypedDict):
    """A program of either session."""

    program: str
    """Name, A's where A has it."""
    program_b: str | None
    """Name in B; `null` where B has none."""
    match: Literal["name", "base"] | None
    """`base`: the names differ only in the number at the end; `null`: only one session has it."""
    kind: ExecutionKind
    """What launched it."""
    a: ProgramTotals | None
    """Totals in A; `null` if A lacks it."""
    b: ProgramTotals | None
    """Totals in B; `null` if B lacks it."""
    host: TimePair
    """Mean host time of a run: the sum of the following three; `null` if no launch is known."""
    device: TestedTimePair
    """Mean device time of a run."""
    queue: TimePair
    """Mean queue time of the runs whose launch is known."""
    overhead: TestedTimePair
    """Mean overhead of the runs whose launch is known."""


class ComparedGaps(TypedDict):
    """Idle time per step and core; `null` where a session has no steps or no device work."""

    count: list[int]
    """Number of gaps of at least 10 µs in A and in B, of all devices in the whole capture."""
    idle: TimePair
    """All idle time."""
    classes: list[GapClass]
    """By what the host did."""
    small: TimePair
    """In gaps below 10 µs."""


class ComparedCompiles(TimePair):
    """Compilations of one module."""

    module: str
    """Name of the module, else the graph's hash, else `unknown graph`."""
    count: list[int]
    """Number of compilations in A and in B."""


class Prediction(TypedDict):
    """What A's report predicts for the fix of one finding, and the step of B, which no longer has it. Steps are the
    usual ones: without what happened once."""

    number: Annotated[int, Head("", "count")]
    """Place of the finding in A's report, from 1."""
    id: str
    """Name of the finding."""
    title: Annotated[str, Head("Gone in B")]
    """Its title."""
    a_ps: Annotated[int, Head("A")]
    """A's step."""
    best_ps: Annotated[int, Head("At best")]
    """A's step without the finding, at best."""
    worst_ps: Annotated[int, Head("At worst")]
    """A's step without the finding, at worst."""
    b_ps: Annotated[int, Head("B")]
    """B's step."""


class CommonComparison(TypedDict):
    """The keys of a comparison that `data/compare` has unchanged."""

    schema: int
    """Increases if a key changes its meaning or is removed."""
    a: ComparedSession
    """The session to compare with."""
    b: ComparedSession
    """The session that is compared."""
    verdict: CompareVerdict
    """What the comparison says in one to three sentences."""
    chance: Chance
    """Result of the significance test for the difference in the verdict."""
    predictions: list[Prediction]
    """Of A's findings that recur and gain at least 3 % of a step, those that B no longer has; empty if a session has no
    steps, or if the setups or the samples per step differ."""
    measures: list[Measure]
    """Figures of both."""
    classes: list[ClassDifference]
    """Host time per step by class."""
    annotations: list[ComparedAnnotation]
    """By path of annotation."""
    programs: list[ComparedProgram]
    """By program; most device time first."""
    gaps: ComparedGaps
    """Idle time."""
    compiles: list[ComparedCompiles]
    """Compilations by module; most time first."""
    lazy_dynamo: LazyDynamo | None
    """`null` unless one session is lazy and the other dynamo."""
    pairs: NotRequired[Pairs]
    """The table of speed-ups from a file of pairs, with `--pairs`."""


class Comparison(CommonComparison):
    """Two sessions side by side."""

    device_work: ComparedDeviceWork
    """Device time of ops."""
    steps: ComparedSteps
    """Steps of both."""
