"""Replays a session as if some parties had arrived on time. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int64
from tb_xla_insights.pod.arrivals import Arrivals, with_instances
from tb_xla_insights.pod.instances import INT64_MAX, NO_STEP


def replay_on_time(arrivals: Arrivals, parties: list[int]) -> tuple[Arrivals, Int64]:
    """Returns the arrivals if `parties` came no later than the median of the other parties, and how much earlier each
    party is at the end than at the beginning.

    An instance that is over earlier makes all its members earlier by as much from then on; with several groups of a
    host's cores, once the last of them is over. Waiting for point-to-point data becomes shorter by as much as any party
    is earlier, at best. A party that is not late arrives no earlier than the work of its host allows.
    """
    instances = arrivals.instances
    is_late = np.zeros(len(arrivals.parties), np.bool_)
    is_late[parties] = True
    is_reference = instances.present & ~is_late
    earlier_ps = np.zeros(len(arrivals.parties), np.int64)
    first_earlier_ps = earlier_ps.copy()
    has_started = np.zeros(len(arrivals.parties), np.bool_)
    point_to_point = np.zeros(len(arrivals.parties), np.int64)
    arrival_shift_ps, end_shift_ps = np.zeros_like(instances.begin_ps), np.zeros(len(instances), np.int64)
    work_limit = _HostWorkLimit(arrivals, is_late)
    after_ps = np.full(len(arrivals.parties), INT64_MAX)
    for row in range(len(instances)):
        present = instances.present[row]
        if row and instances.execution[row] != instances.execution[row - 1]:
            earlier_ps = np.where(after_ps < INT64_MAX, after_ps, earlier_ps)
            after_ps.fill(INT64_MAX)
        starts = present & ~has_started
        if starts.any() and (running := present & has_started).any():
            # The capture of these parties begins here: until then they are taken to be as early as the others.
            earlier_ps[starts] = first_earlier_ps[starts] = int(np.median(earlier_ps[running]))
        has_started |= present
        if instances.point_to_point_ps is not None:
            wait_ps = np.where(present, instances.point_to_point_ps[row] - point_to_point, 0)
            earlier_ps += np.clip(earlier_ps.max() - earlier_ps, 0, wait_ps)
            point_to_point += wait_ps
        earlier_ps = np.minimum(earlier_ps, work_limit.max_earlier_ps(row))
        begin = instances.begin_ps[row] - earlier_ps
        reference = np.sort(begin[is_reference[row] if is_reference[row].any() else present])
        median = reference[(len(reference) - 1) // 2]
        arrival_shift_ps[row] = earlier_ps + np.where(is_late, np.maximum(begin - median, 0), 0)
        work_limit.record_arrival(row, arrival_shift_ps[row])
        last_arrival = int((instances.begin_ps[row] - arrival_shift_ps[row])[present].max())
        end_shift_ps[row] = int(instances.begin_ps[row, arrivals.last_party[row]]) - last_arrival
        # For no party does the instance end before the party itself starts to wait.
        max_earlier = instances.end_ps[row] - instances.wait_start_ps[row] + arrival_shift_ps[row]
        after_ps[present] = np.minimum(after_ps, np.minimum(end_shift_ps[row], max_earlier))[present]
    earlier_ps = np.where(after_ps < INT64_MAX, after_ps, earlier_ps)
    arrival_shift_ps = np.where(instances.present, arrival_shift_ps, 0)
    replayed = replace(
        instances,
        begin_ps=instances.begin_ps - arrival_shift_ps,
        wait_start_ps=instances.wait_start_ps - arrival_shift_ps,
        end_ps=np.where(instances.present, instances.end_ps - end_shift_ps[:, None], 0),
    )
    return with_instances(arrivals, replayed), earlier_ps - first_earlier_ps


class _HostWorkLimit:
    """Limits how much earlier parties arrive at the first instance of a step: from one step's first instance to the
    next one's, a party takes at least as long as its host's own work."""

    def __init__(self, arrivals: Arrivals, is_late: NDArray[np.bool_]) -> None:
        self._instances, self._own_work = arrivals.instances, arrivals.own_work_ps
        self._is_late = is_late
        # Per party, the step that it is in, and its arrival at the first instance of that step.
        self._step = np.full(len(is_late), NO_STEP)
        self._begin_ps = np.zeros(len(is_late), np.int64)
        self._earlier_ps = np.zeros(len(is_late), np.int64)
        self._unlimited = np.full(len(is_late), INT64_MAX)

    def _starts_step(self, row: int) -> NDArray[np.bool_]:
        """Returns the parties for which an instance is the first one of its step."""
        starts: NDArray[np.bool_] = self._instances.present[row] & (self._step != self._instances.step[row])
        return starts

    def max_earlier_ps(self, row: int) -> Int64:
        """Returns, per party, how much earlier it may arrive than it did, after `record_arrival` of the step before."""
        step = int(self._instances.step[row])
        if self._own_work is None or step <= 0:
            return self._unlimited
        is_limited = self._starts_step(row) & (self._step == step - 1) & ~self._is_late
        if not is_limited.any():
            return self._unlimited
        spare = np.maximum(self._instances.begin_ps[row] - self._begin_ps - self._own_work[:, step], 0)
        return np.where(is_limited, self._earlier_ps + spare, self._unlimited)

    def record_arrival(self, row: int, earlier_ps: Int64) -> None:
        """Records how much earlier the parties arrive at an instance."""
        if self._own_work is None or self._instances.step[row] < 0:
            return
        starts = self._starts_step(row)
        self._step[starts] = self._instances.step[row]
        self._begin_ps[starts] = self._instances.begin_ps[row][starts]
        self._earlier_ps[starts] = earlier_ps[starts]
