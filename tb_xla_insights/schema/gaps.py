"""The report's `gaps`: idle time of the devices, and what the host did in it."""

from __future__ import annotations

from typing import Annotated, Literal

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import CLASSES, ClassName
from tb_xla_insights.columns.head import Head
from tb_xla_insights.columns.merge import row_of
from tb_xla_insights.columns.rules import computed, counts, key, known_total, largest, smallest, total
from tb_xla_insights.columns.shift import instant, step_index
from tb_xla_insights.schema.common import ByClass

GapKind = Literal["starved", "queued", "unknown"]

LinkClass = TypedDict("LinkClass", {"class": Annotated[ClassName, Head("Class")]})


class Meanwhile(LinkClass):
    """What the driving thread did while a launch waited."""

    name: str
    """Name of the event, or of its class."""
    duration_ps: int
    """Duration within the link."""


class LinkEvent(TypedDict):
    """What a link of a chain is."""

    name: Annotated[str, Head("Event")]
    """Name of the event, or a common name of several; `handed over, not taken up` and `enqueued, not begun` of a launch
    that waits."""
    thread: Annotated[str, Head("Thread")]
    """Name of the thread; of the one that has yet to take the work up, or of the device, where a launch waits."""


class Link(LinkEvent, LinkClass):
    """One activity of the host in a gap, or the wait of the gap's launch for a thread or for its run."""

    start_ps: Annotated[int, instant, Head("From")]
    """Start, not before the gap's."""
    duration_ps: Annotated[int, Head("Time")]
    """Duration within the gap; the links of a chain add up to the gap."""
    event: int | None
    """Number of the event in its file; `null` where nothing was recorded."""
    meanwhile: list[Meanwhile]
    """For a waiting launch, what the driving thread did, most time first; adds up to `duration_ps`. Else empty."""


class GapPlace(TypedDict):
    """Where a gap is."""

    device: Annotated[str, Head("Device")]
    """Id of the device."""
    start_ps: Annotated[int, instant, Head("Start", priority=4)]
    """Start of the gap."""
    duration_ps: Annotated[int, Head("Time")]
    """Duration of the gap."""
    step: Annotated[int | None, step_index, Head("Step", "number")]
    """Index of the step that launched the run after it; `null` if no whole step did."""
    step_number: int | None
    """Number of that step; `null` without one."""
    inside_run: bool
    """Whether it is inside one run of a program."""
    kind: Annotated[GapKind, Head("Kind", priority=2)]
    """`starved`: the next run was enqueued after the gap began; `queued`: it was enqueued before; or `unknown`."""


class GapCause(TypedDict):
    """What the host did in a gap, and the programs around it."""

    cause: Annotated[ClassName, Head("Cause", priority=1)]
    """Of a `starved` gap the class with most time until the next run was enqueued; of a `queued` one `wait`; of others
    the class with most time."""
    by_class_ps: Annotated[ByClass, Head("What the host did")]
    """What the host did; adds up to `duration_ps`. A barrier is `wait`, whatever the host did."""
    before: Annotated[str | None, Head("Before", "code", priority=5)]
    """Program that ran before it; `null` if unknown."""
    after: Annotated[str | None, Head("After", "code", priority=6)]
    """Program that runs after it; `null` if unknown."""


class GapInterval(GapPlace, GapCause):
    """Where a gap is, and what the host did in it."""


class HostIdle(TypedDict):
    """The part of a gap in which the whole host is idle."""

    all_cores_idle_ps: int
    """Time in it for which all cores of its host are idle."""


class BarrierWait(TypedDict):
    """The part of a gap in which its device waits for another one."""

    barrier_ps: int
    """The part in which the device waited at the start of a run for another device of the launch (`barrier-cores`)."""
    late_device: str | None
    """Id of the device that it waited for: the last one to begin; `null` without such a wait."""


class Gap(GapPlace, HostIdle, GapCause, BarrierWait):
    """One gap of one device of at least 10 µs."""

    chain: list[Link]
    """The host's activity in it until the next run began, in order; adds up to `duration_ps`."""
    by_finding_ps: dict[str, int]
    """Time that each finding of its host explains, by the finding's id, most time first; no time is counted twice."""


class GapPattern(TypedDict):
    """All gaps between the same two programs, or inside the runs of one."""

    before: Annotated[str | None, key, Head("Before", "code")]
    """Program before; `null` if unknown."""
    after: Annotated[str | None, key, Head("After", "code")]
    """Program after; `null` if unknown."""
    inside_run: Annotated[bool, key]
    """Whether the gaps are inside runs."""
    cause: Annotated[
        ClassName,
        computed(lambda row: max(row["by_cause_ps"], key=row["by_cause_ps"].__getitem__)),
        Head("Cause"),
    ]
    """The cause with most time."""
    by_cause_ps: Annotated[ByClass, counts(CLASSES)]
    """Time of the gaps by their `cause`; adds up to `total_ps`."""
    by_class_ps: Annotated[ByClass, counts(CLASSES), Head("What the host did", priority=3)]
    """Time of the gaps by what the host did; adds up to `total_ps`."""
    queued_ps: Annotated[int, total]
    """Time of the queued gaps, whose cause is `wait`."""
    count: Annotated[int, total, Head("Count", priority=2)]
    """Number of gaps."""
    total_ps: Annotated[int, total, Head("Total")]
    """Their sum."""
    mean_ps: Annotated[
        int,
        computed(lambda row: row["total_ps"] // row["count"]),
        Head("Mean", priority=1, unit_basis="column"),
    ]
    """Their mean."""
    in_steps_ps: Annotated[int, total]
    """The part of `total_ps` in whole steps."""
    per_step_ps: Annotated[int | None, known_total]
    """`in_steps_ps` per step and core; `null` without steps."""
    min_ps: Annotated[int, smallest]
    """The shortest one."""
    max_ps: Annotated[int, largest]
    """The longest one."""


class GapsByKind(TypedDict):
    """Time of gaps by kind."""

    starved: Annotated[int, total]
    """The next run was enqueued after the gap began."""
    queued: Annotated[int, total]
    """The next run was enqueued before the gap began."""
    unknown: Annotated[int, total]
    """It is not known when the next run was enqueued, it was within 10 µs of the gap's start, or a launch in between
    has no recorded run."""


class GapSums(TypedDict):
    """Sums over the gaps of all devices, from the first to the last run of each."""

    count: Annotated[int, total]
    """Number of gaps of at least 10 µs."""
    total_ps: Annotated[int, total]
    """Idle time of all devices, shorter gaps included."""
    listed_ps: Annotated[int, total]
    """Idle time in gaps of at least 10 µs."""
    by_class_ps: Annotated[ByClass, counts(CLASSES)]
    """What the host did in these; adds up to `listed_ps`."""
    by_kind_ps: Annotated[GapsByKind, row_of(GapsByKind)]
    """Their time by kind; adds up to `listed_ps`."""


class Gaps(GapSums):
    """Gaps of all devices, from the first to the last run of each."""

    items: list[Gap]
    """The 1,000 longest gaps, or all on request; the longest first."""
    patterns: list[GapPattern]
    """Gaps by the programs around them; most time first."""
