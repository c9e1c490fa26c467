"""The `Finding` type, and the facts and text helpers that all findings share."""

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
from tb_xla_insights.analysis.frameworks import WORDS, Words, host_activities
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_path
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.sidecars import Metrics, Sidecars
from tb_xla_insights.analysis.steps.idle import device_time, devices_with_work
from tb_xla_insights.analysis.steps.sources import recorded_steps, step_annotation_rows
from tb_xla_insights.analysis.steps.step_times import find_steps
from tb_xla_insights.analysis.thresholds import EVERY_STEP_SHARE, MAX_GAIN_SPREAD, Severity
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Int64, SessionTrace, Trace
from tb_xla_insights.units import brief_time, brief_times, count

if TYPE_CHECKING:
    from tb_xla_insights.schema.findings import Finding as FindingRow

MAX_WINDOWS = 20
"""The number of places that a finding lists; it lists the longest."""

MAX_TITLE_LENGTH = 60
"""Characters."""


@dataclass(frozen=True)
class Window:
    """A time range in which a finding can be seen; `device` is None for one on the host."""

    start_ps: int
    end_ps: int
    device: str | None = None


Frequency = Literal["every_step", "some_steps", "once"]


@dataclass(frozen=True)
class Finding:
    """One finding; see the report's `findings`.

    `title`: at most MAX_TITLE_LENGTH characters. `brief`: the noun phrase for the finding within a sentence, `a compile
    in step 1209`. `detail`: the evidence in at most two sentences, without advice. `advice`: one sentence, what to
    change and where. `cost_ps`: the idle time (or repeated work) that the finding explains, summed over all devices.
    `recurs`: None if no step is affected. `fix`: what a replay removes, None if there is nothing to replay. Times in
    `evidence` are ps under keys that end in `_ps`. `idle_ps`: all idle time per step and core that `detail` mentions;
    None if `detail` does not cover all of it. `findings.worth` fills in the effect of the fix: `gain` at best,
    `gain_at_worst`, `severity`, and the mean step after the fix, `step_if_fixed_ps` at best and
    `step_if_fixed_at_worst_ps` at worst.
    """

    id: str
    title: str
    brief: str
    detail: str
    advice: str
    cost_ps: int
    evidence: dict[str, Any]
    windows: list[Window] = field(default_factory=list)
    recurs: Frequency | None = None
    fix: Fix | None = None
    gain: float | None = None
    gain_at_worst: float | None = None
    severity: Severity = "info"
    step_if_fixed_ps: int | None = None
    step_if_fixed_at_worst_ps: int | None = None
    idle_ps: int | None = None

    def as_json(self, kind: Literal["mistake", "limit"] | None, step_ps: int | None) -> FindingRow:
        """The finding's row in the report."""
        return {
            "id": self.id,
            "severity": self.severity,
            "title": self.title,
            "brief": self.brief,
            "detail": self.detail,
            "advice": self.advice,
            "cost_ps": self.cost_ps,
            "step_if_fixed_ps": self.step_if_fixed_ps,
            "step_if_fixed_at_worst_ps": self.step_if_fixed_at_worst_ps,
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
    """A mean time per core: `24.4 ms a step`, or `318 ms` in total. `unit` is ` a step` or empty."""

    ps: int
    unit: str

    def __str__(self) -> str:
        return brief_time(self.ps) + self.unit


@dataclass(frozen=True)
class Elsewhere:
    """Idle time of a finding's classes that is counted elsewhere. `idle_ps`: all idle time of these classes per step
    (None if the finding does not recur); `parts`: the amounts counted elsewhere, as `6.49 ms in other findings`."""

    idle_ps: int | None
    parts: Sequence[str]

    @property
    def text(self) -> str:
        """`, besides 6.49 ms in other findings`; empty if the amounts are negligible."""
        return f", besides {join_words(self.parts)}" if self.parts else ""


class Facts:
    """The inputs of one host's findings: its ledger of idle time, and what their texts need."""

    def __init__(self, session: SessionTrace, sidecars: Sidecars) -> None:
        """`session` has one host; `report.merge` merges the findings of several."""
        self.session = session
        self.sidecars = sidecars
        (self.trace,) = session.traces
        self.ledger = Ledger(self.trace)

    @cached_property
    def span_ps(self) -> int:
        """The sum of the devices' spans."""
        return sum(end - start for start, end in (device.span_ps for device in self.trace.devices))

    @cached_property
    def steps(self) -> int:
        return len(find_steps(self.trace))

    @cached_property
    def core_steps(self) -> int:
        """The number of steps times the number of cores."""
        return self.steps * len(self.trace.devices)

    @cached_property
    def metrics(self) -> Metrics | None:
        """The metrics report beside the capture; if there is also one from before the trace, their difference."""
        metrics, before = self.sidecars.metrics, self.sidecars.before
        return (metrics.since(before) if metrics and before else None) or metrics

    @cached_property
    def framework(self) -> str:
        """The framework's name in the report's `environment`."""
        return framework_of(self.session)

    @cached_property
    def words(self) -> Words:
        """The framework's terms for advice."""
        return WORDS[self.framework]

    @cached_property
    def host_activities(self) -> dict[str, str]:
        """Verb phrases that follow `the host` in a sentence, by class."""
        return host_activities(self.framework)

    def share(self, cost_ps: int) -> float:
        return cost_ps / self.span_ps if self.span_ps else 0.0

    @cached_property
    def core_subject(self) -> str:
        """The subject of sentences about devices. With several cores, figures are means per core."""
        return "Each core" if len(self.trace.devices) > 1 else "The device"

    def mean_per_core(self, taken_ps: Int64, frequency: Frequency | None = None) -> Mean:
        """The mean per core of the time taken from each gap (see `Ledger.take`). If it recurs in several steps, the
        mean is also per step and counts only time within whole steps; otherwise it is the total."""
        return self._mean(taken_ps, self.ledger.start_ps, self.ledger.end_ps, frequency)

    def mean_of_runs(self, taken_ps: Int64, frequency: Frequency | None) -> Mean:
        """The same for time taken from each run of Launches.runs."""
        runs = find_launches(self.trace).runs
        return self._mean(taken_ps, runs.start_ps, runs.end_ps, frequency)

    def _mean(self, taken_ps: Int64, start_ps: Int64, end_ps: Int64, frequency: Frequency | None) -> Mean:
        cores = max(1, len(self.trace.devices))
        if frequency not in ("every_step", "some_steps"):
            return Mean(int(taken_ps.sum()) // cores, "")
        steps = find_steps(self.trace)
        begin, end = steps[0].start_ps, steps[-1].start_ps + steps[-1].duration_ps
        inside_ps = np.clip(np.minimum(end_ps, end) - np.maximum(start_ps, begin), 0, None)
        share_inside = inside_ps / np.maximum(end_ps - start_ps, 1)
        return Mean(round(float((taken_ps * share_inside).sum())) // (cores * len(steps)), " a step")

    def idle_text(self, taken_ps: Int64, frequency: Frequency | None) -> str:
        """`The device idles 24.4 ms a step`, for several cores `Each core idles 24.4 ms a step`; without `a step` if it
        happens in one step only or outside of steps."""
        return f"{self.core_subject} idles {self.mean_per_core(taken_ps, frequency)}"

    def idle_elsewhere(self, taken_ps: Int64, frequency: Frequency | None, *classes: str) -> Elsewhere:
        """The idle time of some classes in whole steps that a finding has not taken. With `taken_ps` it adds up to the
        time of these classes in `step_idle`. (docs/definitions.md, "Findings")"""
        if frequency not in ("every_step", "some_steps"):
            return Elsewhere(None, [])
        columns = [CLASSES.index(name) for name in classes]
        finding_ps = self.mean_per_core(taken_ps, frequency).ps
        starved_ps = self.mean_per_core(self.ledger.shares[:, columns].sum(axis=1), frequency).ps
        edges_ps, total_ps = (
            int(by_class[columns].sum()) // max(1, self.core_steps) for by_class in self._idle_in_steps
        )
        parts = {
            "in other findings": max(0, starved_ps - finding_ps),
            "before or after all runs": edges_ps,
            "in gaps that are not starved": total_ps - max(starved_ps, finding_ps) - edges_ps,
        }
        listed = {place: ps for place, ps in parts.items() if ps >= MAX_GAIN_SPREAD * total_ps}
        texts = brief_times(*listed.values(), like_ps=finding_ps)
        return Elsewhere(total_ps, [f"{text} {place}" for text, place in zip(texts, listed, strict=True)])

    @cached_property
    def _idle_in_steps(self) -> tuple[Int64, Int64]:
        """Idle time of all cores in whole steps by class: before and after all runs of a core, and in total."""
        times = [device_time(self.trace, number) for number in devices_with_work(self.trace)]
        zeros = np.zeros(len(CLASSES), np.int64)
        edges: Int64 = sum((device.edges_by_class_ps.sum(axis=0) for device in times), zeros)
        total: Int64 = sum((device.by_class_ps.sum(axis=0) for device in times), zeros)
        return edges, total

    def gap_windows(self, taken_ps: Int64) -> list[Window]:
        """The gaps from which a finding takes most time; `taken_ps` per gap, as `Ledger.take` returns it."""
        largest = np.argsort(-taken_ps, kind="stable")[:MAX_WINDOWS].tolist()
        return [Window(*self.ledger.window(gap)) for gap in largest if taken_ps[gap]]

    def steps_taken(self, taken_ps: Int64) -> set[int]:
        """The steps (indices) of the runs that end the gaps from which `Ledger.take` took time. A gap that is mostly
        before the first step belongs to no step."""
        begin = min((step.start_ps for step in find_steps(self.trace)), default=0)
        inside = self.ledger.start_ps + self.ledger.end_ps >= 2 * begin
        return set(self.ledger.step[(taken_ps > 0) & inside].tolist()) - {-1}

    def frequency_of(self, steps: Set[int]) -> Frequency | None:
        """How often something happens, from the steps (indices) that are affected; None without any. The capture's
        edges hide part of the first and the last step, so these count only if they are affected. The only step of a
        capture is taken for a usual one."""
        if not self.steps or not steps:
            return None
        edges = len({0, self.steps - 1} - steps)
        if self.steps == 1 or len(steps) >= EVERY_STEP_SHARE * (self.steps - edges):
            return "every_step"
        return "once" if len(steps) == 1 else "some_steps"

    def fix_without(self, steps: Set[int], *classes: str, aside: bool = False) -> Fix:
        """The fix that removes host time of some classes (`aside`: moves it to another thread): in the one affected
        step (an index) if it happens once, else everywhere."""
        if self.frequency_of(steps) != "once":
            return Fix(classes, aside=aside)
        (index,) = steps
        step = recorded_steps(self.trace)[index]
        start = np.array([step.start_ps], np.int64)
        return Fix(classes, windows=(start, start + step.duration_ps), aside=aside)


def longest_windows(windows: Iterable[Window]) -> list[Window]:
    return sorted(windows, key=lambda window: (window.start_ps - window.end_ps, window.start_ps))[
        :MAX_WINDOWS
    ]


def first_fitting_title(*titles: str) -> str:
    """The first title that is short enough; the last one is cut to fit."""
    return next((title for title in titles if len(title) <= MAX_TITLE_LENGTH), titles[-1][:MAX_TITLE_LENGTH])


def most_common(texts: Iterable[str | None]) -> str | None:
    """The most frequent text, None without any."""
    counts = Counter(text for text in texts if text)
    return counts.most_common(1)[0][0] if counts else None


@memoised
def step_paths(trace: Trace) -> frozenset[str]:
    """Paths of the annotations that are steps. An event with such a path is in no phase of a step."""
    return frozenset(enclosing_path(trace, row) or "" for row in step_annotation_rows(trace).tolist())


def enclosing_paths(trace: Trace, rows: Iterable[int]) -> list[str | None]:
    return [enclosing_path(trace, row) if row >= 0 else None for row in rows]


def step_names(trace: Trace, steps: Iterable[int]) -> list[int]:
    """The numbers of steps (indices; -1, outside of steps, is left out), or their indices if they have no number;
    distinct and sorted."""
    all_steps = find_steps(trace)
    numbers = {index: all_steps[index].number for index in set(steps) if index >= 0}
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


def plural(number: int, singular: str, plural_form: str | None = None) -> str:
    """`1 gap`, `12 gaps`."""
    return f"{count(number)} {singular if number == 1 else plural_form or singular + 's'}"


def join_words(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def lower_first(text: str) -> str:
    """The text with a lower-case first letter, for use within a sentence."""
    return text[:1].lower() + text[1:]


def mean_text(number: float) -> str:
    """A mean count: `4`, `6.5`."""
    return f"{number:.1f}".removesuffix(".0")


def index_mask(size: int, indices: NDArray[Any]) -> NDArray[np.bool_]:
    mask = np.zeros(size, np.bool_)
    mask[indices] = True
    return mask
