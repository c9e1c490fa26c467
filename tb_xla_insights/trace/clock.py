"""One time base: lines that count from the profile's start and lines that count from the epoch, put together."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.trace.model import Int64
from tb_xla_insights.xplane.read import XSpace

EPOCH_NS = 10**17
"""A line time above this (March 1973) counts from the epoch; no profile runs for three years."""


def line_starts_ps(space: XSpace) -> tuple[Int64, int, bool]:
    """Where each line's time 0 lies, in picoseconds; the epoch nanoseconds of that common zero, 0 where
    the file does not tell; and whether lines of both kinds stand beside each other with nothing that
    relates them.

    Lines keep their file order over all planes. The profile's start is the `profile_start_time` of the
    `Task Environment` plane. Nanoseconds since the epoch times 1000 overflow 64 bits, so the base is taken
    off first.
    """
    profile_start = next(
        (
            _integer(p.stats.get("profile_start_time"))
            for p in space.planes
            if "profile_start_time" in p.stats
        ),
        0,
    )
    times = [line.timestamp_ns for plane in space.planes for line in plane.lines]
    epoch = [time for time in times if time >= EPOCH_NS]
    relative = [time for time in times if time < EPOCH_NS]
    if relative and profile_start:
        base, zero = profile_start, profile_start
    else:
        base, zero = min(epoch, default=0), min(epoch, default=profile_start)
    starts = [(time - base if time >= EPOCH_NS else time) * 1000 for time in times]
    return np.array(starts, np.int64), zero, bool(relative and epoch and not profile_start)


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0
