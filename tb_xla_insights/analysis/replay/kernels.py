"""The compiled loop of the replay.

All arrays belong to the caller. Arrays that a kernel only reads come first, arrays that it fills or changes come last.
"""

from __future__ import annotations

import cython
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tb_xla_insights.arrays import Int32, Int64, OutInt64


def replay(
    work: Int64, waits_for: Int32, delay: Int64, first: Int64, order: Int32, ready: Int64, pause: Int64,
    device_ps: Int64, device: Int32, free: OutInt64, first_start: OutInt64, ends: OutInt64,
) -> int:  # fmt: skip
    """Replays the host's segments and the runs, and returns when the host is done.

    `order` sorts the runs by the segment that launches them; `first` holds the start of each segment's runs in it.
    Filled in are `ends` of runs, when each device becomes free (`free`) and when its first run starts (`first_start`).
    """
    host_time: int64_t = 0
    with cython.nogil:
        for segment in range(len(work)):
            host_time += work[segment]
            if waits_for[segment] >= 0:
                host_time = max(host_time, ends[waits_for[segment]] + delay[segment])
            for index in range(first[segment], first[segment + 1]):
                run = order[index]
                start = max(host_time + ready[run], free[device[run]] + pause[run])
                ends[run] = start + device_ps[run]
                first_start[device[run]] = min(first_start[device[run]], start)
                free[device[run]] = max(free[device[run]], ends[run])
    return host_time
