"""A synthetic capture with more events: every op of the devices as many short ones, back to back with pauses.

    python benchmarks/denser_capture.py FILE TIMES OUT

Steps, flows and host threads stay as they are, so the report tells of the same gaps. `synthetic_case_study_8_tpu_cores`
2,000 times as dense has 29 M events in 570 MB.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from longer_capture import LINES, PLANES, field

BUSY = 0.75
"""The part of an op's time that the short ones have."""
EVENTS = 4
"""The number of this field of a line."""


def denser(space: Any, times: int) -> bytes:
    """The denser capture's bytes; `space` is used up."""
    planes = []
    for plane in space.planes:
        lines = [denser_line(line, times if line.name == b"XLA Ops" else 1) for line in plane.lines]
        plane.ClearField("lines")
        planes.append(plane.SerializeToString() + b"".join(field(LINES, it) for it in lines))
    space.ClearField("planes")
    return b"".join(field(PLANES, it) for it in planes) + space.SerializeToString()


def denser_line(line: Any, times: int) -> bytes:
    if times == 1:
        return bytes(line.SerializeToString())
    told = [(it.metadata_id, it.offset_ps, it.duration_ps) for it in line.events]
    metadata, start, duration = np.array(told, np.int64).T
    line.ClearField("events")
    pitch = duration // times
    start = (start[:, None] + pitch[:, None] * np.arange(times)).ravel()
    columns = [
        (1, np.repeat(metadata, times)),
        (2, start),
        (3, np.repeat((pitch * BUSY).astype(np.int64), times)),
    ]
    body = np.concatenate([part for number, values in columns for part in integer(number, values)], axis=1)
    head = np.broadcast_to(np.array([EVENTS << 3 | 2, body.shape[1]], np.uint8), (len(body), 2))
    return bytes(line.SerializeToString()) + np.concatenate([head, body], axis=1).tobytes()


def integer(number: int, values: Any) -> tuple[Any, Any]:
    """A field of many messages, as columns of bytes: as wide as the largest value needs."""
    width = max(1, -(-int(values.max()).bit_length() // 7))
    digits = (values[:, None] >> (7 * np.arange(width)) & 127).astype(np.uint8)
    digits[:, :-1] |= 128
    return np.full((len(values), 1), number << 3, np.uint8), digits


if __name__ == "__main__":
    from independent import SPACE

    file, times, out = sys.argv[1:]
    Path(out).write_bytes(denser(SPACE.FromString(Path(file).read_bytes()), int(times)))
