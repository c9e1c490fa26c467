"""What hosts did in the steps that they took together, side by side. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.catalog.classes import CLASS_INDEX, CLASSES, ClassName
from tb_xla_insights.pod.alignment import NOT
from tb_xla_insights.pod.arrivals import Arrivals
from tb_xla_insights.pod.collective_columns import HostCollectives
from tb_xla_insights.pod.instances import NOBODY
from tb_xla_insights.trace.model import Int64

DEVICE: Final = "device"
COLUMNS: tuple[ClassName | Literal["device"], ...] = (*CLASSES, DEVICE)
"""What a step is compared by: the classes of host time, and how long the busiest core computed."""

WAITING = frozenset(("wait", "from_device"))
"""Classes in which a host only waits for its devices, so for the other hosts: never a cause."""

_CUT = ("truncated_file", "corrupt_file")

_MAY_WAIT = ("dispatch", "python", "other")
"""Classes in which a host may wait though no event says so: of these as much is its own work as every host has."""

_OWN = tuple(name for name in CLASSES if name not in (*WAITING, *_MAY_WAIT, "unrecorded"))


@dataclass(frozen=True)
class HostInput:
    """What one host tells on its own: its name, its report's document, and its collectives."""

    name: str
    document: Mapping[str, Any]
    collectives: HostCollectives

    @property
    def cut(self) -> bool:
        """Whether its file ends too soon, or cannot be read to its end: what is missing may be any class's."""
        return any(row["id"] in _CUT for row in self.document["diagnostics"])


@dataclass(frozen=True)
class Table:
    """Hosts by common steps: `there`, whether the host has that step; `step_ps`, its length; `start_ps`, its start on
    the session's common clock; and by COLUMNS, `parts_ps`. Per step its `number` (None: not recorded) and `name`."""

    hosts: tuple[HostInput, ...]
    there: NDArray[np.bool_]
    step_ps: Int64
    start_ps: Int64
    parts_ps: Int64
    number: list[int | None]
    name: list[str]

    @cached_property
    def means_ps(self) -> Int64:
        """Per host and column, of its mean step; 0 without steps."""
        count = np.maximum(self.there.sum(axis=1), 1)
        found: Int64 = self.parts_ps.sum(axis=1) // count[:, None]
        return found

    @cached_property
    def own_work_ps(self) -> Int64:
        """Per host and step: what it does itself and does not wait, at least; 0 where it has no such step."""
        own, unsure = (self.parts_ps[:, :, [CLASS_INDEX[it] for it in names]] for names in (_OWN, _MAY_WAIT))
        there = self.there[:, :, None]
        least = np.where(there, unsure, np.iinfo(np.int64).max).min(axis=0, initial=np.iinfo(np.int64).max)
        found: Int64 = np.where(self.there, own.sum(axis=2) + np.where(there, least, 0).sum(axis=2), 0)
        return found

    @cached_property
    def mean_step_ps(self) -> int | None:
        """Of the steps of all hosts."""
        count = int(self.there.sum())
        return int(self.step_ps.sum()) // count if count else None

    def median_of(self, hosts: Collection[int]) -> int | None:
        """Of some hosts the one that is closest to the medians of all columns, None where none has steps; one whose
        file is cut only where all are."""
        having = [host for host in sorted(hosts) if self.there[host].any()]
        some = np.array([host for host in having if not self.hosts[host].cut] or having, np.intp)
        if not len(some):
            return None
        means = self.means_ps[some]
        return int(some[np.abs(means - np.median(means, axis=0)).sum(axis=1).argmin()])


def side_by_side(hosts: Sequence[HostInput], arrivals: Arrivals) -> Table:
    """The steps of all hosts. `arrivals` of the same hosts tell which steps of theirs are the same. Where nothing ties
    hosts and their steps have other numbers, a step has none: it is only as far from the first one on each."""
    shape = len(hosts), arrivals.steps
    there = np.zeros(shape, np.bool_)
    step_ps, start_ps = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    parts = np.zeros((*shape, len(COLUMNS)), np.int64)
    number: list[int | None] = [None] * arrivals.steps
    name = [""] * arrivals.steps
    for which, (host, common) in enumerate(zip(hosts, arrivals.step_of, strict=True)):
        rows = [*host.document["steps"]]  # once: they may be columns
        starts = np.array([row["start_ps"] for row in rows], np.int64)
        starts = arrivals.clocks.common(which, starts)
        for place, row, start in zip(common.tolist(), rows, starts.tolist(), strict=True):
            there[which, place] = True
            step_ps[which, place], start_ps[which, place] = row["duration_ps"], start
            for kind, time in row["host_ps"].items():
                parts[which, place, CLASS_INDEX[kind]] = time
            number[place] = row["number"] if number[place] is None else number[place]
            name[place] = name[place] or row["name"]
        work = host.collectives.step_work_ps
        if work.size:
            parts[which, common[common != NOBODY], len(CLASSES)] = work.max(axis=1)
    if np.unique(arrivals.component).size > 1 or (arrivals.component == NOT).any():
        number = number if _agree(hosts, arrivals, number) else [None] * arrivals.steps
    return Table(tuple(hosts), there, step_ps, start_ps, parts, number, name)


def _agree(hosts: Sequence[HostInput], arrivals: Arrivals, number: Sequence[int | None]) -> bool:
    """Whether every step of every host has the number of its place, or none."""
    return all(
        row["number"] in (None, number[place])
        for host, common in zip(hosts, arrivals.step_of, strict=True)
        for place, row in zip(common.tolist(), host.document["steps"], strict=True)
    )
