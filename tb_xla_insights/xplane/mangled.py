"""Whether a damaged file was taken for text on its way: what a transfer as text leaves of a binary file."""

from __future__ import annotations

from tb_xla_insights.xplane.source import Source

_LOOKED_AT = 1 << 16
_SAID = "the file {}, so numbers in it are lost; copy it again as a binary file, or capture again"
_FEWEST = 8
"""Signs of it, in a file that is damaged anyway."""


def mangled(source: Source) -> str | None:
    """What was done to the file and what to do, to be said after its path; None where nothing tells of it.

    Nearly every length of 128 bytes or more makes a capture invalid as UTF-8, so one that is valid, with other
    characters than ASCII in it, was decoded and written again: with replacement characters, or byte by byte. Where each
    line feed follows a carriage return, line ends were converted.
    """
    head = source.read(0, min(_LOOKED_AT, source.size)).tobytes()
    if sum(byte < 0x09 for byte in head) < _FEWEST:
        return None  # text is text
    if sum(byte >= 0x80 for byte in head) >= _FEWEST and _is_utf8(head):
        return _SAID.format("was decoded as text and written as UTF-8")
    if head.count(b"\r\n") == head.count(b"\n") >= _FEWEST:
        return _SAID.format("had its line ends converted as those of text")
    return None


def _is_utf8(head: bytes) -> bool:
    """Whether the bytes are UTF-8, but for a character that the end cuts."""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True
