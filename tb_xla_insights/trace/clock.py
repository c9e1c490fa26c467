"""One time base: lines that count from the profile's start and lines that count from the epoch, put together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_xla_insights.trace.model import Int64
from tb_xla_insights.xplane.read import XSpace

EPOCH_NS = 10**17
"""A line time above this (March 1973) counts from the epoch; no profile runs for three years."""

FARTHEST_PS = 1 << 60
"""No capture lasts for 13 days: what lies farther away than that is damaged. Sums of such times fit 64 bits."""


def line_starts_ps(space: XSpace) -> tuple[Int64, int, bool]:
    """Where each line's time 0 lies, in picoseconds; the epoch nanoseconds of that common zero, 0 where
    the file does not tell; and whether lines with events stand beside each other that nothing relates: lines of
    both kinds, or one that lies too far away from the others, which is put at zero.

    Lines keep their file order over all planes. The profile's start is the `profile_start_time` of the
    `Task Environment` plane. Nanoseconds since the epoch times 1000 overflow 64 bits, so the base is taken
    off first.
    """
    lines = [line for plane in space.planes for line in plane.lines]
    times = [line.timestamp_ns for line in lines if line.count]
    epoch = [time for time in times if time >= EPOCH_NS]
    relative = [time for time in times if time < EPOCH_NS]
    told = (_integer(plane.stats.get("profile_start_time")) for plane in space.planes)
    profile_start = next((time for time in told if time >= EPOCH_NS), 0)
    zero = earliest(epoch) if epoch else profile_start
    if relative and is_near(profile_start, zero):
        zero = profile_start
    starts = [
        (line.timestamp_ns - zero if line.timestamp_ns >= EPOCH_NS else line.timestamp_ns) for line in lines
    ]
    near = [is_near(start, 0) for start in starts]
    unrelated = bool(relative and epoch and zero != profile_start)
    unrelated |= any(line.count and not there for line, there in zip(lines, near, strict=True))
    starts_ps = [start * 1000 if there else 0 for start, there in zip(starts, near, strict=True)]
    return np.array(starts_ps, np.int64), zero, unrelated


def host_shifts(bases_ns: Sequence[int]) -> list[int | None]:
    """How far to move each host's times, in picoseconds, for 0 to be the earliest event of any host; None for hosts
    that cannot be placed, which start with the session. Bases are the epoch nanoseconds of their own time 0, 0 where a
    file records none."""
    known = [base for base in bases_ns if base]
    first = earliest(known) if known else 0
    return [(base - first) * 1000 if base and is_near(base, first) else None for base in bases_ns]


def earliest(times_ns: list[int]) -> int:
    """The earliest of some times, of which a few may be damaged: of those near the one in the middle."""
    middle = sorted(times_ns)[len(times_ns) // 2]
    return min(time for time in times_ns if is_near(time, middle))


def is_near(time_ns: int, other_ns: int) -> bool:
    """Whether two times may belong to one capture."""
    return abs(time_ns - other_ns) * 1000 <= FARTHEST_PS


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0
