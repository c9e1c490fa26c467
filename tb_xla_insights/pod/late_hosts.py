"""Which hosts hold up the others: those that come last more often than chance has it, and those that cost much once.

(docs/definitions.md, "Pods")
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log, log1p
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.thresholds import EVERY_STEP_SHARE, INFO_SHARE
from tb_xla_insights.pod.arrivals import Arrivals
from tb_xla_insights.pod.replay import in_time
from tb_xla_insights.trace.model import Int64

TIMES_ITS_SHARE = 2
"""A host stands out that is last in more than so many times its share of the steps, …"""

MOST_NEEDED = 0.75
"""… or of few hosts, in more than this share of them."""

LEVEL = 0.01
"""How often chance may make a host stand out, in a session in which none does."""

LEAST_SHARE = 0.01
"""Of a step, what a host must cost the others to be told: what they wait is measured, and no mean of different runs."""

EVENT_TIMES = 8
"""How many times the waiting of the usual step must be charged to a host in a step for that to be an event of its own,
however few hosts and steps there are. All of them together must cost INFO_SHARE."""

MUCH_MORE = 1.25
"""How many times more the mean step must gain with a class of hosts than with those that stand out one by one."""

FEWEST_STEPS = 5
"""Steps that a class of hosts needs; in MOST_NEEDED of them all of it must come after all others."""

MOST_FOUND = 8
"""Hosts that are looked for one after the other."""

Kind = Literal["late", "changing", "none", "unknown"]


@dataclass(frozen=True)
class LateHosts:
    """Who holds up the others. `kind`: `late`, these `parties` do, the worst first; `changing`, another one each time;
    `none`; `unknown`, nothing compares them. `alike`: the parties are late together, as a class of their own. Per party
    `steps`, those in which most waiting is charged to it, once those before it in the list are as the middle one.

    `waits_ps`: what a party waits for others in the mean step; `saved_ps`: how much
    shorter that step is if none of them is late.
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


def find_late_hosts(arrivals: Arrivals, step_ps: int | None) -> LateHosts:
    """Who holds up the others. `step_ps`: the mean step, of which a cost is a share; None: not known, nobody does."""
    if not len(arrivals.instances) or not arrivals.steps or not step_ps:
        return LateHosts("unknown", [], [], False, 0, 0)
    waits = _per_step(arrivals, arrivals.charged_ps)
    parties, steps, saved = _one_by_one(arrivals, step_ps)
    several = _class_of_late(arrivals, step_ps)
    if several:
        _, sooner = in_time(arrivals, several)
        last = _last_of_steps(arrivals)
        if _mean(arrivals, sooner) > saved * MUCH_MORE:
            steps = [np.flatnonzero(last == party) for party in several]
            return LateHosts("late", several, steps, True, waits, _mean(arrivals, sooner))
    if parties:
        return LateHosts("late", parties, steps, False, waits, saved)
    if waits >= INFO_SHARE * step_ps and _beyond_clocks(arrivals):
        _, sooner = in_time(arrivals, list(range(len(arrivals.parties))))
        return LateHosts("changing", [], [], False, waits, _mean(arrivals, sooner))
    return LateHosts("none", [], [], False, waits, 0)


def _one_by_one(arrivals: Arrivals, step_ps: int) -> tuple[list[int], list[NDArray[np.intp]], int]:
    """Parties that stand out, each once those before it come in time; the steps in which they are last; and how much
    shorter the mean step is without all of that."""
    found: list[int] = []
    steps: list[NDArray[np.intp]] = []
    left, saved = arrivals, 0
    while len(found) < min(MOST_FOUND, len(arrivals.parties) - 1):
        worst = _worst(left, arrivals, found, step_ps)
        if worst is None:
            break
        found.append(worst[0])
        steps.append(worst[1])
        left, sooner = in_time(arrivals, found)
        saved = _mean(arrivals, sooner)
    return found, steps, saved


