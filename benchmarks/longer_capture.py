"""A capture that goes on: the same threads record their events again and again.

    python benchmarks/longer_capture.py FILE TIMES OUT

Each time begins where the one before has ended, and its flows have ids of their own. The whole of both captures is in
memory: of one of 120 MB and ten times as much 5 GB.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / "tests"), str(Path(__file__).parents[1])]

FLOWS = {b"_p", b"_c"}
PLANES, LINES = 1, 3
"""The numbers of these fields in their messages."""


def longer(space: Any, times: int) -> bytes:
    """The longer capture's bytes; `space` is used up."""
    events = [
        (line.timestamp_ns * 1000, it) for plane in space.planes for line in plane.lines for it in line.events
    ]
    starts = [zero + it.offset_ps for zero, it in events]
    span = max(start + it.duration_ps for start, (_, it) in zip(starts, events, strict=True)) - min(starts)
    planes = []
    for plane in space.planes:
        flows = {it.key for it in plane.stat_metadata if it.value.name in FLOWS}
        lines = [longer_line(line, times, span, flows) for line in plane.lines]
        plane.ClearField("lines")
        planes.append(plane.SerializeToString() + b"".join(lines))
    space.ClearField("planes")
    return b"".join(field(PLANES, it) for it in planes) + space.SerializeToString()


def longer_line(line: Any, times: int, span: int, flows: set[int]) -> bytes:
    events = type(line)(events=line.events)
    line.ClearField("events")
    parts = [line.SerializeToString()]
    for _ in range(times):
        parts.append(events.SerializeToString())
        for event in events.events:
            event.offset_ps += span
            for stat in event.stats:
                if stat.metadata_id in flows:
                    kind = stat.WhichOneof("value")
                    setattr(stat, kind, getattr(stat, kind) + (1 << 40))
    return field(LINES, b"".join(parts))


def field(number: int, data: bytes) -> bytes:
    """A field with its length, as protobuf writes it."""
    head, rest = [number << 3 | 2], len(data)
    while rest > 127:
        head.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*head, rest]) + data


if __name__ == "__main__":
    from independent import SPACE

    file, times, out = sys.argv[1:]
    Path(out).write_bytes(longer(SPACE.FromString(Path(file).read_bytes()), int(times)))
