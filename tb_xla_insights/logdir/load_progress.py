"""Progress of loading a session: reading its files, building its traces and preparing their timeline."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tb_xla_insights.logdir.read import Reading
    from tb_xla_insights.schema.session_route import LoadStage, StageProgress

_READING, _BUILDING, _DRAWING = 0.35, 0.25, 0.40
"""Each stage's share of the processor time until the timeline can be drawn. Measured with 29 M events of eight TPU
cores: 2.6, 2.0 and 3.1 s."""
_STAGE_PACE = 1.5
"""A stage without a counter is estimated from its duration: after its usual duration it has progressed to
1 - exp(-_STAGE_PACE)."""
_MIN_ESTIMATE_S = 1.0
"""Remaining time is not estimated from a shorter observation."""


class LoadProgress:
    """The loading progress of a session, computed from its hosts' readings at each call."""

    def __init__(self, hosts: Sequence[Reading], clock: Callable[[], float]) -> None:
        self._hosts, self._clock, self._started_at = hosts, clock, clock()
        self._building_since: dict[str, float] = {}
        """When each host was first seen to be read completely, by name."""
        self._drawing_since: float | None = None

    def begin_drawing(self) -> None:
        """Notes that all traces are built."""
        self._drawing_since = self._clock()

    @property
    def stage(self) -> LoadStage:
        if self._drawing_since is not None:
            return "drawing"
        return "reading" if any(host.state in ("waiting", "reading") for host in self._hosts) else "building"

    def progress(self) -> StageProgress:
        """`stage`, `done_share` (of the work) and `seconds_left`, None until it can be estimated."""
        now = self._clock()
        share = self._share_done(now)
        elapsed = now - self._started_at
        sized = all(host.is_sized for host in self._hosts)
        can_estimate = sized and share > 0 and elapsed >= _MIN_ESTIMATE_S
        seconds_left = round(elapsed * (1 - share) / share, 1) if can_estimate else None
        return {"stage": self.stage, "done_share": round(share, 4), "seconds_left": seconds_left}

    def _share_done(self, now: float) -> float:
        before = _READING + _BUILDING
        if self._drawing_since is not None:
            return before + _DRAWING * self._stage_share(now, self._drawing_since, _DRAWING / before)
        total = sum(host.bytes for host in self._hosts)
        done = sum(host.bytes * self._host_share(host, now) for host in self._hosts)
        return done / total if total else 0.0

    def _host_share(self, host: Reading, now: float) -> float:
        if host.state in ("ready", "error"):
            return _READING + _BUILDING
        if host.state == "building":
            since = self._building_since.setdefault(host.name, now)
            return _READING + _BUILDING * self._stage_share(now, since, _BUILDING / _READING)
        return _READING * min(1.0, host.bytes_read / host.bytes) if host.bytes else 0.0

    def _stage_share(self, now: float, since: float, factor: float) -> float:
        """The estimated share of a stage that is done; it usually takes `factor` times as long as all before it."""
        usual = factor * (since - self._started_at)
        return 1 - math.exp(-_STAGE_PACE * (now - since) / usual) if usual > 0 else 0.0
