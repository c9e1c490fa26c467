"""The verdict's first sentence for sessions with stragglers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_xla_insights.analysis.thresholds import EVERY_STEP_SHARE
from tb_xla_insights.pod.causes import Cause
from tb_xla_insights.pod.straggler import cause_text
from tb_xla_insights.units import count, part_text, share, time_text


def straggler_cost_text(finding: Mapping[str, Any], steps: int) -> str:
    """`w-5 holds up the others, which costs up to 21.2 of 53.4 ms a step: input takes 38.0 ms longer there.`; for a
    finding that occurred once, all the time that its fix saves a host; if only some hosts were late once, the cost of
    the others in the usual step and that time. Without a replay, its share of the devices' spans. The cause's time is
    that of a late step: `takes 15.1 ms longer there in 4 of 12 steps`. `steps`: the mean number of steps per host."""
    step_ps, fixed_ps = finding["step_ps"], finding["step_if_fixed_ps"]
    if finding.get("recurs") == "once" and step_ps is not None and fixed_ps is not None:
        cost = time_text((step_ps - fixed_ps) * steps, 1)
        return f"{finding['title']}, which cost up to {cost}{_cause_clause(finding['evidence'])}."
    frequency = _frequency_phrase(finding)
    if step_ps is None or fixed_ps is None:
        cost = f"{share(finding['gain'])} of the devices' spans"
    else:
        usual_ps = finding["evidence"]["usual_step_ps"]
        cost = f"{part_text(usual_ps - fixed_ps, usual_ps)} {'a step' if usual_ps == step_ps else 'in a usual step'}"
        if usual_ps < step_ps:
            cost += f" and {time_text((step_ps - usual_ps) * steps, 1)} once"
    return f"{finding['title']}, which costs up to {cost}{_cause_clause(finding['evidence'], frequency)}."


def _frequency_phrase(finding: Mapping[str, Any]) -> str:
    """` in 4 of 12 steps`, the steps to which the cause's time refers: those in which the first host is late; empty if
    these are nearly all, or not known."""
    evidence = finding["evidence"]
    steps, compared = evidence.get("steps"), evidence.get("steps_compared", 0)
    if not steps or evidence.get("late_together") or len(steps) >= EVERY_STEP_SHARE * compared:
        return ""
    return f" in {count(len(steps))} of {count(compared)} steps"


def late_hosts_pronoun(finding: Mapping[str, Any]) -> str:
    """The object of `waiting for`, if the sentence before names the late hosts; `others` if the late host changes."""
    return {0: "others", 1: "it"}.get(len(finding["evidence"]["hosts"]), "them")


def late_hosts_name(finding: Mapping[str, Any]) -> str:
    """The object of `waiting for`, if no sentence before names the late hosts."""
    hosts: list[str] = finding["evidence"]["hosts"]
    return hosts[0] if len(hosts) == 1 else "others"


def is_straggler_cause(evidence: Mapping[str, Any], straggler_evidence: Mapping[str, Any]) -> bool:
    """Whether only late hosts have a finding, by its evidence and that of the straggler finding. Such a finding names
    the cause of their lateness, and is no further mistake. False in a session of one host."""
    late_hosts, hosts = straggler_evidence["hosts"], evidence.get("host_names") or ()
    return 0 < len(hosts) <= len(late_hosts) and set(hosts) <= set(late_hosts)


def _cause_clause(evidence: Mapping[str, Any], frequency: str = "") -> str:
    """`: next_batch (input) takes 38.0 ms longer there`, and `frequency`; empty if the cause is unknown."""
    if evidence["cause"] is None:
        return ""
    cause = Cause(
        evidence["cause"],
        evidence["cause_ps"],
        evidence["median_cause_ps"],
        evidence["annotation"],
        evidence["core"],
        evidence["annotation_name"],
    )
    hosts = evidence["hosts"]
    where = "there" if len(hosts) == 1 else f"on {hosts[0]}" if hosts else "on the last one"
    return f": {cause_text(cause)} takes {time_text(cause.longer_ps, 1)} longer {where}{frequency}"
