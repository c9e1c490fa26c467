"""The finding about who holds up the others, and what is left of exposed collectives without waiting for them.

(docs/definitions.md, "Pods")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.analysis.findings.base import (
    Finding,
    Window,
    first_fitting_title,
    join_words,
    longest_windows,
)
from tb_xla_insights.analysis.thresholds import severity_of
from tb_xla_insights.catalog.classes import label
from tb_xla_insights.pod.advice import MOST_CAUSES, advice, names
from tb_xla_insights.pod.arrivals import waiting_for_others
from tb_xla_insights.pod.causes import Cause
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_steps import DEVICE
from tb_xla_insights.units import brief_time, brief_times, count, share

if TYPE_CHECKING:
    from tb_xla_insights.schema.findings import Finding as FindingRow

MOST_NAMED = 3
"""Hosts that a sentence names."""

_WAITS = 0.1
"""Of what the one waits that waits longest, what others must wait to be told of."""


def straggler(compared: HostComparison) -> Finding | None:
    """Who holds up the others; None where nobody does, or nothing tells. Its gain is that of the mean step."""
    late, step = compared.late, compared.table.mean_step_ps
    if late.kind not in ("late", "changing") or not step:
        return None
    fixed = compared.step_if_fixed_ps
    gain = (step - fixed) / step if fixed is not None else None
    severity = severity_of(gain or 0.0) or "info"
    recurs = compared.recurs
    return Finding(
        "straggler",
        _title(compared),
        _brief(compared),
        _detail(compared),
        advice(compared),
        _cost_ps(compared),
        _evidence(compared),
        _windows(compared),
        recurs,  # type: ignore[arg-type]
        None,
        gain,
        gain,
        "warning" if severity == "critical" and recurs == "once" else severity,
        fixed,
        fixed,
    )


def straggler_json(compared: HostComparison) -> FindingRow | None:
    """The finding as it stands in the report, a mistake."""
    found = straggler(compared)
    return found.as_json("mistake", compared.table.mean_step_ps) if found else None


def _title(compared: HostComparison) -> str:
    found = names(compared)
    others = whom(compared)
    if not found:
        return f"In each step another {'core' if compared.cores else 'host'} holds up {others}"
    step = _step(compared) if compared.recurs == "once" else None
    does = others if step is None else f"{others} in step {step}"
    if len(found) == 1:
        verb = "holds up" if step is None else "held up"
        core = compared.causes[0].core if compared.causes[0] and not compared.cores else None
        exact = [f"{_short(core)} of {found[0]} {verb} {does}"] if core else []
        return first_fitting_title(*exact, f"{found[0]} {verb} {does}", f"One host {verb} {does}")
    verb, what = "hold up" if step is None else "held up", "cores" if compared.cores else "hosts"
    named = [f"{join_words(found)} {verb} {does}"] if len(found) <= MOST_NAMED else []
    return first_fitting_title(
        *named, f"{count(len(found))} of {count(len(compared.told.parties))} {what} {verb} {does}"
    )


def whom(compared: HostComparison) -> str:
    """Who waits for the late ones: `the others`, or as many as do, where some have nothing to do with them."""
    if compared.cores or compared.late.kind != "late":
        return "the other cores" if compared.cores else "the others"
    told, late = compared.told, compared.late.parties
    waits = np.where(np.isin(told.charged, late), told.waits_ps, 0).sum(axis=0)
    waits[late] = 0
    waiting = np.flatnonzero((waits > 0) & (waits >= _WAITS * waits.max())).tolist()
    if not waiting or len(waiting) + len(late) == len(told.parties):
        return "the others"
    return compared.hosts[waiting[0]].name if len(waiting) == 1 else f"{count(len(waiting))} other hosts"


def _short(core: str) -> str:
    """A core without its host: `TPU:2`."""
    return core.rsplit("/", 1)[-1]


def _step(compared: HostComparison) -> int | None:
    """The number of the step in which it happened, its place where it has none."""
    steps: list[int] = compared.late.steps[0].tolist() if compared.late.steps else []
    if not steps:
        return None
    number = compared.table.number[steps[0]]
    return steps[0] if number is None else number


def _brief(compared: HostComparison) -> str:
    found = names(compared)
    if not found:
        return "another host is late each time"
    what = found[0] if len(found) == 1 else f"{count(len(found))} {'cores' if compared.cores else 'hosts'}"
    cause = compared.causes[0]
    why = f" ({', '.join(_words(cause))})" if cause else ""
    return f"{what} {'arrives' if len(found) == 1 else 'arrive'} late{why}"


def what_takes(cause: Cause) -> str:
    """What takes longer: `next_batch (input)`, or the class alone."""
    first, *rest = _words(cause)
    return f"{first} ({rest[0]})" if rest else first


def _words(cause: Cause) -> list[str]:
    """The annotation by its own name, where one is known, and the class."""
    name = "device work" if cause.name == DEVICE else label(cause.name)
    return [cause.annotation.rsplit("/", 1)[-1], name] if cause.annotation else [name]


def _detail(compared: HostComparison) -> str:
    late, told, found = compared.late, compared.told, names(compared)
    kind = f"{compared.kind}s" if compared.kind else "collectives"
    if not found:
        who = "core" if compared.cores else "host"
        text = f"A {who} waits {brief_time(late.waits_ps)} a step for the last one"
        most = share(int(told.last_count.max()) / max(len(told.instances), 1))
        cause = compared.causes[0]
        more = (
            f"; the last one takes {brief_time(cause.longer_ps)} longer in {what_takes(cause)}"
            if cause
            else ""
        )
        return f"{text}, and none is last at more than {most} of the {kind}{more}."
    party, steps = late.parties[0], late.steps[0]
    last = share(int(told.last_count[party]) / int(told.shared_count[party]))
    by, often = brief_time(compared.late_ps(0)), f"in {len(steps)} of {told.steps} steps"
    if len(found) == 1:
        arrives = "arrived" if compared.recurs == "once" else "arrives"
        head = f"{found[0]} {arrives} {by} late {often}, last at {last} of the {kind}"
    else:
        head = f"{_some(found)} arrive late, the first of them by {by} {often}"
    return f"{head}. {_because(compared, found)}"


def _some(found: list[str]) -> str:
    """Names, the first ones of many."""
    more = len(found) - MOST_NAMED
    return join_words(found) if more <= 0 else f"{', '.join(found[:MOST_NAMED])} and {more} more"


def _because(compared: HostComparison, found: list[str]) -> str:
    """What takes longer meanwhile, on the first host for each cause."""
    first: dict[str, tuple[str, Cause]] = {}
    for name, cause in zip(found, compared.causes, strict=True):
        if cause is not None:
            first.setdefault(cause.name, (name, cause))
    if not first:
        return f"Nothing that is recorded takes longer there than on {compared.usual}."
    parts = []
    for name, cause in [*first.values()][:MOST_CAUSES]:
        where = name
        if cause.core and not compared.cores:
            where = f"{_short(cause.core)} of {name}"
        every = {"once": "in that step", "some_steps": "in such a step"}.get(compared.recurs or "", "a step")
        own, usual = brief_times(cause.own_ps, cause.median_ps)
        usual = usual if cause.median_ps else "nothing"
        parts.append(f"{what_takes(cause)} takes {own} {every} on {where}, {usual} on {compared.usual}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if parts[0].startswith("device work") else f"{text}."


def _cost_ps(compared: HostComparison) -> int:
    """What the others' cores wait for the late ones."""
    told = compared.told
    cores = np.array([1 if compared.cores else len(host.cores) for host in told.parties], np.int64)
    some = told.charged >= 0
    if compared.late.parties:
        some &= np.isin(told.charged, compared.late.parties)
    return int((np.where(some, told.waits_ps, 0).sum(axis=0) * cores).sum())


