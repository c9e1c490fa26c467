"""What the device waits for in an iteration, as a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from tb_xla_insights.schema.iterations import BatchKind, Part
from tb_xla_insights.text.units import part_text

Row = Mapping[str, Any]
AnyRow = TypeVar("AnyRow", bound=Row)

ITS_WORK: Mapping[Part, str] = {
    "schedule": "scheduling",
    "build": "preparing inputs",
    "to_device": "sending inputs",
    "launch": "launching",
    "results": "handling results",
    "other": "other work of the host",
    "unrecorded": "work that the capture does not show",
}
"""What the device waits for, by part, without the waiting itself, and without compiling: that a server is serial makes
no program new."""

_WAITED_FOR: Mapping[Part, str] = {
    **ITS_WORK,
    "wait": "launches to begin and tokens to arrive",
}
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


def host_time_ps(row: Row) -> int:
    """How long a device waits for the server's own work, in all iterations of a kind (a row of the report's
    `iterations`)."""
    by_part: Mapping[Part, int] = row["bubble_by_part_ps"]
    return int(row["count"] * sum(by_part.get(part, 0) for part in ITS_WORK))


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
    """The kind of iterations in which devices wait longest for the server's own work."""
    return max(rows, key=host_time_ps)


def degree_of(longest_ps: int, all_ps: int) -> str:
    """How the longest part of a time is called."""
    return "mostly" if 2 * longest_ps >= all_ps else "above all"


def serial_text(waits: str, row: Row) -> str:
    """`the device waits in 5.3 of 8.8 ms of a decode iteration, mostly for scheduling`."""
    by_part: Mapping[Part, int] = row["bubble_by_part_ps"]
    apart_ps = sum(by_part.get(part, 0) for part in _APART)
    waits_ps = row["bubble_ps"] - apart_ps
    longest = max(_WAITED_FOR, key=lambda part: by_part.get(part, 0))
    degree = degree_of(by_part.get(longest, 0), waits_ps)
    time = part_text(waits_ps, row["wall_ps"]["mean"] - apart_ps)
    bucket = f" in bucket {row['bucket']}" if row["bucket"] is not None else ""
    return f"{waits} in {time} of {_ITERATION[row['kind']]}{bucket}, {degree} for {_WAITED_FOR[longest]}"
