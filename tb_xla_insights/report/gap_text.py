"""Why a gap was there, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from tb_xla_insights.analysis.findings.base import join_words
from tb_xla_insights.analysis.frameworks import host_activities
from tb_xla_insights.analysis.idle.chains import HANDED_OVER, NOT_BEGUN
from tb_xla_insights.units import brief_times

_MOST_OF_GAP = 0.8
"""Of a gap, what its sentence tells of; the table beside it has the rest."""

_Key = TypeVar("_Key")


def gap_sentence(gap: Mapping[str, Any], framework: str, host: str | None = None) -> str:
    """Why a gap was there, from its entry in the report: what the host did in most of it, three things at the most;
    where its launch waited for a thread or for its run in much of it, by the gap's chain, which tells what the host did
    until then, and how long the launch waited. With the name of the `host` where a session has several. Titles say how
    long the gap was."""
    after, kind = gap["after"], gap["kind"]
    if gap.get("inside_run") and kind == "queued":
        return f"The device is idle while {after} runs: the program itself waits for something."
    if kind == "queued":
        return (
            f"{after} was queued before the gap began: the device waited for something else, a transfer, a collective "
            "or another core."
        )
    chain, whole = gap.get("chain", ()), gap["duration_ps"]
    late: dict[tuple[str, str], int] = {}
    by_class: Counter[str] = Counter()
    for piece in chain:
        key = piece["name"], piece["thread"]
        if key[0] in (HANDED_OVER, NOT_BEGUN):
            late[key] = late.get(key, 0) + piece["duration_ps"]
        else:
            by_class[piece["class"]] += piece["duration_ps"]
    told = _most({**late, **by_class}, whole)
    waits = [key for key in late if key in told]
    if not waits:
        told = _most(gap["by_class_ps"], whole)
    does = host_activities(framework)
    done = {does[key]: ps for key, ps in told.items() if isinstance(key, str)}
    times = brief_times(*done.values())
    doing = join_words([f"{text} ({time})" for text, time in zip(done, times, strict=True)])
    why = "Nothing was queued" if kind == "starved" else "What was queued is not known"
    first = f"{why}: {host or 'the host'} {doing}." if done else ""
    return " ".join(filter(None, (first, _late_text(gap, waits) if waits else "")))


def _most(times: Mapping[_Key, int], whole: int) -> dict[_Key, int]:
    """The longest times, until they are most of the whole; three at the most."""
    most: dict[_Key, int] = {}
    for key, ps in sorted(times.items(), key=lambda it: -it[1])[:3]:
        if sum(most.values()) < _MOST_OF_GAP * whole:
            most[key] = ps
    return most


def _late_text(gap: Mapping[str, Any], waits: Sequence[tuple[str, str]]) -> str:
    """`train was handed over 13.0 ms into the gap, and taken up by tf_pytorchxla 2.98 ms later.`"""
    times: list[int] = []
    for key in waits:
        pieces = [piece for piece in gap["chain"] if (piece["name"], piece["thread"]) == key]
        since = pieces[0]["start_ps"]
        times += since - gap["start_ps"], pieces[-1]["start_ps"] + pieces[-1]["duration_ps"] - since
    texts = brief_times(*times)
    parts = []
    for (name, thread), at, later in zip(waits, texts[::2], texts[1::2], strict=True):
        what, then = (
            ("handed over", f"taken up by {thread}") if name == HANDED_OVER else ("enqueued", "began")
        )
        parts.append(f"{what} {at} into the gap, and {then} {later} later")
    return f"{gap['after'] or 'The next run'} was {'; '.join(parts)}."


def by_thread(chain: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A chain's time by class and thread, the most first; it adds up to the gap."""
    sums: dict[tuple[str, str], int] = {}
    for link in chain:
        key = link["class"], link["thread"]
        sums[key] = sums.get(key, 0) + link["duration_ps"]
    parts = [{"class": class_, "thread": thread, "ps": ps} for (class_, thread), ps in sums.items()]
    return sorted(parts, key=lambda it: -it["ps"])
