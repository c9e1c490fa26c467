"""Capturing from profiler servers: a real one, and ones that refuse."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fsspec
import grpc
import pytest
from helpers import raising, refusing_port
from test_capture_answers import answering

import tb_xla_insights as xi
from tb_xla_insights.analysis.launches.enqueues import JOINS
from tb_xla_insights.capture.addresses import host_name
from tb_xla_insights.capture.capture import SessionCapture
from tb_xla_insights.capture.server import Options, refusal
from tb_xla_insights.cli import printing
from tb_xla_insights.cli.main import main
from tb_xla_insights.errors import InputError
from tb_xla_insights.xplane.proto.profiler_service_pb2 import ProfileRequest, ProfileResponse

ROOT = Path(__file__).parents[1]
SHORT = Options(duration_ms=100, retries=0)
FAILED_TO_CONNECT = "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.2:1:"


def capture(addresses: Sequence[str], logdir: str, options: Options) -> SessionCapture:
    """Captures, and waits for the end. Raises InputError if no server wrote a file."""
    session_capture = SessionCapture(addresses, logdir, options)
    session_capture.run()
    if not session_capture.has_captures:
        raise InputError(session_capture.message or "the capture was cancelled")
    return session_capture


def capture_steps(address: str, logdir: Path) -> tuple[SessionCapture, xi.Session]:
    """A capture with several steps: as long as the program needs for them on a busy machine."""
    for duration_ms in (300, 3000, 30_000):
        captured = capture([address], str(logdir), Options(duration_ms=duration_ms))
        session = xi.load(str(logdir))
        if len(session.report()["steps"]) > 3:
            return captured, session
    raise AssertionError("at most 3 steps in 30 seconds")


@pytest.fixture
def refused_port() -> Iterator[int]:
    with refusing_port() as port:
        yield port


class Refusal(grpc.RpcError):
    """A server's refusal, as gRPC raises it."""

    def __init__(self, code: str, details: str) -> None:
        self._code, self._details = code, details

    def code(self) -> Any:
        return grpc.StatusCode[self._code]

    def details(self) -> str:
        return self._details


