"""What a late host did meanwhile that the median host did not. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.host_steps import COLUMNS, DEVICE, WAITING, Table

EXPLAINS = 0.25
"""Of how late a host is, what the class that takes longer must take longer to be the cause."""

NAMES = 0.6
"""Of what a class takes longer, what an annotation must take longer to be named."""

_ALONE = 0.6
"""Of what a host's busiest core computes longer than the median host's, what it must compute longer than its neighbours
to be to blame alone."""


@dataclass(frozen=True)
class Cause:
    """What takes longer on a host than on the median one: `name` (of COLUMNS), how long it takes a step on either, over
    the steps that count, and the path of the annotation in which most of that is, None where no annotation says so;
    `core`, the device that is slower than its neighbours, None: all are, or it is not the device."""

    name: str
    own_ps: int
    median_ps: int
    annotation: str | None
    core: str | None

    @property
    def longer_ps(self) -> int:
        return self.own_ps - self.median_ps


def find_cause(
    table: Table, host: int, median: int | None, late_ps: int, steps: NDArray[np.intp] | None = None
) -> Cause | None:
    """What explains that a host is late by so much, in some common steps (None: in all), against the median host; None
    where nothing does, as where nothing of it is recorded."""
    if median is None or median == host or table.hosts[host].cut:
        return None
    both = table.there[host] & table.there[median]
    counted = np.flatnonzero(both) if steps is None else np.intersect1d(np.flatnonzero(both), steps)
    if not len(counted):
        return None
    own, usual = table.parts_ps[host, counted], table.parts_ps[median, counted]
    if steps is not None:
        # A host may be ahead of its devices: what delays a step's work may be in the step before.
        before = np.maximum(counted - 1, 0)
        earlier, then = table.parts_ps[host, before], table.parts_ps[median, before]
        better = (earlier - then > own - usual) & both[before, None]
        own, usual = np.where(better, earlier, own), np.where(better, then, usual)
    own, usual = own.sum(axis=0) // len(counted), usual.sum(axis=0) // len(counted)
    longer = [(int(own[at] - usual[at]), name) for at, name in enumerate(COLUMNS) if name not in WAITING]
    most, name = max(longer, key=lambda it: it[0])
    if most <= 0 or most < EXPLAINS * late_ps or name == "unrecorded":
        return None
    at = COLUMNS.index(name)
    found = Cause(name, int(own[at]), int(usual[at]), None, None)
    annotation = _annotation(table, host, median, found, steps) if name != DEVICE else None
    core = _core(table, host, median) if name == DEVICE else None
    return replace(found, annotation=annotation, core=core)


def _annotation(
    table: Table, host: int, median: int, cause: Cause, steps: NDArray[np.intp] | None
) -> str | None:
    """The deepest annotation that takes most of the time longer. What documents say of annotations is of all steps, so
    of a few steps the sum counts."""
    own, usual = (_annotations(table, it) for it in (host, median))
    count = max(int(table.there[host].sum()), 1)
    share = 1.0 if steps is None else len(steps) / count
    wanted = NAMES * cause.longer_ps * share
    found = [path for path, time in own.items() if "/" in path and time - usual.get(path, 0.0) >= wanted]
    return max(found, key=lambda path: (path.count("/"), own[path])) if found else None


def _annotations(table: Table, host: int) -> dict[str, float]:
    """Per annotation its time in the mean step."""
    count = max(int(table.there[host].sum()), 1)
    return {row["path"]: row["host_ps"] / count for row in table.hosts[host].document.get("annotations", [])}


def _core(table: Table, host: int, median: int) -> str | None:
    """The core that computes longer than its neighbours."""
    work, usual = (table.hosts[it].collectives.step_work_ps for it in (host, median))
    if work.shape[1] < 2 or not len(work) or not usual.size:
        return None
    means = work.mean(axis=0)
    slowest = int(means.argmax())
    longer = means[slowest] - usual.mean(axis=0).max()
    apart = means[slowest] - np.median(np.delete(means, slowest))
    return table.hosts[host].collectives.cores[slowest] if apart >= _ALONE * longer > 0 else None
