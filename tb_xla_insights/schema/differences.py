"""A value in both sessions of a comparison. Differences are B - A, ratios B / A."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from tb_xla_insights.catalog.classes import ClassName
from tb_xla_insights.columns.head import Head

TestVerdict = Literal["better", "worse", "same", "chance", "few"]

BetterDirection = Literal["lower", "higher"]

MeasureUnit = Literal["ps", "share", "count", "rate"]
"""Picoseconds, a share from 0 to 1, a number, or samples per second."""


class BothTimes(TypedDict):
    """A time in both sessions."""

    a_ps: Annotated[int | None, Head("A")]
    """In A; `null` if there is none."""
    b_ps: Annotated[int | None, Head("B")]
    """In B; `null` if there is none."""


class TimePair(BothTimes):
    """A time in both sessions."""

    difference_ps: Annotated[int | None, Head("B − A", "change", priority=1)]
    """B − A; `null` if either is."""
    ratio: Annotated[float | None, Head("B / A")]
    """B / A; `null` if either is, or A is 0."""


class Tested(TypedDict):
    """Result of the significance test for a difference."""

    better: BetterDirection | None
    """Which direction is better; `null` if neither is."""
    p: float | None
    """Probability that chance alone causes such a difference; `null` where it was not tested."""
    chance: float | None
    """Largest difference, as a share of A's value, that may be chance; `null` if the tested difference is larger, if
    none was tested, if A is 0, and in `device_work`, whose rows are tested together."""
    verdict: Annotated[TestVerdict | None, Head("")]
    """`better` or `worse`: B than A; `same`: at most 3 % apart; `chance`: may be chance; `few`: too few steps to test;
    `null`: not tested, or neither direction is better."""


class TestedTimePair(TimePair, Tested):
    """A time in both sessions, and the result of the significance test for the difference."""


class BothFigures(TypedDict):
    """A figure in both sessions, and its change."""

    name: str
    """Name of the figure."""
    label: Annotated[str, Head("Measure")]
    """The same as text."""
    unit: MeasureUnit
    """Unit of the values: `ps`, a `share` from 0 to 1, a `count`, or a `rate` in samples per second."""
    a_ps: NotRequired[int | None]
    """In A; `null` if not known."""
    b_ps: NotRequired[int | None]
    """In B; `null` if not known."""
    difference_ps: NotRequired[int | None]
    """B − A; `null` if either is."""
    a: Annotated[NotRequired[float | None], Head("A", "number")]
    """In A; `null` if not known."""
    b: Annotated[NotRequired[float | None], Head("B", "number")]
    """In B; `null` if not known."""
    difference: NotRequired[float | None]
    """B − A; `null` if either is."""
    ratio: Annotated[float | None, Head("B / A")]
    """B / A; `null` if either is, or A is 0."""


class Measure(BothFigures, Tested):
    """A figure of both sessions. Times have `a_ps`, `b_ps`, `difference_ps`; others `a`, `b`, `difference`."""


ClassKey = TypedDict("ClassKey", {"class": ClassName})


class ClassDifference(ClassKey, TestedTimePair):
    """Mean host time per step of one class, `null` in a session without steps; all rows add up to the mean step."""


class GapClass(ClassKey, TimePair):
    """Idle time per step and core during which the host was in one class."""
