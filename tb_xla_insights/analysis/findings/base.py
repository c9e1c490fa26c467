"""What a finding is, and what all of them are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.environment import framework_of
from tb_xla_insights.analysis.findings.ledger import Ledger
from tb_xla_insights.analysis.frameworks import WORDS, Words, host_does
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_path
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.sidecars import Metrics, Sidecars
from tb_xla_insights.analysis.steps.idle import device_time, devices_with_work
from tb_xla_insights.analysis.steps.sources import recorded_steps, step_rows
from tb_xla_insights.analysis.steps.step_times import steps_of
from tb_xla_insights.analysis.thresholds import EVERY_STEP_SHARE, MAX_GAIN_SPREAD, Severity
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Int64, SessionTrace, Trace
from tb_xla_insights.units import brief_time, brief_times, count

if TYPE_CHECKING:
    from tb_xla_insights.schema.findings import Finding as FindingRow

MAX_WINDOWS = 20
"""Places that a finding shows: the longest ones."""

MAX_TITLE_LENGTH = 60


@dataclass(frozen=True)
class Window:
    """A place that shows a finding; `device` is None where it is the host's."""

    start_ps: int
    end_ps: int
    device: str | None = None


Recurs = Literal["every_step", "some_steps", "once"]


@dataclass(frozen=True)
class Finding:
    """One finding; see the report's `findings`.

    `title`: at most LONGEST_TITLE letters. `brief`: what a sentence calls it, `a compile in step 1209`. `detail`: the
    evidence in at most two sentences, without advice. `advice`: one sentence, what to change and where. `cost_ps`: the
    idle time (or repeated work) that it explains, over all devices. `recurs`: None where no step has it. `fix`:
    what to take away from the replay, None where there is nothing to replay. Times in `evidence` are ps under keys that
    end in `_ps`. `idle_ps`: all idle time of a step and core that `detail` tells of; None where it does not say all.
    What the fix buys (`gain` at best, `gain_at_worst`, `severity`, and the mean step after it,
    `step_if_fixed_ps` at best and `step_if_fixed_most_ps` at worst) is filled in by `findings.worth`.
    """

    id: str
    title: str
    brief: str
    detail: str
    advice: str
    cost_ps: int
    evidence: dict[str, Any]
    windows: list[Window] = field(default_factory=list)
    recurs: Recurs | None = None
    fix: Fix | None = None
    gain: float | None = None
    gain_at_worst: float | None = None
    severity: Severity = "info"
    step_if_fixed_ps: int | None = None
    step_if_fixed_most_ps: int | None = None
    idle_ps: int | None = None

    def as_json(self, kind: Literal["mistake", "limit"] | None, step_ps: int | None) -> FindingRow:
        """The finding as the report tells it."""
        return {
            "id": self.id,
            "severity": self.severity,
            "title": self.title,
            "brief": self.brief,
            "detail": self.detail,
            "advice": self.advice,
            "cost_ps": self.cost_ps,
            "step_if_fixed_ps": self.step_if_fixed_ps,
            "step_if_fixed_most_ps": self.step_if_fixed_most_ps,
            "gain": self.gain,
            "gain_at_worst": self.gain_at_worst,
            "recurs": self.recurs,
            "evidence": self.evidence,
            "windows": [
                {"start_ps": window.start_ps, "end_ps": window.end_ps, "device": window.device}
                for window in self.windows
            ],
            "kind": kind,
            "step_ps": step_ps,
        }


@dataclass(frozen=True)
class Mean:
    """A mean time of a core: `24.4 ms a step`, or `318 ms` in all."""

    ps: int
    each: str

    def __str__(self) -> str:
        return brief_time(self.ps) + self.each


@dataclass(frozen=True)
class Elsewhere:
    """What a finding's sentence says of idle time that others count: `idle_ps`, that of its classes in a step in all
    (None: it does not recur), and `parts` of it elsewhere, `6.49 ms in other findings`."""

    idle_ps: int | None
    parts: Sequence[str]

    @property
    def text(self) -> str:
        """`, besides 6.49 ms in other findings`; nothing where it is next to nothing."""
        return f", besides {join_words(self.parts)}" if self.parts else ""


