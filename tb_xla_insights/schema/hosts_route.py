"""The answers of `data/hosts`, `data/host_steps` and `data/hosts_in_steps`.

Hosts, steps and classes are referred to by index into `hosts.name`, `steps.number` and `classes`. Keys that end in
`_us` are whole microseconds, except `offset_us` and `residual_us`, which have two decimals. A whole number is -1 where
it is not known, unless `null` is mentioned.
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import ClassName
from tb_xla_insights.schema.findings import VerdictSeverity
from tb_xla_insights.schema.route_parts import HostCounts, PartialAnswer

HostsState = Literal["compared", "one_host", "no_collectives", "clocks_apart"]

LateKind = Literal["late", "changing", "none", "unknown"]


class HostsVerdict(TypedDict):
    """Who holds up the others, in one sentence."""

    text: list[str]
    """The sentence in parts, every second of which is emphasised."""
    severity: VerdictSeverity
    """How much it matters."""
    kind: LateKind
    """`late`: `hosts` hold up the others, or `core` the other cores of the only host; `changing`: a different one each
    time."""
    hosts: list[int]
    """The late hosts, the worst first; empty in a session of one host."""
    core: str | None
    """Id of a core that alone is the cause, in a session of one host the late core; `null` if the whole host is, or
    nothing is late."""
    best_case: str
    """The condition of the mean step at best: `if w-5 were like the rest`."""
    cause: str | None
    """The class that takes longer on the first late host than on the median host (of one host: on the late core than on
    its neighbours; if `changing`: on the host charged most in each step), or `device`; `null` if none explains the
    lateness."""
    annotation: str | None
    """The annotation with most of the cause's extra time; `null` without one."""
    annotation_name: str | None
    """The last name of that annotation's path; `null` without one."""
    cause_us: int | None
    """Time of the cause per step on the first late host; `null` without a cause."""
    median_cause_us: int | None
    """Time of the cause per step on the median host; `null` without a cause."""
    steps: list[int]
    """The steps in which the first late host holds up the others."""


class HostsFigures(TypedDict):
    """The mean step; `null` where a figure is not known."""

    step_ps: int | None
    """Its duration."""
    waits_ps: int | None
    """How long a host waits for others in it, as the mean over the steps of all hosts that are compared."""
    step_if_fixed_ps: int | None
    """Its duration at best if the late hosts arrived with the median one."""


class HostsSteps(TypedDict):
    """The steps that the hosts have in common, as columns."""

    number: list[int | None]
    """Number that the program gave the step; `null` if it gave none."""
    name: list[str]
    """Name of the step."""
    last_host: list[int]
    """The host that most waiting of the step is charged to."""
    is_last_host_late: list[bool]
    """Whether that is one of the late hosts, and later than clock errors explain."""
    last_cause: list[ClassName | Literal["device"] | None]
    """The class that takes longest there beyond the median host's time, waiting excepted; `null` if none does."""
    step_us: list[int]
    """The median of the hosts' times."""


class HostColumns(TypedDict):
    """The hosts, a column per property."""

    name: list[str]
    """Name of the host."""
    steps: list[int]
    """Number of whole steps."""
    step_ps: list[int | None]
    """Median duration of its steps in picoseconds; `null` without steps."""
    collectives: list[int]
    """Number of shared collectives."""
    last_count: list[int | None]
    """Number of these at which it arrived last; `null` if unknown."""
    last_share: list[float | None]
    """The same as a share of the shared collectives; `null` if unknown."""
    last_steps: list[int]
    """Number of steps in which most waiting is charged to it."""
    others_wait_us: list[int | None]
    """How long the other hosts wait for it, in total; `null` if unknown."""
    waits_us: list[int | None]
    """How long it waits for other hosts, in total; `null` if unknown."""
    late_us: list[int | None]
    """The median of its lateness in the steps that `last_steps` counts; `null` without such steps."""
    duty_cycle: list[float | None]
    """Busy time over span of its devices; `null` without devices."""
    span_us: list[int]
    """Sum of the spans of its devices."""
    compiles: list[int]
    """Number of compilations."""
    offset_us: list[float | None]
    """How far its clock is ahead of the session's; `null` if unknown."""
    residual_us: list[float | None]
    """Uncertainty of `offset_us`; `null` if unknown."""
    is_clock_uncertain: list[bool]
    """Whether `residual_us` exceeds the host's largest lateness."""
    difference_class: list[str | None]
    """The class that differs most from the median host, or `device`; `null` without a difference."""
    difference_us: list[int | None]
    """By how much longer it is per step; negative if it is shorter; `null` without a difference."""
    difference_in_one_step: list[bool]
    """Whether most of the difference is in one step."""
    worst_step: list[int]
    """The step in which it was latest."""
    has_own_row: list[bool]
    """Whether it has its own row in the heat map."""


