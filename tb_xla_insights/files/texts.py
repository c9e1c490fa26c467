"""Text files that users and programs write: read up to a size limit, also from pipes and devices."""

from __future__ import annotations

import codecs
import json
import os
import stat
from typing import Any, NoReturn

MAX_TEXT_BYTES = 8_000_000
"""The size limit of one file."""


_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class TextError(ValueError):
    """Why a file is not valid text, as a short phrase; `at` is the position, such as `, line 3, column 2`, empty if
    unknown."""

    def __init__(self, reason: str, at: str = "") -> None:
        super().__init__(reason)
        self.at = at


def read_text(path: str) -> str:
    """The text of a local file of at most `MAX_TEXT_BYTES`, in UTF-8 or as its byte order mark says.

    A pipe is read to its end, and is empty without a writer; a device is read up to the limit. Raises TextError and
    OSError.
    """
    with open(path, "rb", buffering=0, opener=_open_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size <= MAX_TEXT_BYTES:
            if hasattr(os, "O_NONBLOCK"):
                os.set_blocking(file.fileno(), True)
            content = bytearray()
            while chunk := file.read(MAX_TEXT_BYTES + 1 - len(content)):
                content += chunk
            if len(content) <= MAX_TEXT_BYTES:
                return decode_text(bytes(content))
    raise TextError(f"larger than {MAX_TEXT_BYTES // 10**6} MB")


def _open_without_waiting(path: str, flags: int) -> int:
    """Opens a file; a pipe also without a writer, for which opening would otherwise wait. Windows has no such flag."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def decode_text(content: bytes, errors: str = "strict") -> str:
    """Decodes a file: UTF-8, or as its byte order mark says (PowerShell redirects output as UTF-16). Raises
    TextError."""
    mark, encoding = next((row for row in _BYTE_ORDER_MARKS if content.startswith(row[0])), (b"", "utf-8"))
    try:
        return content[len(mark) :].decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise TextError("not UTF-8 or UTF-16 text", f", byte {len(mark) + error.start}") from None


def parse_json(text: str | bytes) -> Any:
    """Parses JSON. Raises TextError, also for what Python's parser accepts (`NaN`, `Infinity`) or fails at with other
    exceptions (numbers of thousands of digits, thousands of nested values)."""
    try:
        return _DECODER.decode(
            text if isinstance(text, str) else text.decode(json.detect_encoding(text), "surrogatepass")
        )
    except json.JSONDecodeError as error:
        raise TextError(error.msg, f", line {error.lineno}, column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise TextError("not UTF-8 text", f", byte {error.start}") from None
    except RecursionError:
        raise TextError("nested too deeply") from None
    except TextError:
        raise
    except ValueError:
        raise TextError("a number has too many digits") from None


def _refuse(name: str) -> NoReturn:
    raise TextError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
"""Made once: logs have many small documents."""