def _evidence(compared: HostComparison) -> dict[str, Any]:
    late, told, table = compared.late, compared.told, compared.table
    parties = late.parties
    cause = compared.causes[0] if compared.causes else None
    residuals = told.clocks.residual_ps
    first = late.steps[0].tolist() if late.steps else []
    return {
        "kind": late.kind,
        "alike": late.alike,
        "hosts": names(compared),
        "steps": [table.number[it] if table.number[it] is not None else it for it in first],
        "steps_compared": told.steps,
        "collectives": len(told.instances),
        "last": [int(told.last_count[party]) for party in parties],
        "last_share": [
            int(told.last_count[party]) / max(int(told.shared_count[party]), 1) for party in parties
        ],
        "late_ps": [compared.late_ps(place) for place in range(len(parties))],
        "residual_ps": [int(residuals[party]) for party in parties],
        "others_wait_ps": [int(told.others_wait_ps[party]) for party in parties],
        "waits_per_step_ps": late.waits_ps,
        "saved_per_step_ps": late.saved_ps,
        "cause": cause.name if cause else None,
        "causes": [it.name if it else None for it in compared.causes],
        "cause_ps": cause.own_ps if cause else None,
        "median_cause_ps": cause.median_ps if cause else None,
        "annotation": cause.annotation if cause else None,
        "core": cause.core if cause else None,
        "median_host": None if compared.median_host is None else compared.hosts[compared.median_host].name,
    }


def _windows(compared: HostComparison) -> list[Window]:
    """Where the late ones keep others waiting: from when the one in the middle comes until they do, on their own clocks
    as their files have them."""
    told = compared.told
    its = told.instances
    found = []
    for row, party in enumerate(told.last.tolist()):
        if compared.late.parties and party not in compared.late.parties:
            continue
        late = int(told.late_ps[row, party])
        if late > 0:
            until = int(its.begin_ps[row, party]) + int(told.clocks.offset_ps[party])
            found.append(Window(until - late, until, _core_of(compared, row, party)))
    return longest_windows(found)


def _core_of(compared: HostComparison, row: int, party: int) -> str:
    """The core of a party that comes last."""
    told = compared.told
    host = told.parties[party]
    rows = np.flatnonzero(told.instances.of_row[party] == row)
    return host.cores[int(host.core[rows[host.begin_ps[rows].argmax()]])]


def exposed_without_waiting(compared: HostComparison) -> list[dict[str, int]]:
    """Per host `exposed_ps`, the exposed time in collectives of its report, `waiting_ps`, what of that is only waiting
    for others to come, and `left_ps`, the rest: what no other host can take away."""
    waits = waiting_for_others(compared.told)
    per_host = [int(waits.sum())] if compared.cores else waits.tolist()
    found = []
    for host, waiting in zip(compared.hosts, per_host, strict=True):
        exposed = sum(row["exposed_ps"] for row in host.document["collectives"])
        waiting = min(waiting, exposed)
        found.append({"exposed_ps": exposed, "waiting_ps": waiting, "left_ps": exposed - waiting})
    return found
