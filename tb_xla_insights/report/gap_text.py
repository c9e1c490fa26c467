"""Texts about the causes of a gap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tb_xla_insights.analysis.frameworks import host_activities, unshown_clause
from tb_xla_insights.analysis.idle.chains import HANDED_OVER, NOT_BEGUN
from tb_xla_insights.catalog.classes import DEVICE_WAITS, label
from tb_xla_insights.text.english import join_words
from tb_xla_insights.text.units import brief_time, brief_times, time_text
from tb_xla_insights.trace.device import device_name

if TYPE_CHECKING:
    from tb_xla_insights.catalog.classes import ClassName
    from tb_xla_insights.schema.gaps import GapPattern
    from tb_xla_insights.schema.gaps_route import GapPatternRow, ThreadTime
    from tb_xla_insights.schema.steps import StepTimes

_DESCRIBED_SHARE = 0.8
"""A gap's sentence names classes until they have this share of the gap, but at most _MAX_DESCRIBED; the table beside it
has the rest."""
_MAX_DESCRIBED = 3

_Key = TypeVar("_Key")


def cause_text(row: Mapping[str, Any]) -> str:
    """The cause of a gap, or of a pattern with its `kind` (`patterns_with_kind`): the display name of the class; of a
    queued gap that the device waits, for something other than the host."""
    return DEVICE_WAITS if row["kind"] == "queued" else label(row["cause"])


def patterns_with_kind(gaps: Mapping[str, Any]) -> list[GapPatternRow]:
    """The patterns of a report's `gaps`, each with its `kind`."""
    patterns: list[GapPattern] = gaps["patterns"]
    return [
        {**pattern, "kind": "queued" if is_queued(pattern["cause"], pattern) else None}
        for pattern in patterns
    ]


def is_queued(cause: ClassName | None, sums: Mapping[str, Any]) -> bool:
    """Whether the device waits, for something other than the host, in most of the time of several gaps' main `cause`:
    it is `wait`, and queued gaps have more than half of its time."""
    return cause == "wait" and bool(2 * sums["queued_ps"] > sums["by_cause_ps"]["wait"])


def gaps_and_steps_text(gaps: Mapping[str, Any], step_idle: StepTimes | None, *, has_straggler: bool) -> str:
    """The time per step of the pattern with most time, and the difference between the idle time of whole steps and that
    of the gaps; empty without either. `step_idle`: of all cores; None without whole steps."""
    sentences = []
    longest = max(gaps["patterns"], key=lambda pattern: pattern["total_ps"], default=None)
    if longest and longest["per_step_ps"]:
        # Waiting for a late host is busy time, not a gap.
        bound = (
            "the time that other hosts then wait in collectives counts as busy and is additional (see Hosts)"
            if has_straggler
            else "without these gaps, a step is shorter by at most that"
        )
        sentences.append(
            f"The pattern with most time takes {time_text(longest['per_step_ps'], 1)} per step and core, over whole "
            f"steps; {bound}."
        )
    if step_idle:
        idle, edges = step_idle["idle_ps"], step_idle["edges_ps"]
        inside, listed, outside = (time_text(ps, 1) for ps in (idle - edges, gaps["total_ps"], edges))
        at_edges = f", and {outside} before a core’s first or after its last run" if edges else ""
        sentences.append(
            f"Overview counts whole steps: {inside} of the {listed} of idle time here{at_edges}."
        )
    return " ".join(sentences)