class TestRealServer:
    def test_a_capture_is_a_session(self, profiler_server: str, tmp_path: Path) -> None:
        captured, session = capture_steps(profiler_server, tmp_path)
        name = host_name(profiler_server)
        assert (tmp_path / f"plugins/profile/{captured.session}/{name}.xplane.pb").is_file()
        assert session.name == captured.session
        report = session.report()
        assert report["environment"]["framework"] == "jax"
        assert [host["name"] for host in report["session"]["hosts"]] == [name]
        assert report["devices"][0]["busy_ps"] > 0

    def test_runs_of_jax_are_joined_with_their_calls(self, profiler_server: str, tmp_path: Path) -> None:
        """Also those of its fast path, which only records the call for one device."""
        _, session = capture_steps(profiler_server, tmp_path)
        report = session.report()
        runs = {
            join: sum(execution["count"] for execution in report["executions"] if execution["join"] == join)
            for join in JOINS
        }
        assert runs["exact"] > 1
        assert runs["ordered"] + runs["none"] <= 1  # the capture may begin within a run
        assert "no_launches" not in {diagnostic["id"] for diagnostic in report["diagnostics"]}
        [trace] = session.trace.traces
        assert {trace.name(row) for row in trace.annotations.tolist()} == {"train"}

    def test_a_busy_server_is_retried(self, profiler_server: str, tmp_path: Path) -> None:
        port = profiler_server.rpartition(":")[2]
        captured = capture(
            [f"localhost:{port}", f"127.0.0.1:{port}"], str(tmp_path), Options(duration_ms=200, retries=60)
        )
        [session] = (tmp_path / "plugins/profile").iterdir()
        assert {path.name for path in session.iterdir()} == {
            f"localhost_{port}.xplane.pb",
            f"127.0.0.1_{port}.xplane.pb",
        }
        assert captured.message is None

    def test_an_empty_trace_leaves_no_file(self, profiler_server: str, tmp_path: Path) -> None:
        no_events = Options(duration_ms=50, host_level=0, retries=0)
        with pytest.raises(InputError, match=f"{profiler_server}: the trace is empty"):
            capture([profiler_server], str(tmp_path), no_events)
        assert not list(tmp_path.glob("plugins/profile/*"))

    def test_a_server_that_cannot_write_to_the_logdir(self, profiler_server: str, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(InputError, match=r"cannot write to .*/file/plugins/profile/.*; specify a LOGDIR"):
            capture([profiler_server], str(tmp_path / "file"), SHORT)

    def test_a_cancelled_capture_leaves_no_file(self, profiler_server: str, tmp_path: Path) -> None:
        started = SessionCapture([profiler_server], str(tmp_path), Options(duration_ms=60_000))
        thread = threading.Thread(target=started.run)
        thread.start()
        while started.progress()["state"] != "tracing":
            assert not started.wait(0.01)
        started.cancel()
        thread.join()
        assert started.progress()["state"] == "cancelled"
        assert not list(tmp_path.glob("plugins/profile/*/*"))

    def test_a_capture_ended_early_keeps_what_was_recorded(
        self, profiler_server: str, tmp_path: Path
    ) -> None:
        started = SessionCapture([profiler_server], str(tmp_path), Options(duration_ms=60_000))
        thread = threading.Thread(target=started.run)
        thread.start()
        while not started.done:
            if (
                started.progress()["elapsed_ms"] >= 500
            ):  # an empty trace is an error: the program must have run
                started.end()  # the server ignores a request that arrives before it traces
            started.wait(0.2)
        thread.join()
        assert started.progress()["state"] == "done"
        assert xi.load(str(tmp_path)).duration_ps < 60_000 * 10**9

    def test_two_captures_within_a_second_are_two_sessions(
        self, profiler_server: str, tmp_path: Path
    ) -> None:
        names = {capture([profiler_server], str(tmp_path), Options(duration_ms=20)).session for _ in range(2)}
        assert {path.name for path in (tmp_path / "plugins/profile").iterdir()} == names
        assert len(names) == 2

    def test_the_command(
        self, profiler_server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["capture", profiler_server, str(tmp_path), "--duration-ms", "600"]) == 0
        output = capsys.readouterr()
        assert Path(output.out.strip()).parent == tmp_path / "plugins/profile"
        assert f"Tracing {profiler_server}" in output.err

    def test_the_command_with_a_host_that_fails(
        self, profiler_server: str, refused_port: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        missing = f"localhost:{refused_port}"
        options = ["--duration-ms", "300", "--retries", "0", "--json"]
        assert main(["capture", f"{profiler_server},{missing}", str(tmp_path), *options]) == 3
        output = capsys.readouterr()
        document = json.loads(output.out)
        assert [host["state"] for host in document["hosts"]] == ["done", "error"]
        assert Path(document["path"]).is_dir()
        assert f"{missing}: nothing listens there" in output.err

    def test_the_command_interrupted(self, profiler_server: str, tmp_path: Path) -> None:
        # A process that a shell runs in the background ignores SIGINT, and so do its children.
        program = (
            "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
            "from tb_xla_insights.cli.main import main; sys.exit(main(sys.argv[1:]))"
        )
        options = [profiler_server, str(tmp_path), "--duration-ms", "60000"]
        command = [sys.executable, "-c", program, "capture", *options]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
            assert process.stderr is not None
            assert any("Tracing" in line for line in process.stderr)
            process.send_signal(signal.SIGINT)
            assert process.stderr.read().strip().endswith("xla-insights: stopped")
        assert process.returncode == 130
        assert not list(tmp_path.glob("plugins/profile/*/*"))


class TestRefusals:
    @pytest.fixture
    def server_without_file(self) -> Iterator[str]:
        """A profiler server that answers as if it had written a file, but elsewhere."""
        with answering(lambda _: ProfileResponse().SerializeToString()) as address:
            yield address

    def test_a_capture_whose_file_does_not_appear(
        self, server_without_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tb_xla_insights.capture.capture._MAX_VISIBILITY_DELAY_SECONDS", 0.0)
        with pytest.raises(InputError, match=r"there is no .*\.xplane\.pb; it writes on its own machine"):
            capture([server_without_file], str(tmp_path), SHORT)

    def test_an_empty_trace_leaves_no_file_in_a_bucket(self) -> None:
        bucket = fsspec.filesystem("memory")

        def write_empty_trace(request: ProfileRequest) -> bytes:
            name = f"{request.repository_root}/{request.session_id}/{request.host_name}.xplane.pb"
            bucket.pipe_file(name, b"empty")
            return ProfileResponse(empty_trace=True).SerializeToString()

        with answering(write_empty_trace) as address, pytest.raises(InputError, match="the trace is empty"):
            capture([address], "memory://empty_trace", SHORT)
        assert not bucket.find("/empty_trace")

    def test_an_address_without_a_server(self, refused_port: int, tmp_path: Path) -> None:
        address = f"localhost:{refused_port}"
        with pytest.raises(InputError, match=f"^{address}: nothing listens there; start the profiler server"):
            capture([address], str(tmp_path), SHORT)
        assert not list(tmp_path.iterdir())

    def test_without_grpc(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "grpc", None)
        with pytest.raises(InputError, match=r"^grpc is not installed; pip install grpcio protobuf$"):
            capture(["localhost:1"], str(tmp_path), SHORT)

    def test_another_server(self, tmp_path: Path) -> None:
        with http.server.ThreadingHTTPServer(("localhost", 0), http.server.BaseHTTPRequestHandler) as server:
            threading.Thread(target=server.serve_forever).start()
            address = f"localhost:{server.server_port}"
            refused = Refusal("UNAVAILABLE", "last error: ipv6:[::1]: Connection refused")
            try:
                with pytest.raises(InputError, match="not a profiler server; check the port"):
                    capture([address], str(tmp_path), SHORT)
                assert "not a profiler server" in refusal(address, "/logs/s", refused).message
            finally:
                server.shutdown()

    @pytest.mark.parametrize(
        ("code", "details", "message", "is_retryable"),
        [
            ("UNAVAILABLE", "errors resolving a:1: Domain name not found", "a:1: no such host", False),
            ("UNAVAILABLE", "recvmsg:Connection reset by peer", "ended during the capture", False),
            ("UNAVAILABLE", "No route to host", "a:1: cannot be reached (No route to host)", True),
            (
                "UNAVAILABLE",
                f"{FAILED_TO_CONNECT} No route to host",
                "a:1: cannot be reached (UNKNOWN: ",
                True,
            ),
            (
                "UNAVAILABLE",
                f"{FAILED_TO_CONNECT} tcp handshaker shutdown",
                "check host, port, firewall",
                True,
            ),
            ("UNIMPLEMENTED", "", "not a profiler server", False),
            ("DEADLINE_EXCEEDED", "Deadline Exceeded", "a:1: no answer", False),
            ("INTERNAL", "Another profiling session active.", "another profile", True),
            ("INTERNAL", "/x; Permission denied", "cannot write to /logs/s (/x; Permission denied)", False),
            ("UNKNOWN", "", "the profiler server failed (UNKNOWN)", False),
        ],
    )
    def test_refusals_have_a_message_and_may_be_retried(
        self, code: str, details: str, message: str, is_retryable: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        no_answer = raising(ExceptionGroup("", [TimeoutError("timed out")]))
        monkeypatch.setattr("tb_xla_insights.capture.server.socket.create_connection", no_answer)
        problem = refusal("a:1", "/logs/s", Refusal(code, details))
        assert message in problem.message
        assert "\n" not in problem.message
        assert problem.is_retryable is is_retryable


def test_a_closed_pipe_does_not_change_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(SessionCapture, "run", lambda _: None)
    monkeypatch.setattr(SessionCapture, "wait", lambda *_: True)
    monkeypatch.setattr(SessionCapture, "has_captures", True)
    monkeypatch.setattr(SessionCapture, "message", "b:1: nothing listens there")
    monkeypatch.setattr(printing, "print_line", raising(BrokenPipeError()))
    monkeypatch.setattr(printing, "discard_output", lambda: None)
    assert main(["capture", "a:1,b:1", str(tmp_path)]) == 3
    assert capsys.readouterr().err == "xla-insights: b:1: nothing listens there\n"


def test_ctrl_c_clears_the_progress_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waits = iter([False])

    def wait(*_: object) -> bool:
        for has_ended in waits:
            return has_ended
        raise KeyboardInterrupt

    monkeypatch.setattr(SessionCapture, "run", lambda _: None)
    monkeypatch.setattr(SessionCapture, "wait", wait)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["capture", "a:1", str(tmp_path)]) == 130
    assert capsys.readouterr().err.endswith("Waiting for a:1\r\033[Kxla-insights: stopped\n")


@pytest.mark.parametrize(
    "arguments",
    [["nowhere"], ["a:1", "--duration-ms", "0"], ["a:1", "--host-level", "4"], ["a:1", "--retries", "-1"]],
)
def test_wrong_usage_of_the_command(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as error:
        main(["capture", arguments[0], str(tmp_path), *arguments[1:]])
    assert error.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("logdir", "root"),
    [
        ("/logs/run/", "/logs/run/plugins/profile"),
        ("/logs/run/plugins/profile", "/logs/run/plugins/profile"),
        ("memory://logs/run/plugins/profile/", "memory://logs/run/plugins/profile"),
        ("memory://plugins/profile", "memory://plugins/profile/plugins/profile"),
        ("/", "/plugins/profile"),
    ],
)
def test_sessions_are_written_where_listings_find_them(logdir: str, root: str) -> None:
    assert SessionCapture(["localhost:1"], logdir).root == root


def test_a_relative_logdir_needs_a_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "removed").mkdir()
    monkeypatch.chdir(tmp_path / "removed")
    (tmp_path / "removed").rmdir()
    assert main(["capture", "localhost:1", "out"]) == 3
    assert capsys.readouterr().err == (
        "xla-insights: out: the working directory was removed; give an absolute path\n"
    )


@pytest.mark.parametrize(
    ("logdir", "message"), [("", "no LOGDIR"), (os.fsdecode(b"/logs/caf\xe9"), "not a name in UTF-8")]
)
def test_a_logdir_that_cannot_be_one(logdir: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SessionCapture(["localhost:1"], logdir)
