"""The ledger of idle time that the host causes. Findings take time from it, so that none counts twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.idle.barriers import idle_class_segments
from tb_xla_insights.analysis.idle.idle_time import STARVED, find_gaps
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.time.class_times import class_times_inside
from tb_xla_insights.analysis.time.intervals import Intervals, span_intervals, union, union_all
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Trace


class Ledger:
    """The starved gaps of one host. In these nothing was queued, so the device idled because of the host's work.

    `by_class_ps`: a row per gap, a column per class; `remaining_ps`: the part of it that no finding has taken. `before`
    and `after`: the launches of the runs before and after each gap; `step`: the step of the run after it; -1 if
    unknown. `taken_times`: by class (an index), when findings took its time. `explained`: by a finding's id, the time
    it took from each gap.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        gaps, launches = find_gaps(trace), find_launches(trace)
        starved = np.flatnonzero(gaps.kind == STARVED)
        self.start_ps, self.end_ps = gaps.start_ps[starved], gaps.end_ps[starved]
        self.device = gaps.device[starved]
        self.step: Int32 = gaps.step[starved]
        self.by_class_ps = gaps.by_class_ps[starved]
        self.remaining_ps = self.by_class_ps.copy()
        self.taken_times = [span_intervals(0, 0)] * len(CLASSES)
        self.explained: dict[str, Int64] = {}
        launch_of_run = np.append(launches.runs.launch, np.int32(-1))
        self.before: Int32 = launch_of_run[gaps.before_run[starved]]
        self.after: Int32 = launch_of_run[gaps.run[starved]]

    def __len__(self) -> int:
        return len(self.start_ps)

    def take(self, classes: tuple[str, ...], is_selected: NDArray[np.bool_] | None = None) -> Int64:
        """Takes the remaining time of some classes, in all gaps or in the selected ones. Returns the time in ps taken
        per gap."""
        columns = np.array([CLASSES.index(name) for name in classes], np.intp)
        rows = np.arange(len(self)) if is_selected is None else np.flatnonzero(is_selected)
        taken_ps = np.zeros(len(self), np.int64)
        taken_ps[rows] = self.remaining_ps[rows[:, None], columns].sum(axis=1)
        self.remaining_ps[rows[:, None], columns] = 0
        self._add_taken_times(columns, union(self.start_ps[rows], self.end_ps[rows]))
        return taken_ps

    def take_within(self, classes: tuple[str, ...], windows: Intervals) -> Int64:
        """Takes the remaining time of some classes within some windows. Returns the time in ps taken per gap."""
        columns = np.array([CLASSES.index(name) for name in classes], np.intp)
        taken_by_class = self._remaining_within(columns, windows)
        self._add_taken_times(columns, windows.within(union(self.start_ps, self.end_ps)))
        self.remaining_ps[:, columns] -= taken_by_class
        taken_ps: Int64 = taken_by_class.sum(axis=1)
        return taken_ps

    def discard_within(self, classes: tuple[str, ...], windows: Intervals) -> None:
        """Leaves the remaining time of some classes within some windows out of all findings."""
        columns = np.array([CLASSES.index(name) for name in classes], np.intp)
        self.remaining_ps[:, columns] -= self._remaining_within(columns, windows)

    def remaining_within(self, classes: tuple[str, ...], windows: Intervals) -> Int64:
        """Returns what `take_within` would take."""
        columns = np.array([CLASSES.index(name) for name in classes], np.intp)
        remaining_ps: Int64 = self._remaining_within(columns, windows).sum(axis=1)
        return remaining_ps

    def _remaining_within(self, columns: NDArray[np.intp], windows: Intervals) -> Int64:
        """The remaining time within some windows, a row per gap and a column for each of `columns`."""
        inside = np.zeros_like(self.remaining_ps)
        for index in np.unique(self.device).tolist():
            gaps = self.device == index
            segments = idle_class_segments(self.trace, index)
            inside[gaps] = class_times_inside(segments, windows, self.start_ps[gaps], self.end_ps[gaps])
        return np.minimum(inside[:, columns], self.remaining_ps[:, columns])

    def _add_taken_times(self, columns: NDArray[np.intp], times: Intervals) -> None:
        for column in columns.tolist():
            self.taken_times[column] = union_all([self.taken_times[column], times])

    def host_times_since(self, taken_times: Sequence[Intervals]) -> Intervals:
        """When the host did what findings have taken since an earlier state of `taken_times`."""
        segments = host_class_segments(self.trace)
        return union_all(
            [
                now.without(before).within(
                    union(segments.start_ps, segments.end_ps, segments.class_index == column)
                )
                for column, (now, before) in enumerate(zip(self.taken_times, taken_times, strict=True))
                if now is not before
            ]
        )

    def explained_by(self) -> dict[tuple[str, int], dict[str, int]]:
        """By device id and start of a gap, the ids of the findings that explain it with their time in ps, the largest
        first."""
        findings_of_gap: dict[tuple[str, int], dict[str, int]] = {}
        times = [
            (id_, int(gap), int(taken_ps[gap]))
            for id_, taken_ps in self.explained.items()
            for gap in np.flatnonzero(taken_ps)
        ]
        for id_, gap, ps in sorted(times, key=lambda time: -time[2]):
            start, _, device = self.window(gap)
            findings_of_gap.setdefault((device, start), {})[id_] = ps
        return findings_of_gap

    def window(self, gap: int) -> tuple[int, int, str]:
        """Start, end and device of a gap."""
        return int(self.start_ps[gap]), int(self.end_ps[gap]), self.trace.devices[int(self.device[gap])].id
