"""Requests profiles from one profiler server and explains its errors.

The server writes the file, not the client: `<root>/<session>/<host>.xplane.pb`, a path on the server's machine. The
responses were tested with the servers of JAX 0.10 and torch_xla 2.9.
"""

from __future__ import annotations

import importlib
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tb_xla_insights.capture.addresses import host_name, port
from tb_xla_insights.errors import InputError

if TYPE_CHECKING:
    import grpc

_SERVICE = "/tensorflow.ProfilerService"
_TOOLS = ("xplane",)
_MAX_EVENTS = 10**9
"""Old servers silently drop events beyond this limit. Other clients send a million; no capture has 10**9."""
_MAX_COLLECT_SECONDS = 900.0
"""A server writes its file after the trace has ended; with many devices that takes minutes."""
_MAX_RESPONSE_BYTES = 1 << 20
"""The needed response has two bytes; other data that a server may send is also in its file."""
_MAX_DETAIL_LENGTH = 300
_FILE_ERROR = re.compile(
    r"director|permission|denied|no space|read-?only|such file|bucket|quota|not found|file ?system|scheme",
    re.I,
)


@dataclass(frozen=True)
class Options:
    """The duration of a capture, what to record besides the devices, and the retries. Levels as in
    `torch_xla.debug.profiler.trace`: host 1 critical, 2 info, 3 verbose; Python 1 every call; 0 is off."""

    duration_ms: int = 2000
    host_level: int = 2
    python_level: int = 0
    retries: int = 2


MAX_DURATION_MS = 3_600_000
LIMITS = {
    "duration_ms": (1, MAX_DURATION_MS),
    "host_level": (0, 3),
    "python_level": (0, 1),
    "retries": (0, 100),
}
"""The minimum and maximum of each option."""


@dataclass(frozen=True)
class Problem:
    """Why there is no capture, in one line; `is_retryable` if another attempt may succeed, `is_busy` if another profile
    is being taken."""

    message: str
    is_retryable: bool = False
    is_busy: bool = False


class Server:
    """A connection to the profiler server at `HOST:PORT`; opened by the first request, closed by `close`."""

    def __init__(self, address: str) -> None:
        """Raises InputError if the gRPC packages are not installed."""
        try:
            grpc = importlib.import_module("grpc")
            importlib.import_module("google.protobuf")
        except ImportError as error:
            raise InputError(f"{error.name} is not installed; pip install grpcio protobuf") from error
        self.address = address
        # The prefix makes gRPC treat a host called "unix" as a host. Profiler servers need no proxy, at most a tunnel.
        options = [("grpc.max_receive_message_length", _MAX_RESPONSE_BYTES), ("grpc.enable_http_proxy", 0)]
        self._channel = grpc.insecure_channel(f"dns:///{address}", options=options)

    def profile(self, root: str, session: str, options: Options) -> grpc.Future[Any]:
        """Starts a profile; the result arrives when the server has written the file, and `cancel()` leaves no file."""
        from tb_xla_insights.xplane.proto.profiler_service_pb2 import (
            ProfileOptions,
            ProfileRequest,
            ProfileResponse,
        )

        request = ProfileRequest(
            duration_ms=options.duration_ms,
            max_events=_MAX_EVENTS,
            tools=_TOOLS,
            repository_root=root,
            session_id=session,
            host_name=host_name(self.address),
            opts=ProfileOptions(
                version=1,
                host_tracer_level=options.host_level,
                device_tracer_level=1,
                python_tracer_level=options.python_level,
                enable_hlo_proto=True,
                duration_ms=options.duration_ms,
            ),
        )
        call = self._channel.unary_unary(
            f"{_SERVICE}/Profile",
            request_serializer=ProfileRequest.SerializeToString,
            response_deserializer=ProfileResponse.FromString,
        )
        return call.future(request, timeout=options.duration_ms / 1000 + _MAX_COLLECT_SECONDS)

    def end(self, session: str) -> None:
        """Ends a profile early; the server writes what was recorded. Never raises: if the server is gone, the profile's
        own request fails."""
        import grpc

        from tb_xla_insights.xplane.proto.profiler_service_pb2 import TerminateRequest, TerminateResponse

        call = self._channel.unary_unary(
            f"{_SERVICE}/Terminate",
            request_serializer=TerminateRequest.SerializeToString,
            response_deserializer=TerminateResponse.FromString,
        )
        try:
            call(TerminateRequest(session_id=session), timeout=10)
        except (grpc.RpcError, ValueError):  # ValueError: the channel was just closed
            return

    def close(self) -> None:
        self._channel.close()


def is_too_long(error: grpc.RpcError) -> bool:
    """Whether the server answered, but with more than `_MAX_RESPONSE_BYTES`."""
    import grpc

    is_exhausted: bool = error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    return is_exhausted and "larger than max" in (error.details() or "")


def refusal(address: str, directory: str, error: grpc.RpcError) -> Problem:
    """Explains a failed request and names a remedy."""
    import grpc

    code, detail = error.code(), " ".join((error.details() or "").split())[:_MAX_DETAIL_LENGTH]
    if code is grpc.StatusCode.UNAVAILABLE:
        return _unreachable(address, detail)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return Problem(f"{address}: the service there is not a profiler server; check the port")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Problem(f"{address}: no answer; check that the process still runs, or capture a shorter time")
    if "another profiling session" in detail.lower():
        message = f"{address}: another profile is being taken there; wait until it has ended"
        return Problem(message, is_retryable=True, is_busy=True)
    if _FILE_ERROR.search(detail):
        return Problem(
            f"{address}: the server cannot write to {directory} ({detail}); "
            "specify a LOGDIR that the profiled process can write to"
        )
    return Problem(
        f"{address}: the profiler server failed ({detail or code.name}); see the output of its process"
    )


def _unreachable(address: str, detail: str) -> Problem:
    if re.search(r"resolv|lookup|Domain name", detail):
        return Problem(f"{address}: no such host; check the name")
    if re.search(r"http1|HTTP/1|parsing HTTP/2|SETTINGS", detail):
        return Problem(f"{address}: the service there is not a profiler server; check the port")
    if re.search(r"refused|failed to connect", detail, re.I):
        listens = _listens(address)
        if listens:
            return Problem(
                f"{address}: the service there is not a profiler server; check the port", is_retryable=True
            )
        if listens is False:
            number = port(address)
            server = f"xp.start_server({number}), jax.profiler.start_server({number})"
            start = f"start the profiler server in the training process ({server})"
            return Problem(
                f"{address}: nothing listens there; {start} and check host and port", is_retryable=True
            )
    elif re.search(r"reset|closed|GOAWAY|broken pipe", detail, re.I):
        return Problem(f"{address}: the process ended during the capture; start it and capture again")
    cause = detail.rpartition("last error: ")[2]
    return Problem(
        f"{address}: cannot be reached ({cause}); check host, port, firewall and tunnel", is_retryable=True
    )


def _listens(address: str) -> bool | None:
    """Whether a service listens at any IP address of the host name; None if none of them answers, as behind a
    firewall. gRPC reports the error of only one."""
    url = urlsplit(f"//{address}")
    try:
        socket.create_connection((url.hostname, url.port), timeout=1, all_errors=True).close()
    except ExceptionGroup as group:
        return False if group.subgroup(ConnectionRefusedError) else None
    except OSError:  # the name is not resolved any more
        return None
    return True
