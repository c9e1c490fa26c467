"""Captures from one or more profiler servers simultaneously, into one session of a logdir."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tb_xla_insights.capture.addresses import host_name
from tb_xla_insights.capture.server import Options, Problem, Server, is_too_long, refusal
from tb_xla_insights.errors import InputError
from tb_xla_insights.files.blocks import call_with_timeout
from tb_xla_insights.files.open import is_url
from tb_xla_insights.logdir import files, paths
from tb_xla_insights.logdir.remote import Remote
from tb_xla_insights.system.memory import release_freed_memory

if TYPE_CHECKING:
    import grpc

    from tb_xla_insights.schema.capture_route import CapturedHost, CaptureProgress, CaptureState

_RETRY_SECONDS = 1.0
"""The time between two attempts."""
_MAX_VISIBILITY_DELAY_SECONDS = 5.0
"""The longest delay until a file that another machine wrote to a shared disk is visible here."""


@dataclass
class ServerCapture:
    """The state of one server's capture. May be read from any thread."""

    address: str
    state: CaptureState = "waiting"
    message: str | None = None
    bytes: int = 0

    def as_json(self) -> CapturedHost:
        return {"address": self.address, "state": self.state, "message": self.message, "bytes": self.bytes}


class SessionCapture:
    """Captures from all addresses (see `parse_addresses`) into `<logdir>/plugins/profile/<session>`.

    `run` captures and blocks until the end. From other threads, `cancel` stops servers that still trace, which then
    write no file, and `end` ends the trace early and keeps what was recorded. Raises InputError if the logdir cannot
    be read.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        logdir: str,
        options: Options | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.options = options or Options()
        self.hosts = [ServerCapture(address) for address in addresses]
        path = paths.expand(logdir)
        if not path:
            raise InputError("no LOGDIR; specify a directory that the profiled process can write to")
        if os.fsencode(path).decode(errors="replace") != path:
            raise InputError(f"{path}: not a name in UTF-8, as servers need it; specify another LOGDIR")
        # Absolute, since the server has another working directory.
        self.root = f"{paths.run_directory(path).rstrip('/')}/plugins/profile"
        self.session = _new_session(self.root)
        self._clock = clock
        self._requested_at: float | None = None
        self._stop = threading.Event()
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._requests: dict[str, tuple[Server, grpc.Future[Any]]] = {}

    @property
    def directory(self) -> str:
        return f"{self.root}/{self.session}"

    @property
    def done(self) -> bool:
        return self._done.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        return self._done.wait(seconds)

    @property
    def has_captures(self) -> bool:
        """Whether at least one host was captured."""
        return any(host.state == "done" for host in self.hosts)

    @property
    def message(self) -> str | None:
        """The errors of all hosts in one line, or None."""
        errors = [host.message for host in self.hosts if host.state == "error" and host.message]
        return "; ".join(errors) or None

    @property
    def state(self) -> CaptureState:
        if self.done:
            if self.has_captures:
                return "done"
            return "cancelled" if self._stop.is_set() else "error"
        states = {host.state for host in self.hosts}
        if "waiting" in states and "tracing" not in states:
            return "waiting"
        has_traced = "tracing" not in states or self._elapsed_ms() >= self.options.duration_ms
        return "collecting" if has_traced else "tracing"

    def progress(self) -> CaptureProgress:
        """`state`, `elapsed_ms` of `duration_ms`, `message`, and per host `address`, `state`, `message`, `bytes`."""
        retry_reason = next((host.message for host in self.hosts if host.message), None)
        return {
            "state": self.state,
            "elapsed_ms": min(self._elapsed_ms(), self.options.duration_ms),
            "duration_ms": self.options.duration_ms,
            "message": self.message if self.done else retry_reason,
            "hosts": [host.as_json() for host in self.hosts],
        }

    def _elapsed_ms(self) -> int:
        """The time since the last request to a server; 0 while all hosts wait."""
        requested_at = self._requested_at if any(host.state != "waiting" for host in self.hosts) else None
        return 0 if requested_at is None else round((self._clock() - requested_at) * 1000)

    def run(self) -> None:
        """Captures until every server has answered, failed or was cancelled. Must be called once."""
        try:
            threads = [
                threading.Thread(target=self._capture_host, args=(host,), daemon=True) for host in self.hosts
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            release_freed_memory()  # older gRPC libraries buffer a response that is too long before they reject it
            self._done.set()

    def cancel(self) -> None:
        """Cancels the capture; no server that still traces writes a file."""
        self._stop.set()
        with self._lock:
            for _, request in self._requests.values():
                request.cancel()

    def end(self) -> None:
        """Ends the trace now; the servers write what was recorded."""
        with self._lock:
            servers = [server for server, _ in self._requests.values()]
        for server in servers:
            server.end(self.session)

    def _capture_host(self, host: ServerCapture) -> None:
        try:
            server = Server(host.address)
            try:
                self._attempt_with_retries(host, server)
            finally:
                server.close()
        except InputError as error:
            host.state, host.message = "error", str(error)
        except Exception as error:  # an unexpected error fails this host only
            detail = " ".join(f"{type(error).__name__}: {error}".split())
            host.state, host.message = "error", f"{host.address}: the capture failed ({detail})"

    def _attempt_with_retries(self, host: ServerCapture, server: Server) -> None:
        for retries_left in range(self.options.retries, -1, -1):
            problem = Problem("cancelled") if self._stop.is_set() else self._attempt(host, server)
            if problem is None:
                host.state, host.message = "done", None
                return
            host.state, host.message = "waiting", problem.message
            if not problem.is_retryable or not retries_left or self._stop.wait(_RETRY_SECONDS):
                break
            if not problem.is_busy:
                continue
            # The other profile may be that of a capture which began in the same second and took the session's name.
            if len(self.hosts) == 1:  # its file may not be there yet
                self.session = _new_session(self.root, self.session)
            elif files.path_kind(self._path(host)):
                host.message = (
                    f"{host.address}: another capture has written {self._path(host)}; capture again"
                )
                break
        host.state = "cancelled" if self._stop.is_set() else "error"

    def _attempt(self, host: ServerCapture, server: Server) -> Problem | None:
        """Captures one host; returns None if the server wrote its file."""
        import grpc

        with self._lock:
            if self._stop.is_set():
                return Problem("cancelled")
            request = server.profile(self.root, self.session, self.options)
            self._requests[host.address] = server, request
        self._requested_at, host.state = self._clock(), "tracing"
        try:
            is_empty = request.result().empty_trace
        except grpc.FutureCancelledError:
            return Problem("cancelled")
        except grpc.RpcError as error:
            if not is_too_long(error):
                return refusal(host.address, self.directory, error)
            is_empty = False
        path = self._path(host)
        if is_empty:
            _remove(path)
            return Problem(
                f"{host.address}: the trace is empty; capture while training runs, longer, or at a higher level",
                is_retryable=True,
            )
        size = self._wait_for_file(path)
        if size is None:
            return Problem(
                f"{host.address}: the server answered, but there is no {path}; it writes on its own machine: "
                "specify a LOGDIR on a disk or in a bucket that both machines can access"
            )
        host.bytes = size
        return None

    def _path(self, host: ServerCapture) -> str:
        return f"{self.directory}/{host_name(host.address)}{paths.SUFFIX}"

    def _wait_for_file(self, path: str) -> int | None:
        """The size of the file that a server reported as written; None if it does not appear."""
        deadline = self._clock() + _MAX_VISIBILITY_DELAY_SECONDS
        while not (kind := files.path_kind(path)) and self._clock() < deadline and not self._stop.wait(0.2):
            continue
        return files.file_info(path).bytes if kind else None


def _new_session(root: str, taken: str = "") -> str:
    """An unused session name of the local time, as other clients choose it; not `taken`, which may be in use."""
    stamp = time.strftime("%Y_%m_%d_%H_%M_%S")
    name, number = stamp, 1
    while name == taken or files.path_kind(f"{root}/{name}"):
        number += 1
        name = f"{stamp}_{number}"
    return name


def _remove(path: str) -> None:
    """Removes the file that servers write for an empty trace, and its session if that is empty then."""
    if is_url(path):
        with suppress(InputError), Remote(path) as remote:
            call_with_timeout(lambda: remote.system.rm_file(remote.path))
        return
    with suppress(OSError):
        os.remove(path)
        os.rmdir(os.path.dirname(path))
