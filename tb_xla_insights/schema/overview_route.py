"""The answer of `data/overview`."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import ClassName
from tb_xla_insights.schema.engines import Engine
from tb_xla_insights.schema.feeding import InputPipeline, TransfersByDirection
from tb_xla_insights.schema.findings import Finding, Mistakes, Verdict
from tb_xla_insights.schema.route_parts import PartialAnswer, ViewCounts
from tb_xla_insights.schema.steps import MeanStep, StepSource


class Figure(TypedDict):
    """A headline figure."""

    name: Literal["duty", "step", "work", "idle"]
    """Which figure it is."""
    value: float | None
    """A share (`duty`) or picoseconds; `null` where unknown."""
    text: str
    """The value as it is shown; the texts of work and idle time add up to that of the step."""
    meaning: str
    """What the value is, and per what."""
    note: str | None
    """Which hosts are left out, and why; `null` without such hosts."""


class DeviceColumns(TypedDict):
    """The devices, a column per property; the id of a device is `<host>/<name>`."""

    unit_ps: int
    """The unit of all times here: 1, or a larger power of ten for many devices."""
    host: list[str]
    """Names of the hosts."""
    name: list[str]
    """Names of the devices."""
    span: list[int]
    """From the start of the first op or run to the end of the last."""
    busy: list[int]
    """Time in ops."""
    stall: list[int]
    """The part of busy time in ops that only wait."""
    steps: list[int | None]
    """Number of whole steps of the host; `null` for a device that the mean step leaves out."""
    small: list[int]
    """Idle time in gaps below 10 µs, in whole steps."""
    edges: list[int]
    """Idle time before the first and after the last work, in whole steps; also part of `idle`."""
    idle: dict[ClassName, list[int]]
    """Idle time in whole steps except `small`, by what the host did."""


class StepColumns(TypedDict):
    """Whole steps, a column per key of the report's `steps`."""

    index: list[int]
    """Index in the report's `steps`."""
    number: list[int | None]
    """Number that the program gave the step; `null` if it gave none."""
    host: list[str]
    """Name of the host."""
    start_ps: list[int]
    """Start of the step."""
    duration_ps: list[int]
    """Duration of the step."""
    device_busy_ps: list[int]
    """Work of the busiest core on what the step launched; if the steps come from a device, its work during the step."""
    executions: list[int]
    """Number of launches."""
    compiles: list[int]
    """Number of compilations."""
    early_syncs: list[int]
    """Number of early executions."""
    input_syncs: list[int]
    """Number of input syncs: executions that compute the inputs of a dynamo execution."""
    from_device: list[int]
    """Number of reads from the device on the driving thread."""
    host_ps: dict[ClassName, list[int]]
    """What the driving thread did, by class."""


class StepWorkIntervals(TypedDict):
    """The intervals in which a device works on one step each, by start, as columns."""

    device: str
    """Id of the device."""
    steps: tuple[int, int]
    """The indices of the host's steps: from the first to before the second."""
    step: list[int]
    """Index of the step that launched the work."""
    start_ps: list[int]
    """Start of the interval's first run."""
    end_ps: list[int]
    """End of the interval's last run."""


StepPartKind = Literal["computing", "collective", "wait", "late", "idle", "short_gaps"]


class StepPart(TypedDict):
    """A part of the usual step of a core."""

    kind: StepPartKind
    """What the core does: `computing`; `collective`, an exchange of data while nothing else computes; `wait`, an op
    that only waits; `late`, waiting in collectives for late hosts or cores; `idle`, by what the host does meanwhile;
    `short_gaps`, idle time in gaps under 10 µs."""
    name: str
    """Kind of the collective, opcode of the op that waits, `hosts` or `cores` that are late, or class of the host's
    time; empty where `kind` says all."""
    label: str
    """Its name as it is shown."""
    ps: int
    """Its time in the usual step."""
    once_ps: int
    """What is added to it in the mean step by what happened once."""


RungKind = Literal["fixed", "pace", "own"]


class Rung(TypedDict):
    """How short a fix makes the usual step."""

    kind: RungKind
    """`fixed`, without all mistakes; `pace`, without one of the findings that set the pace, alone; `own`, down to the
    devices' own work."""
    label: str
    """Its name as it is shown."""
    finding: str | None
    """Id of the finding, of several the first; `null` if there is none."""
    best_ps: int
    """The step at best."""
    worst_ps: int
    """The step at worst; `best_ps` if the two hardly differ."""
    gain: float
    """Share of the usual step that is saved at best."""
    text: str
    """The gain in words: `−36.0 %`; `up to −74.8 %` if it may be much less."""


class OneStep(TypedDict):
    """One usual step of a core: its parts, and how short it can become. `ps` of all parts adds up to `now_ps`, and
    `once_ps` of all parts to `once_ps`."""

    per: Literal["step", "second"]
    """`second` where no whole step is recorded: the parts are those of one second from first to last run."""
    now_ps: int
    """The usual step."""
    once_ps: int
    """What the mean step has in addition, from what happened once."""
    parts: list[StepPart]
    """Its parts, in the order of a bar: idle time by class, most time first; parts without time are left out."""
    rungs: list[Rung]
    """How short it can become; empty where nothing can be replayed. A rung that gains less than 1 %, or as much as the
    one above it, is left out."""


