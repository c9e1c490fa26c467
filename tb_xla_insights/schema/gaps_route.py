"""The answers of `data/gaps` and `data/gap`."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from tb_xla_insights.schema.common import ByClass, Severity
from tb_xla_insights.schema.gaps import (
    BarrierWait,
    GapInterval,
    GapPattern,
    GapSums,
    HostIdle,
    LinkClass,
    Meanwhile,
)
from tb_xla_insights.schema.route_parts import PartialAnswer
from tb_xla_insights.schema.steps import StepTimes


class GapItem(GapInterval):
    """A gap; the same gap on several cores is one item, and the keys of a gap are those of its first core."""

    index: int
    """Index in the list."""
    host: str
    """Name of the host."""
    all_cores_idle_ps: int | None
    """How long all cores of the host are idle; `null` on a host with one core."""
    by_finding_ps: dict[str, int]
    """By id of a finding, the time of the gap that it explains."""
    reason: str | None
    """Id of the finding that the first sentence about the gap names: a mistake that explains at least a third of it;
    `null` if none does."""
    cores: int
    """Number of cores that have the gap."""
    devices: list[str]
    """Ids of their devices."""
    starts_ps: list[int]
    """Start on each."""
    durations_ps: list[int]
    """Duration on each."""
    all_cores_idle_by_device_ps: list[int | None]
    """`all_cores_idle_ps` on each; `null` on a host with one core."""


class DeviceStrip(TypedDict):
    """The causes of a device's gaps along the session."""

    id: str
    """Id of the device."""
    causes: str
    """A hexadecimal digit per bucket of the session: the index of the class with most gap time, `f` without a gap."""


class GapPatternRow(GapPattern):
    """A pattern, with the kind of most of its time."""

    kind: Literal["queued"] | None
    """`queued` if its cause is `wait` and queued gaps have more than half of that cause's time; else `null`."""


class GapsAnswer(GapSums, PartialAnswer):
    """`data/gaps`: idle time of all devices, from the first to the last run of each."""

    items: list[GapItem]
    """The 1,000 longest gaps, the longest first."""
    patterns: list[GapPatternRow]
    """Gaps by the programs around them; most time first."""
    text: str
    """The time per step of the pattern with most time, and the difference between the idle time of whole steps and that
    of the gaps; empty without steps."""
    distinct_count: int
    """Number of gaps among the longest ones (1,000 times the number of devices); the same gap on several cores counts
    once."""
    step_idle: StepTimes | None
    """Work and idle time of all cores in whole steps; `null` without steps."""
    strip: list[DeviceStrip]
    """The causes of gaps along the session, by device."""
    findings: dict[str, str]
    """Titles of the findings, by id."""


class ChainLink(LinkClass):
    """One activity of the host in a gap, or the wait of the gap's launch for a thread or for its run."""

    name: str
    """Name of the event, or a common name of several."""
    thread: str
    """Name of the thread; of the one that has yet to take the work up, or of the device, where a launch waits."""
    start_ps: int
    """Start, not before the gap's."""
    duration_ps: int
    """Duration within the gap."""
    event: str | None
    """Id of the event; `null` where nothing was recorded."""
    meanwhile: list[Meanwhile]
    """For a waiting launch, what the driving thread did, most time first; else empty."""


class ThreadTime(LinkClass):
    """Time of a gap by class and thread."""

    thread: str
    """Name of the thread."""
    duration_ps: int
    """Time; over all rows it adds up to the gap."""


class ExplainingFinding(TypedDict):
    """A finding that explains some of a gap."""

    id: str
    """Id of the finding."""
    severity: Severity
    """Severity of the finding."""
    title: str
    """Title of the finding."""
    advice: str
    """What to change, and where."""


class GapOfOtherHost(TypedDict):
    """The gap of another host in the step of the same number between the same programs."""

    host: str
    """Name of the host."""
    device: str
    """Id of the device."""
    start_ps: int
    """Start of the gap."""
    duration_ps: int
    """Duration of the gap."""
    by_class_ps: ByClass
    """What the host did; adds up to `duration_ps`."""
    chain_ps: dict[str, int]
    """Time of the links of its chain, by name."""


class PlaceOfGap(TypedDict):
    """The place of a gap among those of its device."""

    number: int | None
    """Its place in time, from 1, among the gaps that are counted; `null` if it is too short."""
    counted: int
    """Number of gaps of at least `counted_from_ps`."""
    counted_from_ps: int
    """1 ms; 10 µs if that leaves out no gap, or all."""


class GapAnswer(GapInterval, HostIdle, BarrierWait, PlaceOfGap):
    """`data/gap`: one gap, and why it ended."""

    chain: list[ChainLink]
    """The host's activity in it until the next run began, in order; adds up to `duration_ps`."""
    host: str
    """Name of the host."""
    by_thread: list[ThreadTime]
    """Its time by class and thread, most time first."""
    by_finding_ps: dict[str, int]
    """By id of a finding, the time of the gap that it explains."""
    findings: list[ExplainingFinding]
    """The findings that explain it, the one that explains most of it first."""
    sentence: str
    """What the host did, in words."""
    gap_of_other_host: GapOfOtherHost | None
    """The gap of another host; `null` if no host was requested, or it has none."""
    cores: int
    """Number of cores that have the same gap; 1 if `data/gaps` does not list it."""
    mean_ps: int
    """Mean duration of the gap on these cores."""
    pattern: int
    """Index of its pattern in `data/gaps`."""
    occurrences: int
    """Number of gaps of the pattern."""
