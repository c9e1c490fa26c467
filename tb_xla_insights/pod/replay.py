"""How a session had gone on if some had not come late. (docs/definitions.md, "Pods")"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.arrivals import Arrivals, charge
from tb_xla_insights.pod.instances import HIGH, NOBODY
from tb_xla_insights.trace.model import Int64


def in_time(arrivals: Arrivals, parties: list[int]) -> tuple[Arrivals, Int64]:
    """The same replayed, with these parties coming when the one in the middle of the others does, where they were
    later: what is over sooner makes all who took part sooner by as much from then on. Who waits for what another one
    sends does so for less by as much as anybody is sooner, at best; who has more to do on its host is no sooner than
    that. And how much sooner each party is in the end than in the beginning."""
    its = arrivals.instances
    late = np.zeros(len(arrivals.parties), np.bool_)
    late[parties] = True
    others = its.there & ~late
    sooner = np.zeros(len(arrivals.parties), np.int64)
    first = sooner.copy()
    seen = np.zeros(len(arrivals.parties), np.bool_)
    waited = np.zeros(len(arrivals.parties), np.int64)
    shift, moved = np.zeros_like(its.begin_ps), np.zeros(len(its), np.int64)
    ahead = _Ahead(arrivals, late)
    for row in range(len(its)):
        there = its.there[row]
        new = there & ~seen
        if new.any() and (known := there & seen).any():
            # Its capture begins here: until then it went along with the others.
            sooner[new] = first[new] = int(np.median(sooner[known]))
        seen |= there
        if its.handed_ps is not None:
            since = np.where(there, its.handed_ps[row] - waited, 0)
            sooner += np.clip(sooner.max() - sooner, 0, since)
            waited += since
        sooner = np.minimum(sooner, ahead.most(row))
        begin = its.begin_ps[row] - sooner
        some = np.sort(begin[others[row] if others[row].any() else there])
        shift[row] = sooner + np.where(late, np.maximum(begin - some[(len(some) - 1) // 2], 0), 0)
        ahead.came(row, shift[row])
        latest = int((its.begin_ps[row] - shift[row])[there].max())
        moved[row] = int(its.begin_ps[row, arrivals.last[row]]) - latest
        # Who does not come to wait, as the work before takes that long, is no sooner than that.
        least = its.end_ps[row] - its.wait_ps[row] + shift[row]
        sooner[there] = np.minimum(moved[row], least)[there]
    shift = np.where(its.there, shift, 0)
    end = np.where(its.there, its.end_ps - moved[:, None], 0)
    made = replace(its, begin_ps=its.begin_ps - shift, wait_ps=its.wait_ps - shift, end_ps=end)
    return charge(arrivals, made), sooner - first


class _Ahead:
    """How much sooner parties may come to what is first in a step: their hosts take as long for it as they do."""

    def __init__(self, arrivals: Arrivals, late: NDArray[np.bool_]) -> None:
        self._its, self._own = arrivals.instances, arrivals.own_ps
        self._late = late
        self._step = np.full(len(late), NOBODY)
        self._began = np.zeros(len(late), np.int64)
        self._sooner = np.zeros(len(late), np.int64)
        self._any = np.full(len(late), HIGH)

    def _first(self, row: int) -> NDArray[np.bool_]:
        """The parties for which an instance is the first one of its step."""
        first: NDArray[np.bool_] = self._its.there[row] & (self._step != self._its.step[row])
        return first

    def most(self, row: int) -> Int64:
        """Per party, how much sooner it may be there than it was, after `came` of the step before."""
        step = int(self._its.step[row])
        if self._own is None or step <= 0:
            return self._any
        follows = self._first(row) & (self._step == step - 1) & ~self._late
        if not follows.any():
            return self._any
        between = self._its.begin_ps[row] - self._began
        return np.where(follows, self._sooner + np.maximum(between - self._own[:, step], 0), self._any)

    def came(self, row: int, sooner: Int64) -> None:
        """Parties come to an instance by so much sooner."""
        if self._own is None or self._its.step[row] < 0:
            return
        first = self._first(row)
        self._step[first] = self._its.step[row]
        self._began[first] = self._its.begin_ps[row][first]
        self._sooner[first] = sooner[first]
