"""The static copy of a session: the packed page with what its routes answered, in one HTML file."""

from __future__ import annotations

import base64
import os.path
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tb_xla_insights.errors import InputError
from tb_xla_insights.page.folder import page_folder
from tb_xla_insights.page.packed import read_static_page
from tb_xla_insights.static_copy.recorder import RouteRecorder
from tb_xla_insights.text.json_text import json_bytes

if TYPE_CHECKING:
    from tb_xla_insights.logdir.opened_session import OpenedSession
    from tb_xla_insights.logdir.sessions import SessionFiles

MAX_BYTES = 10_000_000
"""The most that a copy takes: as much as mail servers accept."""
_CHUNK_BYTES = 1 << 16
_PLACE = b"@answers@"
"""Where `pack.js` leaves room for the answers."""


def packed_page() -> bytes:
    """The page without answers. Raises InputError if it is not packed."""
    folder = page_folder()
    page = read_static_page(folder)
    if page is None:
        raise InputError(
            f"{folder}: the page is not packed; run npm ci && npm run pack in {folder.parent}, or install a wheel"
        )
    return page


def static_copy(page: bytes, files: SessionFiles, opened: OpenedSession, max_bytes: int = MAX_BYTES) -> bytes:
    """The packed page with as many answers about a session as fit into `max_bytes`."""
    # Three bytes are four letters in base64.
    answers = _packed_answers(files, opened, (max_bytes - len(page)) // 4 * 3)
    return page.replace(_PLACE, base64.b64encode(answers))


def _packed_answers(files: SessionFiles, opened: OpenedSession, max_bytes: int) -> bytes:
    """Requests and answers, a line of JSON each, compressed: as many as fit into `max_bytes`."""
    compressor, packed = zlib.compressobj(9), b""
    for chunk in _chunks(_lines(files, opened)):
        longer = compressor.copy()
        added = longer.compress(chunk) + longer.flush(zlib.Z_SYNC_FLUSH)
        if len(packed) + len(added) + len(longer.copy().flush()) > max_bytes:
            break
        compressor, packed = longer, packed + added
    return packed + compressor.flush()


def _chunks(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Lines together, as many as compress well."""
    chunk = b""
    for line in lines:
        chunk += line
        if len(chunk) >= _CHUNK_BYTES:
            yield chunk
            chunk = b""
    yield chunk


def _lines(files: SessionFiles, opened: OpenedSession) -> Iterator[bytes]:
    # Who opens the copy does not have the files, and their folder is nobody else's concern.
    folder, name = (json_bytes(text)[1:-1] for text in (files.path, os.path.basename(files.path)))
    for request, document in RouteRecorder(files, opened).answers():
        answer = json_bytes(document).replace(folder + b"/", b"").replace(folder, name)
        yield json_bytes(request) + b"\n" + answer + b"\n"