def _mean(arrivals: Arrivals, sooner: Int64) -> int:
    """How much sooner the mean step is, of those who do something together; each in as many steps as it has."""
    its = arrivals.instances
    has = np.zeros((arrivals.steps + 1, len(arrivals.parties)), np.bool_)
    rows, which = np.nonzero(its.there)
    has[its.step[rows], which] = True
    steps = has[:-1].sum(axis=0)
    some = steps > 0
    return max(int((sooner[some] / steps[some]).mean()), 0) if some.any() else 0


def _per_step(arrivals: Arrivals, waits_ps: Int64) -> int:
    """What a party waits in the mean step, the mean of all parties."""
    inside = waits_ps[arrivals.instances.step >= 0]
    return int(inside.sum()) // (len(arrivals.parties) * arrivals.steps)


def _last_of_steps(arrivals: Arrivals) -> NDArray[np.intp]:
    """Per step, whom most waiting is charged to; -1 for nobody."""
    charges = arrivals.charges()[:-1]
    return np.where(charges.any(axis=1), charges.argmax(axis=1), -1)


def _worst(
    left: Arrivals, all_: Arrivals, found: list[int], step_ps: int
) -> tuple[int, NDArray[np.intp]] | None:
    """Of the parties that stand out, but for those found already, the one that others wait for longest, and the steps
    in which they do. A step counts in which somebody is late by more than clocks can be wrong, and costs enough."""
    charges, last, latest = left.charges()[:-1], _last_of_steps(left), left.latest()
    costs, usual = charges.sum(axis=0), float(np.median(all_.charges()[:-1].sum(axis=1)))
    # Per party, the time of a step of those who may wait for it.
    theirs = {party: step_ps * _companions(left, party) for party in np.unique(last[last >= 0]).tolist()}
    matters = {
        party: (latest[:, party] > noise_ps(all_, party)) & (charges[:, party] >= LEAST_SHARE * time)
        for party, time in theirs.items()
    }
    steps = {party: np.flatnonzero((last == party) & clear) for party, clear in matters.items()}
    counted, share = sum(map(len, steps.values())), 1 / len(left.parties)
    for party in sorted(theirs, key=lambda it: -costs[it]):
        least = theirs[party] * left.steps
        if party in found or costs[party] < LEAST_SHARE * least:
            continue
        number = len(steps[party])
        needed = min(TIMES_ITS_SHARE * share, MOST_NEEDED) * counted
        if number > needed and _tail(number, counted, share) * len(left.parties) < LEVEL:
            return party, steps[party]
        few = np.flatnonzero(matters[party] & (charges[:, party] > EVENT_TIMES * usual))
        if len(few) and int(charges[few, party].sum()) >= INFO_SHARE * least:
            return party, few
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
    sums = arrivals.charged_ps[inside].sum(axis=1)
    np.maximum.at(waited, its.step[inside], sums)
    rows = inside[(sums > 0) & (sums == waited[its.step[inside]])]
    there = its.there[rows]
    first = np.where(there, its.begin_ps[rows], np.iinfo(np.int64).max).min(axis=1)
    after = np.where(there, its.begin_ps[rows] - first[:, None], 0).astype(np.float64)
    after[~there] = np.nan
    if not len(rows) or np.isnan(after).all(axis=0).any():
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
    absent = np.isnan(after)
    soonest = np.where(absent, np.inf, after)[:, late].min(axis=1)
    apart = soonest > np.where(absent, -np.inf, after)[:, early].max(axis=1)
    if len(rows) < FEWEST_STEPS or apart.mean() < MOST_NEEDED:
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


def every_step(late: LateHosts, steps: int) -> bool:
    """Whether somebody is late in nearly all of so many steps."""
    found = np.unique(np.concatenate(late.steps)) if late.steps else np.zeros(0)
    return len(found) >= EVERY_STEP_SHARE * steps
