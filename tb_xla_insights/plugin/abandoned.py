"""Recognises requests whose clients no longer wait for the response: the page aborts requests that it replaces."""

from __future__ import annotations

import socket

from werkzeug import wrappers

_PEEK_FLAGS = socket.MSG_PEEK | getattr(socket, "MSG_DONTWAIT", 0)
_CAN_PEEK = hasattr(socket, "MSG_DONTWAIT")  # not on Windows


def is_abandoned(request: wrappers.Request) -> bool:
    """Whether the client has closed the connection; False if the server does not expose its connections."""
    connection: socket.socket | None = request.environ.get("werkzeug.socket")
    if connection is None or not _CAN_PEEK:
        return False
    try:
        return not connection.recv(1, _PEEK_FLAGS)
    except BlockingIOError:  # open, and nothing more was sent
        return False
    except ConnectionError:
        return True
