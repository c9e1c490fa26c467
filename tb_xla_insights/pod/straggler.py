"""The finding about the hosts that hold up the others, and the exposed time of collectives without waiting for them.

(docs/definitions.md, "Pods")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tb_xla_insights.analysis.findings.finding import (
    Finding,
    ShownWindow,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.thresholds import severity_of
from tb_xla_insights.catalog.classes import label
from tb_xla_insights.pod.advice import MAX_CAUSES, advice_text, late_names, party_names
from tb_xla_insights.pod.arrivals import Arrivals, exposed_waits_ps
from tb_xla_insights.pod.causes import LateCause
from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_steps import DEVICE
from tb_xla_insights.text.english import Phrase, Sentence, join_words, sentences
from tb_xla_insights.text.units import brief_time, brief_times, count, share
from tb_xla_insights.trace.device import device_name

MAX_NAMED = 3
"""Hosts that a sentence names at most."""

_MIN_WAIT_SHARE = 0.1
"""The share of the longest waiting host's time that another one must wait to be counted."""


def straggler_finding(comparison: HostComparison) -> Finding | None:
    """Returns the finding about the hosts that hold up the others; None if none does, or it is not known. Its gain is
    that of the mean step; if some hosts are late once and others in several steps, that of the usual step."""
    if comparison.late_hosts.kind not in ("late", "changing") or not comparison.table.mean_step_ps:
        return None
    usual, fixed = comparison.usual_step_ps, comparison.step_if_fixed_ps
    gain = (usual - fixed) / usual if usual and fixed is not None else None
    severity = severity_of(gain or 0.0) or "info"
    frequency = comparison.frequency
    return Finding(
        id="straggler",
        title=_title(comparison),
        brief=_brief(comparison),
        sentences=_sentences(comparison),
        advice=advice_text(comparison),
        cost_ps=_cost_ps(comparison),
        evidence=_evidence(comparison),
        windows=_windows(comparison),
        recurs=frequency,
        gain=gain,
        gain_at_worst=gain,
        severity="warning" if severity == "critical" and frequency == "once" else severity,
        step_if_fixed_ps=fixed,
        step_if_fixed_at_worst_ps=fixed,
        waits_for=Phrase(_waits_for(comparison)),
    )


def _title(comparison: HostComparison) -> str:
    names = late_names(comparison)
    waiting_hosts = waiting_hosts_text(comparison)
    if not names:
        return (
            f"In each step another {'core' if comparison.core_arrivals else 'host'} holds up {waiting_hosts}"
        )
    step = _step_number(comparison) if comparison.frequency == "once" else None
    waiting_text = waiting_hosts if step is None else f"{waiting_hosts} in step {step}"
    if len(names) == 1:
        verb = "holds up" if step is None else "held up"
        cause = comparison.causes[0]
        core = cause.core if cause and not comparison.core_arrivals else None
        with_core = [f"{device_name(core)} of {names[0]} {verb} {waiting_text}"] if core else []
        return first_fitting_title(
            *with_core, f"{names[0]} {verb} {waiting_text}", f"One host {verb} {waiting_text}"
        )
    verb = "hold up" if step is None else "held up"
    parties = "cores" if comparison.core_arrivals else "hosts"
    with_names = [f"{join_words(names)} {verb} {waiting_text}"] if len(names) <= MAX_NAMED else []
    party_count = count(len(comparison.party_arrivals.parties))
    return first_fitting_title(
        *with_names, f"{count(len(names))} of {party_count} {parties} {verb} {waiting_text}"
    )


def waiting_hosts_text(comparison: HostComparison) -> str:
    """Returns who waits for the late hosts: `the others`; if some of those hardly wait, the number of those that do
    wait; if a single one waits, its name."""
    parties = "cores" if comparison.core_arrivals else "hosts"
    all_others = "the other cores" if comparison.core_arrivals else "the others"
    if comparison.late_hosts.kind != "late":
        return all_others
    waiting = waiting_parties(comparison)
    if len(waiting) == 1:
        return party_names(comparison, waiting)[0]
    is_all = len(waiting) + len(comparison.late_hosts.parties) == len(comparison.party_arrivals.parties)
    return all_others if is_all or not waiting else f"{count(len(waiting))} other {parties}"


def waiting_parties(comparison: HostComparison) -> list[int]:
    """Returns the parties that wait for the late ones, without the late ones and without those that hardly wait."""
    arrivals, late_parties = comparison.party_arrivals, comparison.late_hosts.parties
    waits = np.where(np.isin(arrivals.charged_party, late_parties), arrivals.waits_ps, 0).sum(axis=0)
    waits[late_parties] = 0
    waiting: list[int] = np.flatnonzero((waits > 0) & (waits >= _MIN_WAIT_SHARE * waits.max())).tolist()
    return waiting


