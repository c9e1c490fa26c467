"""The report's `findings`, `mistakes` and `verdict`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from tb_xla_insights.columns.shift import instant
from tb_xla_insights.schema.common import Severity

VerdictSeverity = Literal["critical", "warning", "info", "good"]


class FindingWindow(TypedDict):
    """An interval in which a finding occurs."""

    start_ps: Annotated[int, instant]
    """Start."""
    end_ps: Annotated[int, instant]
    """End."""
    device: str | None
    """Id of the device; `null` if it occurs on the host."""


class FindingCode(TypedDict):
    """A function of the script, in the time that a finding explains."""

    name: str
    """Its name, as recorded."""
    file: str | None
    """The file that defines it; `null` if not recorded."""
    line: int | None
    """The line there; `null` if not recorded."""
    own_ps: int
    """Time in it and in the library calls below it, without other functions of the script inside it."""
    count: int
    """Number of calls."""


class PauseStart(TypedDict):
    """When a pause in the evidence begins."""

    start_ps: Annotated[int, instant]
    """Start."""


class EvidenceInstants(TypedDict):
    """The instants in the evidence of any finding."""

    pauses: list[PauseStart]
    """Of `host_pause`."""


FindingPlace = Literal["in_step", "between_steps", "outside"]


class Finding(TypedDict):
    """What to change, with evidence, cost and the intervals in which it occurs."""

    id: str
    """Name of the finding; docs/findings.md explains each."""
    severity: Severity
    """By `gain`: `warning` from 10 % of a step, `critical` from 30 %; a finding that occurs once is never critical."""
    title: str
    """At most 60 characters."""
    brief: str
    """What a fix changes, as a noun phrase: `a compilation in step 1209`."""
    waits_for: str
    """What devices wait for because of it, as a noun phrase: `the host, which builds the graph`; empty if none does."""
    best_if: str
    """The condition of the gain at best, as a clause after "if": `loading is fully hidden`; empty if there is none to
    tell."""
    detail: str
    """The evidence, in at most two sentences; three where hosts are late for different reasons."""
    advice: str
    """What to change, and where."""
    cost_ps: int
    """Time that it explains, over all cores: idle time; of findings about the device the time of stalls, exposed
    collectives or callbacks, or above the roofline; of late hosts the time for which cores wait for them."""
    step_if_fixed_ps: int | None
    """Mean step after a fix, at best; `null` where nothing can be replayed, or nothing is to be gained."""
    step_if_fixed_at_worst_ps: int | None
    """Mean step after a fix, at worst; `null` where `step_if_fixed_ps` is."""
    gain: float | None
    """Share of a step that a fix saves, at best: of the usual step if it recurs, of the mean step if it happened once,
    of the step without the mistakes if it is a limit; of the devices' spans, if nothing can be replayed; `null` if the
    finding costs nothing."""
    gain_at_worst: float | None
    """Share of a step that a fix saves, at worst; `null` where `step_if_fixed_ps` is."""
    recurs: Literal["every_step", "some_steps", "once"] | None
    """How often it happens; `null` if no step is affected (a single compilation is `once` nevertheless)."""
    where: FindingPlace | None
    """Where most of its time is: inside the steps' annotations, between two of them, or before the first or after the
    last step; `null` if no steps or no times are known."""
    after: str | None
    """Id of the finding without whose fix this one gains nothing yet; `null` if there is none."""
    code: list[FindingCode]
    """What of the script lies in its time, the longest own time first: up to three functions; empty if no Python calls
    are recorded."""
    evidence: Annotated[dict[str, Any], EvidenceInstants]
    """Numbers and names behind the sentences; keys differ by finding."""
    windows: list[FindingWindow]
    """Up to 20 intervals in which it occurs; the longest first, of gaps those of which it explains most."""
    kind: Literal["mistake", "limit"] | None
    """`mistake`: a place that can be changed; `limit`: the program's nature; `null`: no fault."""
    step_ps: int | None
    """Mean step before a fix; `null` where nothing can be replayed."""


class Mistakes(TypedDict):
    """What all mistakes cost together; times and `gain` are `null` where nothing can be replayed."""

    count: int
    """Number of mistakes whose fix gains at least 3 % of a step."""
    step_ps: int | None
    """Mean step."""
    usual_step_ps: int | None
    """Mean step without what happened once."""
    step_if_fixed_ps: int | None
    """Mean step without any of them, at best."""
    step_without_limit_ps: int | None
    """Mean step without them and the largest limit."""
    gain: float | None
    """Share of the mean step that fixing all of them saves."""


class Verdict(TypedDict):
    """What the report says in a few sentences."""

    text: str
    """`headline` and `details`."""
    headline: str
    """How much the devices work and what they wait for: one sentence of at most 120 characters and two numbers."""
    details: str
    """What to fix first, what sets the pace after that, what happened once, and what the capture cannot tell."""
    severity: VerdictSeverity
    """That of the worst finding in it; without one, how much the sentences matter: `good` if nothing needs to be
    done."""
    cause: str | None
    """Id of the finding about what the devices wait for most, or that they are the bottleneck; `null` without one."""
    fix: str | None
    """Id of the mistake with the largest gain, if that is at least 3 %; else `null`."""
    then: str | None
    """Id of the finding about what sets the pace after that; `null` without one."""