def gap_sentence(gap: Mapping[str, Any], framework: str, host: str | None = None) -> str:
    """The causes of a gap, from its row in the report: what the host did in most of it, at most _MAX_DESCRIBED classes;
    of a queued gap, that the device waited for something other than the host, and for which other device if a barrier
    shows it.

    If the launch waited for a thread or for its run in much of the gap, the sentence follows the gap's chain: what the
    host did before, and how long the launch waited. `host` is the name of the host in a session of several. The length
    of the gap is left to titles."""
    after, kind = gap["after"], gap["kind"]
    if gap.get("late_device") and 2 * gap["barrier_ps"] > gap["duration_ps"]:
        late_device = device_name(gap["late_device"])
        return (
            f"{after} had begun and waited {brief_time(gap['barrier_ps'])} for {late_device}, which began it last "
            "(barrier-cores)."
        )
    if gap.get("inside_run") and kind == "queued":
        return f"The device is idle while {after} runs: the program itself waits for something."
    if kind == "queued":
        return (
            f"{after or 'The next kernel'} was queued before the gap began: the device waited for something else, "
            "a transfer, a collective or another core."
        )
    chain, duration = gap.get("chain", ()), gap["duration_ps"]
    wait_times: dict[tuple[str, str], int] = {}
    by_class: Counter[str] = Counter()
    for link in chain:
        key = link["name"], link["thread"]
        if key[0] in (HANDED_OVER, NOT_BEGUN):
            wait_times[key] = wait_times.get(key, 0) + link["duration_ps"]
        else:
            by_class[link["class"]] += link["duration_ps"]
    described = _longest({**wait_times, **by_class}, duration)
    waits = [key for key in wait_times if key in described]
    if not waits:
        described = _longest(gap["by_class_ps"], duration)
    phrases = host_activities(framework)
    classes = {key: ps for key, ps in described.items() if isinstance(key, str)}
    times = dict(zip(classes, brief_times(*classes.values()), strict=True))
    unshown = times.pop("unrecorded", "")
    activities = join_words([f"{phrases[name]} ({time})" for name, time in times.items()])
    clauses = [f"{host or 'the host'} {activities}"] if activities else []
    if unshown:
        clauses.append(f"{unshown_clause('it' if activities else host or 'the host')} for {unshown}")
    reason = (
        "Nothing was queued"
        if kind == "starved"
        else "It is not known whether the device waited for the host"
    )
    first = f"{reason}: {'; '.join(clauses)}." if clauses else ""
    return " ".join(filter(None, (first, _waits_text(gap, waits) if waits else "")))


def _longest(times: Mapping[_Key, int], duration_ps: int) -> dict[_Key, int]:
    """The longest times, until they are _DESCRIBED_SHARE of the duration; at most _MAX_DESCRIBED."""
    longest: dict[_Key, int] = {}
    for key, ps in sorted(times.items(), key=lambda pair: -pair[1])[:_MAX_DESCRIBED]:
        if sum(longest.values()) < _DESCRIBED_SHARE * duration_ps:
            longest[key] = ps
    return longest


def _waits_text(gap: Mapping[str, Any], waits: Sequence[tuple[str, str]]) -> str:
    """`train was handed over 13.0 ms into the gap, and taken up by tf_pytorchxla 2.98 ms later.`"""
    times: list[int] = []
    for key in waits:
        links = [link for link in gap["chain"] if (link["name"], link["thread"]) == key]
        start = links[0]["start_ps"]
        times += start - gap["start_ps"], links[-1]["start_ps"] + links[-1]["duration_ps"] - start
    texts = brief_times(*times)
    parts = []
    for (name, thread), start_text, wait_text in zip(waits, texts[::2], texts[1::2], strict=True):
        first_verb, second_verb = (
            ("handed over", f"taken up by {thread}") if name == HANDED_OVER else ("enqueued", "began")
        )
        parts.append(f"{first_verb} {start_text} into the gap, and {second_verb} {wait_text} later")
    return f"{gap['after'] or 'The next run'} was {'; '.join(parts)}."


def by_thread(chain: Sequence[Mapping[str, Any]]) -> list[ThreadTime]:
    """A chain's time by class and thread, most time first; it adds up to the gap."""
    sums: dict[tuple[ClassName, str], int] = {}
    for link in chain:
        key = link["class"], link["thread"]
        sums[key] = sums.get(key, 0) + link["duration_ps"]
    rows: list[ThreadTime] = [
        {"class": class_, "thread": thread, "duration_ps": ps} for (class_, thread), ps in sums.items()
    ]
    return sorted(rows, key=lambda row: -row["duration_ps"])