def _step_number(comparison: HostComparison) -> int | None:
    """Returns the number of the first late host's first step, or the step's index if it has no number; None without
    steps."""
    steps: list[int] = comparison.late_hosts.steps[0].tolist() if comparison.late_hosts.steps else []
    if not steps:
        return None
    number = comparison.table.number[steps[0]]
    return steps[0] if number is None else number


def _brief(comparison: HostComparison) -> str:
    names = late_names(comparison)
    if not names:
        return "the late arrival of another host each time"
    parties = "cores" if comparison.core_arrivals else "hosts"
    subject = names[0] if len(names) == 1 else f"{count(len(names))} {parties}"
    cause = comparison.causes[0]
    reason = f" ({', '.join(_cause_words(cause))})" if cause else ""
    return f"the late arrival of {subject}{reason}"


def _waits_for(comparison: HostComparison) -> str:
    names = late_names(comparison)
    party = "core" if comparison.core_arrivals else "host"
    if not names:
        return f"another {party} each time"
    return names[0] if len(names) == 1 else f"late {party}s"


def cause_text(cause: LateCause) -> str:
    """Returns what takes longer: `next_batch (input)`, or only the class."""
    first, *rest = _cause_words(cause)
    return f"{first} ({rest[0]})" if rest else first


def _cause_words(cause: LateCause) -> list[str]:
    """Returns the annotation's name, if there is one, and the class."""
    name = "device work" if cause.name == DEVICE else label(cause.name)
    return [cause.annotation_name, name] if cause.annotation_name else [name]


def _sentences(comparison: HostComparison) -> Sequence[Sentence]:
    late_hosts, arrivals = comparison.late_hosts, comparison.party_arrivals
    names, kinds = late_names(comparison), f"{comparison.common_kind or 'collective'}s"
    if not names:
        party_word = "core" if comparison.core_arrivals else "host"
        text = f"a {party_word} waits {brief_time(late_hosts.waits_ps)} a step for the last one"
        highest = share(int(arrivals.last_count.max()) / max(len(arrivals.instances), 1))
        cause = comparison.causes[0]
        reason = (
            f"; the last one takes {brief_time(cause.longer_ps)} longer in {cause_text(cause)}"
            if cause
            else ""
        )
        return sentences(f"{text}, and none is last at more than {highest} of the {kinds}{reason}")
    party = late_hosts.parties[0]
    last = share(int(arrivals.last_count[party]) / int(arrivals.shared_count[party]))
    lateness = brief_time(comparison.late_ps(0))
    frequency = f"in {comparison.late_step_count} of {arrivals.step_count} steps"
    if len(names) == 1:
        verb = "arrived" if comparison.frequency == "once" else "arrives"
        head = f"{names[0]} {verb} {lateness} late {frequency}, last at {last} of the {kinds}"
    else:
        head = f"{_first_names(names)} arrive late, the first of them by {lateness} {frequency}"
    return Sentence(head, begins_with_name=True), _reason(comparison, names)


def _first_names(names: list[str]) -> str:
    """Returns the first MAX_NAMED names, and how many more there are."""
    more = len(names) - MAX_NAMED
    return join_words(names) if more <= 0 else f"{', '.join(names[:MAX_NAMED])} and {more} more"


def _reason(comparison: HostComparison, names: list[str]) -> Sentence:
    """Returns what takes longer, for each cause on its first host."""
    first_of_cause: dict[str, tuple[int, LateCause]] = {}
    for position, cause in enumerate(comparison.causes):
        if cause is not None:
            first_of_cause.setdefault(cause.name, (position, cause))
    reference = comparison.reference_text
    if not first_of_cause:
        return Sentence(f"nothing recorded takes longer there than on {reference}")
    causes = [*first_of_cause.values()][:MAX_CAUSES]
    parts = []
    for position, cause in causes:
        name, per_step = names[position], _per_step(comparison, position)
        where = (
            f"{device_name(cause.core)} of {name}" if cause.core and not comparison.core_arrivals else name
        )
        host_time, median_time = brief_times(cause.host_ps, cause.median_ps)
        median_time = median_time if cause.median_ps else "nothing"
        parts.append(
            f"{cause_text(cause)} takes {host_time} {per_step} on {where}, {median_time} on {reference}"
        )
    main_cause = causes[0][1]
    is_device_work = main_cause.name == DEVICE and not main_cause.annotation_name
    return Sentence("; ".join(parts), begins_with_name=not is_device_work)


def _per_step(comparison: HostComparison, position: int) -> str:
    """Returns the steps to which the time of a late party's cause refers. If one party is late, the sentence before
    says in which steps."""
    if comparison.is_always_late(position):
        return "a step"
    if len(comparison.late_hosts.parties) == 1:
        return "in that step" if comparison.frequency == "once" else "in such a step"
    late_steps = len(comparison.late_hosts.steps[position])
    return f"in {late_steps} of {comparison.party_arrivals.step_count} steps"


