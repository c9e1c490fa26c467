"""The sentences at the top of the view Hosts."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.english import plural
from tb_xla_insights.pod.advice import late_names
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.straggler import cause_text
from tb_xla_insights.units import brief_time, brief_times, count, share


def verdict_text(comparison: HostComparison, hosts_total: int = 0) -> str:
    """Returns which hosts hold up the others, why, and how long the others wait; or that none does; or why it is not
    known.
    `hosts_total`: the number of hosts of the session, if not all may have been read."""
    late_hosts = comparison.late_hosts
    if comparison.state == "no_collectives":
        return "These hosts share no collective: each runs at its own pace."
    if comparison.state == "clocks_apart":
        return "The clocks of these hosts cannot be related: their arrivals are not compared."
    if comparison.state == "one_host" and hosts_total > 1:
        return f"One of {count(hosts_total)} hosts has been read: there are no others to compare it with."
    if comparison.state == "one_host" and late_hosts.kind in ("unknown", "none"):
        return "One host: there are no others to wait for. If the job has more hosts, capture them all in one session."
    if late_hosts.kind == "unknown":
        return "It is not known who waits for whom: no collective is in a whole step."
    party = "core" if comparison.core_arrivals else "host"
    kinds = f"{comparison.main_kind}s" if comparison.main_kind else "collectives"
    shares = _last_shares(comparison)
    if late_hosts.kind == "none":
        low, high = share(min(shares.values())), share(max(shares.values()))
        return f"No {party} stands out: each is last in {low} – {high} of the {kinds}."
    if late_hosts.kind == "changing":
        highest = share(max(shares.values()))
        head = f"The {party} that arrives last varies: none is last in more than {highest} of the {kinds}."
        return f"{head} A {party} waits {brief_time(late_hosts.waits_ps)} a step for others."
    names, first = late_names(comparison), late_hosts.parties[0]
    summary = f"{plural(len(names), party)} hold up the others. " if len(names) > 1 else ""
    head = f"{summary}{names[0]} arrives last in {share(shares[first])} of the {kinds}"
    waits_ps = int(comparison.party_arrivals.others_wait_ps[late_hosts.parties].sum())
    pronoun = "it" if len(names) == 1 else "them"
    # Two that hold up each other may be all that are compared.
    waiting_parties = [party for party in shares if party not in late_hosts.parties] or [*shares]
    mean_ps = _mean_wait_for_late(comparison, waiting_parties)
    waits = f"The others wait {brief_time(waits_ps)} for {pronoun}, {brief_time(mean_ps)} each in a step."
    return f"{head}{_reason(comparison)}. {waits}"


def _mean_wait_for_late(comparison: HostComparison, parties: list[int]) -> int:
    """Returns how long each of these parties waits for the late ones in a step, in picoseconds: the mean over the
    parties and the common steps."""
    arrivals = comparison.party_arrivals
    in_steps = arrivals.instances.step >= 0
    is_for_late = np.isin(arrivals.charged_party[in_steps][:, parties], comparison.late_hosts.parties)
    waits_ps = int(arrivals.waits_ps[in_steps][:, parties][is_for_late].sum())
    return waits_ps // (len(parties) * arrivals.step_count)


def _last_shares(comparison: HostComparison) -> dict[int, float]:
    """Returns, per party that takes part in instances, the share of them in which it is last."""
    arrivals = comparison.party_arrivals
    counts = zip(arrivals.last_count.tolist(), arrivals.shared_count.tolist(), strict=True)
    return {party: last / shared for party, (last, shared) in enumerate(counts) if shared}


def _reason(comparison: HostComparison) -> str:
    """Returns `: next_batch (input) takes 40 ms in 12 of 12 steps, 2 ms on the median host w-31`; empty without a
    cause."""
    cause = comparison.causes[0]
    if cause is None:
        return ""
    step_count = comparison.party_arrivals.step_count
    steps = f"in {len(comparison.late_hosts.steps[0])} of {step_count} steps"
    host_time, median_time = brief_times(cause.host_ps, cause.median_ps)
    median_time = median_time if cause.median_ps else "nothing"
    return f": {cause_text(cause)} takes {host_time} {steps}, {median_time} on {comparison.reference_text}"
