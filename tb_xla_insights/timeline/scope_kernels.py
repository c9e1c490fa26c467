"""The loops behind rows of scopes: which op a device shows at each instant, and what stays the same from one to the
next."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.compiled import cut, kernel, room
from tb_xla_insights.trace.model import Int32, Int64


def pieces(
    start: Int64, end: Int64, key: Int32, run: Int32, first: Int32, upto: Int64
) -> tuple[Int64, Int64, Int32, Int32]:
    """The ops of one device, sorted by start, as stretches that do not overlap: start, end, part, run.

    At each instant the op that began last among those that run is shown. The parts of op k are `first[k]` to
    `first[k + 1] - 1`; they divide the op's length by their weights, which are added up in `upto`, in their order.
    """
    most = len(start) + 1 + int((first[key + 1] - first[key]).sum())
    out = room(most, np.int64, np.int64, np.int32, np.int32)
    cut(_pieces(start, end, key, run, first, upto, np.empty(len(start), np.int64), *out), *out)
    return out  # type: ignore[return-value]


@kernel(
    "int64(int64[::1], int64[::1], int32[::1], int32[::1], int32[::1], int64[::1], int64[::1], "
    "int64[::1], int64[::1], int32[::1], int32[::1])"
)
def _pieces(start, end, key, run, first, upto, open_, out_start, out_end, out_part, out_run):  # type: ignore[no-untyped-def]
    """`open_` has room for all ops. Returns how many stretches there are."""
    made, top, now = 0, 0, np.int64(0)
    for i in range(len(start) + 1):
        until = start[i] if i < len(start) else np.int64(2**62)
        while top > 0:
            op = open_[top - 1]
            stop = min(end[op], until)
            if stop > now:
                low, high = first[key[op]], first[key[op] + 1]
                begin, whole, length = start[op], upto[high - 1], end[op] - start[op]
                for part in range(low, high):
                    after = start[op] + length * upto[part] // whole
                    if min(after, stop) > max(begin, now):
                        out_start[made], out_end[made] = max(begin, now), min(after, stop)
                        out_part[made], out_run[made] = part, run[op]
                        made += 1
                    begin = after
                now = stop
            if end[op] > until:
                break
            top -= 1
        if i < len(start):
            now = max(now, start[i])
            open_[top] = i
            top += 1
    return made


def joined(start: Int64, end: Int64, part: Int32, run: Int32, label: Int32) -> tuple[Int64, Int64, Int32]:
    """Pieces joined while run and label stay the same: start, end, label. `label` is per part: -1 stands for no scope,
    -2 for nothing to show. A pause within a run joins; without a run it parts."""
    out = room(len(start), np.int64, np.int64, np.int32)
    cut(_joined(start, end, part, run, label, *out), *out)
    return out  # type: ignore[return-value]


@kernel(
    "int64(int64[::1], int64[::1], int32[::1], int32[::1], int32[::1], int64[::1], int64[::1], int32[::1])"
)
def _joined(start, end, part, run, label, out_start, out_end, out_label):  # type: ignore[no-untyped-def]
    made = 0
    for i in range(len(start)):
        now = label[part[i]]
        if now == -2:
            continue
        same = i > 0 and made > 0 and label[part[i - 1]] == now and run[i - 1] == run[i]
        if same and (run[i] >= 0 or end[i - 1] == start[i]):
            out_end[made - 1] = end[i]
            continue
        out_start[made], out_end[made], out_label[made] = start[i], end[i], now
        made += 1
    return made
