"""Bodies of requests, most of them to a real server on the loopback interface: read up to a limit, then cut off; and
clients that have disconnected."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import repeat
from pathlib import Path

import pytest
from test_plugin import BASE, PAGE_HEADERS, tensorboard
from werkzeug.serving import make_server
from werkzeug.test import Client

LIMIT = 1 << 16
TOO_LARGE = (413, "the body is too large; at most 65536 bytes are read")
NO_OBJECT = (400, "data/capture_cancel: the body must be a JSON object of strings and integers")
MAX_SENT_BYTES = 200 * 10**6
"""How much of an endless body a test sends before it gives up."""


@pytest.fixture
def client(logdir: Path) -> Client:
    return tensorboard("--logdir", str(logdir))


@pytest.fixture
def port(client: Client, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    # Only the limit in bytes ends the reading of the rest, so that a slow client is not cut off.
    monkeypatch.setattr("tb_xla_insights.plugin.bodies._LINGER_SECONDS", 60)
    server = make_server("127.0.0.1", 0, client.application, threaded=True)
    threading.Thread(target=server.serve_forever, args=(0.02,)).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def answer_to(
    port: int, parts: Iterator[bytes], *headers: str, method: str = "POST"
) -> tuple[int, str | None, bool]:
    """The status, the error or None, and whether the connection was cut while the body was still being sent.

    The second part of a body is sent once the answer has arrived, as the cut would discard an answer on its way.
    """
    header_lines = [f"{name}: {value}" for name, value in PAGE_HEADERS.items()]
    head = [f"{method} {BASE}/data/{'capture_cancel' if method == 'POST' else 'sessions'} HTTP/1.1", *header_lines,
            "Content-Type: application/json", *headers, "", ""]  # fmt: skip
    received = bytearray()
    answered, sent_all = threading.Event(), threading.Event()

    def send() -> None:
        sent = 0
        with suppress(OSError):
            while sent < MAX_SENT_BYTES and (part := next(parts, b"")):
                assert not sent or answered.wait(60)
                connection.sendall(part)
                sent += len(part)
            sent_all.set()
            connection.shutdown(socket.SHUT_WR)

    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        connection.sendall("\r\n".join(head).encode())
        sender = threading.Thread(target=send)
        sender.start()
        with suppress(ConnectionError):
            while chunk := connection.recv(1 << 16):
                received.extend(chunk)
                if received.endswith(b"}"):
                    answered.set()
        # The server has closed the connection. A sender that waits for space in the server's buffer would otherwise
        # learn that from the operating system, after a minute.
        cut = not sent_all.is_set()
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        sender.join()
    answer_head, _, content = received.partition(b"\r\n\r\n")
    return int(answer_head.split()[1]), json.loads(content).get("error"), cut


def test_the_largest_body(client: Client) -> None:
    for size, status in ((LIMIT, 200), (LIMIT + 1, 413)):
        content = b"{" + b" " * (size - 2) + b"}"
        answer = client.post(
            f"{BASE}/data/capture_cancel",
            headers={**PAGE_HEADERS, "Content-Type": "application/json"},
            data=content,
        )
        assert answer.status_code == status


def test_a_body_in_chunks(port: int) -> None:
    chunks = "Transfer-Encoding: chunked"
    assert answer_to(port, iter([b"2\r\n{}\r\n0\r\n\r\n"]), chunks)[:2] == (200, None)
    assert answer_to(port, iter([b"2\r\n[]\r\n0\r\n\r\n"]), chunks)[:2] == NO_OBJECT
    assert answer_to(port, iter([b"no length\r\n"]), chunks)[:2] == NO_OBJECT


def test_a_chunk_that_is_shorter_than_announced(port: int) -> None:
    """Werkzeug pads a short body, so a few bytes could fill the memory."""
    assert answer_to(port, iter([b"ffffffffffffffff\r\n{}"]), "Transfer-Encoding: chunked")[:2] == TOO_LARGE


def test_a_body_without_an_end(port: int) -> None:
    endless = repeat(bytes(10**6))
    chunks = repeat(b"F4240\r\n" + bytes(10**6) + b"\r\n")
    assert answer_to(port, endless, "Content-Length: 10000000000") == (*TOO_LARGE, True)
    assert answer_to(port, chunks, "Transfer-Encoding: chunked") == (*TOO_LARGE, True)
    assert answer_to(port, endless, "Content-Length: 2") == (*NO_OBJECT, True)
    assert answer_to(port, endless) == (200, None, True)
    assert answer_to(port, endless, "Content-Length: 10000000000", method="GET") == (200, None, True)


def test_a_client_that_sends_slightly_too_much_gets_the_response(port: int) -> None:
    assert answer_to(port, iter([bytes(10**6)]), "Content-Length: 1000000")[:2] == TOO_LARGE


def test_nothing_is_computed_for_a_client_that_has_disconnected(client: Client) -> None:
    def answer() -> tuple[int, dict[str, object]]:
        response = client.get(f"{BASE}/data/sessions", environ_overrides={"werkzeug.socket": server_end})
        return response.status_code, json.loads(response.data)

    client_end, server_end = socket.socketpair()
    with server_end:
        with client_end:
            assert answer()[0] == 200
            client_end.sendall(b"GET")  # the next request
            assert answer()[0] == 200
            assert server_end.recv(3) == b"GET"
        assert answer() == (499, {"error": "the client has closed the connection"})
