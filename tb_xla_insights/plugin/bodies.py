"""Reads request bodies up to a limit, and closes connections that would send more."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress

from werkzeug import wrappers
from werkzeug.exceptions import HTTPException

from tb_xla_insights.errors import InputError

_MAX_BODY_BYTES = 1 << 16
_LINGER_BYTES = 1 << 20
_LINGER_SECONDS = 1.0
"""The limits of what is read of a remaining body."""


class TooLargeError(InputError):
    """A request's body exceeds the limit."""


def read_body(request: wrappers.Request) -> bytes | None:
    """The body, whether or not its length is announced; None if it ends early. Raises TooLargeError."""
    content = b""
    if (request.content_length or 0) <= _MAX_BODY_BYTES:
        try:
            while chunk := request.stream.read(_MAX_BODY_BYTES + 1 - len(content)):
                content += chunk
        except (OSError, ValueError, HTTPException):
            return None
        if len(content) <= _MAX_BODY_BYTES:
            return content
    raise TooLargeError(f"the body is too large; at most {_MAX_BODY_BYTES} bytes are read")


def may_have_more(request: wrappers.Request) -> bool:
    """Whether the request's headers or method allow more content than was read."""
    announced = request.content_length or "Transfer-Encoding" in request.headers
    return bool(announced) or request.method not in ("GET", "HEAD")


def close_after(request: wrappers.Request, response: wrappers.Response) -> wrappers.Response:
    """The response, with the connection closed after it; the server would otherwise read the rest of the body, even
    gigabytes."""
    # Set by Werkzeug's server; other servers do not read the rest.
    connection: socket.socket | None = request.environ.get("werkzeug.socket")
    if connection is None:
        return response
    content = response.get_data()

    def send_and_close() -> Iterator[bytes]:
        yield content
        with suppress(OSError):
            _linger(connection)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    response.response = send_and_close()
    return response


def _linger(connection: socket.socket) -> None:
    """Reads part of the remaining body: a client that is cut off while it sends may miss the response."""
    deadline, bytes_left = time.monotonic() + _LINGER_SECONDS, _LINGER_BYTES
    while bytes_left > 0 and (seconds := deadline - time.monotonic()) > 0:
        connection.settimeout(seconds)
        received = connection.recv(min(bytes_left, _MAX_BODY_BYTES))
        if not received:
            return
        bytes_left -= len(received)
