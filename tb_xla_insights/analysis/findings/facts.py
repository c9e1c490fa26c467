"""The facts that all findings of a host share: the ledger of idle time, means per core and step, and terms of texts."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tb_xla_insights.analysis.compiles.torch_trace import causes_of, guards_in_capture, matched_log
from tb_xla_insights.analysis.delays.pauses import pause_times
from tb_xla_insights.analysis.environment import framework_of
from tb_xla_insights.analysis.findings.finding import MAX_WINDOWS, Frequency, ShownWindow
from tb_xla_insights.analysis.findings.ledger import Ledger
from tb_xla_insights.analysis.frameworks import WORDS, Words, host_activities
from tb_xla_insights.analysis.host.servers import is_server
from tb_xla_insights.analysis.idle.in_steps import device_time, devices_with_work
from tb_xla_insights.analysis.idle.no_requests import no_requests
from tb_xla_insights.analysis.launches.step_sources import annotated_times
from tb_xla_insights.analysis.launches.step_times import find_steps, step_times
from tb_xla_insights.analysis.names import has_tag
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.sidecar_contents import Guard, Metrics, Sidecars
from tb_xla_insights.analysis.thresholds import EVERY_STEP_SHARE
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import Intervals, span_intervals, union_all
from tb_xla_insights.analysis.torch_trace import TorchTraceLog
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.text.units import brief_time
from tb_xla_insights.trace.model import Trace


@dataclass(frozen=True)
class Mean:
    """A mean time per core: `24.4 ms a step`, or `318 ms` in total. `unit` is ` a step` or empty."""

    ps: int
    unit: str

    def __str__(self) -> str:
        return brief_time(self.ps) + self.unit


class Facts:
    """The inputs of one host's findings: its ledger of idle time, and what their texts need."""

    def __init__(self, trace: Trace, sidecars: Sidecars) -> None:
        self.trace = trace
        self.sidecars = sidecars
        self.ledger = Ledger(trace)

    @cached_property
    def span_ps(self) -> int:
        """The sum of the devices' spans."""
        return sum(end - start for start, end in (device.span_ps for device in self.trace.devices))

    @cached_property
    def step_count(self) -> int:
        return len(find_steps(self.trace))

    @cached_property
    def core_steps(self) -> int:
        """The number of steps times the number of cores."""
        return self.step_count * len(self.trace.devices)

    @cached_property
    def steps_in_spans(self) -> float:
        """The mean number of steps that a core's span covers; of a step that begins before the first run or ends after
        the last one, the part that is inside. Gaps are within spans, so that their means per step are over these."""
        start_ps, end_ps = step_times(self.trace)
        spans = [self.trace.devices[index].span_ps for index in devices_with_work(self.trace)]
        covered_ps = sum(
            np.clip(np.minimum(end_ps, last_ps) - np.maximum(start_ps, first_ps), 0, None)
            for first_ps, last_ps in spans
        )
        return float((covered_ps / np.maximum(end_ps - start_ps, 1)).sum()) / max(1, len(spans))

    @cached_property
    def metrics(self) -> Metrics | None:
        """The metrics report beside the capture; if there is also one from before the trace, their difference."""
        metrics, before = self.sidecars.metrics, self.sidecars.before
        return (metrics.since(before) if metrics and before else None) or metrics

    @cached_property
    def torch_trace(self) -> TorchTraceLog | None:
        """The log of TORCH_TRACE that is matched with the capture."""
        return matched_log(self.trace, self.sidecars.torch_traces)

    @cached_property
    def guards(self) -> list[Guard]:
        """Guards that failed, as logs beside the capture record them."""
        logged = guards_in_capture(self.trace, self.torch_trace) if self.torch_trace else []
        return [*logged, *self.sidecars.guards]

    @cached_property
    def compile_causes(self) -> dict[str, dict[str, Any]]:
        """See `Sidecars.causes`: by graph hash, and by the name of the module."""
        return causes_of(self.trace, self.sidecars)

    @cached_property
    def framework(self) -> str:
        """The framework's name in the report's `environment`."""
        return framework_of(self.trace)

    @cached_property
    def words(self) -> Words:
        """The framework's terms for advice."""
        words = WORDS[self.framework]
        return words.of_server() if is_server(self.trace) else words

    @cached_property
    def host_activities(self) -> dict[str, str]:
        """Verb phrases that follow `the host` in a sentence, by class."""
        return host_activities(self.framework)

    @cached_property
    def recording_advice(self) -> str:
        """How to make a capture show what the script does where this one does not."""
        has_frames = bool(self.trace.rows_with_metadata(has_tag(self.trace, "python_tracer")).size)
        if (calls := self.words.python_calls) and not has_frames:
            return f"record Python calls with {calls}, or annotate the code"
        return f"annotate the code{f' with {self.words.annotation}' if self.words.annotation else ''}"

    def share(self, cost_ps: int) -> float:
        """Idle time as a share of the devices' spans."""
        return cost_ps / self.span_ps if self.span_ps else 0.0

    @cached_property
    def core_subject(self) -> str:
        """The subject of clauses about devices. With several cores, figures are means per core."""
        return "each core" if len(self.trace.devices) > 1 else "the device"

    def mean_per_core(self, taken_ps: Int64, frequency: Frequency | None = None) -> Mean:
        """The mean per core of the time taken from each gap (see `Ledger.take`). If it recurs in several steps, the
        mean is also per step, and only time within whole steps counts: of a gap that crosses their edge, the share of
        its duration that is inside; otherwise it is the total."""
        return self.mean_of_gaps(taken_ps, self.ledger.start_ps, self.ledger.end_ps, frequency)

    def mean_of_gaps(
        self, taken_ps: Int64, start_ps: Int64, end_ps: Int64, frequency: Frequency | None = None
    ) -> Mean:
        """As `mean_per_core`, for gaps of any kind."""
        return self._mean(taken_ps, start_ps, end_ps, frequency, self.steps_in_spans)

    def mean_of_times(self, times: Sequence[Intervals], frequency: Frequency | None) -> Mean:
        """The mean per core of the times of all devices, as in `mean_per_core`, but over all whole steps."""
        start_ps = np.concatenate([intervals.start_ps for intervals in times])
        end_ps = np.concatenate([intervals.end_ps for intervals in times])
        return self._mean(end_ps - start_ps, start_ps, end_ps, frequency, self.step_count)

    def _mean(
        self, taken_ps: Int64, start_ps: Int64, end_ps: Int64, frequency: Frequency | None, step_count: float
    ) -> Mean:
        cores = max(1, len(self.trace.devices))
        if frequency not in ("every_step", "some_steps"):
            return Mean(int(taken_ps.sum()) // cores, "")
        steps = find_steps(self.trace)
        begin, end = steps[0].start_ps, steps[-1].end_ps
        inside_ps = np.clip(np.minimum(end_ps, end) - np.maximum(start_ps, begin), 0, None)
        share_inside = inside_ps / np.maximum(end_ps - start_ps, 1)
        total_ps = float((taken_ps * share_inside).sum())
        return Mean(round(total_ps / (cores * step_count)) if total_ps else 0, " a step")

    def idle_text(self, taken_ps: Int64, frequency: Frequency | None) -> str:
        """`the device idles 24.4 ms a step`, for several cores `each core idles 24.4 ms a step`; without `a step` if it
        happens in one step only or outside of steps. `no device idles` if no time is taken."""
        if not taken_ps.any():
            return "no device idles"
        return f"{self.core_subject} idles {self.mean_per_core(taken_ps, frequency)}"

    def idle_in_steps_ps(self, frequency: Frequency | None, *classes: str) -> int | None:
        """All idle time of some classes per step and core, whichever finding explains it; None for a finding that does
        not recur."""
        if frequency not in ("every_step", "some_steps"):
            return None
        columns = [CLASSES.index(name) for name in classes]
        times = [device_time(self.trace, index) for index in devices_with_work(self.trace)]
        return sum(int(device.by_class_ps[:, columns].sum()) for device in times) // max(1, self.core_steps)

    def gap_windows(self, taken_ps: Int64) -> list[ShownWindow]:
        """The gaps from which a finding takes most time; `taken_ps` per gap, as `Ledger.take` returns it."""
        largest = np.argsort(-taken_ps, kind="stable")[:MAX_WINDOWS].tolist()
        return [ShownWindow(*self.ledger.window(gap)) for gap in largest if taken_ps[gap]]

    def affected_steps(self, taken_ps: Int64) -> set[int]:
        """The steps (indices) of the runs that end the gaps from which `Ledger.take` took time. A gap that is mostly
        before the first step, or after the last one, belongs to no step."""
        steps = find_steps(self.trace)
        begin, end = (steps[0].start_ps, steps[-1].end_ps) if steps else (0, 0)
        twice_middle = self.ledger.start_ps + self.ledger.end_ps
        inside = (twice_middle >= 2 * begin) & (twice_middle <= 2 * end)
        return set(self.ledger.step[(taken_ps > 0) & inside].tolist()) - {-1}

    def frequency_of(self, steps: Set[int]) -> Frequency | None:
        """How often something happens, from the steps (indices) that are affected; None without any. The capture's
        edges hide part of the first and the last step, so these count only if they are affected. The only step of a
        capture is taken for a usual one."""
        if not self.step_count or not steps:
            return None
        unaffected_edges = len({0, self.step_count - 1} - steps)
        if self.step_count == 1 or len(steps) >= EVERY_STEP_SHARE * (self.step_count - unaffected_edges):
            return "every_step"
        return "once" if len(steps) == 1 else "some_steps"

    def usual_count(self, step: Int32) -> int:
        """How many of some events the usual step has: the median over the steps, the lower one of two. `step`: the step
        (an index) of each event, -1 outside of steps. A mean would spread over all steps what only a few do, such as
        the programs of a checkpoint."""
        if not self.step_count:
            return 0
        inside = step[(step >= 0) & (step < self.step_count)]
        counts = np.sort(np.bincount(inside, minlength=self.step_count))
        return int(counts[(self.step_count - 1) // 2])

    def frequency_of_times(self, times: Sequence[Intervals]) -> Frequency | None:
        """How often devices lose time, from the steps, by the clock, in which at least one of them does. `times`: when
        each device does."""
        lost = union_all(times)
        lost_ps = covered_times(lost.start_ps, lost.end_ps, *step_times(self.trace))
        return self.frequency_of(set(np.flatnonzero(lost_ps).tolist()))

    def fix_removing(
        self,
        steps: Set[int],
        *classes: str,
        in_other_thread: bool = False,
        outside: Intervals | None = None,
    ) -> Fix:
        """The fix that removes host time of some classes, or moves it to another thread: if it happens once, in the one
        affected step (an index) and between the previous step and it, else everywhere; but not in pauses, which are
        another finding's, not while a server has no request, and only `outside` of some intervals, if given."""
        left_out = [pause_times(self.trace), no_requests(self.trace), *([outside] if outside else [])]
        excluded = union_all([times for times in left_out if len(times)])
        windows = span_intervals(*self.trace.span_ps) if len(excluded) else None
        if self.frequency_of(steps) == "once":
            (index,) = steps
            starts, ends = annotated_times(self.trace)
            start_ps = min(ends[index - 1], starts[index]) if index else starts[0]
            windows = span_intervals(int(start_ps), int(ends[index]))
        windows = None if windows is None else windows.without(excluded)
        return Fix(classes, windows=windows, in_other_thread=in_other_thread)
