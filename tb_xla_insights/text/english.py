"""Parts of English sentences: counts, lists of words, capital letters, emphasis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tb_xla_insights.text.units import count


@dataclass(frozen=True)
class Sentence:
    """A sentence, as the clause that it is within another one: without its full stop, and with a small first letter
    unless that is a name's. `begins_with_name`: whether a small first letter is a name's and stays at the beginning.
    `lead`: what precedes the clause and a colon."""

    clause: str
    begins_with_name: bool = False
    lead: str = ""

    def __str__(self) -> str:
        if self.lead:
            return f"{upper_first(self.lead)}: {self.clause}."
        return f"{self.clause if self.begins_with_name else upper_first(self.clause)}."

    def continued(self, text: str) -> Sentence:
        """The sentence with some text before its full stop."""
        return replace(self, clause=f"{self.clause}{text}")


@dataclass(frozen=True)
class Phrase:
    """A noun phrase: the least that it says, and details: `the host` and `, which builds the graph`."""

    short: str
    details: str = ""

    def __str__(self) -> str:
        return f"{self.short}{self.details}"


def sentences(*parts: Sentence | str) -> tuple[Sentence, ...]:
    """Sentences, given also as their clauses; empty ones are left out."""
    return tuple(part if isinstance(part, Sentence) else Sentence(part) for part in parts if part)


def plural(number: int, singular: str, plural_form: str | None = None) -> str:
    """`1 gap`, `12 gaps`."""
    return f"{count(number)} {singular if number == 1 else plural_form or singular + 's'}"


def join_words(names: Sequence[str], conjunction: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f" {conjunction} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def upper_first(text: str) -> str:
    """The text with a capital first letter, for the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def mean_text(number: float) -> str:
    """A mean count: `4`, `6.5`."""
    return f"{number:.1f}".removesuffix(".0")


class Bold(str):
    """A part of a sentence that is emphasised."""

    __slots__ = ()


def sentence_parts(pieces: Iterable[str]) -> list[str]:
    """The pieces of a sentence as parts, every second of which is emphasised; the first one is not, and may be
    empty."""
    parts = [""]
    for piece in pieces:
        is_bold = isinstance(piece, Bold)
        if is_bold == (len(parts) % 2 == 0):
            parts[-1] += piece
        else:
            parts.append(str(piece))
    return parts
