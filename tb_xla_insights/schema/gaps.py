"""The report's `gaps`: idle time of the devices, and what the host did in it."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import ClassName
from tb_xla_insights.schema.common import ByClass

GapKind = Literal["starved", "queued", "unknown"]

LinkClass = TypedDict("LinkClass", {"class": ClassName})


class Meanwhile(LinkClass):
    """What the driving thread did while a launch waited."""

    name: str
    """Name of the event, or of its class."""
    duration_ps: int
    """Duration within the link."""


class Link(LinkClass):
    """One activity of the host in a gap, or the wait of the gap's launch for a thread or for its run."""

    name: str
    """Name of the event, or a common name of several; `handed over, not taken up` and `enqueued, not begun` of a launch
    that waits."""
    thread: str
    """Name of the thread; of the one that has yet to take the work up, or of the device, where a launch waits."""
    start_ps: int
    """Start, not before the gap's."""
    duration_ps: int
    """Duration within the gap; the links of a chain add up to the gap."""
    event: int | None
    """Number of the event in its file; `null` where nothing was recorded."""
    meanwhile: list[Meanwhile]
    """For a waiting launch, what the driving thread did, most time first; adds up to `duration_ps`. Else empty."""


class GapInterval(TypedDict):
    """Where a gap is, and what the host did in it."""

    device: str
    """Id of the device."""
    start_ps: int
    """Start of the gap."""
    duration_ps: int
    """Duration of the gap."""
    step: int | None
    """Index of the step that launched the run after it; `null` if no whole step did."""
    step_number: int | None
    """Number of that step; `null` without one."""
    before: str | None
    """Program that ran before it; `null` if unknown."""
    after: str | None
    """Program that runs after it; `null` if unknown."""
    inside_run: bool
    """Whether it is inside one run of a program."""
    kind: GapKind
    """`starved`: the next run was enqueued after the gap began; `queued`: it was enqueued before; or `unknown`."""
    cause: ClassName
    """Of a `starved` gap the class with most time until the next run was enqueued; of a `queued` one `wait`; of others
    the class with most time."""
    by_class_ps: ByClass
    """What the host did; adds up to `duration_ps`. A barrier is `wait`, whatever the host did."""


class BarrierWait(TypedDict):
    """The part of a gap in which its device waits for another one."""

    barrier_ps: int
    """The part in which the device waited at the start of a run for another device of the launch (`barrier-cores`)."""
    late_device: str | None
    """Id of the device that it waited for: the last one to begin; `null` without such a wait."""


class Gap(GapInterval, BarrierWait):
    """One gap of one device of at least 10 µs."""

    all_cores_idle_ps: int
    """Time in it for which all cores of its host are idle."""
    chain: list[Link]
    """The host's activity in it until the next run began, in order; adds up to `duration_ps`."""
    by_finding_ps: dict[str, int]
    """Time that each finding of its host explains, by the finding's id, most time first; no time is counted twice."""


class GapPattern(TypedDict):
    """All gaps between the same two programs, or inside the runs of one."""

    before: str | None
    """Program before; `null` if unknown."""
    after: str | None
    """Program after; `null` if unknown."""
    inside_run: bool
    """Whether the gaps are inside runs."""
    count: int
    """Number of gaps."""
    total_ps: int
    """Their sum."""
    mean_ps: int
    """Their mean."""
    in_steps_ps: int
    """The part of `total_ps` in whole steps."""
    per_step_ps: int | None
    """`in_steps_ps` per step and core; `null` without steps."""
    min_ps: int
    """The shortest one."""
    max_ps: int
    """The longest one."""
    cause: ClassName
    """The cause with most time."""
    by_cause_ps: ByClass
    """Time of the gaps by their `cause`; adds up to `total_ps`."""
    queued_ps: int
    """Time of the queued gaps, whose cause is `wait`."""
    by_class_ps: ByClass
    """Time of the gaps by what the host did; adds up to `total_ps`."""


class GapsByKind(TypedDict):
    """Time of gaps by kind."""

    starved: int
    """The next run was enqueued after the gap began."""
    queued: int
    """The next run was enqueued before the gap began."""
    unknown: int
    """It is not known when the next run was enqueued, it was within 10 µs of the gap's start, or a launch in between
    has no recorded run."""


class Gaps(TypedDict):
    """Gaps of all devices, from the first to the last run of each."""

    count: int
    """Number of gaps of at least 10 µs."""
    total_ps: int
    """Idle time of all devices, shorter gaps included."""
    listed_ps: int
    """Idle time in gaps of at least 10 µs."""
    by_class_ps: ByClass
    """What the host did in these; adds up to `listed_ps`."""
    by_kind_ps: GapsByKind
    """Their time by kind; adds up to `listed_ps`."""
    items: list[Gap]
    """The 1,000 longest gaps, or all on request; the longest first."""
    patterns: list[GapPattern]
    """Gaps by the programs around them; most time first."""
