"""Which hosts hold up the others: those that come last more often than chance has it, and those that cost much once.

(docs/definitions.md, "Pods")
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, lgamma, log, log1p
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.thresholds import EVERY_SHARE, INFO_SHARE
from tb_xla_insights.pod.arrivals import Arrivals, charge, middle_of
from tb_xla_insights.trace.model import Int64

TIMES_ITS_SHARE = 2
"""A host stands out that is last in more than so many times its share of the steps, …"""

MOST_NEEDED = 0.75
"""… or of few hosts, in more than this share of them."""

LEVEL = 0.01
"""How often chance may make a host stand out, in a session in which none does."""

LEAST_SHARE = 0.01
"""Of a step, what a host must cost the others to be told: what they wait is measured, and no mean of different runs."""

ONCE_SHARE = 0.5
"""Of all waiting, what is charged to a host that stands out in a few steps only."""

MOST_FOUND = 8
"""Hosts that are looked for one after the other."""

Kind = Literal["late", "changing", "none", "unknown"]


@dataclass(frozen=True)
class LateOnes:
    """Who holds up the others. `kind`: `late`, these `parties` do, the worst first; `changing`, another one each time;
    `none`; `unknown`, nothing compares them. `alike`: the parties are late together, as a class of their own. Per party
    `steps`, those in which most waiting is charged to it, once those before it in the list are as the middle one.

    `waits_ps`: what a party waits for others in the mean step; `saved_ps`: what one that is
    not late waits less if none of them is.
    """

    kind: Kind
    parties: list[int]
    steps: list[NDArray[np.intp]]
    alike: bool
    waits_ps: int
    saved_ps: int

    @property
    def recurs(self) -> str | None:
        """As the findings say it; of a single step nobody knows."""
        count = len(np.unique(np.concatenate(self.steps))) if self.steps else 0
        return None if not count else "once" if count == 1 else "some_steps"


def find_late(arrivals: Arrivals, step_ps: int | None) -> LateOnes:
    """Who holds up the others. `step_ps`: the mean step, of which a cost is a share; None: not known, nobody does."""
    if not len(arrivals.instances) or not arrivals.steps or not step_ps:
        return LateOnes("unknown", [], [], False, 0, 0)
    waits = _per_step(arrivals, arrivals.waits_ps)
    found, steps, left = [], [], arrivals
    while len(found) < min(MOST_FOUND, len(arrivals.parties) - 1):
        worst = _worst(left, arrivals, step_ps)
        if worst is None:
            break
        found.append(worst[0])
        steps.append(worst[1])
        left = in_time(left, found)
    alike = False
    if not found and (several := _class_of_late(arrivals, step_ps)):
        found, alike, left = several, True, in_time(arrivals, several)
        last = _last_of_steps(arrivals)
        steps = [np.flatnonzero(last == party) for party in found]
    if found:
        return LateOnes("late", found, steps, alike, waits, _saved(arrivals, left, len(found)))
    if waits >= INFO_SHARE * step_ps and _beyond_clocks(arrivals):
        left = in_time(arrivals, list(range(len(arrivals.parties))))
        return LateOnes("changing", [], [], False, waits, _saved(arrivals, left, 1))
    return LateOnes("none", [], [], False, waits, 0)


def in_time(arrivals: Arrivals, parties: list[int]) -> Arrivals:
    """The same, had these parties come when the one in the middle does, where they were later."""
    its = arrivals.instances
    others = its.there.copy()
    others[:, parties] = False
    # Of those that are all late, the ones that are there.
    middle = middle_of(its.begin_ps, np.where(others.any(axis=1)[:, None], others, its.there))
    begin, wait = its.begin_ps.copy(), its.wait_ps.copy()
    late = np.maximum(begin[:, parties] - middle[:, None], 0) * its.there[:, parties]
    begin[:, parties] -= late
    wait[:, parties] -= late
    return charge(arrivals, replace(its, begin_ps=begin, wait_ps=wait))


def _per_step(arrivals: Arrivals, waits_ps: Int64) -> int:
    """What a party waits in the mean step, the mean of all parties."""
    inside = waits_ps[arrivals.instances.step >= 0]
    return int(inside.sum()) // (len(arrivals.parties) * arrivals.steps)


def _saved(before: Arrivals, after: Arrivals, late: int) -> int:
    """What a party that is not late itself waits less in the mean step; where another one is late each time, one of them
    is at any time."""
    waits = before.waits_ps - after.waits_ps
    saved = int(waits[before.instances.step >= 0].sum())
    return max(saved, 0) // (max(len(before.parties) - late, 1) * before.steps)


def _last_of_steps(arrivals: Arrivals) -> NDArray[np.intp]:
    """Per step, whom most waiting is charged to; -1 for nobody."""
    charges = arrivals.charges()[:-1]
    return np.where(charges.any(axis=1), charges.argmax(axis=1), -1)


def _worst(left: Arrivals, all_: Arrivals, step_ps: int) -> tuple[int, NDArray[np.intp]] | None:
    """Of the parties that stand out the one that others wait for longest, and the steps in which it is last."""
    charges, last, latest = left.charges()[:-1], _last_of_steps(left), left.latest()
    parties = len(left.parties)
    share = 1 / parties
    counted = int((last >= 0).sum())
    total = int(charges.sum())
    for party in np.argsort(-charges.sum(axis=0), kind="stable").tolist():
        cost = int(charges[:, party].sum())
        # The time of the steps of those who may wait for it.
        theirs = step_ps * left.steps * _companions(left, party)
        if not cost:
            return None
        if cost < LEAST_SHARE * theirs:
            continue
        steps = np.flatnonzero(last == party)
        if not len(steps) or np.median(latest[steps, party]) <= noise_ps(all_, party):
            continue
        needed = min(TIMES_ITS_SHARE * share, MOST_NEEDED) * counted
        often = len(steps) > needed and _tail(len(steps), counted, share) * parties < LEVEL
        once = cost >= ONCE_SHARE * total and cost >= INFO_SHARE * theirs
        if often or once:
            return party, steps
    return None


def _companions(arrivals: Arrivals, party: int) -> int:
    """With how many others a party does something together."""
    there = arrivals.instances.there
    return int(there[there[:, party]].any(axis=0).sum()) - 1


def noise_ps(arrivals: Arrivals, party: int) -> int:
    """How late a party may seem to be because clocks are read wrong: its own, and that of the one in the middle."""
    residuals = arrivals.clocks.residual_ps
    known = residuals[arrivals.clocks.known]
    return max(int(residuals[party]), int(np.median(known)) if len(known) else 0)


def _beyond_clocks(arrivals: Arrivals) -> bool:
    """Whether the last ones of steps are mostly later than clocks can be wrong."""
    last, latest = _last_of_steps(arrivals), arrivals.latest()
    steps = np.flatnonzero(last >= 0)
    late = [latest[step, last[step]] > noise_ps(arrivals, int(last[step])) for step in steps.tolist()]
    return bool(late) and sum(late) > len(late) / 2


def _class_of_late(arrivals: Arrivals, step_ps: int) -> list[int]:
    """Parties that are all late by about the same: between them and the others lies more than within either. Empty
    where there is no such class."""
    its = arrivals.instances
    inside = np.flatnonzero(its.step >= 0)
    waited = np.zeros(arrivals.steps, np.int64)
    sums = arrivals.waits_ps[inside].sum(axis=1)
    np.maximum.at(waited, its.step[inside], sums)
    rows = inside[sums == waited[its.step[inside]]]
    there = its.there[rows]
    first = np.where(there, its.begin_ps[rows], np.iinfo(np.int64).max).min(axis=1)
    after = np.where(there, its.begin_ps[rows] - first[:, None], 0).astype(np.float64)
    after[~there] = np.nan
    if len(rows) < 3 or np.isnan(after).all(axis=0).any():
        return []
    usual = np.nanmedian(after, axis=0)
    order = np.argsort(usual, kind="stable")
    gaps = np.diff(usual[order])
    at = int(gaps.argmax())
    early, late = order[: at + 1], order[at + 1 :]
    within = max(np.ptp(usual[early]), np.ptp(usual[late]))
    noise = max(noise_ps(arrivals, party) for party in range(len(usual)))
    if min(len(early), len(late)) < 2 or gaps[at] < max(2 * within, 3 * noise, INFO_SHARE * step_ps):
        return []
    return sorted(late.tolist(), key=lambda it: -usual[it])


def _tail(count: int, of: int, share: float) -> float:
    """How likely something with this chance happens at least `count` times of so many."""
    if share >= 1:
        return 1.0
    terms = (
        lgamma(of + 1) - lgamma(it + 1) - lgamma(of - it + 1) + it * log(share) + (of - it) * log1p(-share)
        for it in range(count, of + 1)
    )
    return min(sum(map(exp, terms)), 1.0)


def every_step(late: LateOnes, steps: int) -> bool:
    """Whether somebody is late in nearly all of so many steps."""
    found = np.unique(np.concatenate(late.steps)) if late.steps else np.zeros(0)
    return len(found) >= EVERY_SHARE * steps
