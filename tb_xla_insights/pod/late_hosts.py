"""Finds the hosts that hold up the others: last more often than by chance, or at a high cost in some steps.

(docs/definitions.md, "Pods")
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log, log1p
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.thresholds import EVERY_STEP_SHARE, INFO_SHARE
from tb_xla_insights.arrays import Int64
from tb_xla_insights.pod.arrivals import Arrivals
from tb_xla_insights.pod.replay import replay_on_time

if TYPE_CHECKING:
    from tb_xla_insights.analysis.findings.finding import Frequency
    from tb_xla_insights.schema.hosts_route import LateKind

MIN_SHARE_FACTOR = 2
"""A host stands out if it is last in more than this many times the steps that each host would have by an even
distribution."""

MAX_NEEDED_SHARE = 0.75
"""The largest share of the steps that is demanded of a host that stands out: of one of two hosts, MIN_SHARE_FACTOR
would demand all of them."""

SIGNIFICANCE = 0.01
"""The highest probability that chance makes a host stand out in a session without late hosts."""

MIN_COST_SHARE = 0.01
"""The share of a step that a host must cost the others to be reported. It may be below INFO_SHARE, because waiting is
measured directly, while INFO_SHARE allows for step times that vary between runs."""

MIN_COSTLY_STEP_FACTOR = 8
"""A step in which a host is charged more than this many times the median step's waiting makes the host stand out,
however few hosts and steps there are. Such steps must cost INFO_SHARE of all steps of those that may wait."""

MIN_JOINT_GAIN_FACTOR = 1.25
"""Equally late hosts are reported together if the mean step gains this many times more with all of them than with the
hosts that stand out one by one."""

MIN_JOINT_STEPS = 5
"""The minimum number of steps for that; in MAX_NEEDED_SHARE of them all of these hosts must arrive after all others."""

MAX_LATE_HOSTS = 8
"""The most late hosts that are searched for one by one."""


@dataclass(frozen=True)
class LateHosts:
    """The parties that hold up the others.

    `kind`: `late` (`parties` do, the worst first), `changing` (a different one each time), `none`, or `unknown`
    (nothing could be compared). `steps`: per late party, the steps in which it holds up the others, once the parties
    before it in the list arrive on time. `are_equally_late`: the parties were found together and not one by one.
    `waits_ps`: how long a party waits for others in the mean step. `saved_ps`: how much shorter that step is without
    late parties. `saved_once_ps`: how much shorter it is without those that are late in one step only, if others are
    late in several; else 0.
    """

    kind: LateKind
    parties: list[int]
    steps: list[NDArray[np.intp]]
    are_equally_late: bool
    waits_ps: int
    saved_ps: int
    saved_once_ps: int = 0

    @property
    def frequency(self) -> Frequency | None:
        """`once` or `some_steps`, None without `steps`; `HostComparison.frequency` also knows `every_step`."""
        count = len(np.unique(np.concatenate(self.steps))) if self.steps else 0
        return None if not count else "once" if count == 1 else "some_steps"


def find_late_hosts(arrivals: Arrivals, step_ps: int | None) -> LateHosts:
    """Returns the parties that hold up the others. `step_ps`: the mean step, the base of shares; None: not known."""
    if not len(arrivals.instances) or not arrivals.step_count or not step_ps:
        return LateHosts("unknown", [], [], False, 0, 0)
    waits_ps = _mean_wait_per_step(arrivals)
    parties, steps, saved_ps = _find_individuals(arrivals, step_ps)
    equally_late = _find_equally_late(arrivals, step_ps)
    if equally_late:
        _, earlier_ps = replay_on_time(arrivals, equally_late)
        joint_saved_ps = _mean_saving_ps(arrivals, earlier_ps)
        if joint_saved_ps > saved_ps * MIN_JOINT_GAIN_FACTOR:
            most_charged = most_charged_parties(arrivals)
            steps = [np.flatnonzero(most_charged == party) for party in equally_late]
            return LateHosts("late", equally_late, steps, True, waits_ps, joint_saved_ps)
    if parties:
        once = [party for party, party_steps in zip(parties, steps, strict=True) if len(party_steps) == 1]
        saved_once_ps = 0
        if 0 < len(once) < len(parties):
            saved_once_ps = _mean_saving_ps(arrivals, replay_on_time(arrivals, once)[1])
        return LateHosts("late", parties, steps, False, waits_ps, saved_ps, saved_once_ps)
    if waits_ps >= INFO_SHARE * step_ps and _exceeds_clock_noise(arrivals):
        _, earlier_ps = replay_on_time(arrivals, list(range(len(arrivals.parties))))
        return LateHosts("changing", [], [], False, waits_ps, _mean_saving_ps(arrivals, earlier_ps))
    return LateHosts("none", [], [], False, waits_ps, 0)


def _find_individuals(arrivals: Arrivals, step_ps: int) -> tuple[list[int], list[NDArray[np.intp]], int]:
    """Finds parties that stand out, each after a replay in which those before it arrive on time. Returns them, the
    steps of each, and how much shorter the mean step is without their lateness."""
    parties: list[int] = []
    steps: list[NDArray[np.intp]] = []
    replayed, saved_ps = arrivals, 0
    while len(parties) < min(MAX_LATE_HOSTS, len(arrivals.parties) - 1):
        worst = _find_worst(replayed, arrivals, parties, step_ps)
        if worst is None:
            break
        party, party_steps = worst
        parties.append(party)
        steps.append(party_steps)
        replayed, earlier_ps = replay_on_time(arrivals, parties)
        saved_ps = _mean_saving_ps(arrivals, earlier_ps)
    return parties, steps, saved_ps


def _mean_saving_ps(arrivals: Arrivals, earlier_ps: Int64) -> int:
    """Returns how much shorter the mean step is: the mean, over the parties that share instances, of how much earlier
    each ends (`earlier_ps`), divided by the number of its steps."""
    instances = arrivals.instances
    has_step = np.zeros((arrivals.step_count + 1, len(arrivals.parties)), np.bool_)
    rows, party = np.nonzero(instances.present)
    has_step[instances.step[rows], party] = True
    steps = has_step[:-1].sum(axis=0)
    takes_part = steps > 0
    return max(int((earlier_ps[takes_part] / steps[takes_part]).mean()), 0) if takes_part.any() else 0


def _mean_wait_per_step(arrivals: Arrivals) -> int:
    """Returns how long a party waits in the mean step, as the mean over the steps of all compared parties."""
    waits = arrivals.charged_waits_ps[arrivals.instances.step >= 0]
    return int(waits.sum()) // max(1, arrivals.steps_of(np.flatnonzero(arrivals.clocks.is_known).tolist()))


def most_charged_parties(arrivals: Arrivals) -> NDArray[np.intp]:
    """Returns, per step, the party that most waiting is charged to; -1: none."""
    charges = arrivals.charges_ps[:-1]
    return np.where(charges.any(axis=1), charges.argmax(axis=1), -1)


def are_charged_parties_late(arrivals: Arrivals, late_hosts: LateHosts) -> NDArray[np.bool_]:
    """Returns, per step, whether the party that most waiting is charged to is one of the late ones, and later than
    clock errors explain."""
    max_late = arrivals.max_late_ps
    return np.array(
        [
            party in late_hosts.parties and int(max_late[step, party]) > clock_noise_ps(arrivals, party)
            for step, party in enumerate(most_charged_parties(arrivals).tolist())
        ],
        np.bool_,
    )


def _find_worst(
    replayed: Arrivals, original: Arrivals, excluded: list[int], step_ps: int
) -> tuple[int, NDArray[np.intp]] | None:
    """Returns the party that the others wait for longest among those that stand out, and the steps in which it is late;
    None if none stands out. `excluded`: late parties found before, which are on time in `replayed`.

    A party is last in a step if more waiting is charged to it than to any other, this waiting is at least
    MIN_COST_SHARE of a step of each party that may wait for it, and its lateness exceeds the clocks' error. It stands
    out if it is last in many steps, or if a few steps are costly (MIN_COSTLY_STEP_FACTOR); in those, more waiting may
    be charged to another party.
    """
    charges, most_charged = replayed.charges_ps[:-1], most_charged_parties(replayed)
    max_late, costs = replayed.max_late_ps, charges.sum(axis=0)
    usual_waits = float(np.median(original.charges_ps[:-1].sum(axis=1)))
    # Per party, the length of a step times the number of parties that may wait for it.
    others_step_ps = {
        party: step_ps * _companion_count(replayed, party)
        for party in np.unique(most_charged[most_charged >= 0]).tolist()
    }
    is_significant = {
        party: (max_late[:, party] > clock_noise_ps(original, party))
        & (charges[:, party] >= MIN_COST_SHARE * time)
        for party, time in others_step_ps.items()
    }
    steps = {
        party: np.flatnonzero((most_charged == party) & significant)
        for party, significant in is_significant.items()
    }
    last_count, share = sum(map(len, steps.values())), 1 / len(replayed.parties)
    for party in sorted(others_step_ps, key=lambda party: -costs[party]):
        others_time_ps = others_step_ps[party] * replayed.step_count
        if party in excluded or costs[party] < MIN_COST_SHARE * others_time_ps:
            continue
        count = len(steps[party])
        needed = min(MIN_SHARE_FACTOR * share, MAX_NEEDED_SHARE) * last_count
        if count > needed and _binomial_tail(count, last_count, share) * len(replayed.parties) < SIGNIFICANCE:
            return party, steps[party]
        costly_steps = np.flatnonzero(
            is_significant[party] & (charges[:, party] > MIN_COSTLY_STEP_FACTOR * usual_waits)
        )
        if len(costly_steps) and int(charges[costly_steps, party].sum()) >= INFO_SHARE * others_time_ps:
            return party, costly_steps
    return None


def _companion_count(arrivals: Arrivals, party: int) -> int:
    """Returns how many other parties share an instance with a party."""
    present = arrivals.instances.present
    return int(present[present[:, party]].any(axis=0).sum()) - 1


def clock_noise_ps(arrivals: Arrivals, party: int) -> int:
    """Returns how late a party may seem because of clock errors: the error of its own clock, or the median error of
    all known clocks if that is larger."""
    residuals = arrivals.clocks.residual_ps
    related = residuals[arrivals.clocks.is_known]
    return max(int(residuals[party]), int(np.median(related)) if len(related) else 0)


def _exceeds_clock_noise(arrivals: Arrivals) -> bool:
    """Whether in most steps the party that most waiting is charged to is later than clock errors explain."""
    most_charged, max_late = most_charged_parties(arrivals), arrivals.max_late_ps
    is_late = [
        max_late[step, most_charged[step]] > clock_noise_ps(arrivals, int(most_charged[step]))
        for step in np.flatnonzero(most_charged >= 0).tolist()
    ]
    return bool(is_late) and sum(is_late) > len(is_late) / 2


def _find_equally_late(arrivals: Arrivals, step_ps: int) -> list[int]:
    """Returns parties that are all late by about as much: the distance between them and the others is at least twice
    the range within either. Empty if there are none."""
    instances = arrivals.instances
    in_steps = np.flatnonzero(instances.step >= 0)
    waits = arrivals.charged_waits_ps[in_steps].sum(axis=1)
    max_waits = np.zeros(arrivals.step_count, np.int64)
    np.maximum.at(max_waits, instances.step[in_steps], waits)
    # The instance with most waiting of each step.
    rows = in_steps[(waits > 0) & (waits == max_waits[instances.step[in_steps]])]
    present = instances.present[rows]
    first = np.where(present, instances.begin_ps[rows], np.iinfo(np.int64).max).min(axis=1)
    after_first = np.where(present, instances.begin_ps[rows] - first[:, None], 0).astype(np.float64)
    after_first[~present] = np.nan
    if not len(rows) or np.isnan(after_first).all(axis=0).any():
        return []
    usual = np.nanmedian(after_first, axis=0)
    order = np.argsort(usual, kind="stable")
    gaps = np.diff(usual[order])
    widest = int(gaps.argmax())
    early_parties, late_parties = order[: widest + 1], order[widest + 1 :]
    range_within = max(np.ptp(usual[early_parties]), np.ptp(usual[late_parties]))
    noise = max(clock_noise_ps(arrivals, party) for party in range(len(usual)))
    is_distinct = gaps[widest] >= max(2 * range_within, 3 * noise, INFO_SHARE * step_ps)
    if min(len(early_parties), len(late_parties)) < 2 or not is_distinct:
        return []
    first_late = np.where(present, after_first, np.inf)[:, late_parties].min(axis=1)
    last_early = np.where(present, after_first, -np.inf)[:, early_parties].max(axis=1)
    if len(rows) < MIN_JOINT_STEPS or (first_late > last_early).mean() < MAX_NEEDED_SHARE:
        return []
    return sorted(late_parties.tolist(), key=lambda party: -usual[party])


def _binomial_tail(count: int, trials: int, probability: float) -> float:
    """Returns the probability of at least `count` successes in `trials` independent trials."""
    if probability >= 1:
        return 1.0
    terms = (
        lgamma(trials + 1)
        - lgamma(successes + 1)
        - lgamma(trials - successes + 1)
        + successes * log(probability)
        + (trials - successes) * log1p(-probability)
        for successes in range(count, trials + 1)
    )
    return min(sum(map(exp, terms)), 1.0)


def is_late_every_step(late_hosts: LateHosts, step_count: int) -> bool:
    """Whether nearly every step of the session has a late party."""
    steps = np.unique(np.concatenate(late_hosts.steps)) if late_hosts.steps else np.zeros(0)
    return len(steps) >= EVERY_STEP_SHARE * step_count
