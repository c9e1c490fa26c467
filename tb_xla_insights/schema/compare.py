"""A comparison: `xla-insights compare --json`, `session.compare()`, `data/compare`.

Differences are B - A, ratios B / A.
"""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import ClassName
from tb_xla_insights.schema.annotations import Annotation
from tb_xla_insights.schema.common import ByClass, ExecutionKind, Sums
from tb_xla_insights.schema.feeding import TransfersByDirection
from tb_xla_insights.schema.session import Environment, SessionHead
from tb_xla_insights.schema.texts import Throughput

Found = Literal["both", "only_a", "only_b", "changed"]


class TimePair(TypedDict):
    """A time in both sessions."""

    a_ps: int | None
    """In A; `null` where there is none."""
    b_ps: int | None
    """In B."""
    difference_ps: int | None
    """Difference."""
    ratio: float | None
    """Ratio."""


class Judged(TypedDict):
    """What the test of chance says of a difference."""

    better: Literal["lower", "higher"] | None
    """Which way is better; `null` where neither is."""
    p: float | None
    """How often chance alone makes such a difference; `null` where it was not tested."""
    chance: float | None
    """Up to which share of A's value a difference may be chance; `null` where this one is not."""
    verdict: Literal["better", "worse", "same", "chance", "few"] | None
    """`same`: at most 3 % apart; `chance`: it may be; `few`: too few steps to tell; `null`: not tested."""


class JudgedTimePair(TimePair, Judged):
    """A time in both sessions, and what the test of chance says of the difference."""


class Measure(Judged):
    """A figure of both sessions. Times have `a_ps`, `b_ps`, `difference_ps`; others `a`, `b`, `difference`."""

    name: str
    """Name of the figure."""
    label: str
    """The same in words."""
    unit: Literal["ps", "share", "count", "rate"]
    """Unit of the values."""
    ratio: float | None
    """Ratio."""
    a_ps: NotRequired[float | None]
    """In A."""
    b_ps: NotRequired[float | None]
    """In B."""
    difference_ps: NotRequired[float | None]
    """Difference."""
    a: NotRequired[float | None]
    """In A."""
    b: NotRequired[float | None]
    """In B."""
    difference: NotRequired[float | None]
    """Difference."""


_OfClass = TypedDict("_OfClass", {"class": ClassName})


class ClassDifference(_OfClass, JudgedTimePair):
    """Mean host time per step of one class; all rows add up to the mean step."""


class GapClass(_OfClass, TimePair):
    """Idle time per step and core while the host did one thing."""


class DeviceTotals(TypedDict):
    """Sums over devices."""

    span_ps: int
    """Spans."""
    busy_ps: int
    """Busy time."""
    idle_ps: int
    """Idle time."""
    stall_ps: int
    """Time in ops that only wait."""


class StepTotals(TypedDict):
    """Sums over steps."""

    duration_ps: int
    """Durations."""
    device_busy_ps: int
    """Work of the busiest cores."""
    executions: int
    """Launches."""
    compiles: int
    """Compilations."""
    early_syncs: int
    """Executions forced inside annotations."""
    input_syncs: int
    """Executions forced by the input pipeline."""
    from_device: int
    """Transfers from devices."""


class GapTotals(TypedDict):
    """Sums over gaps, as in the report."""

    count: int
    """Number of gaps."""
    total_ps: int
    """Idle time."""
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

    count: int
    """Number of events."""
    duration_ps: int
    """Their time."""
    exposed_ps: int
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
    """What ran."""
    devices: int
    """Number of devices."""
    steps: int
    """Number of whole steps."""
    source: Literal["annotation", "steps_line", "step_marker", "modules"] | None
    """What tells steps apart; `null` without steps."""
    kind: ExecutionKind
    """What launched the device's work: dynamo where any of it did."""
    launched_by: str
    """The same in words; where it is `other`, the framework."""
    throughput: Throughput | None
    """Samples per second; `null` where not known."""
    totals: Totals
    """Sums."""


class CompareVerdict(TypedDict):
    """The first sentence."""

    text: str
    """One or two sentences on the steps."""
    verdict: Literal["better", "worse", "same", "chance", "few", "unknown"] | None
    """What they say."""


class Chance(TypedDict):
    """What the test of chance says of the difference that the verdict tells."""

    measure: str
    """Name of the figure."""
    p: float | None
    """How often chance alone makes such a difference."""
    share: float | None
    """Up to which share of A's value a difference may be chance."""
    text: str | None
    """The same as a sentence."""


class StepPair(TimePair):
    """A step of A and the step of B that it is compared with."""

    a: int
    """Index of the step in A."""
    b: int
    """Index of the step in B."""
    a_number: int | None
    """Number of the step in A."""
    b_number: int | None
    """Number of the step in B."""
    device: TimePair
    """Work of the busiest core."""
    executions: list[int]
    """Launches in A and in B."""


class ComparedSteps(TypedDict):
    """Steps of both sessions."""

    by: Literal["number", "order"] | None
    """What pairs them; `null` where one session has no steps."""
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
    """Whether it is a child of the step; its host time is judged."""
    a: Annotation | None
    """Its row in A's report."""
    b: Annotation | None
    """Its row in B's report."""
    host: JudgedTimePair
    """Host time per step."""
    device: TimePair
    """Device time per step."""


class WorkDifference(JudgedTimePair):
    """Own time of ops per step and core."""

    of_step: float | None
    """The difference over A's mean step."""


class ComparedWork(WorkDifference):
    """Own time per step and core of the ops in one annotation."""

    path: str | None
    """Path of the annotation; `null`: ops without one."""
    found: Found
    """The sessions that have it."""


