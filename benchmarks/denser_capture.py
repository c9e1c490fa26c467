"""Makes a denser capture by replacing every device op with many short ones, with pauses between them.

    python benchmarks/denser_capture.py FILE TIMES OUT

Steps, flows and host threads are unchanged. With enough TIMES the pauses are shorter than 10 µs, and the report lists
about the same gaps. `synthetic_case_study_8_tpu_cores`, 2,000 times as dense, has 29 M events in 570 MB.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from longer_capture import LINES, PLANES, field

BUSY_SHARE = 0.75
"""The share of an op's time that the short ops cover."""
EVENTS = 4
METADATA_ID, OFFSET_PS, DURATION_PS = 1, 2, 3
"""The field numbers of the events in a line, and of the fields in an event."""


def densify(space: Any, times: int) -> bytes:
    """The bytes of the denser capture; consumes `space`."""
    planes = []
    for plane in space.planes:
        lines = [densify_line(line, times if line.name == b"XLA Ops" else 1) for line in plane.lines]
        plane.ClearField("lines")
        planes.append(plane.SerializeToString() + b"".join(field(LINES, line) for line in lines))
    space.ClearField("planes")
    return b"".join(field(PLANES, plane) for plane in planes) + space.SerializeToString()


def densify_line(line: Any, times: int) -> bytes:
    """The bytes of a line with each event replaced by `times` short ones."""
    if times == 1 or not line.events:
        return bytes(line.SerializeToString())
    events = [(event.metadata_id, event.offset_ps, event.duration_ps) for event in line.events]
    metadata, start, duration = np.array(events, np.int64).T
    line.ClearField("events")
    pitch = duration // times
    start = (start[:, None] + pitch[:, None] * np.arange(times)).ravel()
    columns = [
        (METADATA_ID, np.repeat(metadata, times)),
        (OFFSET_PS, start),
        (DURATION_PS, np.repeat((pitch * BUSY_SHARE).astype(np.int64), times)),
    ]
    body = np.concatenate([part for number, values in columns for part in integer(number, values)], axis=1)
    head = np.broadcast_to(np.array([EVENTS << 3 | 2, body.shape[1]], np.uint8), (len(body), 2))
    return bytes(line.SerializeToString()) + np.concatenate([head, body], axis=1).tobytes()


def integer(number: int, values: Any) -> tuple[Any, Any]:
    """An integer field of many messages, as columns of bytes, padded to the width of the largest value."""
    width = max(1, -(-int(values.max()).bit_length() // 7))
    digits = (values[:, None] >> (7 * np.arange(width)) & 127).astype(np.uint8)
    digits[:, :-1] |= 128
    return np.full((len(values), 1), number << 3, np.uint8), digits


if __name__ == "__main__":
    from independent import SPACE

    file, times, out = sys.argv[1:]
    Path(out).write_bytes(densify(SPACE.FromString(Path(file).read_bytes()), int(times)))
