"""What a window of the session looks like on a screen: slices of rows, and the strip over the whole session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from tb_xla_insights.analysis.idle.busy import busy
from tb_xla_insights.catalog.classes import CLASSES, UNRECORDED
from tb_xla_insights.parallel import run_parallel
from tb_xla_insights.timeline.pyramid import Slices, rung_of, spread
from tb_xla_insights.timeline.tracks import Track
from tb_xla_insights.trace.model import Device, Int8, SessionTrace, Trace

_BUCKETS = 1000
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)


_MOST_SLICES = 4200
"""A slice costs some 12 bytes of a compressed answer, which is to stay below 60 kB."""
_DEEP_FIRST = 2
"""So many rungs deeper lanes give way before the outermost ones do."""
_MOST_RUNGS = 12
_COARSEST = 62


def view(tracks: Sequence[Track], start_ps: int, end_ps: int, px: int) -> dict[str, Any]:
    """The slices of these rows that touch the window, as the page's protocol gives them.

    Neighbours below 2 px come merged. Where that leaves more slices than a tunnel carries at once, lanes move up rung
    by rung until it does not: the deepest first, whose slices are the smallest, the outermost last.
    """
    rung = rung_of(end_ps - start_ps, px)
    slices = [[lane.view(start_ps, end_ps, rung) for lane in track.lanes] for track in tracks]
    rungs = [[rung] * len(track.lanes) for track in tracks]
    deepest = max((len(track.lanes) for track in tracks), default=0)
    for more, depth in _ways_up(deepest, min(_MOST_RUNGS, _COARSEST - rung)):
        if sum(len(it.start) for row in slices for it in row) <= _MOST_SLICES:
            break
        for track, row, its in zip(tracks, slices, rungs, strict=True):
            if depth < len(row):
                its[depth] = rung + more
                row[depth] = track.lanes[depth].view(start_ps, end_ps, its[depth])
    names: dict[str, int] = {}
    rows = {
        track.head.id: [
            _lane(it, track.texts, names, start_ps, its) for it, its in zip(row, own, strict=True)
        ]
        for track, row, own in zip(tracks, slices, rungs, strict=True)
    }
    return {"start_ps": start_ps, "end_ps": end_ps, "names": list(names), "rows": rows}


def prepare(tracks: Sequence[Track], duration_ps: int) -> None:
    """Makes what the first view of the whole session needs, on screens of usual widths. The page asks for a power of
    two of picoseconds per pixel."""
    for px in (1250, 2500) if duration_ps and tracks else ():
        step = 1 << max(0, (duration_ps // px).bit_length() - 1)
        most = -(-duration_ps // step)
        run_parallel([partial(view, [track], 0, duration_ps, most) for track in tracks])
        view(tracks, 0, duration_ps, most)


def _ways_up(depths: int, rungs: int) -> Iterator[tuple[int, int]]:
    """How many rungs up, at which depth, in the order in which lanes give way."""
    for level in range(1, rungs + _DEEP_FIRST):
        for depth in reversed(range(depths)):
            more = level if depth else level - _DEEP_FIRST
            if 0 < more < rungs:
                yield more, depth


def _lane(
    slices: Slices, texts: list[str], names: dict[str, int], start_ps: int, rung: int
) -> dict[str, Any]:
    used, place = np.unique(slices.name, return_inverse=True)
    ids = np.array(
        [names.setdefault(texts[i], len(names)) if i >= 0 else -1 for i in used.tolist()], np.int64
    )
    event = slices.event
    lane: dict[str, Any] = {
        "s": np.diff(slices.start, prepend=start_ps).tolist(),
        "d": (slices.end - slices.start).tolist(),
        "n": ids[place].tolist(),
        "c": slices.kind.tolist(),
        # Rows whose slices are no events say so at each; a difference would hide it.
        "e": event.tolist() if (event < 0).any() else np.diff(event, prepend=np.int32(0)).tolist(),
    }
    if (slices.events > 1).any():
        lane["k"] = slices.events.tolist()
        lane["b"] = slices.busy.tolist()
        lane["r"] = rung
        lane["f"] = _hex(slices.fill)
    return lane


def strip(tracks: Sequence[Track], session: SessionTrace) -> dict[str, Any]:
    """One hex digit per bucket of the session: how busy each device is, and each host's class with most time."""
    duration_ps = max(1, session.duration_ps)
    hosts = [track for track in tracks if track.head.kind == "classes"]
    return {
        "buckets": _BUCKETS,
        "devices": [
            {"id": device.id, "busy": _busy(trace, device, duration_ps)}
            for trace in session.traces
            for device in trace.devices
        ],
        "host": [{"host": it.head.host, "class": _class(it, duration_ps)} for it in hosts],
    }


def _busy(trace: Trace, device: Device, duration_ps: int) -> str:
    """0 is idle, f busy throughout; a bucket with any work is 1 at least, one with any pause e at most."""
    times = busy(trace, device)
    none = np.zeros(len(times), np.int8)
    share = spread(times.start_ps, times.end_ps, none, 1, duration_ps, _BUCKETS)[0]
    digit = np.where(share >= 1, 15, np.where(share > 0, 1 + np.floor(share * 14), 0))
    return _hex(digit.astype(np.int8))


def _class(track: Track, duration_ps: int) -> str:
    lane = track.lanes[0] if track.lanes else None
    if lane is None:
        return _hex(np.full(_BUCKETS, UNRECORDED, np.int8))
    share = spread(lane.start, lane.end, lane.kind, len(CLASSES), duration_ps, _BUCKETS)
    digit = np.where(share.sum(axis=0) > 0, share.argmax(axis=0), UNRECORDED)
    return _hex(digit.astype(np.int8))


def _hex(digits: Int8) -> str:
    return _DIGITS[digits].tobytes().decode()
