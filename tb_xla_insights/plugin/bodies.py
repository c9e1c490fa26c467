"""Bodies of requests: how much of one is read, and what becomes of the rest."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress

from werkzeug import wrappers
from werkzeug.exceptions import HTTPException

from tb_xla_insights.errors import InputError

_LONGEST = 1 << 16
_LINGER_BYTES = 1 << 20
_LINGER_SECONDS = 1.0


class TooLargeError(InputError):
    """A body is larger than what is read."""


def body(request: wrappers.Request) -> bytes | None:
    """The body, whether or not its length is announced; None where it ends too early. Raises TooLargeError."""
    content = b""
    if (request.content_length or 0) <= _LONGEST:
        try:
            while part := request.stream.read(_LONGEST + 1 - len(content)):
                content += part
        except (OSError, ValueError, HTTPException):
            return None
        if len(content) <= _LONGEST:
            return content
    raise TooLargeError(f"the body is too large; at most {_LONGEST} bytes are read")


def may_go_on(request: wrappers.Request) -> bool:
    """Whether the client may send more than what was read, as it announced."""
    announced = request.content_length or "Transfer-Encoding" in request.headers
    return bool(announced) or request.method not in ("GET", "HEAD")


def closing(request: wrappers.Request, response: wrappers.Response) -> wrappers.Response:
    """The response, after which the connection is closed. The server by itself would read on for gigabytes."""
    # Werkzeug's own name for it; other servers do not read on.
    connection: socket.socket | None = request.environ.get("werkzeug.socket")
    if connection is None:
        return response
    content = response.get_data()

    def sent() -> Iterator[bytes]:
        yield content
        with suppress(OSError):
            _linger(connection)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    response.response = sent()
    return response


def _linger(connection: socket.socket) -> None:
    """Reads a part of what is still sent: a client that is cut off while it sends may miss the answer."""
    until, left = time.monotonic() + _LINGER_SECONDS, _LINGER_BYTES
    while left > 0 and (seconds := until - time.monotonic()) > 0:
        connection.settimeout(seconds)
        received = connection.recv(min(left, _LONGEST))
        if not received:
            return
        left -= len(received)
