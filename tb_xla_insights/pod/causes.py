"""Finds what takes longer on a late host than on the median host. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.propagation.path_names import name_and_depth, short_name
from tb_xla_insights.pod.host_steps import COLUMNS, DEVICE, WAITING_CLASSES, StepTable

MIN_EXPLAINED_SHARE = 0.25
"""A class is the cause only if it takes longer by at least this share of the host's lateness."""

MIN_ANNOTATION_SHARE = 0.6
"""An annotation is named only if it takes longer by at least this share of the cause's extra time."""

_MIN_CORE_SHARE = 0.6
"""A core alone is the cause if its extra work over its neighbours is at least this share of its extra work over the
median host's busiest core."""


@dataclass(frozen=True)
class LateCause:
    """What takes longer on a host than on the median one; in a session of one host, on a core than on the median of its
    neighbours. `name`: one of COLUMNS. `host_ps` and `median_ps`: its mean time per step on either, over the steps that
    are compared. `annotation`: the path of the annotation with most of the extra time, None if no annotation has it;
    `annotation_name`: the last name of that path. `core`: the device that is slower than its neighbours, None if all
    are equally slow or the cause is not the device."""

    name: str
    host_ps: int
    median_ps: int
    annotation: str | None
    core: str | None
    annotation_name: str | None = None

    @property
    def longer_ps(self) -> int:
        return self.host_ps - self.median_ps


def find_cause(
    table: StepTable, host: int, median: int | None, late_ps: int, steps: NDArray[np.intp] | None = None
) -> LateCause | None:
    """Returns what explains that a host is late by `late_ps` in some common steps (None: in all), relative to the
    median host; None if nothing recorded does."""
    if median is None or median == host or table.hosts[host].is_cut:
        return None
    in_both = table.present[host] & table.present[median]
    compared_steps = (
        np.flatnonzero(in_both) if steps is None else np.intersect1d(np.flatnonzero(in_both), steps)
    )
    if not len(compared_steps):
        return None
    # Per column, the step that is compared for each of these steps.
    chosen_steps = np.repeat(compared_steps[:, None], len(COLUMNS), axis=1)
    if steps is not None:
        # A host may run ahead of its devices: what delays a step's work may be in the step before.
        before = np.maximum(compared_steps - 1, 0)
        longer_ps, longer_before_ps = (
            table.times_ps[host, of_steps] - table.times_ps[median, of_steps]
            for of_steps in (compared_steps, before)
        )
        differs_more = (longer_before_ps > longer_ps) & in_both[before, None]
        chosen_steps = np.where(differs_more, before[:, None], chosen_steps)
    columns = np.arange(len(COLUMNS))
    host_ps, median_ps = (
        table.times_ps[index, chosen_steps, columns].sum(axis=0) // len(compared_steps)
        for index in (host, median)
    )
    max_longer_ps, name = max(
        (
            (int(host_ps[column] - median_ps[column]), name)
            for column, name in enumerate(COLUMNS)
            if name not in WAITING_CLASSES
        ),
        key=lambda difference: difference[0],
    )
    if max_longer_ps <= 0 or max_longer_ps < MIN_EXPLAINED_SHARE * late_ps or name == "unrecorded":
        return None
    column = COLUMNS.index(name)
    cause = LateCause(name, int(host_ps[column]), int(median_ps[column]), None, None)
    if name == DEVICE:
        return replace(cause, core=_slow_core(table, host, median))
    path = _find_annotation(table, host, median, cause, chosen_steps[:, column])
    path_name = short_name(path, table.hosts[host].collectives.annotation_times) if path else None
    return replace(cause, annotation=path, annotation_name=path_name)


def _find_annotation(
    table: StepTable, host: int, median: int, cause: LateCause, steps: NDArray[np.intp]
) -> str | None:
    """Returns the deepest annotation with most of the extra time in some common steps, None if none below the outermost
    ones has it."""
    host_ps, median_ps = (_mean_annotation_times(table, index, steps) for index in (host, median))
    depths = {
        path: name_and_depth(path, host_ps)[1]
        for path, time in host_ps.items()
        if time - median_ps.get(path, 0) >= MIN_ANNOTATION_SHARE * cause.longer_ps
    }
    candidates = [path for path, depth in depths.items() if depth]
    return max(candidates, key=lambda path: (depths[path], host_ps[path]), default=None)


def _mean_annotation_times(table: StepTable, host: int, steps: NDArray[np.intp]) -> dict[str, int]:
    """Returns the mean time of each annotation in some common steps, by its path."""
    own_steps = table.own_step[host, steps]
    times = table.hosts[host].collectives.annotation_times
    return {path: of_steps.total_ps(own_steps) // len(steps) for path, of_steps in times.items()}


def _slow_core(table: StepTable, host: int, median: int) -> str | None:
    """Returns the core that computes longer than its neighbours, None if all compute about as long."""
    host_work, median_work = (table.hosts[index].collectives.step_work_ps for index in (host, median))
    if host_work.shape[1] < 2 or not len(host_work) or not median_work.size:
        return None
    means = host_work.mean(axis=0)
    slowest = int(means.argmax())
    beyond_median_host = means[slowest] - median_work.mean(axis=0).max()
    beyond_neighbours = means[slowest] - np.median(np.delete(means, slowest))
    is_alone = beyond_neighbours >= _MIN_CORE_SHARE * beyond_median_host > 0
    return table.hosts[host].collectives.cores[slowest] if is_alone else None
