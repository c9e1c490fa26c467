"""A store on loopback: files over HTTP, a record of all requests, and deliberate faults."""

from __future__ import annotations

import hashlib
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tb_xla_insights.system import parallel


@dataclass(frozen=True)
class Request:
    """One request: of a file's bytes [first, end) if it has a range, else of the whole file."""

    method: str
    path: str
    first: int | None = None
    end: int | None = None


@dataclass
class WebStore:
    """`files` by path, and `faults` by path: functions that may answer a request of the path instead, and return
    whether they did."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, Callable[[Answer, Request], bool]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    def requests_of(self, path: str, method: str = "GET") -> list[Request]:
        return [request for request in self.requests if (request.method, request.path) == (method, path)]

    def request_counts(self, path: str) -> list[int]:
        """How many times each byte of a file was requested."""
        counts = [0] * len(self.files[path])
        for request in self.requests_of(path):
            for offset in range(request.first or 0, len(counts) if request.end is None else request.end):
                counts[offset] += 1
        return counts


class Answer(BaseHTTPRequestHandler):
    """Answers the requests of a connection to a `WebStore`."""

    protocol_version = "HTTP/1.1"
    store: WebStore

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def do_GET(self) -> None:
        self._answer("GET")

    def _answer(self, method: str) -> None:
        content = self.store.files.get(self.path)
        first = end = None
        if content is not None and (
            range_match := re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        ):
            first, end = int(range_match[1]), min(int(range_match[2]) + 1, len(content))
        request = Request(method, self.path, first, end)
        self.store.requests.append(request)
        fault = self.store.faults.get(self.path)
        if fault and fault(self, request):
            return
        if content is None:
            self._index()
        elif first is None:
            self.answer(200, content)
        else:
            content_range = {"Content-Range": f"bytes {first}-{(end or 0) - 1}/{len(content)}"}
            self.answer(206, content[first:end], content_range)

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        """A whole answer, with the file's ETag."""
        content = self.store.files.get(self.path, b"")
        self.send_response(status)
        self.send_header("ETag", f'"{hashlib.md5(content).hexdigest()}"')
        for name, value in ({"Content-Length": str(len(body))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def refuse(self, status: int) -> bool:
        self.send_error(status)
        return True

    def reset(self) -> bool:
        """Ends the connection like a machine that goes down."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
        return True

    def send_half(self, request: Request) -> bool:
        """Half of what the answer's head promises."""
        whole = self.store.files[request.path][request.first : request.end]
        self.answer(206, whole[: len(whole) // 2], {"Content-Length": str(len(whole))})
        self.close_connection = True
        return True

    def send_whole(self) -> bool:
        """The whole file, whatever range was requested."""
        self.answer(200, self.store.files[self.path])
        return True

    def send_without_length(self) -> bool:
        """The whole file, with neither a length nor a range."""
        return self._send_without_length(self.store.files[self.path])

    def send_half_without_length(self) -> bool:
        """Half of the file, with neither a length nor a range."""
        content = self.store.files[self.path]
        return self._send_without_length(content[: len(content) // 2])

    def _send_without_length(self, body: bytes) -> bool:
        self.send_response(200)
        self.send_header("ETag", '"one"')
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)
        self.close_connection = True
        return True

    def _index(self) -> None:
        """A page with links to a directory's entries."""
        directory = self.path.rstrip("/") + "/"
        paths = {path.removeprefix(directory) for path in self.store.files if path.startswith(directory)}
        names = sorted({path.partition("/")[0] + "/" * ("/" in path) for path in paths})
        if not names:
            self.send_error(404)
            return
        page = "".join(f'<a href="{name}">{name}</a>' for name in names).encode()
        self.answer(200, page, {"Content-Type": "text/html"})

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def web_store() -> Iterator[WebStore]:
    """A store on a free port, which ends with the block. Meanwhile, several threads may read."""
    store = WebStore()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Answering", (Answer,), {"store": store}))
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that leave are part of the tests
    store.address = f"http://127.0.0.1:{server.server_port}"
    # The server checks every 0.02 s whether to stop; every 0.5 s by default.
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parallel, "_max_threads", None)
            yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
