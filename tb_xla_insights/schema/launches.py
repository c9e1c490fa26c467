"""The report's `executions`, `programs`, `launching`, `early_executions` and `compiles`: what the host launches."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from typing_extensions import TypedDict

from tb_xla_insights.columns.head import Head
from tb_xla_insights.columns.merge import row_of, rows_of
from tb_xla_insights.columns.rules import (
    Row,
    Rule,
    counts,
    key,
    largest,
    median,
    most,
    of_median,
    smallest,
    total,
    union,
    whole_mean,
)
from tb_xla_insights.columns.shift import instant, step_index
from tb_xla_insights.columns.weighted import weighted_median
from tb_xla_insights.schema.common import ExecutionKind, Join, Spread, Sums


class Spreads(TypedDict):
    """The range of each time over the runs of a program; of all times but the device's over those whose launch is
    known, if there are any."""

    host_ps: Spread
    """Host time of a run."""
    device_ps: Spread
    """Device time of a run."""
    queue_ps: Spread
    """Queue time of a run."""
    overhead_ps: Spread
    """Overhead of a run."""


class Cause(TypedDict):
    """Why a graph was executed, from a debug log."""

    graph_hash: Annotated[str | None, key]
    """Hash of the graph; `null` if the log does not name it."""
    cause: Annotated[str | None, key]
    """What forced the execution; `null` if the log does not record it."""
    frame: Annotated[str | None, key]
    """Line of Python that caused it; `null` without a stack in the log."""
    count: Annotated[int, total]
    """Number of executions."""


def known_runs(row: Row) -> int:
    """The number of runs of a row of `executions` or `programs` whose launch is known."""
    joins: dict[str, int] = row["joins"] if "joins" in row else {row["join"]: row["count"]}
    return int(row["count"]) - joins.get("none", 0)


def _merge_spreads(rows: list[tuple[Any, int, int]]) -> dict[str, Spread]:
    """From the spreads of hosts, each with the numbers of its runs and of those whose launch is known."""
    has_known = any(known for _, _, known in rows)

    def merge(column: Any) -> Spread:
        # Other times than the device's are those of runs whose launch is known, if there are any.
        weights = (known if has_known and column != "device_ps" else count for _, count, known in rows)
        counted = [(row[0][column], n) for row, n in zip(rows, weights, strict=True) if n]
        return {
            "min": min(spread["min"] for spread, _ in counted),
            "median": weighted_median((spread["median"], n) for spread, n in counted),
            "max": max(spread["max"] for spread, _ in counted),
        }

    return {column: merge(column) for column in rows[0][0]}


merged_spreads = Rule(
    lift=lambda value, row, _: [(value, row["count"], known_runs(row))], value=_merge_spreads
)


class NamedRuns(TypedDict):
    """Runs of a program."""

    program: Annotated[str, key, Head("Program", "code")]
    """Name of the program."""
    program_ids: Annotated[list[str], union(int)]
    """Ids of the programs with that name, decimal strings."""
    kind: Annotated[ExecutionKind, most(known_runs, "other"), Head("Kind", priority=3)]
    """What launched most of the runs whose launch is known; `other` if none is."""


class RunSums(NamedRuns, Sums):
    """Sums over runs."""

    spread: Annotated[Spreads, merged_spreads]
    """Minimum, median and maximum over the runs."""


class JoinedRuns(RunSums):
    """The runs of a program that were joined to their launches equally well."""

    join: Annotated[Join, key]
    """`exact`: by an id in the capture; `ordered`: by order; `none`: no launch is known."""


class ProgramRuns(RunSums):
    """All runs of a program."""

    joins: Annotated[dict[Join, int], counts(get_args(Join))]
    """Number of runs by how they were joined to launches."""


class Execution(JoinedRuns):
    """The runs of a program that were joined to their launches equally well, and why it was executed."""

    causes: Annotated[list[Cause], rows_of(Cause, "count")]
    """Why it was executed, from a debug log beside the capture."""


class Program(ProgramRuns):
    """All runs of a program, and why it was executed."""

    causes: Annotated[list[Cause], rows_of(Cause, "count")]
    """Why it was executed, from a debug log beside the capture."""


class FixedCost(TypedDict):
    """Fixed cost of an execution: the intercept of a robust line that fits the overhead of runs to their device
    time."""

    fixed_ps: Annotated[int, of_median("fixed_ps", "runs")]
    """Overhead of a run at a device time of 0."""
    slope: Annotated[float, of_median("fixed_ps", "runs")]
    """Slope of the line: additional overhead per device time."""
    runs: Annotated[int, total]
    """Number of runs that the line fits: those that did not queue, or all where most did."""


class Lead(TypedDict):
    """How far the host runs ahead of the device: from the instant at which a run is enqueued until its core has done
    all earlier work; negative where the core had nothing left to do."""

    median_ps: Annotated[int, median("runs")]
    """Median."""
    mean_ps: Annotated[int, whole_mean("runs")]
    """Mean."""
    min_ps: Annotated[int, smallest]
    """Minimum."""
    max_ps: Annotated[int, largest]
    """Maximum."""
    runs: Annotated[int, total]
    """Number of runs."""


class Launching(TypedDict):
    """Cost of launching."""

    fixed: Annotated[FixedCost | None, row_of(FixedCost)]
    """`null` where there are fewer than three runs to fit."""
    lead: Annotated[Lead | None, row_of(Lead)]
    """`null` if no run but each core's first one has a known enqueuing."""


