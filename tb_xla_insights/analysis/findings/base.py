"""What a finding is, and what all of them are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.beside import Beside, Metrics
from tb_xla_insights.analysis.busy import device_span
from tb_xla_insights.analysis.enclosing import annotation_path
from tb_xla_insights.analysis.environment import framework_of
from tb_xla_insights.analysis.findings.ledger import Ledger
from tb_xla_insights.analysis.frameworks import WORDS, Words, host_does
from tb_xla_insights.analysis.step_sources import recorded_steps
from tb_xla_insights.analysis.steps import step_times, steps_of
from tb_xla_insights.analysis.thresholds import EVERY_SHARE, Severity
from tb_xla_insights.analysis.what_if import Fix, step_without
from tb_xla_insights.catalog.classes import CLASS_INDEX
from tb_xla_insights.trace.model import Int64, SessionTrace, Trace
from tb_xla_insights.units import count, share, time_text

MOST_WINDOWS = 20
"""Places that a finding shows: the longest ones."""

LONGEST_TITLE = 60


@dataclass(frozen=True)
class Window:
    """A place that shows a finding; `device` is None where it is the host's."""

    start_ps: int
    end_ps: int
    device: str | None = None


Recurs = Literal["every_step", "some_steps", "once"]

Fixes = Sequence[Fix | None]
"""What to take away from the replay of each host; None for hosts that have nothing of the finding."""


@dataclass(frozen=True)
class Finding:
    """One finding; see the report's `findings`.

    `title`: at most LONGEST_TITLE letters. `brief`: what a sentence calls it, `a compile in step 1209`. `detail`: the
    evidence in at most two sentences, without advice. `advice`: one sentence, what to change and where. `cost_ps`: the
    idle time (or repeated work) that it explains, over all devices. `recurs`: None where no step has it. `fixes`:
    what its fix takes away, None where there is nothing to replay. Times in `evidence` are ps under keys that end in
    `_ps`. What the fix buys (`gain` at best, `gain_at_worst`, `severity`, and the mean step after it,
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
    fixes: Fixes | None = None
    gain: float | None = None
    gain_at_worst: float | None = None
    severity: Severity = "info"
    step_if_fixed_ps: int | None = None
    step_if_fixed_most_ps: int | None = None

    def as_json(self) -> dict[str, Any]:
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
        }


class Facts:
    """One session's idle time as it is given out to findings, and what their texts need."""

    def __init__(self, session: SessionTrace, beside: Beside) -> None:
        self.session = session
        self.beside = beside
        self.traces = session.traces
        self.ledgers = [Ledger(trace) for trace in session.traces]

    @cached_property
    def span_ps(self) -> int:
        """The devices' spans together."""
        return sum(end - start for trace in self.traces for start, end in map(device_span, trace.devices))

    @cached_property
    def steps(self) -> int:
        return sum(len(steps_of(trace)) for trace in self.traces)

    @cached_property
    def core_steps(self) -> int:
        """The steps of every core."""
        return sum(len(steps_of(trace)) * len(trace.devices) for trace in self.traces)

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

    @cached_property
    def of_hosts(self) -> str:
        """What follows a sum over hosts where there are several: ` (of 4 hosts together)`."""
        hosts = len(self.traces)
        return f" (of {hosts} hosts together)" if hosts > 1 else ""

    def share(self, cost_ps: int) -> float:
        return cost_ps / self.span_ps if self.span_ps else 0.0

    def per_core(self, sum_ps: int) -> str:
        """A sum over all cores as `22.145 ms`; of several cores the mean, `22.145 ms per core`."""
        cores = len(self.session.devices)
        return f"{time_text(sum_ps // cores)} per core" if cores > 1 else time_text(sum_ps)

    def of_span(self, cost_ps: int) -> str:
        """`22.145 ms, 71.4 % of the device's span`; of several cores the mean."""
        whose = "devices' spans" if len(self.session.devices) > 1 else "device's span"
        return f"{self.per_core(cost_ps)}, {share(self.share(cost_ps))} of the {whose}"

    def shared(self, cost_ps: int, *classes: str) -> str:
        """What follows a cost that is not all starved idle time of some classes, as other findings took some first:
        ` (20.585 ms with what other findings have)`."""
        columns = [CLASS_INDEX[name] for name in classes]
        whole = sum(int(ledger.shares[:, columns].sum()) for ledger in self.ledgers)
        return f" ({self.per_core(whole)} with what other findings have)" if whole > cost_ps else ""

    def gap_windows(self, taken: Sequence[Int64]) -> list[Window]:
        """The gaps, one array per host as `Ledger.take` gives them, that a finding takes most of."""
        found: list[tuple[int, tuple[int, int, str]]] = []
        for trace, ledger, its in zip(self.traces, self.ledgers, taken, strict=True):
            most = np.argsort(-its, kind="stable")[:MOST_WINDOWS].tolist()
            found += [(int(its[gap]), ledger.window(trace, gap)) for gap in most if its[gap]]
        found.sort(key=lambda it: -it[0])
        return [Window(*window) for _, window in found[:MOST_WINDOWS]]

    def steps_taken(self, taken: Sequence[Int64]) -> list[set[int]]:
        """Per host, the steps (indices) that end the gaps from which `Ledger.take` took something. A gap that lies for
        the most part before the first step is no step's."""
        found = []
        for trace, ledger, time in zip(self.traces, self.ledgers, taken, strict=True):
            begin = min((step.start_ps for step in steps_of(trace)), default=0)
            inside = ledger.start_ps + ledger.end_ps >= 2 * begin
            found.append(set(ledger.step[(time > 0) & inside].tolist()) - {-1})
        return found

    def recurs(self, steps: Sequence[Collection[int]]) -> Recurs | None:
        """How often something happens, from the steps (indices, per host) that have it. The first and the last step of
        a host lack what the capture's edges hide, so they count only where they have it. Hosts of one training do the
        same in the same steps. None where no step has it; the only step of a capture is taken for a usual one."""
        number = sum(len(host) for host in steps)
        if not self.steps or not number:
            return None
        edges = sum(
            len({0, len(steps_of(trace)) - 1} - set(host))
            for trace, host in zip(self.traces, steps, strict=True)
        )
        if self.steps == 1 or number >= EVERY_SHARE * (self.steps - edges):
            return "every_step"
        return "once" if len(set().union(*steps)) <= 1 else "some_steps"

    def without(
        self, steps: Sequence[Collection[int]], *classes: str, aside: bool = False
    ) -> list[Fix | None]:
        """The fix that takes host time of some classes away (`aside`: to another thread): that of the one step
        (indices, per host) where it happens once, else all of it."""
        if self.recurs(steps) != "once":
            return [Fix(classes, aside=aside) for _ in self.traces]
        return [
            Fix(classes, windows=_bounds(trace, host), aside=aside) if host else None
            for trace, host in zip(self.traces, steps, strict=True)
        ]


