"""The answer of `data/executions`."""

from __future__ import annotations

from typing_extensions import TypedDict

from tb_xla_insights.schema.common import ExecutionKind, Join, Sums
from tb_xla_insights.schema.launches import FixedCost, Lead, Program
from tb_xla_insights.schema.route_parts import PartialAnswer
from tb_xla_insights.schema.speedups import IdleBetweenPrograms


class ExecutionRow(Program):
    """All runs of a program."""

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
    """What the host launches in the whole capture, also outside of steps."""

    executions: list[ExecutionRow]
    """The programs."""
    kinds: dict[ExecutionKind, Sums]
    """Sums of the programs, by what launched them."""
    core_steps: int | None
    """Whole steps times cores; `null` if no whole step launched a run."""
    fixed: FixedCost | None
    """Fixed cost of an execution; `null` where there are fewer than three runs to fit."""
    between: list[IdleBetweenPrograms]
    """Idle time between programs that follow each other on a core; at most 50 pairs, most time first."""
    between_count: int
    """Number of pairs of programs that follow each other."""
    lead: Lead | None
    """How far the host runs ahead of the device; `null` if no run but each core's first one has a known enqueuing."""


class Executions(ExecutionSums, PartialAnswer):
    """`data/executions`: what the host launches."""

    steps: list[int]
    """The numbers of all steps; the index where a step has no number."""
    step: int | None
    """Index of the step of `runs`; `null` without steps."""
    runs: RunColumns | None
    """The runs of one step, at most the first 2000; `null` without steps, or if its host is not in memory."""
    run_count: int
    """Number of runs of that step; 0 if `runs` is `null`."""
