"""Text as it may be shown: what a terminal obeys, or nobody can see, stands there as an escape."""

from __future__ import annotations

import re
import unicodedata


class _Escapes(dict[int, str]):
    """For `str.translate`: a character as it is, or its escape; known once asked for."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        shown = character if _is_seen(character) else character.encode("unicode_escape").decode()
        self[code] = shown
        return shown


def _is_seen(character: str) -> bool:
    """Unicode's categories Other and Separator are not, spaces between words are."""
    return character.isprintable() or unicodedata.category(character) == "Zs"


_ESCAPES = _Escapes()
_UNUSUAL = re.compile(r"[^ -~\n]")


def escape_text(text: str) -> str:
    """The text with escapes as Python writes them (`\\x1b`, `\\n`, `\\u202e`) in the place of control characters, line
    ends, marks of direction, characters without width, halves of pairs, and what no standard describes.

    A backslash stays one, so that text which is visible does not change: neither paths of Windows nor what was escaped
    before.
    """
    return text if text.isprintable() else text.translate(_ESCAPES)


def escape_json(text: str) -> str:
    """The same of JSON in lines: with JSON's escapes, so that whoever reads it gets what was written."""
    return _UNUSUAL.sub(lambda it: it[0] if _is_seen(it[0]) else _of_json(it[0]), text)


def _of_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