class Facts:
    """One host's idle time as it is given out to findings, and what their texts need."""

    def __init__(self, session: SessionTrace, beside: Sidecars) -> None:
        """`session` has one host; the findings of several are merged (`report.merge`)."""
        self.session = session
        self.beside = beside
        (self.trace,) = session.traces
        self.ledger = Ledger(self.trace)

    @cached_property
    def span_ps(self) -> int:
        """The devices' spans together."""
        return sum(end - start for start, end in (device.span_ps for device in self.trace.devices))

    @cached_property
    def steps(self) -> int:
        return len(steps_of(self.trace))

    @cached_property
    def core_steps(self) -> int:
        """The steps of every core."""
        return self.steps * len(self.trace.devices)

    @cached_property
    def counted(self) -> Metrics | None:
        """The metrics report beside the capture, since the one from before the trace where there is one."""
        metrics, before = self.beside.metrics, self.beside.before
        return (metrics.since(before) if metrics and before else None) or metrics

    @cached_property
    def framework(self) -> str:
        """As the report's `environment` names it."""
        return framework_of(self.session)

    @cached_property
    def words(self) -> Words:
        """Those of the framework: advice speaks of no other one."""
        return WORDS[self.framework]

    @cached_property
    def host_does(self) -> dict[str, str]:
        """What the host does, by class, after `the host`."""
        return host_does(self.framework)

    def share(self, cost_ps: int) -> float:
        return cost_ps / self.span_ps if self.span_ps else 0.0

    @cached_property
    def core(self) -> str:
        """Whom a sentence tells of: what it says of each of several cores is their mean."""
        return "Each core" if len(self.trace.devices) > 1 else "The device"

    def mean(self, taken: Int64, recurs: Recurs | None = None) -> Mean:
        """What is `taken` from each gap, as `Ledger.take` gives it, as the mean of a core: of a step, from the time of
        the whole steps, where it happens in several of them; else in all."""
        return self._mean(taken, self.ledger.start_ps, self.ledger.end_ps, recurs)

    def mean_of_runs(self, taken: Int64, recurs: Recurs | None) -> Mean:
        """The same of what is taken from each run of Launches.runs."""
        runs = find_launches(self.trace).runs
        return self._mean(taken, runs.start_ps, runs.end_ps, recurs)

    def _mean(self, taken: Int64, start_ps: Int64, end_ps: Int64, recurs: Recurs | None) -> Mean:
        cores = max(1, len(self.trace.devices))
        if recurs not in ("every_step", "some_steps"):
            return Mean(int(taken.sum()) // cores, "")
        steps = steps_of(self.trace)
        begin, end = steps[0].start_ps, steps[-1].start_ps + steps[-1].duration_ps
        inside = np.clip(np.minimum(end_ps, end) - np.maximum(start_ps, begin), 0, None)
        part = inside / np.maximum(end_ps - start_ps, 1)
        return Mean(round(float((taken * part).sum())) // (cores * len(steps)), " a step")

    def idles(self, taken: Int64, recurs: Recurs | None) -> str:
        """`The device idles 24.4 ms a step`, of several cores `Each core idles 24.4 ms a step`; without `a step` where
        it happens in one step or outside of them."""
        return f"{self.core} idles {self.mean(taken, recurs)}"

    def elsewhere(self, taken: Int64, recurs: Recurs | None, *classes: str) -> Elsewhere:
        """Of the idle time of some classes in whole steps what a finding has not `taken`: told beside what was, so that
        both add up to what `step_idle` has of these classes. (docs/definitions.md, "Findings")"""
        if recurs not in ("every_step", "some_steps"):
            return Elsewhere(None, [])
        columns = [CLASSES.index(name) for name in classes]
        own, all_ = (self.mean(its, recurs).ps for its in (taken, self.ledger.shares[:, columns].sum(axis=1)))
        edges, whole = (int(its[columns].sum()) // max(1, self.core_steps) for its in self._idle_in_steps)
        parts = {
            "in other findings": max(0, all_ - own),
            "before or after all runs": edges,
            "in gaps not starved": whole - max(all_, own) - edges,
        }
        told = {where: ps for where, ps in parts.items() if ps >= MAX_GAIN_SPREAD * whole}
        texts = brief_times(*told.values(), like_ps=own)
        return Elsewhere(whole, [f"{text} {where}" for text, where in zip(texts, told, strict=True)])

    @cached_property
    def _idle_in_steps(self) -> tuple[Int64, Int64]:
        """Idle time of all cores in whole steps by class: before and after all runs of a core, and all of it."""
        times = [device_time(self.trace, number) for number in devices_with_work(self.trace)]
        none = np.zeros(len(CLASSES), np.int64)
        edges: Int64 = sum((it.edges_by_class_ps.sum(axis=0) for it in times), none)
        whole: Int64 = sum((it.by_class_ps.sum(axis=0) for it in times), none)
        return edges, whole

    def gap_windows(self, taken: Int64) -> list[Window]:
        """The gaps that a finding takes most of; `taken` from each, as `Ledger.take` gives it."""
        most = np.argsort(-taken, kind="stable")[:MAX_WINDOWS].tolist()
        return [Window(*self.ledger.window(gap)) for gap in most if taken[gap]]

    def steps_taken(self, taken: Int64) -> set[int]:
        """The steps (indices) that end the gaps from which `Ledger.take` took something. A gap that lies for the most
        part before the first step is no step's."""
        begin = min((step.start_ps for step in steps_of(self.trace)), default=0)
        inside = self.ledger.start_ps + self.ledger.end_ps >= 2 * begin
        return set(self.ledger.step[(taken > 0) & inside].tolist()) - {-1}

    def recurs(self, steps: Set[int]) -> Recurs | None:
        """How often something happens, from the steps (indices) that have it. The first and the last step lack what the
        capture's edges hide, so they count only where they have it. None where no step has it; the only step of a
        capture is taken for a usual one."""
        if not self.steps or not steps:
            return None
        edges = len({0, self.steps - 1} - steps)
        if self.steps == 1 or len(steps) >= EVERY_STEP_SHARE * (self.steps - edges):
            return "every_step"
        return "once" if len(steps) == 1 else "some_steps"

    def without(self, steps: Set[int], *classes: str, aside: bool = False) -> Fix:
        """The fix that takes host time of some classes away (`aside`: to another thread): that of the one step (an
        index) where it happens once, else all of it."""
        if self.recurs(steps) != "once":
            return Fix(classes, aside=aside)
        (index,) = steps
        step = recorded_steps(self.trace)[index]
        start = np.array([step.start_ps], np.int64)
        return Fix(classes, windows=(start, start + step.duration_ps), aside=aside)


def longest_windows(found: Iterable[Window]) -> list[Window]:
    return sorted(found, key=lambda it: (it.start_ps - it.end_ps, it.start_ps))[:MAX_WINDOWS]


def first_fitting_title(*titles: str) -> str:
    """The first title that is short enough; the last one is."""
    return next((title for title in titles if len(title) <= MAX_TITLE_LENGTH), titles[-1][:MAX_TITLE_LENGTH])


def most_common(texts: Iterable[str | None]) -> str | None:
    """The text that comes most often, None without any."""
    found = Counter(text for text in texts if text)
    return found.most_common(1)[0][0] if found else None


def step_paths(trace: Trace) -> set[str]:
    """Paths of the annotations that are steps: where something lies that lies in no part of a step."""
    return {enclosing_path(trace, row) or "" for row in step_rows(trace).tolist()}


def enclosing_paths(trace: Trace, rows: Iterable[int]) -> list[str | None]:
    return [enclosing_path(trace, row) if row >= 0 else None for row in rows]


def step_names(trace: Trace, steps: Iterable[int]) -> list[int]:
    """The numbers of steps (indices; those outside of steps are left out), their indices where they have none; each
    once, in order."""
    known = steps_of(trace)
    numbers = {index: known[index].number for index in set(steps) if index >= 0}
    return sorted({index if number is None else number for index, number in numbers.items()})


def steps_text(numbers: Sequence[int], total: int) -> str:
    """`in step 1209`, `in steps 3, 6 and 9`, `in 12 of 40 steps`, `in every step`."""
    if not numbers:
        return "outside of steps"
    if len(numbers) == total > 1:
        return "in every step"
    if len(numbers) == 1:
        return f"in step {numbers[0]}"
    if len(numbers) <= 3:
        return f"in steps {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    return f"in {count(len(numbers))} of {count(total)} steps"


def plural(number: int, one: str, many: str | None = None) -> str:
    """`1 gap`, `12 gaps`."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def join_words(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def lower_first(text: str) -> str:
    """A sentence's text in the midst of another one."""
    return text[:1].lower() + text[1:]


def mean_text(number: float) -> str:
    """A mean count: `4`, `6.5`."""
    return f"{number:.1f}".removesuffix(".0")


def index_mask(size: int, chosen: NDArray[Any]) -> NDArray[np.bool_]:
    found = np.zeros(size, np.bool_)
    found[chosen] = True
    return found
