"""Progress of loading a session: reading its files, building its traces and preparing their timeline."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tb_xla_insights.logdir.read_hosts import Reading
    from tb_xla_insights.schema.session_route import LoadStage, StageProgress

_READING_SHARE, _BUILDING_SHARE, _DRAWING_SHARE = 0.35, 0.25, 0.40
"""Each stage's share of the processor time until the timeline can be drawn. Measured with 29 M events of eight TPU
cores: 2.6, 2.0 and 3.1 s."""
_STAGE_PACE = 1.5
"""A stage without a counter is estimated from its duration: after its usual duration it has progressed to
1 - exp(-_STAGE_PACE)."""
_MIN_ESTIMATE_S = 1.0
"""Remaining time is not estimated from a shorter observation."""


class LoadProgress:
    """The loading progress of a session, computed from its hosts' readings at each call."""

    def __init__(self, readings: Sequence[Reading], clock: Callable[[], float]) -> None:
        self._readings, self._clock, self._started_at = readings, clock, clock()
        self._building_since: dict[str, float] = {}
        """When each host was first seen to be read completely, by name."""
        self._drawing_since: float | None = None

    def begin_drawing(self) -> None:
        """Begins the last stage: all traces are built."""
        self._drawing_since = self._clock()

    @property
    def stage(self) -> LoadStage:
        if self._drawing_since is not None:
            return "drawing"
        return (
            "reading"
            if any(reading.state in ("waiting", "reading") for reading in self._readings)
            else "building"
        )

    def progress(self) -> StageProgress:
        """`stage`, `done_share` (of the work) and `seconds_left`, None until it can be estimated."""
        now = self._clock()
        share = self._share_done(now)
        elapsed = now - self._started_at
        has_sizes = all(reading.is_sized for reading in self._readings)
        can_estimate = has_sizes and share > 0 and elapsed >= _MIN_ESTIMATE_S
        seconds_left = round(elapsed * (1 - share) / share, 1) if can_estimate else None
        return {"stage": self.stage, "done_share": round(share, 4), "seconds_left": seconds_left}

    def _share_done(self, now: float) -> float:
        if self._drawing_since is not None:
            share_before = _READING_SHARE + _BUILDING_SHARE
            ratio = _DRAWING_SHARE / share_before
            return share_before + _DRAWING_SHARE * self._stage_share(now, self._drawing_since, ratio)
        total = sum(reading.bytes for reading in self._readings)
        done = sum(reading.bytes * self._host_share(reading, now) for reading in self._readings)
        return done / total if total else 0.0

    def _host_share(self, reading: Reading, now: float) -> float:
        if reading.state in ("ready", "error"):
            return _READING_SHARE + _BUILDING_SHARE
        if reading.state == "building":
            since = self._building_since.setdefault(reading.name, now)
            ratio = _BUILDING_SHARE / _READING_SHARE
            return _READING_SHARE + _BUILDING_SHARE * self._stage_share(now, since, ratio)
        return _READING_SHARE * min(1.0, reading.bytes_read / reading.bytes) if reading.bytes else 0.0

    def _stage_share(self, now: float, since: float, ratio: float) -> float:
        """The estimated share of a stage that is done. It began at `since`, and usually takes `ratio` times as long as
        all stages before it."""
        usual_duration = ratio * (since - self._started_at)
        return 1 - math.exp(-_STAGE_PACE * (now - since) / usual_duration) if usual_duration > 0 else 0.0
