"""Makes a longer capture by repeating the events of every line.

    python benchmarks/longer_capture.py FILE TIMES OUT

Each repetition begins where the previous one ends, and its flows have their own ids. Both captures are in memory: for a
capture of 120 MB and ten repetitions, 5 GB.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / "tests"), str(Path(__file__).parents[1])]

FLOW_STATS = {b"_p", b"_c"}
FLOW_ID_STEP = 1 << 40
"""Added to the flow ids of each repetition."""
PLANES, LINES = 1, 3
"""The field numbers of the planes in a space and of the lines in a plane."""


def lengthen(space: Any, times: int) -> bytes:
    """The bytes of the longer capture; consumes `space`."""
    events = [
        (line.timestamp_ns * 1000, event)
        for plane in space.planes
        for line in plane.lines
        for event in line.events
    ]
    starts = [line_start + event.offset_ps for line_start, event in events]
    ends = (start + event.duration_ps for start, (_, event) in zip(starts, events, strict=True))
    period_ps = max(ends) - min(starts)
    planes = []
    for plane in space.planes:
        flow_stats = {entry.key for entry in plane.stat_metadata if entry.value.name in FLOW_STATS}
        lines = [lengthen_line(line, times, period_ps, flow_stats) for line in plane.lines]
        plane.ClearField("lines")
        planes.append(plane.SerializeToString() + b"".join(lines))
    space.ClearField("planes")
    other_fields: bytes = space.SerializeToString()
    return b"".join(field(PLANES, plane) for plane in planes) + other_fields


def lengthen_line(line: Any, times: int, period_ps: int, flow_stats: set[int]) -> bytes:
    """The bytes of a line with its events repeated; `period_ps`: the time from one repetition to the next."""
    events = type(line)(events=line.events)
    line.ClearField("events")
    parts = [line.SerializeToString()]
    for _ in range(times):
        parts.append(events.SerializeToString())
        for event in events.events:
            event.offset_ps += period_ps
            for stat in event.stats:
                if stat.metadata_id in flow_stats:
                    kind = stat.WhichOneof("value")
                    setattr(stat, kind, (getattr(stat, kind) + FLOW_ID_STEP) % (1 << 63))
    return field(LINES, b"".join(parts))


def field(number: int, data: bytes) -> bytes:
    """A length-delimited protobuf field."""
    tag_and_length, length = [number << 3 | 2], len(data)
    while length > 127:
        tag_and_length.append(length & 127 | 128)
        length >>= 7
    return bytes([*tag_and_length, length]) + data


if __name__ == "__main__":
    from independent import SPACE

    file, times, out = sys.argv[1:]
    Path(out).write_bytes(lengthen(SPACE.FromString(Path(file).read_bytes()), int(times)))
