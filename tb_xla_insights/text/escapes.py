"""Text that is safe to show: control and invisible characters are replaced by escapes."""

from __future__ import annotations

import re
import unicodedata


class _Escapes(dict[int, str]):
    """A table for `str.translate` that maps a character to itself or to its escape; filled on demand."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        shown = character if _is_visible(character) else character.encode("unicode_escape").decode()
        self[code] = shown
        return shown


def _is_visible(character: str) -> bool:
    """Whether a character can be shown: not of Unicode's categories Other and Separator, except space separators."""
    return character.isprintable() or unicodedata.category(character) == "Zs"


_ESCAPES = _Escapes()
_NOT_ASCII_TEXT = re.compile(r"[^ -~\n]")


def escape_text(text: str) -> str:
    """Replaces control characters, line ends, direction marks, zero-width characters, lone surrogates and unassigned
    code points by Python's escapes (`\\x1b`, `\\n`, `\\u202e`).

    A backslash is left alone, so visible text does not change: neither Windows paths nor text that was escaped before.
    """
    return text if text.isprintable() else text.translate(_ESCAPES)


def escape_json(text: str) -> str:
    """`escape_text` for indented JSON: uses JSON's escapes, so that parsers get the original strings."""
    return _NOT_ASCII_TEXT.sub(
        lambda match: match[0] if _is_visible(match[0]) else _json_escape(match[0]), text
    )


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[index] << 8 | units[index + 1]:04x}" for index in range(0, len(units), 2))