class ComparedOp(WorkDifference):
    """Own time per step and core of one op, or of ops that cannot be told from each other."""

    program: str
    """Name of the program, A's where A has it."""
    annotation: str | None
    """Path of the annotation."""
    category: str | None
    """Category of the op; `null`: ops that are not told one by one."""
    kind: str
    """`work`, or why its time is not work."""
    found: Found
    """The sessions that have it; `changed`: ops of one annotation with other names or shapes."""
    count: list[int]
    """Number of ops in A and in B."""
    ops_a: list[str]
    """Names in A, the first 20."""
    ops_b: list[str]
    """Names in B, the first 20."""


class ComparedDeviceWork(TypedDict):
    """Own time of ops per step and core; empty where a session has no steps."""

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
    """`base`: the names differ in the number behind them only; `null`: only one session has it."""
    kind: ExecutionKind
    """What launched it."""
    a: ProgramTotals | None
    """Totals in A."""
    b: ProgramTotals | None
    """Totals in B."""
    host: TimePair
    """Host time of a run."""
    device: TimePair
    """Device time of a run."""
    queue: TimePair
    """Queue time of a run."""
    overhead: TimePair
    """Overhead of a run."""


class ComparedGaps(TypedDict):
    """Idle time per step and core; `null` where a session has no steps or no device work."""

    count: list[int]
    """Number of gaps in A and in B."""
    idle: TimePair
    """All idle time."""
    classes: list[GapClass]
    """By what the host did."""
    small: TimePair
    """In gaps below 10 µs."""


class ComparedCompiles(TimePair):
    """Compilations of one module."""

    module: str
    """Name of the module."""
    count: list[int]
    """Number of compilations in A and in B."""


class KindStep(TypedDict):
    """A step of one session."""

    steps: int
    """Number of steps."""
    tracing_ps: int | None
    """IR tracing in a step; `null` where nothing was traced."""
    device_ps: int | None
    """Device time of a step, per core."""
    wall_ps: int | None
    """Duration of a step."""
    executions: float | None
    """Launches in a step."""


class KindSteps(TypedDict):
    """The step of both sessions."""

    a: KindStep
    """A."""
    b: KindStep
    """B."""


class Speedup(TypedDict):
    """Lazy over dynamo."""

    tracing: float | None
    """IR tracing."""
    device: float | None
    """Device time."""
    wall: float | None
    """Duration of a step."""


class KindExecution(TypedDict):
    """A program in the order of the device; times are means of a run."""

    program: str
    """Name of the program."""
    kind: ExecutionKind
    """What launched it."""
    count: int
    """Number of runs."""
    per_step: float | None
    """Number of runs per step."""
    host_ps: int
    """Host time."""
    device_ps: int
    """Device time."""
    queue_ps: int
    """Queue time."""
    overhead_ps: int
    """Overhead."""


class KindExecutions(TypedDict):
    """The programs of both sessions."""

    a: list[KindExecution]
    """A."""
    b: list[KindExecution]
    """B."""


class Between(TypedDict):
    """Idle time between two programs that follow each other."""

    before: str | None
    """Program before."""
    after: str | None
    """Program after."""
    count: int
    """How often."""
    total_ps: int
    """Sum."""
    mean_ps: int
    """Mean."""
    cause: ClassName | None
    """The cause with most time; `null` without idle time."""


class BetweenBoth(TypedDict):
    """The same of both sessions."""

    a: list[Between]
    """A."""
    b: list[Between]
    """B."""


class LazyDynamo(TypedDict):
    """Lazy against dynamo."""

    lazy: Literal["a", "b"]
    """The session that launched lazily."""
    dynamo: Literal["a", "b"]
    """The session that launched through dynamo."""
    step: KindSteps
    """What a step takes."""
    speedup: Speedup
    """Lazy over dynamo."""
    executions: KindExecutions
    """What each execution costs."""
    between: BetweenBoth
    """What lies between executions."""


class PairValue(TypedDict):
    """A pair of times or sessions in a speed-up table."""

    a: str
    """Cell of the file."""
    b: str
    """Cell of the file."""
    a_ps: int
    """Median step of A."""
    b_ps: int
    """Median step of B."""
    steps: list[int | None] | None
    """Number of steps behind each; `null` where both are given times."""
    p: float | None
    """How often chance alone makes such a difference."""
    verdict: Literal["better", "worse", "same", "chance", "few"] | None
    """What the test of chance says."""


class PairRow(TypedDict):
    """One model of a speed-up table."""

    model: str
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


class Comparison(TypedDict):
    """Two sessions side by side."""

    schema: int
    """Counts up when a key changes its meaning or goes."""
    a: ComparedSession
    """The session to compare with."""
    b: ComparedSession
    """The session that is compared."""
    verdict: CompareVerdict
    """The first sentence."""
    chance: Chance
    """What the test of chance says of it."""
    measures: list[Measure]
    """Figures of both."""
    classes: list[ClassDifference]
    """Host time per step by class."""
    steps: ComparedSteps
    """Steps of both."""
    annotations: list[ComparedAnnotation]
    """By path of annotation."""
    device_work: ComparedDeviceWork
    """Device time of ops."""
    programs: list[ComparedProgram]
    """By program; most device time first."""
    gaps: ComparedGaps
    """Idle time."""
    compiles: list[ComparedCompiles]
    """Compilations by module; most time first."""
    lazy_dynamo: LazyDynamo | None
    """`null` unless dynamo launched in exactly one of them."""
    pairs: NotRequired[Pairs]
    """The table of a file of pairs, with `--pairs`."""
