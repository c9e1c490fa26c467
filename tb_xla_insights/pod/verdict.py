"""The sentence on top of the view Hosts."""

from __future__ import annotations

from tb_xla_insights.analysis.findings.base import plural
from tb_xla_insights.pod.advice import names
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.straggler import what_takes
from tb_xla_insights.units import brief_time, brief_times, share


def verdict_text(compared: HostComparison) -> str:
    """Who holds up the others, why, and how long these wait; or that nobody does, or why nobody knows."""
    late = compared.late
    if compared.state == "no_collectives":
        return "No collective ties these hosts: each goes at its own pace."
    if compared.state == "clocks_apart":
        return "Clocks of these hosts are apart by more than they tell: arrival is not compared."
    if compared.state == "one_host" and late.kind in ("unknown", "none"):
        return "One host: there is none to wait for. Capture all hosts of the job in one session."
    if late.kind == "unknown":
        return "Nothing tells who waits for whom: no collective lies in a whole step."
    who, kind = "core" if compared.cores else "host", f"{compared.kind}s" if compared.kind else "collectives"
    shares = _shares(compared)
    if late.kind == "none":
        low, high = share(min(shares.values())), share(max(shares.values()))
        return f"No {who} stands out: each is last in {low} – {high} of the {kind}."
    if late.kind == "changing":
        most = share(max(shares.values()))
        head = f"Another {who} is last each time, none in more than {most} of the {kind}."
        return f"{head} A {who} waits {brief_time(late.waits_ps)} a step for others."
    found, first = names(compared), late.parties[0]
    several = f"{plural(len(found), who)} hold up the others. " if len(found) > 1 else ""
    head = f"{several}{found[0]} arrives last in {share(shares[first])} of the {kind}"
    waits_ps = int(compared.told.others_wait_ps[late.parties].sum())
    whom = "it" if len(found) == 1 else "them"
    each = waits_ps // (len(shares) - 1) // compared.told.steps
    waits = f"The others wait {brief_time(waits_ps)} for {whom}, {brief_time(each)} each in a step."
    return f"{head}{_why(compared)}. {waits}"


def _shares(compared: HostComparison) -> dict[int, float]:
    """Per party that takes part in something, in which part of that it is last."""
    counts = zip(compared.told.last_count.tolist(), compared.told.shared_count.tolist(), strict=True)
    return {party: last / shared for party, (last, shared) in enumerate(counts) if shared}


def _why(compared: HostComparison) -> str:
    """`: next_batch (input) takes 40 ms in 12 of 12 steps, 2 ms on the median host w-31`."""
    cause = compared.causes[0]
    if cause is None:
        return ""
    steps = f"in {len(compared.late.steps[0])} of {compared.told.steps} steps"
    own, median = brief_times(cause.own_ps, cause.median_ps)
    usual = median if cause.median_ps else "nothing"
    return f": {what_takes(cause)} takes {own} {steps}, {usual} on {compared.usual}"
