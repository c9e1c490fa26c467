"""Parts of English sentences: counts, lists of words, capital letters."""

from __future__ import annotations

from collections.abc import Sequence

from tb_xla_insights.units import count


def plural(number: int, singular: str, plural_form: str | None = None) -> str:
    """`1 gap`, `12 gaps`."""
    return f"{count(number)} {singular if number == 1 else plural_form or singular + 's'}"


def join_words(names: Sequence[str], conjunction: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f" {conjunction} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def lower_first(text: str) -> str:
    """The text with a lower-case first letter, for use within a sentence."""
    return text[:1].lower() + text[1:]


def upper_first(text: str) -> str:
    """The text with a capital first letter, for the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def mean_text(number: float) -> str:
    """A mean count: `4`, `6.5`."""
    return f"{number:.1f}".removesuffix(".0")
