"""The sentence on top of the view Hosts."""

from __future__ import annotations

from tb_xla_insights.analysis.findings.base import plural
from tb_xla_insights.pod.compared import Compared
from tb_xla_insights.pod.straggler import names, what_takes
from tb_xla_insights.units import share, time_text


def verdict_text(compared: Compared) -> str:
    """Who holds up the others, why, and how long these wait; or that nobody does, or why nobody knows."""
    late, told = compared.late, compared.told
    kind = f"{compared.kind}s" if compared.kind else "collectives"
    if compared.state == "no_collectives":
        return "No collective ties these hosts: each goes at its own pace."
    if compared.state == "clocks_apart":
        return "Clocks of these hosts are apart by more than they tell: arrival is not compared."
    if compared.state == "one_host" and late.kind in ("unknown", "none"):
        return "One host: there is none to wait for. Capture all hosts of the job in one session."
    if late.kind == "unknown":
        return "Nothing tells who waits for whom: no collective lies in a whole step."
    shares = [
        int(last) / int(shared)
        for last, shared in zip(told.last_count, told.shared_count, strict=True)
        if shared
    ]
    who = "core" if compared.cores else "host"
    if late.kind == "none":
        low, high = share(min(shares)), share(max(shares))
        return f"No {who} stands out: each is last in {low} – {high} of the {kind}."
    waited = time_text(late.waits_ps)
    if late.kind == "changing":
        return (
            f"Another {who} is last each time: none in more than {share(max(shares))} of the {kind}. A {who} waits for "
            f"others for {waited} a step."
        )
    found, cause = names(compared), compared.causes[0]
    party = late.parties[0]
    verb = "arrives" if len(found) == 1 else "and the rest of them arrive"
    several = f"{plural(len(found), who)} hold up the others. " if len(found) > 1 else ""
    text = f"{several}{found[0]} {verb} last in {share(int(told.last_count[party]) / int(told.shared_count[party]))} of the {kind}"
    if len(found) > 1:
        text = f"{several}{found[0]} alone arrives last in {share(shares[party])} of the {kind}"
    if cause is not None:
        steps = f"in {len(late.steps[0])} of {told.steps} steps"
        median = compared.median_host
        other = "its neighbours" if compared.cores else "" if median is None else compared.hosts[median].name
        text += f": {what_takes(cause)} takes {time_text(cause.own_ps)} {steps}, {time_text(cause.median_ps)} on {other}"
    total = time_text(int(told.others_wait_ps[late.parties].sum()))
    return f"{text}. The others wait {total} for {'it' if len(found) == 1 else 'them'}, {time_text(late.saved_ps)} each in a step."
