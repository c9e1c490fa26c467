"""What a damaged file is: another format, or what a transfer as text leaves of a capture."""

from __future__ import annotations

import re

from tb_xla_insights.files.source import Source

_LOOKED_AT = 1 << 16
_SAID = "the file {}, so numbers in it are lost; copy it again as a binary file, or capture again"
_FEWEST = 8
"""Signs of it, in a file that is damaged anyway."""
_PACKED = "is compressed with {0}; uncompress it ({1})"
_DOWNLOAD = "download it again, logged in"
_FORMATS = (
    (rb"\x1f\x8b", _PACKED.format("gzip", "gunzip")),
    (rb"\x28\xb5\x2f\xfd", _PACKED.format("Zstandard", "unzstd")),
    (rb"BZh[1-9]", _PACKED.format("bzip2", "bunzip2")),
    (rb"\xfd7zXZ\x00", _PACKED.format("XZ", "unxz")),
    (rb"PK\x03\x04", "is a ZIP archive; unpack it, and name a .xplane.pb file in it"),
    (rb".{257}ustar", "is a tar archive; unpack it, and name a .xplane.pb file in it"),
    (rb"version https://git-lfs", "is a Git LFS pointer, not the file itself; fetch that (git lfs pull)"),
    (rb"\s*<(!doctype html|html)", f"is a web page, as a server sends that wants a login; {_DOWNLOAD}"),
    (rb"\s*<(\?xml|Error)", f"is XML, as a store answers that refuses; {_DOWNLOAD}"),
    (rb"\s*[\[{]\s*[\[{\"]", "is JSON; name the .xplane.pb file of the profile"),
    (rb"\xff\xfe|\xfe\xff", _SAID.format("was written as UTF-16 text, as PowerShell redirects it")),
    (rb"[A-Za-z0-9+/]{60}[A-Za-z0-9+/=\r\n]*\Z", "is base64 text; decode it (base64 -d)"),
)
"""What a file begins with, and what it is then."""
_TAKEN_FOR_TEXT = 4096
"""No capture has so many bytes below 128 in a row and control characters among them: times do not fit."""


def identify_damage(source: Source) -> str | None:
    """What a damaged file is, or what was done to it, and what to do, to be said after its path; None where nothing
    tells of it."""
    head = source.read(0, min(_LOOKED_AT, source.size)).tobytes()
    return _other_format(head) or _mangled(head)


def _other_format(head: bytes) -> str | None:
    if head and not head.strip(b"\0"):
        return (
            "the file begins with zeros alone, as where a disk was full or a transfer was cut; copy it again"
        )
    for begins, what in _FORMATS:
        if re.match(begins, head, re.DOTALL | re.IGNORECASE):
            return what if what.startswith("the file") else f"the file {what}"
    return None


def _mangled(head: bytes) -> str | None:
    """What a transfer as text has done.

    Nearly every length of 128 bytes or more makes a capture invalid as UTF-8, so one that is valid, with other
    characters than ASCII in it, was decoded and written again: with replacement characters, or byte by byte. One
    without any byte above 127 lost them. Where each line feed follows a carriage return, line ends were converted.
    """
    if sum(byte < 0x09 for byte in head) < _FEWEST:
        return None  # text is text
    high = sum(byte >= 0x80 for byte in head)
    if high >= _FEWEST and _is_utf8(head):
        return _SAID.format("was decoded as text and written as UTF-8")
    if not high and len(head) >= _TAKEN_FOR_TEXT:
        return _SAID.format("was taken for ASCII text, and has lost its bytes above 127")
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