def _bounds(trace: Trace, steps: Collection[int]) -> tuple[Int64, Int64]:
    """When the host is in steps (indices)."""
    chosen = [recorded_steps(trace)[index] for index in sorted(steps)]
    starts = np.array([step.start_ps for step in chosen], np.int64)
    return starts, starts + np.array([step.duration_ps for step in chosen], np.int64)


def mean_step_without(session: SessionTrace, *at_best: Fixes, at_worst: Fixes | None = None) -> int | None:
    """The mean over the report's steps, those of all hosts, after some fixes together, those `at_worst` at worst. Hosts
    without any, or that cannot be replayed, keep the steps they have; None where no host can be replayed."""
    total = count = 0
    replayed = False
    for number, trace in enumerate(session.traces):
        steps = steps_of(trace)
        starts, ends = step_times(trace)
        own = int((ends - starts).sum())
        best = [fix for fixes in at_best if (fix := fixes[number]) is not None]
        worst = [fix] if at_worst and (fix := at_worst[number]) is not None else []
        mean = step_without(trace, *best, at_worst=worst)
        replayed |= mean is not None and bool(best or worst or not (at_best or at_worst))
        total += own if mean is None else own - (round(own / len(steps)) - mean) * len(steps)
        count += len(steps)
    return round(total / count) if replayed else None


def total_ps(taken: Sequence[Int64]) -> int:
    """What was taken from all gaps of all hosts."""
    return sum(int(its.sum()) for its in taken)


def longest_windows(found: Iterable[Window]) -> list[Window]:
    return sorted(found, key=lambda it: (it.start_ps - it.end_ps, it.start_ps))[:MOST_WINDOWS]


def first_that_fits(*titles: str) -> str:
    """The first title that is short enough; the last one is."""
    return next((title for title in titles if len(title) <= LONGEST_TITLE), titles[-1][:LONGEST_TITLE])


def most_common(texts: Iterable[str | None]) -> str | None:
    """The text that comes most often, None without any."""
    found = Counter(text for text in texts if text)
    return found.most_common(1)[0][0] if found else None


def paths(trace: Trace, rows: Iterable[int]) -> list[str | None]:
    return [annotation_path(trace, row) if row >= 0 else None for row in rows]


def step_names(trace: Trace, steps: Iterable[int]) -> list[int]:
    """The numbers of steps (indices; those outside of steps are left out), their indices where they have
    none."""
    known = steps_of(trace)
    return [
        index if (number := known[index].number) is None else number
        for index in sorted(set(steps))
        if index >= 0
    ]


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


def joined(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def rounded(number: float) -> str:
    """A mean count: `4`, `6.5`."""
    return f"{number:.1f}".removesuffix(".0")


def mask(size: int, chosen: NDArray[Any]) -> NDArray[np.bool_]:
    found = np.zeros(size, np.bool_)
    found[chosen] = True
    return found
