"""The sentences at the top of the view Hosts."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.pod.advice import late_names
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.straggler import cause_text, waiting_hosts_text, waiting_parties
from tb_xla_insights.text.english import Bold, plural
from tb_xla_insights.text.units import brief_time, brief_times, count, share
from tb_xla_insights.trace.device import device_name


def verdict_text(comparison: HostComparison) -> str:
    """Returns which hosts hold up the others, why, and how long the others wait; or that none does; or why it is not
    known."""
    return "".join(verdict_pieces(comparison))


def verdict_pieces(comparison: HostComparison, hosts_total: int = 0) -> list[str]:
    """Returns the pieces of the same (see `english.sentence_parts`). `hosts_total`: the number of hosts of the session,
    if not all may have been read."""
    late_hosts = comparison.late_hosts
    if comparison.state == "no_collectives":
        return ["These hosts share no collective: each runs at its own pace."]
    if comparison.state == "clocks_apart":
        return ["The clocks of these hosts cannot be related: their arrivals are not compared."]
    if comparison.state == "one_host" and hosts_total > 1:
        return [f"One of {count(hosts_total)} hosts has been read: there are no others to compare it with."]
    if comparison.state == "one_host" and late_hosts.kind in ("unknown", "none"):
        return [
            "One host: there are no others to wait for. If the job has more hosts, capture them all in one session."
        ]
    if late_hosts.kind == "unknown":
        return ["It is not known who waits for whom: no collective is in a whole step."]
    party = "core" if comparison.core_arrivals else "host"
    kinds = f"{comparison.common_kind or 'collective'}s"
    shares = _last_shares(comparison)
    if late_hosts.kind == "none":
        low, high = share(min(shares.values())), share(max(shares.values()))
        return [
            f"No {party} stands out: each is last in {low if low == high else f'{low} – {high}'} of the {kinds}."
        ]
    if late_hosts.kind == "changing":
        highest = share(max(shares.values()))
        last = f"The {party} that arrives last varies: none is last in more than {highest} of the {kinds}."
        return [f"{last} A {party} waits {brief_time(late_hosts.waits_ps)} a step for others."]
    names, first = late_names(comparison), late_hosts.parties[0]
    summary = f"{plural(len(names), party)} hold up the others. " if len(names) > 1 else ""
    last_share = Bold(share(shares[first]))
    head = [summary, Bold(names[0]), " arrives last in ", last_share, f" of the {kinds}"]
    pronoun = "it" if len(names) == 1 else "them"
    # Two that hold up each other may be all that are compared.
    waiting = waiting_parties(comparison) or [*shares]
    waiting_text = waiting_hosts_text(comparison)
    total_ps, mean_ps = _waits_for_late(comparison, waiting)
    if len(waiting) == 1:
        subject, verb, each = waiting_text, "waits", ""
    else:
        subject, verb, each = f"{waiting_text[0].upper()}{waiting_text[1:]}", "wait", " each"
    waits = f"{subject} {verb} {brief_time(total_ps)} for {pronoun}"
    if comparison.frequency != "once":
        waits += f", {brief_time(mean_ps)}{each} in a step"
    elif each:
        waits += f", {brief_time(total_ps // len(waiting))} each"
    reason = reason_text(comparison)
    return [*head, f": {reason}. {waits}." if reason else f". {waits}."]


def _waits_for_late(comparison: HostComparison, parties: list[int]) -> tuple[int, int]:
    """Returns how long these parties wait for the late ones, in picoseconds: in total, and in a step as the mean over
    the parties' steps."""
    arrivals = comparison.party_arrivals
    is_for_late = np.isin(arrivals.charged_party[:, parties], comparison.late_hosts.parties)
    waits_ps = np.where(is_for_late, arrivals.waits_ps[:, parties], 0).sum(axis=1)
    in_steps_ps = int(waits_ps[arrivals.instances.step >= 0].sum())
    return int(waits_ps.sum()), in_steps_ps // max(1, arrivals.steps_of(parties))


def _last_shares(comparison: HostComparison) -> dict[int, float]:
    """Returns, per party that takes part in instances, the share of them in which it is last."""
    arrivals = comparison.party_arrivals
    counts = zip(arrivals.last_count.tolist(), arrivals.shared_count.tolist(), strict=True)
    return {party: last / shared for party, (last, shared) in enumerate(counts) if shared}


def best_case(comparison: HostComparison) -> str:
    """Returns the condition of the mean step at best: `if w-5 were like the rest`, or that no party is late."""
    names = late_names(comparison)
    party = "core" if comparison.core_arrivals else "host"
    if not names:
        return (
            f"if no {party} were late" if comparison.late_hosts.kind == "changing" else f"no {party} is late"
        )
    cause = comparison.causes[0]
    if len(names) > 1:
        return f"if {plural(len(names), party)} were like the rest"
    name = device_name(cause.core) if cause and cause.core else names[0]
    return f"if {name} were like the rest"


def reason_text(comparison: HostComparison) -> str:
    """Returns `next_batch (input) takes 40 ms in 12 of 12 steps, 2 ms on the median host w-31`; empty without a
    cause."""
    cause = comparison.causes[0]
    if cause is None:
        return ""
    late_steps, step_count = comparison.late_step_count, comparison.party_arrivals.step_count
    # The times of a party that is late in nearly every step are means over all steps.
    is_mean_of_all = comparison.is_always_late(0) and late_steps < step_count
    steps = "a step" if is_mean_of_all else f"in {late_steps} of {step_count} steps"
    host_time, median_time = brief_times(cause.host_ps, cause.median_ps)
    median_time = median_time if cause.median_ps else "nothing"
    return f"{cause_text(cause)} takes {host_time} {steps}, {median_time} on {comparison.reference_text}"
