"""Tabulates the host time of all hosts in their common steps. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog.classes import CLASS_INDEX, CLASSES, ClassName
from tb_xla_insights.pod.alignment import UNALIGNED
from tb_xla_insights.pod.arrivals import Arrivals
from tb_xla_insights.pod.collective_columns import HostCollectives

DEVICE: Final = "device"
COLUMNS: tuple[ClassName | Literal["device"], ...] = (*CLASSES, DEVICE)
"""The times of a step that are compared: those of the classes of host time, and how long the busiest core computed."""

WAITING_CLASSES = frozenset(("wait", "from_device"))
"""Classes in which a host only waits for its devices, and so for other hosts: never a cause."""

_CUT_DIAGNOSTICS = ("truncated_file", "corrupt_file")

_MAY_WAIT_CLASSES = ("dispatch", "python", "other")
"""Classes in which a host may wait without an event that says so. Only the minimum over all hosts counts as work."""

_WORK_CLASSES = tuple(
    name for name in CLASSES if name not in (*WAITING_CLASSES, *_MAY_WAIT_CLASSES, "unrecorded")
)


@dataclass(frozen=True)
class HostInput:
    """The input of the comparison from one host: its name, its report's document, and its collectives."""

    name: str
    document: Mapping[str, Any]
    collectives: HostCollectives

    @property
    def is_cut(self) -> bool:
        """Whether its file is truncated or corrupt: the missing time may be of any class."""
        return any(row["id"] in _CUT_DIAGNOSTICS for row in self.document["diagnostics"])


@dataclass(frozen=True)
class StepTable:
    """Per host and common step: `own_step` (the index among the host's own steps, -1: it does not have the step),
    `step_ps` (its length), `start_ps` (its start on the session's common clock), and `times_ps` (its time by COLUMNS).
    Per step: `number` (None: not recorded) and `name`."""

    hosts: tuple[HostInput, ...]
    own_step: NDArray[np.intp]
    step_ps: Int64
    start_ps: Int64
    times_ps: Int64
    number: list[int | None]
    name: list[str]

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Per host and common step, whether the host has the step."""
        return self.own_step >= 0

    @cached_property
    def means_ps(self) -> Int64:
        """Per host and column, the time in its mean step; 0 without steps."""
        count = np.maximum(self.present.sum(axis=1), 1)
        means: Int64 = self.times_ps.sum(axis=1) // count[:, None]
        return means

    @cached_property
    def own_work_ps(self) -> Int64:
        """Per host and step, a lower bound of its own work without waiting; 0 if it does not have the step."""
        work, may_wait = (
            self.times_ps[:, :, [CLASS_INDEX[name] for name in names]]
            for names in (_WORK_CLASSES, _MAY_WAIT_CLASSES)
        )
        present, absent_ps = self.present[:, :, None], np.iinfo(np.int64).max
        minimum = np.where(present, may_wait, absent_ps).min(axis=0, initial=absent_ps)
        own_work: Int64 = np.where(
            self.present, work.sum(axis=2) + np.where(present, minimum, 0).sum(axis=2), 0
        )
        return own_work

    @cached_property
    def mean_step_ps(self) -> int | None:
        """The mean step of all hosts, None without steps."""
        count = int(self.present.sum())
        return int(self.step_ps.sum()) // count if count else None

    def median_of(self, hosts: Collection[int]) -> int | None:
        """Returns the host of `hosts` that is closest to the medians of all columns, None if none has steps. Hosts with
        a cut file are used only if all have one."""
        with_steps = [host for host in sorted(hosts) if self.present[host].any()]
        whole = [host for host in with_steps if not self.hosts[host].is_cut]
        candidates = np.array(whole or with_steps, np.intp)
        if not len(candidates):
            return None
        means = self.means_ps[candidates]
        return int(candidates[np.abs(means - np.median(means, axis=0)).sum(axis=1).argmin()])


def tabulate_steps(hosts: Sequence[HostInput], arrivals: Arrivals) -> StepTable:
    """Returns the steps of all hosts, matched by the common steps of their `arrivals`.

    If some hosts share no collectives and this match contradicts the numbers of some steps, steps have no number.
    """
    shape = len(hosts), arrivals.step_count
    own_step = np.full(shape, -1, np.intp)
    step_ps, start_ps = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    times_ps = np.zeros((*shape, len(COLUMNS)), np.int64)
    number: list[int | None] = [None] * arrivals.step_count
    name = [""] * arrivals.step_count
    for index, (host, common_step) in enumerate(zip(hosts, arrivals.common_step, strict=True)):
        rows = [*host.document["steps"]]  # one pass: the rows may be built from columns
        starts = np.array([row["start_ps"] for row in rows], np.int64)
        starts = arrivals.clocks.to_common(index, starts)
        own_step[index, common_step] = np.arange(len(rows))
        for step, row, start in zip(common_step.tolist(), rows, starts.tolist(), strict=True):
            step_ps[index, step], start_ps[index, step] = row["duration_ps"], start
            for class_name, time in row["host_ps"].items():
                times_ps[index, step, CLASS_INDEX[class_name]] = time
            number[step] = row["number"] if number[step] is None else number[step]
            name[step] = name[step] or row["name"]
        work = host.collectives.step_work_ps
        if work.size:
            times_ps[index, common_step, len(CLASSES)] = work.max(axis=1)
    is_disconnected = np.unique(arrivals.component).size > 1 or (arrivals.component == UNALIGNED).any()
    if is_disconnected and not _numbers_agree(hosts, arrivals, number):
        number = [None] * arrivals.step_count
    return StepTable(tuple(hosts), own_step, step_ps, start_ps, times_ps, number, name)


def _numbers_agree(hosts: Sequence[HostInput], arrivals: Arrivals, number: Sequence[int | None]) -> bool:
    """Whether every step of every host has the number of its common step, or none."""
    return all(
        row["number"] in (None, number[step])
        for host, common_step in zip(hosts, arrivals.common_step, strict=True)
        for step, row in zip(common_step.tolist(), host.document["steps"], strict=True)
    )
