"""The report's `executions`, `programs`, `launching`, `early_executions` and `compiles`: what the host launches."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

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

    graph_hash: str | None
    """Hash of the graph; `null` if the log does not name it."""
    cause: str | None
    """What forced the execution; `null` if the log does not record it."""
    frame: str | None
    """Line of Python that caused it; `null` without a stack in the log."""
    count: int
    """Number of executions."""


class RunSums(Sums):
    """Sums over runs."""

    program_ids: list[str]
    """Ids of the programs with that name, decimal strings."""
    kind: ExecutionKind
    """What launched most of the runs whose launch is known; `other` if none is."""
    spread: Spreads
    """Minimum, median and maximum over the runs."""


class JoinedRuns(RunSums):
    """The runs of a program that were joined to their launches equally well."""

    program: str
    """Name of the program."""
    join: Join
    """`exact`: by an id in the capture; `ordered`: by order; `none`: no launch is known."""


class ProgramRuns(RunSums):
    """All runs of a program."""

    program: str
    """Name of the program."""
    joins: dict[Join, int]
    """Number of runs by how they were joined to launches."""


class _Causes(TypedDict):
    causes: list[Cause]
    """Why it was executed, from a debug log beside the capture."""


class Execution(JoinedRuns, _Causes):
    """The runs of a program that were joined to their launches equally well, and why it was executed."""


class Program(ProgramRuns, _Causes):
    """All runs of a program, and why it was executed."""


class FixedCost(TypedDict):
    """Fixed cost of an execution: the intercept of a robust line that fits the overhead of runs to their device
    time."""

    fixed_ps: int
    """Overhead of a run at a device time of 0."""
    slope: float
    """Slope of the line: additional overhead per device time."""
    runs: int
    """Number of runs that the line fits: those that did not queue, or all where most did."""


class Lead(TypedDict):
    """How far the host runs ahead of the device: from the instant at which a run is enqueued until its core has done
    all earlier work; negative where the core had nothing left to do."""

    median_ps: int
    """Median."""
    mean_ps: int
    """Mean."""
    min_ps: int
    """Minimum."""
    max_ps: int
    """Maximum."""
    runs: int
    """Number of runs."""


class Launching(TypedDict):
    """Cost of launching."""

    fixed: FixedCost | None
    """`null` where there are fewer than three runs to fit."""
    lead: Lead | None
    """`null` if no run but each core's first one has a known enqueuing."""


class EarlyLaunch(TypedDict):
    """An early execution: one that a read of its value, or a step marker inside an annotation, forced before the step's
    end."""

    host: str
    """Name of the host."""
    step: int | None
    """Index of the step; `null` outside of steps."""
    annotation: str | None
    """Path of the innermost annotation around it; `null` without one."""
    thread: str
    """Name of the thread."""
    trigger: Literal["read", "step_marker"]
    """What forced it: a value that was read, or a step marker."""
    program: str | None
    """Name of the program; `null` if it is not known."""
    start_ps: int
    """Start of the synchronisation or step marker that requested it."""
    duration_ps: int
    """How long the host was held up."""
    device_ps: int
    """Device time of its runs, over all cores."""
    idle_ps: int
    """Time of the starved gaps after it, over all cores."""


class EarlyExecution(EarlyLaunch):
    """An early execution: one that a read of its value, or a step marker inside an annotation, forced before the step's
    end; and what a debug log says about it."""

    cause: str | None
    """What forced it, from a debug log; `null` if unknown."""
    frame: str | None
    """Line of Python that caused it, from a debug log; `null` if unknown."""


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
    difference: str | None
    """The same as a sentence; `null` where `change` is."""
    nearest: NearestGraph | None
    """The nearest graph; `null` if no graph is near, or where `change` is."""
    same_hlo: bool | None
    """Whether the nearest graph's HLO is the same; `null` without one."""


class Compile(GraphChange):
    """One compilation."""

    start_ps: int
    """Start of the part in the capture."""
    duration_ps: int
    """Duration of the part in the capture."""
    cut: Literal["start", "end", "both"] | None
    """The edge of the capture that cuts it: begun before (`start`), unfinished (`end`); `null` if none
    does."""
    host: str
    """Name of the host."""
    step: int | None
    """Index of the step; `null` outside of steps."""
    step_number: int | None
    """Number of the step; `null` outside of steps, and if the capture does not number them."""
    module: str | None
    """Name of the compiled module; `null` if the capture does not record it."""
    graph_hash: str | None
    """Hash of the graph; `null` if the capture does not record it."""
    graph: str | None
    """Name of the graph in the report: its hash, else the module's name; `null` without both."""
    program_id: str | None
    """Id of the compiled program; `null` if it is not known."""
    warm_up: bool
    """Whether it belongs to the warm-up."""
    annotation: str | None
    """Path of the innermost annotation around it; `null` without one."""
    cause: str | None
    """What forced it, from a debug log; `null` if unknown."""
    frame: str | None
    """Line of Python that caused it, from a debug log; `null` if unknown."""
    frames: list[str]
    """Its Python stack from a debug log, innermost frame first; empty without one."""
    event: str
    """Id of the event in the timeline."""
    idle_ps: dict[str, int]
    """Idle time in gaps of at least 10 µs while the host compiles it, by id of the device; devices without any are left
    out."""
    graphs_of_same_name: list[str]
    """Other graphs with modules of the same name."""
