"""What the device waits for in an iteration, as a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from tb_xla_insights.schema.iterations import BatchKind, Part
from tb_xla_insights.text.units import part_text

Row = Mapping[str, Any]
AnyRow = TypeVar("AnyRow", bound=Row)

ITS_WORK: Mapping[Part, str] = {
    "schedule": "scheduling",
    "build": "preparing and sending inputs",
    "to_device": "preparing and sending inputs",
    "launch": "launching",
    "results": "handling results",
    "other": "other work of the host",
    "unrecorded": "work that the capture does not show",
}
"""What a server does in an iteration itself, by part: all but waiting and compiling, as a server that compiles is not
serial for that reason. Inputs are often sent by Python that records nothing, so preparing and sending look alike."""

_WAITED_FOR: Mapping[Part, str] = {**ITS_WORK, "wait": "launches to begin and tokens to arrive"}
"""The same with what keeps a device idle while the server waits for it."""

_APART: Sequence[Part] = ("no_requests", "compile")
"""Parts that say nothing about how a server schedules."""

_ITERATION: Mapping[BatchKind, str] = {
    "decode": "a decode iteration",
    "speculative": "a speculative iteration",
    "mixed": "an iteration with prompts beside decoding",
    "prefill": "an iteration with prompts alone",
    "with_prefill": "an iteration with prompts",
    "iteration": "an iteration",
}


def serial_time_ps(row: Row) -> int:
    """How long a device waits in an iteration of a kind (a row of the report's `iterations`) for what a server that
    schedules ahead does while it works."""
    return _by_activity(row["bubble_by_part_ps"]).total()


def _by_activity(by_part: Mapping[Part, int]) -> Counter[str]:
    """Times by what devices wait for, without what says nothing about scheduling."""
    times: Counter[str] = Counter()
    for part, activity in _WAITED_FOR.items():
        times[activity] += by_part.get(part, 0)
    return times


def longest_activity(row: Row) -> str:
    """What a device waits for longest in an iteration."""
    return _by_activity(row["bubble_by_part_ps"]).most_common(1)[0][0]


def own_work_ps(row: Row) -> int:
    """The server's own work in an iteration, beside the device's and while the device waits."""
    parts: Sequence[Mapping[Part, int]] = row["bubble_by_part_ps"], row["hidden_by_part_ps"]
    # What is not recorded may be waiting if the device works.
    return sum(
        by_part.get(part, 0)
        for by_part, work in zip(parts, (ITS_WORK, ITS_WORK.keys() - {"unrecorded"}), strict=True)
        for part in work
    )


def main_kind(rows: Sequence[AnyRow]) -> AnyRow:
    """The most frequent kind of iterations among those in which devices wait longest for the server's own work: for at
    least half of what they wait in any kind."""

    def waits_ps(row: AnyRow) -> int:
        by_part: Mapping[Part, int] = row["bubble_by_part_ps"]
        return int(row["count"] * sum(by_part.get(part, 0) for part in ITS_WORK))

    longest_ps = max(map(waits_ps, rows))
    return max((row for row in rows if 2 * waits_ps(row) >= longest_ps), key=lambda row: row["count"])


def degree_of(longest_ps: int, all_ps: int) -> str:
    """How the longest part of a time is called."""
    return "mostly" if 2 * longest_ps >= all_ps else "above all"


def serial_text(waits: str, row: Row) -> str:
    """`the device waits in 5.3 of 8.8 ms of a decode iteration, mostly for scheduling`."""
    times = _by_activity(row["bubble_by_part_ps"])
    longest, longest_ps = times.most_common(1)[0]
    apart_ps = sum(row["bubble_by_part_ps"].get(part, 0) for part in _APART)
    time = part_text(times.total(), row["wall_ps"]["mean"] - apart_ps)
    bucket = f" in bucket {row['bucket']}" if row["bucket"] is not None else ""
    degree = degree_of(longest_ps, times.total())
    return f"{waits} in {time} of {_ITERATION[row['kind']]}{bucket}, {degree} for {longest}"
