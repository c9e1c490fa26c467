"""One time base for lines that count from the profile's start and lines that count from the epoch, and for hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from tb_xla_insights.arrays import Int64
    from tb_xla_insights.xplane.read_xspace import XSpace

EPOCH_NS = 10**17
"""A line time above this (March 1973) counts from the epoch; no profile runs for three years."""

MAX_DISTANCE_PS = 1 << 60
"""No capture lasts for 13 days: a time farther away than that is damaged. Sums of a few times within the limit fit into
64 bits."""

MAX_HOST_DISTANCE_PS = 3600 * 10**12
"""The hosts of a session are captured together. A capture from more than an hour before or after the others was put
beside them, or its host's clock is wrong: on one time axis, hours without any event would separate it from them."""


class TimeBase(NamedTuple):
    """A common time base of a file's lines: the time 0 of each line on it, in file order over all planes, and the epoch
    nanoseconds of the base (0: not recorded).

    `has_unrelated_lines`: whether lines with events cannot be related, because lines of both kinds have no common
    reference, or because a line is too far away from the others; it is put at zero then.
    """

    line_starts_ps: Int64
    base_unix_ns: int
    has_unrelated_lines: bool


def find_time_base(space: XSpace) -> TimeBase:
    """Puts the lines of a file on a common time base.

    The profile's start is the `profile_start_time` of the `Task Environment` plane. Epoch nanoseconds times 1000
    overflow 64 bits, so the base is subtracted first.
    """
    lines = [line for plane in space.planes for line in plane.lines]
    times = [line.timestamp_ns for line in lines if line.count]
    epoch = [time for time in times if time >= EPOCH_NS]
    relative = [time for time in times if time < EPOCH_NS]
    start_times = (_integer(plane.stats.get("profile_start_time")) for plane in space.planes)
    profile_start = next((time for time in start_times if time >= EPOCH_NS), 0)
    zero = _earliest(epoch, MAX_DISTANCE_PS) if epoch else profile_start
    if relative and _are_near(profile_start, zero):
        zero = profile_start
    starts = [
        (line.timestamp_ns - zero if line.timestamp_ns >= EPOCH_NS else line.timestamp_ns) for line in lines
    ]
    near = [_are_near(start, 0) for start in starts]
    has_unrelated = bool(relative and epoch and zero != profile_start)
    has_unrelated |= any(
        line.count and not is_near_zero for line, is_near_zero in zip(lines, near, strict=True)
    )
    starts_ps = [
        start * 1000 if is_near_zero else 0 for start, is_near_zero in zip(starts, near, strict=True)
    ]
    return TimeBase(np.array(starts_ps, np.int64), zero, has_unrelated)


def session_start(bases_ns: Sequence[int]) -> int:
    """The earliest time 0 of a session's hosts, in epoch nanoseconds; 0 if none is recorded. `bases_ns` are the hosts'
    times 0, 0 if not recorded. A host from another time does not count."""
    recorded = [base for base in bases_ns if base]
    return _earliest(recorded, MAX_HOST_DISTANCE_PS) if recorded else 0


def host_shifts(bases_ns: Sequence[int]) -> list[int | None]:
    """The shift of each host's times, in picoseconds, that makes 0 the earliest time 0 of any host; None for hosts that
    cannot be placed, which start with the session. `bases_ns`: see `session_start`."""
    first = session_start(bases_ns)
    return [
        (base - first) * 1000 if base and _are_near(base, first, MAX_HOST_DISTANCE_PS) else None
        for base in bases_ns
    ]


def _earliest(times_ns: list[int], max_distance_ps: int) -> int:
    """The earliest of some times, a few of which may be damaged: only times near the median count."""
    middle = sorted(times_ns)[len(times_ns) // 2]
    return min(time for time in times_ns if _are_near(time, middle, max_distance_ps))


def _are_near(time_ns: int, other_ns: int, max_distance_ps: int = MAX_DISTANCE_PS) -> bool:
    return abs(time_ns - other_ns) * 1000 <= max_distance_ps


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0
