"""The slices of rows in a window, and the overview strip of the whole session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.idle.busy import busy
from tb_xla_insights.arrays import Int8
from tb_xla_insights.catalog.classes import CLASSES, UNRECORDED
from tb_xla_insights.system.parallel import run_parallel
from tb_xla_insights.timeline.pyramid.pyramid import Slices, class_shares, level_of_window
from tb_xla_insights.timeline.slow_steps import slowest_steps, step_parts
from tb_xla_insights.timeline.tracks import Track
from tb_xla_insights.trace.device import Device
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.session_route import OverviewStrip
    from tb_xla_insights.schema.timeline_route import LaneSlices, TimelineSlices

_BUCKETS = 1000
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)

_MAX_SLICES = 4200
"""A slice takes about 12 bytes of a compressed answer, which should stay below 60 kB."""
_OUTERMOST_DELAY = 2
"""By how many levels the outermost lanes lag behind the deeper ones as they become coarser."""
_MAX_COARSENING = 12
"""The highest number of levels by which a lane becomes coarser than the window's level."""
_MAX_LEVEL = 62


def view(tracks: Sequence[Track], start_ps: int, end_ps: int, px: int) -> TimelineSlices:
    """The slices of these rows that touch the window, in the page's protocol.

    Neighbours below 2 px are merged. If that leaves too many slices for a slow connection, lanes are drawn at coarser
    levels, one level at a time: the deepest lanes first, whose slices are the smallest, the outermost last. Of many
    steps, the slowest one per pixel is a slice.
    """
    level = level_of_window(end_ps - start_ps, px)
    slices = [[lane.view(start_ps, end_ps, level) for lane in track.lanes] for track in tracks]
    levels = [[level] * len(track.lanes) for track in tracks]
    depths = max((len(track.lanes) for track in tracks), default=0)
    for coarsening, depth in _coarsenings(depths, min(_MAX_COARSENING, _MAX_LEVEL - level)):
        if sum(len(lane_slices.start) for lane_slices in chain.from_iterable(slices)) <= _MAX_SLICES:
            break
        for track, slices_of_track, levels_of_track in zip(tracks, slices, levels, strict=True):
            if depth < len(slices_of_track):
                levels_of_track[depth] = level + coarsening
                slices_of_track[depth] = track.lanes[depth].view(start_ps, end_ps, levels_of_track[depth])
    names: dict[str, int] = {}
    rows = {
        track.head.id: [
            _lane_json(lane_slices, track.texts, names, start_ps, lane_level)
            for lane_slices, lane_level in zip(slices_of_track, levels_of_track, strict=True)
        ]
        for track, slices_of_track, levels_of_track in zip(tracks, slices, levels, strict=True)
    }
    for track in tracks:
        steps = slowest_steps(track.lanes[0], start_ps, end_ps, px) if track.head.kind == "steps" else None
        if steps is not None:
            slowest = track.lanes[0].at(steps)
            lane = _lane_json(slowest, track.texts, names, start_ps, level)
            lane["p"] = step_parts(track.trace, slowest.name)
            rows[track.head.id][0] = lane
    return {"start_ps": start_ps, "end_ps": end_ps, "names": list(names), "rows": rows}


def prepare(tracks: Sequence[Track], duration_ps: int) -> None:
    """Computes the levels that the first view of the whole session needs, for usual screen widths. The page requests
    windows with a power of two of picoseconds per pixel."""
    for px in (1250, 2500) if duration_ps and tracks else ():
        ps_per_pixel = 1 << max(0, (duration_ps // px).bit_length() - 1)
        width = -(-duration_ps // ps_per_pixel)
        run_parallel([partial(view, [track], 0, duration_ps, width) for track in tracks])
        view(tracks, 0, duration_ps, width)


def _coarsenings(depths: int, max_coarsening: int) -> Iterator[tuple[int, int]]:
    """Yields (number of levels coarser than the window's, depth) in the order in which the lanes of `depths` depths
    become coarser, each up to `max_coarsening` levels."""
    for round_number in range(1, max_coarsening + _OUTERMOST_DELAY + 1):
        for depth in reversed(range(depths)):
            coarsening = round_number if depth else round_number - _OUTERMOST_DELAY
            if 0 < coarsening <= max_coarsening:
                yield coarsening, depth


def _lane_json(
    slices: Slices, texts: list[str], names: dict[str, int], start_ps: int, level: int
) -> LaneSlices:
    name_ids, index = np.unique(slices.name, return_inverse=True)
    ids = np.array(
        [names.setdefault(texts[i], len(names)) if i >= 0 else -1 for i in name_ids.tolist()], np.int64
    )
    event = slices.event
    lane: LaneSlices = {
        "s": np.diff(slices.start, prepend=start_ps).tolist(),
        "d": (slices.end - slices.start).tolist(),
        "n": ids[index].tolist(),
        "c": slices.class_index.tolist(),
        # Rows whose slices are no events send -1 for each slice; differences would hide the -1.
        "e": event.tolist() if (event < 0).any() else np.diff(event, prepend=np.int32(0)).tolist(),
    }
    if (slices.events > 1).any():
        lane["k"] = slices.events.tolist()
        lane["b"] = slices.busy.tolist()
        lane["r"] = level
        lane["f"] = _hex(slices.fill)
    return lane


def overview(tracks: Sequence[Track], session: SessionTrace) -> OverviewStrip:
    """One hex digit per bucket of the session: the busy share of each device, and for each host the class with
    most time."""
    duration_ps = max(1, session.duration_ps)
    hosts = [track for track in tracks if track.head.kind == "classes"]
    return {
        "buckets": _BUCKETS,
        "devices": [
            {"id": device.id, "busy": _busy_digits(trace, device, duration_ps)}
            for trace in session.traces
            for device in trace.devices
        ],
        "host": [{"host": track.head.host, "class": _class_digits(track, duration_ps)} for track in hosts],
    }


def _busy_digits(trace: Trace, device: Device, duration_ps: int) -> str:
    """The device's busy share per bucket: 0 is idle, f busy throughout; a bucket with any work is at least 1, one with
    any pause at most e."""
    times = busy(trace, device)
    no_classes = np.zeros(len(times), np.int8)
    share = class_shares(times.start_ps, times.end_ps, no_classes, 1, duration_ps, _BUCKETS)[0]
    digit = np.where(share >= 1, 15, np.where(share > 0, 1 + np.floor(share * 14), 0))
    return _hex(digit.astype(np.int8))


def _class_digits(track: Track, duration_ps: int) -> str:
    lane = track.lanes[0] if track.lanes else None
    if lane is None:
        return _hex(np.full(_BUCKETS, UNRECORDED, np.int8))
    share = class_shares(lane.start, lane.end, lane.class_index, len(CLASSES), duration_ps, _BUCKETS)
    digit = np.where(share.sum(axis=0) > 0, share.argmax(axis=0), UNRECORDED)
    return _hex(digit.astype(np.int8))


def _hex(digits: Int8) -> str:
    return _DIGITS[digits].tobytes().decode()