def _cost_ps(comparison: HostComparison) -> int:
    """Returns how long all cores wait for the late hosts."""
    arrivals = comparison.party_arrivals
    cores = np.array(
        [1 if comparison.core_arrivals else len(host.cores) for host in arrivals.parties], np.int64
    )
    is_charged = arrivals.charged_party >= 0
    if comparison.late_hosts.parties:
        is_charged &= np.isin(arrivals.charged_party, comparison.late_hosts.parties)
    return int((np.where(is_charged, arrivals.waits_ps, 0).sum(axis=0) * cores).sum())


def _evidence(comparison: HostComparison) -> dict[str, Any]:
    late_hosts, arrivals, numbers = comparison.late_hosts, comparison.party_arrivals, comparison.table.number
    parties = late_hosts.parties
    cause = comparison.causes[0] if comparison.causes else None
    residuals = arrivals.clocks.residual_ps
    median_host = comparison.median_host
    steps = late_hosts.steps[0].tolist() if late_hosts.steps else []
    return {
        "kind": late_hosts.kind,
        "late_together": late_hosts.are_equally_late,
        "hosts": late_names(comparison),
        "steps": [step if numbers[step] is None else numbers[step] for step in steps],
        "steps_compared": arrivals.step_count,
        "collectives": len(arrivals.instances),
        "last_count": [int(arrivals.last_count[party]) for party in parties],
        "last_share": [
            int(arrivals.last_count[party]) / max(int(arrivals.shared_count[party]), 1) for party in parties
        ],
        "late_ps": [comparison.late_ps(position) for position in range(len(parties))],
        "residual_ps": [int(residuals[party]) for party in parties],
        "others_wait_ps": [int(arrivals.others_wait_ps[party]) for party in parties],
        "waits_per_step_ps": late_hosts.waits_ps,
        "saved_per_step_ps": late_hosts.saved_ps,
        "usual_step_ps": comparison.usual_step_ps,
        "cause": cause.name if cause else None,
        "causes": [cause.name if cause else None for cause in comparison.causes],
        "cause_ps": cause.host_ps if cause else None,
        "median_cause_ps": cause.median_ps if cause else None,
        "annotation": cause.annotation if cause else None,
        "annotation_name": cause.annotation_name if cause else None,
        "core": cause.core if cause else None,
        "median_host": None if median_host is None else comparison.hosts[median_host].name,
    }


def _windows(comparison: HostComparison) -> list[ShownWindow]:
    """Returns the intervals in which the last host keeps the others waiting, only of late hosts if there are any: from
    the median arrival to the last host's, on the last host's own clock as in its file."""
    arrivals, late_parties = comparison.party_arrivals, comparison.late_hosts.parties
    windows = []
    for row, party in enumerate(arrivals.last_party.tolist()):
        if late_parties and party not in late_parties:
            continue
        late_ps = int(arrivals.late_ps[row, party])
        if late_ps > 0:
            core, begin_ps = _last_core(arrivals, row, party)
            # Adds what the file records of the clock, and no measured offset or drift.
            clocks = arrivals.clocks
            arrival_ps = begin_ps + int(clocks.correction_ps[party] + clocks.offset_ps[party])
            windows.append(ShownWindow(arrival_ps - late_ps, arrival_ps, core))
    return longest_windows(windows)


def _last_core(arrivals: Arrivals, instance: int, party: int) -> tuple[str, int]:
    """Returns the one of a party's cores that arrives last at an instance, and when, on the clock of its host."""
    host = arrivals.parties[party]
    rows = np.flatnonzero(arrivals.instances.instance_of_row[party] == instance)
    last = rows[host.begin_ps[rows].argmax()]
    return host.cores[int(host.core[last])], int(host.begin_ps[last])


def exposed_without_waiting(comparison: HostComparison) -> list[dict[str, int]]:
    """Returns, per host, `exposed_ps` (the exposed time of the collectives in its report), `waiting_ps` (the part of it
    that is waiting for others to arrive), and `left_ps` (the rest, which no other host can remove)."""
    waits = exposed_waits_ps(comparison.party_arrivals)
    waits_of_hosts = [int(waits.sum())] if comparison.core_arrivals else waits.tolist()
    rows = []
    for host, waiting in zip(comparison.hosts, waits_of_hosts, strict=True):
        exposed = sum(row["exposed_ps"] for row in host.document["collectives"])
        waiting = min(waiting, exposed)
        rows.append({"exposed_ps": exposed, "waiting_ps": waiting, "left_ps": exposed - waiting})
    return rows