class OverviewSteps(TypedDict):
    """Steps, and the device work of each."""

    source: StepSource | None
    """How steps are distinguished in this capture; `null` without steps."""
    count: int
    """Number of whole steps."""
    cut_count: int
    """Number of steps that an edge of the capture cuts."""
    columns: StepColumns
    """The first steps of the hosts in memory; of all hosts if none is."""
    work: list[StepWorkIntervals]
    """Device work of these steps, by device."""


class HostRanks(TypedDict):
    """The hosts to look at first, as indices into the report's `session.hosts`."""

    slowest: int
    """The host that the others wait for longest; if they wait for none, the host with the longest median step."""
    median: int
    """The median host."""
    late: list[int]
    """The hosts that others wait for, longest first; at most 8."""


class GapPosition(TypedDict):
    """Where a gap is."""

    device: str
    """Id of the device."""
    start_ps: int
    """Start of the gap."""
    duration_ps: int
    """Duration of the gap."""


class ExplainedGaps(TypedDict):
    """The gaps that a finding explains."""

    count: int
    """Number of gaps among those that `data/gaps` lists; a gap on several cores counts once."""
    gaps: list[GapPosition]
    """At most 20 of them: the longest of those that the finding explains most, then the others by the time that it
    explains."""


class GroupedFinding(TypedDict):
    """What the fix of a finding gains, in words."""

    id: str
    """Id of the finding."""
    share: str
    """Share that a fix saves: `−36.0 %`, or `up to −74.8 %` if it may be much less; of what happened once, the time
    that it saves; empty without a gain."""
    basis: str
    """What the share is of, or how often the time is saved: `of a step`, `once`; without a gain, the reason."""
    change: str
    """The step before and after: `67.7 → 43.3 ms`; empty if unknown."""
    tag: Literal["fix first", "fix", "pace", "note", "once"]
    """What it is: `fix first` for the one that the verdict names so, else as its group."""


class FindingGroup(TypedDict):
    """Neighbours in the order of findings that have one heading."""

    tag: Literal["fix", "pace", "note", "once"]
    """What each of them is: a place to change, what sets the pace, what costs no device time, or what happened once."""
    title: str
    """Heading."""
    note: str
    """Remark beside the heading."""
    gain: str
    """What the fixes of all mistakes gain together; empty for other findings, without a replay, and without a gain."""
    findings: list[GroupedFinding]
    """The findings, in order."""


NeededTableKind = Literal["idle", "host", "waits", "work", "hosts", "iteration"]
"""What the table is about that a verdict needs: idle time by cause, the host's time, what devices wait for, their work,
the hosts, or what a server does in an iteration."""


class NeededRows(TypedDict):
    """The table that the verdict needs, as texts."""

    kind: NeededTableKind
    """What it is about."""
    heads: list[str]
    """The headings of its columns; the first is its title."""
    rows: list[list[str]]
    """The cells of each row."""
    last: list[str]
    """The row with the sums; empty if there is none."""
    texts: list[int]
    """The indices of columns that are aligned to the left."""


class OpSum(TypedDict):
    """The time of an op on all devices; the last row may be the sum of `summed_ops` others."""

    op: str | None
    """Name of the op; `null` in the row with the sums of the others."""
    summed_ops: NotRequired[int]
    """Number of ops in the row with the sums of the others."""
    count: int
    """Number of events."""
    duration_ps: int
    """Their time."""


class StallSum(OpSum):
    """The time of an op that only waits, on all devices; the last row may be the sum of `summed_ops` others."""

    engine: NotRequired[Engine]
    """What it waits for."""


class CollectiveSum(OpSum):
    """The time of a collective on all devices; the last row may be the sum of `summed_ops` others."""

    kind: NotRequired[str]
    """Kind of the collective."""
    exposed_ps: int
    """The part of the time in which nothing else runs on the device."""
    exposed_in_steps_ps: int
    """The same of the events that begin in whole steps; 0 without steps."""


class Overview(PartialAnswer):
    """`data/overview`: what the first view shows."""

    verdict: Verdict
    """The report's verdict."""
    figures: list[Figure]
    """The headline figures: duty cycle, step, device work and idle time."""
    devices: DeviceColumns
    """The devices."""
    devices_agree: bool
    """Whether one number says how busy all of them are, by each definition of busy."""
    step_idle: MeanStep
    """The mean step."""
    one_step: OneStep | None
    """The usual step, by what a core does; `null` if no core recorded work."""
    needed: NeededRows | None
    """The table that the verdict needs; `null` if nothing was recorded."""
    gap_causes: list[ClassName]
    """The classes that are the cause of a gap."""
    steps: OverviewSteps
    """Steps, and the device work of each."""
    ranks: HostRanks | None
    """The hosts to look at first; `null` in a session of one host."""
    findings: list[Finding]
    """What to change."""
    explained_gaps: dict[str, ExplainedGaps]
    """By id of a finding, the gaps that it explains."""
    mistakes: Mistakes
    """What all mistakes cost together."""
    groups: list[FindingGroup]
    """The findings by kind."""
    input_text: str
    """Whether devices wait for data, if that is known, and what loads it; empty if no loading is recorded."""
    input_pipeline: InputPipeline
    """How batches reach the device."""
    transfers: TransfersByDirection
    """Transfers by direction."""
    collectives: list[CollectiveSum]
    """The collectives with most time."""
    stalls: list[StallSum]
    """The ops that only wait, with most time."""
    counts: ViewCounts
    """The numbers beside the names of the views."""