class EarlyPlace(TypedDict):
    """What was executed early, and where."""

    step: Annotated[int | None, step_index, Head("Step", "text")]
    """Index of the step; `null` outside of steps."""
    host: Annotated[str, Head("Host", priority=7)]
    """Name of the host."""
    annotation: Annotated[str | None, Head("Annotation")]
    """Path of the innermost annotation around it; `null` without one."""
    thread: Annotated[str, Head("Thread", priority=2)]
    """Name of the thread."""
    trigger: Annotated[Literal["read", "step_marker"], Head("How", priority=4)]
    """What forced it: a value that was read, or a step marker."""
    program: Annotated[str | None, Head("Program")]
    """Name of the program; `null` if it is not known."""


class EarlyReason(TypedDict):
    """What a debug log says about an early execution."""

    frame: Annotated[str | None, Head("Where", priority=6)]
    """Line of Python that caused it, from a debug log; `null` if unknown."""
    cause: Annotated[str | None, Head("Why", priority=5)]
    """What forced it, from a log; `null` if unknown."""


class EarlyTimes(TypedDict):
    """When it was requested, and what it took."""

    start_ps: Annotated[int, instant, Head("Start", priority=1)]
    """Start of the synchronisation or step marker that requested it."""
    duration_ps: int
    """How long the host was held up."""
    device_ps: Annotated[int, Head("Device", priority=3)]
    """Device time of its runs, over all cores."""
    idle_ps: Annotated[int, Head("Idle after")]
    """Time of the starved gaps after it, over all cores."""


class EarlyLaunch(EarlyPlace, EarlyTimes):
    """An early execution: one that a read of its value, or a step marker inside an annotation, forced before the step's
    end."""


class EarlyExecution(EarlyPlace, EarlyReason, EarlyTimes):
    """An early execution: one that a read of its value, or a step marker inside an annotation, forced before the step's
    end; and what a debug log says about it."""


class Parameter(TypedDict):
    """A parameter that differs from the nearest graph."""

    index: int
    """Position of the parameter, from 0, in this graph; in the nearest graph if this one lacks it."""
    before: str | None
    """Its shape in the nearest graph; `null` if there is none."""
    after: str | None
    """Its shape in this graph; `null` if there is none."""


class NearestGraph(TypedDict):
    """The earlier graph of the same name with the fewest different parameters."""

    graph: str
    """Name of the graph."""
    module: str
    """Name of its module."""
    program_id: str
    """Id of its program."""
    parameters: list[Parameter]
    """The first 20 parameters that differ."""
    different_count: int
    """Number of parameters that differ."""
    same_count: int
    """Number of parameters that are the same."""


class GraphChange(TypedDict):
    """How a compiled graph differs from the nearest one."""

    change: (
        Literal[
            "grows",
            "shrinks",
            "shape",
            "dtype",
            "parameters",
            "fewer_parameters",
            "code",
            "slices",
            "constants",
            "placement",
            "same_hlo",
            "other_graph",
        ]
        | None
    )
    """What is new against the nearest graph: a parameter that grows, shrinks, has another shape or dtype; other
    parameters, or none is new and some are gone (`fewer_parameters`); with equal parameters other code, only other
    bounds of slices, only other constants, only another placement of arrays (sharding), or nothing (`same_hlo`);
    `other_graph`: no graph is near; `null`: the program is not known, or its HLO is not in the capture or cannot be
    read."""
    difference: Annotated[str | None, Head("What is new")]
    """The same as a sentence; `null` where `change` is."""
    nearest: NearestGraph | None
    """The nearest graph; `null` if no graph is near, or where `change` is."""
    same_hlo: bool | None
    """Whether the nearest graph's HLO is the same; `null` without one."""


class CompilePlace(TypedDict):
    """What was compiled, and when."""

    module: Annotated[str | None, Head("Module", "code")]
    """Name of the compiled module; `null` if the capture does not record it."""
    host: Annotated[str, Head("Host", priority=8)]
    """Name of the host."""
    step: Annotated[int | None, step_index, Head("Step", "number")]
    """Index of the step; `null` outside of steps."""
    step_number: int | None
    """Number of the step; `null` outside of steps, and if the capture does not number them."""
    start_ps: Annotated[int, instant, Head("Start", priority=2)]
    """Start of the part in the capture."""
    duration_ps: Annotated[int, Head("Time")]
    """Duration of the part in the capture."""
    cut: Literal["start", "end", "both"] | None
    """The edge of the capture that cuts it: begun before (`start`), unfinished (`end`); `null` if none
    does."""
    idle_ps: Annotated[dict[str, int], Head("Idle for it", priority=5, unit_basis="column")]
    """Idle time in gaps of at least 10 µs while the host compiles it, by id of the device; devices without any are left
    out."""


class Compile(CompilePlace, GraphChange):
    """One compilation."""

    graph_hash: Annotated[str | None, Head("Graph", "code", priority=6)]
    """Hash of the graph; `null` if the capture does not record it."""
    graph: str | None
    """Name of the graph in the report: its hash, else the module's name; `null` without both."""
    graphs_of_same_name: Annotated[list[str], Head("Other graphs", priority=1)]
    """Other graphs with modules of the same name."""
    program_id: str | None
    """Id of the compiled program; `null` if it is not known."""
    warm_up: bool
    """Whether it belongs to the warm-up."""
    annotation: Annotated[str | None, Head("During", priority=3)]
    """Path of the innermost annotation around it; `null` without one."""
    frame: Annotated[str | None, Head("Where", priority=7)]
    """Line of Python that caused it, from a log; `null` if unknown."""
    frames: list[str]
    """Its Python stack from a debug log, innermost frame first; empty without one."""
    cause: Annotated[str | None, Head("Cause", priority=4)]
    """What forced it, from a log; `null` if unknown."""
    event: str
    """Id of the event in the timeline."""
