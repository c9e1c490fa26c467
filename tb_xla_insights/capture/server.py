"""One profiler server: asking it for a profile, and what its refusals mean.

The server writes the file, not the client: into `<root>/<session>/<host>.xplane.pb` as it sees that path. What it
answers was tried with the servers of JAX 0.10 and torch_xla 2.9.
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
_MOST_EVENTS = 10**9
"""Old servers leave out events beyond this without a word, and other clients send a million; no capture has so many."""
_COLLECT_SECONDS = 900.0
"""A server writes its file only after the trace has ended; with many devices that takes minutes."""
_LONGEST_ANSWER = 1 << 20
"""Bytes. The answer that is needed has two; what else a server may send along lies in its file as well."""
_MOST_SAID = 300
_FILE_TROUBLE = re.compile(
    r"director|permission|denied|no space|read-?only|such file|bucket|quota|not found|file ?system|scheme",
    re.I,
)


@dataclass(frozen=True)
class Options:
    """What to record beside the devices. Levels as in `torch_xla.debug.profiler.trace`: host 1 critical, 2 info,
    3 verbose; Python 1 every call; 0 is off."""

    duration_ms: int = 2000
    host_level: int = 2
    python_level: int = 0
    retries: int = 2


LONGEST_MS = 3_600_000
LIMITS = {
    "duration_ms": (1, LONGEST_MS),
    "host_level": (0, 3),
    "python_level": (0, 1),
    "retries": (0, 100),
}
"""The least and the most that a person may ask for, by option."""


@dataclass(frozen=True)
class Problem:
    """Why there is no capture, in one line; `again` where trying once more may help."""

    message: str
    again: bool = False


class Server:
    """A connection to the profiler server at `HOST:PORT`; opened by the first request, closed by `close`."""

    def __init__(self, address: str) -> None:
        """Raises InputError where the packages that speak with servers are not installed."""
        try:
            grpc = importlib.import_module("grpc")
            importlib.import_module("google.protobuf")
        except ImportError as error:
            raise InputError(f"{error.name} is not installed; pip install grpcio protobuf") from error
        self.address = address
        # The prefix keeps a host called "unix" a host. Profiler servers are reached directly or through a tunnel.
        options = [("grpc.max_receive_message_length", _LONGEST_ANSWER), ("grpc.enable_http_proxy", 0)]
        self._channel = grpc.insecure_channel(f"dns:///{address}", options=options)

    def profile(self, root: str, session: str, options: Options) -> grpc.Future[Any]:
        """Starts a profile; the answer comes when the server has written it, and `cancel()` leaves nothing behind."""
        from tb_xla_insights.xplane.proto.profiler_service_pb2 import (
            ProfileOptions,
            ProfileRequest,
            ProfileResponse,
        )

        request = ProfileRequest(
            duration_ms=options.duration_ms,
            max_events=_MOST_EVENTS,
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
        return call.future(request, timeout=options.duration_ms / 1000 + _COLLECT_SECONDS)

    def end(self, session: str) -> None:
        """Ends a profile before its time; the server writes what it has by then. Raises nothing: where the server
        does not listen any more, the profile's own answer tells."""
        import grpc

        from tb_xla_insights.xplane.proto.profiler_service_pb2 import TerminateRequest, TerminateResponse

        call = self._channel.unary_unary(
            f"{_SERVICE}/Terminate",
            request_serializer=TerminateRequest.SerializeToString,
            response_deserializer=TerminateResponse.FromString,
        )
        try:
            call(TerminateRequest(session_id=session), timeout=10)
        except (grpc.RpcError, ValueError):  # the latter of a channel that was closed just now
            return

    def close(self) -> None:
        self._channel.close()


def is_too_long(error: grpc.RpcError) -> bool:
    """Whether the server did answer, but with more than is taken in."""
    import grpc

    too_long = "larger than max" in (error.details() or "")
    return too_long and error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def refusal(address: str, directory: str, error: grpc.RpcError) -> Problem:
    """What a failed request means, and what to do."""
    import grpc

    code, said = error.code(), " ".join((error.details() or "").split())[:_MOST_SAID]
    if code is grpc.StatusCode.UNAVAILABLE:
        return _unreachable(address, said)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return Problem(f"{address}: what listens there is no profiler server; check the port")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Problem(
            f"{address}: no answer; see whether the process still runs, and capture a shorter time"
        )
    if "another profiling session" in said.lower():
        return Problem(
            f"{address}: another profile is being taken there; wait until it has ended", again=True
        )
    if _FILE_TROUBLE.search(said):
        return Problem(
            f"{address}: the server cannot write to {directory} ({said}); "
            "name a LOGDIR that the profiled process can write to"
        )
    return Problem(
        f"{address}: the profiler server failed ({said or code.name}); see the output of its process"
    )


def _unreachable(address: str, said: str) -> Problem:
    if re.search(r"resolv|lookup|Domain name", said):
        return Problem(f"{address}: no such host; check the name")
    if re.search(r"http1|HTTP/1|parsing HTTP/2|SETTINGS", said):
        return Problem(f"{address}: what listens there is no profiler server; check the port")
    if re.search(r"refused|failed to connect", said, re.I):
        if _listens(address):
            return Problem(f"{address}: what listens there is no profiler server; check the port", again=True)
        at = port(address)
        server = f"xp.start_server({at}), jax.profiler.start_server({at})"
        start = f"start the profiler server in the training process ({server})"
        return Problem(f"{address}: nothing listens there; {start} and check host and port", again=True)
    if re.search(r"reset|closed|GOAWAY|broken pipe", said, re.I):
        return Problem(f"{address}: the process ended during the capture; start it and capture again")
    return Problem(f"{address}: cannot be reached ({said}); check host, port and tunnel", again=True)


def _listens(address: str) -> bool:
    """Whether anything does at one of the addresses of a name. gRPC tells what came of only one of them."""
    place = urlsplit(f"//{address}")
    try:
        socket.create_connection((place.hostname, place.port), timeout=1).close()
    except OSError:
        return False
    return True
