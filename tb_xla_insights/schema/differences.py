"""What a comparison says of a value of both sessions. Differences are B - A, ratios B / A."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import ClassName


class TimePair(TypedDict):
    """A time in both sessions."""

    a_ps: int | None
    """In A; `null` where there is none."""
    b_ps: int | None
    """In B."""
    difference_ps: int | None
    """Difference."""
    ratio: float | None
    """Ratio."""


class Judged(TypedDict):
    """What the test of chance says of a difference."""

    better: Literal["lower", "higher"] | None
    """Which way is better; `null` where neither is."""
    p: float | None
    """How often chance alone makes such a difference; `null` where it was not tested."""
    chance: float | None
    """Up to which share of A's value a difference may be chance; `null` where this one is not."""
    verdict: Literal["better", "worse", "same", "chance", "few"] | None
    """`same`: at most 3 % apart; `chance`: it may be; `few`: too few steps to tell; `null`: not tested."""


class JudgedTimePair(TimePair, Judged):
    """A time in both sessions, and what the test of chance says of the difference."""


class Measure(Judged):
    """A figure of both sessions. Times have `a_ps`, `b_ps`, `difference_ps`; others `a`, `b`, `difference`."""

    name: str
    """Name of the figure."""
    label: str
    """The same in words."""
    unit: Literal["ps", "share", "count", "rate"]
    """Unit of the values."""
    ratio: float | None
    """Ratio."""
    a_ps: NotRequired[float | None]
    """In A."""
    b_ps: NotRequired[float | None]
    """In B."""
    difference_ps: NotRequired[float | None]
    """Difference."""
    a: NotRequired[float | None]
    """In A."""
    b: NotRequired[float | None]
    """In B."""
    difference: NotRequired[float | None]
    """Difference."""


_OfClass = TypedDict("_OfClass", {"class": ClassName})


class ClassDifference(_OfClass, JudgedTimePair):
    """Mean host time per step of one class; all rows add up to the mean step."""


class GapClass(_OfClass, TimePair):
    """Idle time per step and core while the host did one thing."""
