"""The answer of `data/executions`."""

from __future__ import annotations

from typing_extensions import TypedDict

from tb_xla_insights.schema.common import ExecutionKind, Join
from tb_xla_insights.schema.launches import Program
from tb_xla_insights.schema.route_parts import PartialAnswer
from tb_xla_insights.schema.speedups import IdleBetweenPrograms


class Costs(TypedDict):
    """Host time of executions and its three parts; all but the device's are `null` if no launch is known."""

    host_ps: int | None
    """Sum of the others."""
    device_ps: int
    """Device time."""
    queue_ps: int | None
    """Queue time."""
    overhead_ps: int | None
    """Overhead."""


class CostsByBasis(TypedDict):
    """Costs of the runs of one program or several. In means, runs whose launch is not known count as the mean of their
    program's others; totals lack their queue time and overhead."""

    run: Costs
    """Means of a run."""
    step: Costs | None
    """Of a whole step on a core; `null` if no whole step launched a run."""
    total: Costs
    """Sums over all runs."""


class ExecutionRow(Program):
    """All runs of a program."""

    costs: CostsByBasis
    """Costs of its runs."""
    overhead_share: float | None
    """Overhead of the mean run as a share of its host time; `null` if no launch is known."""
    join: str
    """How the runs were joined to launches: `exact`, `ordered`, `none`, or the numbers of each."""
    per_step: float
    """Number of runs that a whole step launches on a core: the factor from the mean of a run to that of a step and
    core. 0 if no whole step launched a run."""


class RunColumns(TypedDict):
    """The runs of one step by start, a column per property."""

    device: list[str]
    """Id of the device."""
    start_ps: list[int]
    """Start of the run."""
    duration_ps: list[int]
    """Duration of the run."""
    program: list[str]
    """Name of the program."""
    kind: list[ExecutionKind]
    """What launched the run."""
    launch_start_ps: list[int]
    """Start of the execute call."""
    join: list[Join]
    """How the run was joined to its launch."""
    host_ps: list[int]
    """Host time of the run."""
    queue_ps: list[int]
    """Queue time of the run."""
    overhead_ps: list[int]
    """Overhead of the run."""
    lead_ps: list[int]
    """How far the host was ahead of the device; 0 if it is not known."""


class ExecutionSums(TypedDict):
    """Sums over programs."""

    programs: int
    """Number of programs."""
    launches: int
    """Number of execute calls; a call that runs on several cores counts once."""
    count: int
    """Number of runs; one per core."""
    per_step: float
    """Number of runs that a whole step launches on a core."""
    costs: CostsByBasis
    """Costs of all runs together."""
    overhead_share: float | None
    """Overhead of the mean run as a share of its host time; `null` if no launch is known."""


class Saving(TypedDict):
    """What fewer executions would save: overhead per step and core, in total without steps."""

    name: str
    """What would change."""
    now_ps: int
    """Overhead now."""
    then_ps: int
    """Overhead then."""


class ExecutionTables(TypedDict):
    """What the host launches in the whole capture, also outside of steps."""

    executions: list[ExecutionRow]
    """The programs."""
    kinds: dict[ExecutionKind, ExecutionSums]
    """Sums of the programs, by what launched them."""
    all: ExecutionSums
    """Sums of all programs."""
    core_steps: int | None
    """Whole steps times cores; `null` if no whole step launched a run."""
    reading: str
    """What the costs say."""
    savings: list[Saving]
    """What fewer executions would save; at most two cases."""
    between: list[IdleBetweenPrograms]
    """Idle time between programs that follow each other on a core; at most 50 pairs, most time first."""
    between_count: int
    """Number of pairs of programs that follow each other."""
    lead: str | None
    """How far the host runs ahead of the device; `null` if no run but each core's first one has a known enqueuing."""


class Executions(ExecutionTables, PartialAnswer):
    """`data/executions`: what the host launches."""

    steps: list[int]
    """The numbers of all steps; the index where a step has no number."""
    step: int | None
    """Index of the step of `runs`; `null` without steps."""
    runs: RunColumns | None
    """The runs of one step, at most the first 2000; `null` without steps, or if its host is not in memory."""
    run_count: int
    """Number of runs of that step; 0 if `runs` is `null`."""
