"""What a capture makes of a server's answers: long ones, and those of a server that takes another profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from helpers import refusing_port, write_session

from tb_xla_insights.capture.capture import SessionCapture
from tb_xla_insights.capture.server import Options, Server, is_too_long
from tb_xla_insights.xplane.proto.profiler_service_pb2 import ProfileRequest

SHORT = Options(duration_ms=100, retries=0)


@contextmanager
def answering(
    answer: Callable[[ProfileRequest], bytes], compression: grpc.Compression | None = None
) -> Iterator[str]:
    """Runs a profiler server with these answers, and yields its address."""
    handler = grpc.unary_unary_rpc_method_handler(
        lambda request, _: answer(request), ProfileRequest.FromString, bytes
    )
    server = grpc.server(futures.ThreadPoolExecutor(1), compression=compression)
    service = grpc.method_handlers_generic_handler("tensorflow.ProfilerService", {"Profile": handler})
    server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port("localhost:0")
    server.start()
    try:
        yield f"localhost:{port}"
    finally:
        server.stop(None).wait()


class TestLongAnswers:
    """A long response is rejected, but does not fail the capture: only the file counts."""

    @staticmethod
    def long(request: ProfileRequest) -> bytes:
        """Writes the file, and answers with 2 MiB of an unknown field."""
        write_session(Path(request.repository_root) / request.session_id, request.host_name)
        return b"\x32\x80\x80\x80\x01" + bytes(1 << 21)

    @pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip])
    def test_responses_are_limited(self, tmp_path: Path, compression: grpc.Compression | None) -> None:
        with answering(self.long, compression) as address:
            server = Server(address)
            with pytest.raises(grpc.RpcError) as error:
                server.profile(str(tmp_path), "s", SHORT).result()
            server.close()
        assert is_too_long(error.value)

    def test_a_capture_does_not_wait_once_all_servers_have_answered(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        states: list[str] = []
        with answering(self.long) as address:
            started = SessionCapture([address], str(tmp_path), SHORT)
            assert started.state == "waiting"
            release = "tb_xla_insights.capture.capture.release_freed_memory"  # called by `run` after the last answer
            monkeypatch.setattr(release, lambda: states.append(started.state))
            started.run()
        assert [*states, started.state] == ["collecting", "done"]

    def test_the_capture_succeeds_despite_a_long_response(self, tmp_path: Path) -> None:
        with answering(self.long) as address:
            done = SessionCapture([address], str(tmp_path), SHORT)
            done.run()
        assert (done.state, done.message) == ("done", None)


@pytest.mark.parametrize("has_others", [False, True])
def test_a_capture_does_not_replace_that_of_another_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_others: bool
) -> None:
    """The other capture began in the same second. Its file appears while this capture waits for the server; with one
    address, only once the server takes profiles again."""
    monkeypatch.setattr("tb_xla_insights.capture.capture._RETRY_SECONDS", 0.0)
    sessions: list[str] = []

    def answer(request: ProfileRequest) -> bytes:
        sessions.append(request.session_id)
        is_free = len(sessions) > 1
        for session in sessions if is_free or has_others else []:
            write_session(Path(request.repository_root) / session, request.host_name)
        if not is_free:
            raise RuntimeError("Another profiling session active.")
        return b""

    with answering(answer) as address, refusing_port() as refused_port:
        others = [f"localhost:{refused_port}"] if has_others else []
        started = SessionCapture([address, *others], str(tmp_path), Options(duration_ms=1, retries=1))
        started.run()
    if has_others:
        assert len(sessions) == 1
        assert f"{address}: another capture has written {tmp_path}" in str(started.message)
    else:
        assert len(set(sessions)) == 2
        assert (started.session, started.message) == (sessions[1], None)