class Charges(TypedDict):
    """The hosts and steps in which a host was last or is charged with waiting, as columns."""

    host: list[int]
    """The host."""
    step: list[int]
    """The step."""
    last_count: list[int]
    """How many times it was last."""
    others_wait_us: list[int]
    """How long the others waited for it."""


class HostCore(TypedDict):
    """A core of a late host, or of the only host."""

    host: int
    """The host."""
    id: str
    """Id of the device."""
    last_count: int
    """How many times the core arrived last in its host."""
    late_us: int
    """How late it arrived after the median core: its largest lateness in a step, as the median over steps."""
    device_us: int
    """Its own work in the mean step."""


class HostsAnswer(PartialAnswer):
    """`data/hosts`: which host holds up the others, and why."""

    schema: int
    """Increases if a key changes its meaning or is removed."""
    state: HostsState
    """`one_host`: only one host was read, whose cores are compared if it has several and is no CPU; `no_collectives`:
    nothing connects the hosts; `clocks_apart`: no clocks can be related."""
    note: str | None
    """One sentence about hosts that could not be compared; `null` if all could."""
    host_counts: HostCounts
    """How many of the session's hosts were read."""
    collectives: int
    """Number of shared collectives that are compared."""
    sampled_share: float
    """The share of the recorded collectives that is compared; below 1 in long captures."""
    kind: str | None
    """Their kind: `all-reduce`; `null` if there are several kinds, or no collectives."""
    classes: list[ClassName | Literal["device"]]
    """The classes of host time that occur, then `device`, the devices' own work in a step, if there is any."""
    verdict: HostsVerdict
    """Who holds up the others, in one sentence."""
    figures: HostsFigures
    """The mean step."""
    min_difference_us: int
    """Smaller differences from the median host are told nowhere."""
    median_host: int | None
    """The median of the hosts that are not late; `null` if unknown."""
    steps: HostsSteps
    """The steps."""
    hosts: HostColumns
    """The hosts."""
    order: list[int]
    """The hosts by how long the others wait for them, longest first, then by name."""
    late_us: list[list[int]]
    """Per host and step, its largest lateness at the step's collectives, relative to the median arrival at each; 0: not
    late; -1: it took part in none. Empty if hosts are not compared."""
    step_difference_us: list[list[int | None]]
    """Per host and step, its time minus `steps.step_us`; `null`: the host has no such step."""
    charges: Charges
    """What each host is charged with."""
    class_us: list[list[int]]
    """Per host and class, the mean step."""
    step_class_us: dict[str, list[list[int] | None]]
    """By index of each host with its own row in the heat map, and of the median one (as text): per step and class, its
    time; `null`: no such step. `data/host_steps` has those of other hosts."""
    cores: list[HostCore] | None
    """The cores of the late hosts, or of the only host of a session; `null` without such cores."""


class HostSteps(PartialAnswer):
    """`data/host_steps`: what one host did in each step; `null` where it has no such step."""

    step_class_us: list[list[int] | None]
    """Per step and class of `data/hosts`, its time."""
    start_ps: list[int | None]
    """Start of the step, in picoseconds from the session's start."""
    duration_ps: list[int | None]
    """Duration of the step in picoseconds."""


class HostsInSteps(PartialAnswer):
    """`data/hosts_in_steps`: what is said of some common steps of the hosts, and of one host in these."""

    text: list[str] | None
    """Who holds up the others in these steps, in parts, every second of which is emphasised; `null` for all steps, and
    if the hosts are not compared."""
    figures: HostsFigures
    """The mean of these steps."""
    difference: str
    """What takes longer on the host than on the median host, and whether it arrives late; empty if either has none of
    the steps."""
