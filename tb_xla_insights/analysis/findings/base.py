"""What a finding is, and what all of them are made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.beside import Beside, Metrics
from tb_xla_insights.analysis.busy import device_span
from tb_xla_insights.analysis.enclosing import annotation_path
from tb_xla_insights.analysis.findings.ledger import Ledger
from tb_xla_insights.analysis.steps import steps_of
from tb_xla_insights.analysis.thresholds import CRITICAL_SHARE, INFO_SHARE, Severity
from tb_xla_insights.analysis.what_if import Fix, step_without
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


@dataclass(frozen=True)
class Finding:
    """One finding; see the report's `findings`. Times in `evidence` are ps under keys that end in `_ps`."""

    id: str
    severity: Severity
    title: str
    detail: str
    advice: str
    cost_ps: int
    evidence: dict[str, Any]
    windows: list[Window] = field(default_factory=list)
    step_if_fixed_ps: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "severity": self.severity,
            "title": self.title,
            "detail": self.detail,
            "advice": self.advice,
            "cost_ps": self.cost_ps,
            "step_if_fixed_ps": self.step_if_fixed_ps,
            "evidence": self.evidence,
            "windows": [
                {"start_ps": it.start_ps, "end_ps": it.end_ps, "device": it.device} for it in self.windows
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

    def share(self, cost_ps: int) -> float:
        return cost_ps / self.span_ps if self.span_ps else 0.0

    def of_span(self, cost_ps: int) -> str:
        """`22.145 ms, 71.4 % of the device's span`."""
        whose = "device's span" if len(self.session.devices) == 1 else "devices' spans"
        return f"{time_text(cost_ps)}, {share(self.share(cost_ps))} of the {whose}"

    def gap_windows(self, taken: Sequence[Int64]) -> list[Window]:
        """The gaps, one array per host as `Ledger.take` gives them, that a finding takes most of."""
        found: list[tuple[int, tuple[int, int, str]]] = []
        for trace, ledger, its in zip(self.traces, self.ledgers, taken, strict=True):
            most = np.argsort(-its, kind="stable")[:MOST_WINDOWS].tolist()
            found += [(int(its[gap]), ledger.window(trace, gap)) for gap in most if its[gap]]
        found.sort(key=lambda it: -it[0])
        return [Window(*window) for _, window in found[:MOST_WINDOWS]]

    def step_without_classes(self, *classes: str) -> int | None:
        return self.step_without([Fix(classes) for _ in self.traces])

    def step_without(self, fixes: list[Fix | None]) -> int | None:
        return mean_step_without(self.session, fixes)


def mean_step_without(session: SessionTrace, fixes: Sequence[Fix | None]) -> int | None:
    """The mean over the report's steps, those of all hosts, after a fix per host. Hosts without one, or that cannot be
    replayed, keep the steps they have; None where no host can be replayed."""
    found = [
        None if fix is None else step_without(trace, fix)
        for trace, fix in zip(session.traces, fixes, strict=True)
    ]
    if all(its is None for its in found):
        return None
    total = count = 0
    for trace, its in zip(session.traces, found, strict=True):
        steps = steps_of(trace)
        own = sum(step.duration_ps for step in steps)
        total += own if its is None else own - max(0, round(own / len(steps)) - its) * len(steps)
        count += len(steps)
    return round(total / count)


def total_ps(taken: Sequence[Int64]) -> int:
    """What was taken from all gaps of all hosts."""
    return sum(int(its.sum()) for its in taken)


def event_severity(part: float) -> Severity:
    """How loud something is that happened at a known place of the program: one line to change is worth a
    change from the share on that can be told from chance."""
    if part >= CRITICAL_SHARE:
        return "critical"
    return "warning" if part >= INFO_SHARE else "info"


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
    """`in step 1209`, `in steps 3, 6 and 9`, `in 12 of 40 steps`."""
    if not numbers:
        return "outside of steps"
    if len(numbers) == 1:
        return f"in step {numbers[0]}"
    if len(numbers) <= 3:
        return f"in steps {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    return f"in {count(len(numbers))} of {count(total)} steps"


def plural(number: int, one: str, many: str | None = None) -> str:
    """`1 gap`, `12 gaps`."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def mask(size: int, chosen: NDArray[Any]) -> NDArray[np.bool_]:
    found = np.zeros(size, np.bool_)
    found[chosen] = True
    return found
