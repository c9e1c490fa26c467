"""A capture from one or more profiler servers at the same time, into one session of a logdir."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tb_xla_insights.capture.addresses import host_name
from tb_xla_insights.capture.server import Options, Problem, Server, is_too_long, refusal
from tb_xla_insights.errors import InputError
from tb_xla_insights.files.source import is_url
from tb_xla_insights.logdir import files, paths
from tb_xla_insights.memory import release_freed_memory

if TYPE_CHECKING:
    import grpc

State = Literal["waiting", "tracing", "collecting", "done", "error", "cancelled"]
_PAUSE_SECONDS = 1.0
_ARRIVES_SECONDS = 5.0
"""A file that another machine has written to a shared disk is seen here this late at most."""


@dataclass
class Host:
    """One server's part of a capture. May be looked at from any thread."""

    address: str
    state: State = "waiting"
    message: str | None = None
    bytes: int = 0

    def as_json(self) -> dict[str, Any]:
        return {"address": self.address, "state": self.state, "message": self.message, "bytes": self.bytes}


class Capture:
    """Captures from all addresses (see `parse_addresses`) into `<logdir>/plugins/profile/<session>`.

    `run` does it and returns when it is over; `cancel` may be called from another thread and leaves nothing behind;
    `end` ends the trace before its time and keeps what was recorded. Raises InputError where the logdir
    cannot be asked.
    """

    def __init__(
        self,
        addresses: Sequence[str],
        logdir: str,
        options: Options | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.options = options or Options()
        self.hosts = [Host(address) for address in addresses]
        place = paths.expand(logdir)
        if not place:
            raise InputError("no LOGDIR; name a directory that the profiled process can write to")
        # The server opens this path in a directory of its own.
        self.root = f"{paths.absolute(place).rstrip('/')}/plugins/profile"
        self.session = _new_session(self.root)
        self._clock = clock
        self._traced_at: float | None = None
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
    def captured(self) -> bool:
        """Whether there is a session, of all hosts or of some."""
        return any(host.state == "done" for host in self.hosts)

    @property
    def message(self) -> str | None:
        """What went wrong, in one line; None where nothing did."""
        said = [host.message for host in self.hosts if host.state == "error" and host.message]
        return "; ".join(said) or None

    @property
    def state(self) -> State:
        if self.done:
            if self.captured:
                return "done"
            return "cancelled" if self._stop.is_set() else "error"
        if not any(host.state == "tracing" for host in self.hosts):
            return "waiting"
        return "collecting" if self._elapsed_ms() >= self.options.duration_ms else "tracing"

    def progress(self) -> dict[str, Any]:
        """`state`, `elapsed_ms` of `duration_ms`, `message`, and per host `address`, `state`, `message`, `bytes`."""
        trying = next((host.message for host in self.hosts if host.message), None)
        return {
            "state": self.state,
            "elapsed_ms": min(self._elapsed_ms(), self.options.duration_ms),
            "duration_ms": self.options.duration_ms,
            "message": self.message if self.done else trying,
            "hosts": [host.as_json() for host in self.hosts],
        }

    def _elapsed_ms(self) -> int:
        """Since the servers that trace were asked, for the last time where they were asked again."""
        began = self._traced_at if any(host.state != "waiting" for host in self.hosts) else None
        return 0 if began is None else round((self._clock() - began) * 1000)

    def run(self) -> None:
        """Captures, and returns when every server has answered, failed or was cancelled. To be called once."""
        try:
            threads = [threading.Thread(target=self._host, args=(host,), daemon=True) for host in self.hosts]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            release_freed_memory()  # older gRPC libraries hold an answer that is too long before they refuse it
            self._done.set()

    def cancel(self) -> None:
        """Ends it at once; no server writes anything."""
        self._stop.set()
        with self._lock:
            for _, request in self._requests.values():
                request.cancel()

    def end(self) -> None:
        """Ends the trace now; the servers write what they have."""
        with self._lock:
            servers = [server for server, _ in self._requests.values()]
        for server in servers:
            server.end(self.session)

    def _host(self, host: Host) -> None:
        try:
            server = Server(host.address)
            try:
                self._attempts(host, server)
            finally:
                server.close()
        except InputError as error:
            host.state, host.message = "error", str(error)
        except Exception as error:  # whatever it is, it is this host's, and told in one line
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            host.state, host.message = "error", f"{host.address}: the capture failed ({reason})"

    def _attempts(self, host: Host, server: Server) -> None:
        for left in range(self.options.retries, -1, -1):
            problem = Problem("cancelled") if self._stop.is_set() else self._attempt(host, server)
            if problem is None:
                host.state, host.message = "done", None
                return
            host.state, host.message = "waiting", problem.message
            if not problem.again or not left or self._stop.wait(_PAUSE_SECONDS):
                break
        host.state = "cancelled" if self._stop.is_set() else "error"

    def _attempt(self, host: Host, server: Server) -> Problem | None:
        import grpc

        with self._lock:
            if self._stop.is_set():
                return Problem("cancelled")
            request = server.profile(self.root, self.session, self.options)
            self._requests[host.address] = server, request
        self._traced_at, host.state = self._clock(), "tracing"
        try:
            empty = request.result().empty_trace
        except grpc.FutureCancelledError:
            return Problem("cancelled")
        except grpc.RpcError as error:
            if not is_too_long(error):
                return refusal(host.address, self.directory, error)
            empty = False
        path = f"{self.directory}/{host_name(host.address)}{paths.SUFFIX}"
        if empty:
            _remove(path)
            return Problem(
                f"{host.address}: the trace is empty; capture while training runs, longer, or at a higher level",
                again=True,
            )
        found = self._arrived(path)
        if found is None:
            return Problem(
                f"{host.address}: the server answered, but there is no {path}; it writes where it runs: "
                "name a LOGDIR on a disk or in a bucket that both reach"
            )
        host.bytes = found
        return None

    def _arrived(self, path: str) -> int | None:
        """The size of the file that a server says it has written; None where it does not come."""
        until = self._clock() + _ARRIVES_SECONDS
        while not (found := files.path_kind(path)) and self._clock() < until and not self._stop.wait(0.2):
            continue
        return files.file_info(path).bytes if found else None


def _new_session(root: str) -> str:
    """A name by the local time, as other clients give it, that is not taken."""
    stamp = time.strftime("%Y_%m_%d_%H_%M_%S")
    name, number = stamp, 1
    while files.path_kind(f"{root}/{name}"):
        number += 1
        name = f"{stamp}_{number}"
    return name


def _remove(path: str) -> None:
    """Servers write a file for an empty trace, too; it would be a session with nothing in it."""
    if not is_url(path):
        with suppress(OSError):
            os.remove(path)
            os.rmdir(os.path.dirname(path))
