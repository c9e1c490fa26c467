"""Recognises files of another format, and captures that a transfer as text has damaged."""

from __future__ import annotations

import re

from tb_xla_insights.files.source import Source

_HEAD_BYTES = 1 << 16
_LOSSY_TRANSFER = "the file {}, so numbers in it are lost; copy it again as a binary file, or capture again"
_MIN_OCCURRENCES = 8
"""How many bytes of a kind (control characters, bytes above 127, line ends) are needed to draw a conclusion."""
_COMPRESSED = "is compressed with {0}; uncompress it ({1})"
_LOG_IN = "download it again, logged in"
_FORMATS = (
    (rb"\x1f\x8b", _COMPRESSED.format("gzip", "gunzip")),
    (rb"\x28\xb5\x2f\xfd", _COMPRESSED.format("Zstandard", "unzstd")),
    (rb"BZh[1-9]", _COMPRESSED.format("bzip2", "bunzip2")),
    (rb"\xfd7zXZ\x00", _COMPRESSED.format("XZ", "unxz")),
    (rb"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f", "is a Riegeli/records file; rename it to *.xplane.riegeli"),
    (rb"PK\x03\x04", "is a ZIP archive; unpack it, and specify a .xplane.pb file in it"),
    (rb".{257}ustar", "is a tar archive; unpack it, and specify a .xplane.pb file in it"),
    (rb"version https://git-lfs", "is a Git LFS pointer, not the file itself; fetch that (git lfs pull)"),
    (rb"\s*<(!doctype html|html)", f"is a web page, such as a server's login page; {_LOG_IN}"),
    (rb"\s*<(\?xml|Error)", f"is XML, such as a store's refusal; {_LOG_IN}"),
    (rb"\s*[\[{]\s*[\[{\"]", "is JSON; specify the .xplane.pb file of the profile"),
    (rb"\xff\xfe|\xfe\xff", _LOSSY_TRANSFER.format("was written as UTF-16 text, as PowerShell redirects it")),
    (rb"[A-Za-z0-9+/]{60}[A-Za-z0-9+/=\r\n]*\Z", "is base64 text; decode it (base64 -d)"),
)
"""Patterns of a file's first bytes, and the message for each."""
_MIN_ASCII_BYTES = 4096
"""No capture begins with this many bytes below 128: the lengths of its planes and its times need higher bytes."""


def describe_wrong_format(source: Source) -> str | None:
    """A message, to follow the path, about what the file is or what happened to it, and what to do; None if the file's
    first bytes do not show that."""
    head = source.read(0, min(_HEAD_BYTES, source.size)).tobytes()
    return _other_format(head) or _lossy_transfer(head)


def _other_format(head: bytes) -> str | None:
    if head and not head.strip(b"\0"):
        return (
            "the file begins with zeros only, as after a full disk or an interrupted transfer; copy it again"
        )
    for pattern, message in _FORMATS:
        if re.match(pattern, head, re.DOTALL | re.IGNORECASE):
            return message if message.startswith("the file") else f"the file {message}"
    return None


def _lossy_transfer(head: bytes) -> str | None:
    """A message about the damage that a transfer as text has done; None if there is none.

    Nearly every length of 128 bytes or more makes a capture invalid UTF-8. So a capture that is valid UTF-8 with
    non-ASCII characters was decoded and encoded again: with replacement characters, or byte by byte. A capture without
    any byte above 127 has lost those bytes. If each line feed follows a carriage return, line ends were converted.
    """
    if _count(head, range(0x09)) < _MIN_OCCURRENCES:
        return None  # a text file, not a capture
    high_bytes = _count(head, range(0x80, 0x100))
    if high_bytes >= _MIN_OCCURRENCES and _is_utf8(head):
        return _LOSSY_TRANSFER.format("was decoded as text and written as UTF-8")
    if not high_bytes and len(head) >= _MIN_ASCII_BYTES:
        return _LOSSY_TRANSFER.format("was treated as ASCII text, and has lost its bytes above 127")
    if head.count(b"\r\n") == head.count(b"\n") >= _MIN_OCCURRENCES:
        return _LOSSY_TRANSFER.format("had its line ends converted as those of text")
    return None


def _count(head: bytes, values: range) -> int:
    """How many bytes have one of the values; a loop over the bytes would take longer than reading a small capture."""
    return len(head) - len(head.translate(None, bytes(values)))


def _is_utf8(head: bytes) -> bool:
    """Whether the bytes are UTF-8; the last character may be cut."""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True
