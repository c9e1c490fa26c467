"""How much of the wait for a session is over: reading its files, building their traces and preparing to draw them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tb_xla_insights.logdir.read import Reading

Stage = Literal["reading", "building", "drawing"]

_READING, _BUILDING, _DRAWING = 0.35, 0.25, 0.40
"""What each takes of the processor time until the timeline can be drawn: of 29 M events of eight TPU cores 2.6, 2.0 and
3.1 s."""
_PACE = 1.5
"""A stage that cannot count what it has done is told by its time: in that which it usually takes it comes to
1 - exp(-_PACE) of its part."""
_ESTIMATE_AFTER_SECONDS = 1.0
"""An estimate from less time is a guess."""


class LoadProgress:
    """Looks at the readings of a session's hosts, each time that somebody asks."""

    def __init__(self, hosts: Sequence[Reading], clock: Callable[[], float]) -> None:
        self._hosts, self._clock, self._began = hosts, clock, clock()
        self._built: dict[str, float] = {}
        """When each host was seen to be read as a whole, by name."""
        self._drawn: float | None = None

    def draw(self) -> None:
        """Says that all traces are there."""
        self._drawn = self._clock()

    @property
    def stage(self) -> Stage:
        if self._drawn is not None:
            return "drawing"
        return "reading" if any(it.state in ("waiting", "reading") for it in self._hosts) else "building"

    def progress(self) -> dict[str, Any]:
        """`stage`, `part` of the wait that is over, from 0 to 1, and `seconds_left`, None while that is a guess."""
        now = self._clock()
        part = self._part(now)
        sized = all(host.is_sized for host in self._hosts)
        known = sized and part > 0 and now - self._began >= _ESTIMATE_AFTER_SECONDS
        left = round((now - self._began) * (1 - part) / part, 1) if known else None
        return {"stage": self.stage, "part": round(part, 4), "seconds_left": left}

    def _part(self, now: float) -> float:
        before = _READING + _BUILDING
        if self._drawn is not None:
            return before + _DRAWING * self._over(now, self._drawn, _DRAWING / before)
        total = sum(host.bytes for host in self._hosts)
        return sum(host.bytes * self._part_of(host, now) for host in self._hosts) / total if total else 0.0

    def _part_of(self, host: Reading, now: float) -> float:
        if host.state in ("ready", "error"):
            return _READING + _BUILDING
        if host.state == "building":
            since = self._built.setdefault(host.name, now)
            return _READING + _BUILDING * self._over(now, since, _BUILDING / _READING)
        return _READING * min(1.0, host.bytes_read / host.bytes) if host.bytes else 0.0

    def _over(self, now: float, since: float, times: float) -> float:
        """How much of a stage is over that takes so many times as long as all before it."""
        usual = times * (since - self._began)
        return 1 - math.exp(-_PACE * (now - since) / usual) if usual > 0 else 0.0
