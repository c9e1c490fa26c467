"""A logdir in a bucket: a server of the S3 protocol on loopback, and the commands that a user would type."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from webstore import web_store

from tb_xla_insights import load
from tb_xla_insights.cli.main import main
from tb_xla_insights.files import blocks, remote
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.sessions import Root, SessionFiles, find_sessions, resolve
from tb_xla_insights.trace.details import event_stats

DEMO = Path(__file__).parents[1] / "demo_logs" / "torch_xla_baseline"
[CAPTURE] = DEMO.rglob("*.xplane.pb")
CONTENT = CAPTURE.read_bytes()


def environment_for(address: str) -> dict[str, str]:
    """The environment variables of a user with access to the endpoint."""
    return {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
    }


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server in this process."""
    from moto.moto_server.threaded_moto_server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def server_with_demo(server: str) -> str:
    """The server, with a bucket `profiles` that has the demo as `logs/run`."""
    import s3fs

    with pytest.MonkeyPatch.context() as patch:
        become_user(server, patch)
        files = s3fs.S3FileSystem()
        files.mkdir("profiles")
        files.put(str(DEMO), "profiles/logs/run", recursive=True)
        forget()
    return server


@pytest.fixture
def access(server_with_demo: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A user with access to the bucket `profiles`."""
    become_user(server_with_demo, monkeypatch)
    yield
    forget()


def become_user(address: str, patch: pytest.MonkeyPatch) -> None:
    for name, value in environment_for(address).items():
        patch.setenv(name, value)
    forget()


def forget() -> None:
    """Forgets connections and the bytes that were read, as they outlive their test."""
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    remote._cache.clear()


@pytest.mark.usefixtures("access")
def test_sessions_of_a_bucket(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "s3://profiles/logs", "--json"]) == 0
    (session,) = json.loads(capsys.readouterr().out)["sessions"]
    assert session["name"].startswith("run/")
    assert [host["name"] for host in session["hosts"]] == ["demo-host"]


@pytest.mark.usefixtures("access")
def test_a_report_is_that_of_the_same_files_on_a_disk(capsys: pytest.CaptureFixture[str]) -> None:
    def without_paths(document: dict[str, Any]) -> dict[str, Any]:
        del document["session"]["path"], document["session"]["name"]
        for host in document["session"]["hosts"]:
            del host["file"]
        return document

    command = [sys.executable, "-m", "tb_xla_insights", "report", "s3://profiles/logs", "--json"]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    assert main(["report", str(DEMO), "--json"]) == 0
    local_text = capsys.readouterr().out
    remote_report = json.loads(process.stdout)
    assert remote_report["session"]["path"].startswith("s3://profiles/logs/run/")
    assert remote_report["metrics"] is not None, "the metrics report beside the capture"
    assert json.dumps(without_paths(remote_report)).replace("s3://profiles/logs/run", "") == json.dumps(
        without_paths(json.loads(local_text))
    ).replace(str(DEMO), "")


@pytest.mark.usefixtures("access")
def test_stats_of_one_event_are_read_from_their_byte_range() -> None:
    [trace] = load("s3://profiles/logs").trace.traces
    assert "step_num" in {stat.name for stat in event_stats(trace, int(trace.annotations[0]))}


@pytest.mark.parametrize(
    ("path", "variables", "message"),
    [
        ("s3://profiles/nothing", {}, "s3://profiles/nothing: "),
        ("s3://other", {}, "s3://other: "),
        ("s3://profiles/logs/x.xplane.pb", {}, "s3://profiles/logs/x.xplane.pb: no such file"),
        ("s3://profiles/logs", {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "s3://profiles/logs: cannot be read"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("access")
def test_an_unreadable_object_is_a_one_line_error(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    path: str,
    variables: dict[str, str],
    message: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["report", path]) == 3
    output = capsys.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    assert line.startswith(f"xla-insights: {message}")


@pytest.fixture
def endpoint(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, list[str]]]:
    """A user with an empty bucket `counted`: the client, and a log line per request."""
    import boto3

    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("werkzeug")
    monkeypatch.setattr(logger, "level", logging.INFO)
    monkeypatch.setattr(logger, "handlers", [handler])
    become_user(server, monkeypatch)
    client = boto3.client("s3")
    client.create_bucket(Bucket="counted")
    yield client, lines
    backend().buckets["counted"].keys.clear()
    client.delete_bucket(Bucket="counted")
    client.close()
    forget()


def backend() -> Any:
    """The storage of the endpoint in this process."""
    from moto.s3.models import s3_backends

    [backend_of_bucket] = [
        candidate
        for backends in s3_backends.values()
        for candidate in backends.values()
        if "counted" in candidate.buckets
    ]
    return backend_of_bucket


def put_many(count: int) -> None:
    """Writes `count` sessions directly to the endpoint's storage, as uploads would take minutes."""
    bucket = backend()
    for number in range(count):
        name = f"2026_01_01_{number // 3600:02}_{number // 60 % 60:02}_{number % 60:02}"
        bucket.put_object("counted", f"logs/run/plugins/profile/{name}/vm.xplane.pb", b"")


def test_many_sessions_are_listed_once_with_a_thousand_names_per_request(endpoint: Any) -> None:
    _, lines = endpoint
    put_many(1_001)
    listings: list[Callable[[], SessionFiles]] = [
        lambda: resolve("s3://counted/logs"),
        lambda: resolve("s3://counted/logs/run/plugins/profile", "2026_01_01_00_00_07"),
        lambda: find_sessions([Root("s3://counted/logs")])[0],
    ]
    for find in listings:
        lines.clear()
        assert find().name in ("run/2026_01_01_00_16_40", "2026_01_01_00_00_07")
        assert len(lines) == 2
        assert all("list-type=2" in line for line in lines)
    listing = Listing([Root("s3://counted/logs")])
    lines.clear()
    assert len(listing.refresh(wait=None)) == 1_001
    listing.refresh(wait=None)
    assert len(lines) == 2


def put_session(client: Any) -> list[str]:
    keys = [f"logs/plugins/profile/2026_01_01_00_00_00/{host}.xplane.pb" for host in "ab"]
    for key in keys:
        client.put_object(Bucket="counted", Key=key, Body=CONTENT)
    return keys


def test_each_block_of_a_session_is_requested_once(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    client, lines = endpoint
    put_session(client)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64 << 10)
    ranges: list[tuple[str, str]] = []
    call = s3fs.S3FileSystem._call_s3

    async def record_range(self: Any, method: str, *arguments: Any, **options: Any) -> Any:
        if method == "get_object":
            ranges.append((options["Key"], options["Range"]))
        return await call(self, method, *arguments, **options)

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", record_range)
    lines.clear()
    assert len(load("s3://counted/logs").trace.traces) == 2
    assert len(ranges) == len(set(ranges)) == 2 * -(-len(CONTENT) // (64 << 10))
    methods = Counter(re.findall(r"(GET|HEAD) /", "\n".join(lines)))
    # One listing, and a HEAD per host before and after its bytes.
    assert methods == {"GET": len(ranges) + 1, "HEAD": 4}


@pytest.mark.parametrize(
    ("change", "message"),
    [("deleted", ": byte .*: no such file; check the path"), ("replaced", ": the file changed while it was read; .*")],
)  # fmt: skip
def test_a_file_removed_or_changed_during_reading_is_reported_and_the_others_are_shown(
    endpoint: Any, monkeypatch: pytest.MonkeyPatch, change: str, message: str
) -> None:
    import s3fs

    client, _ = endpoint
    _, key = put_session(client)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64 << 10)
    call = s3fs.S3FileSystem._call_s3

    async def change_after_first_block(self: Any, method: str, *arguments: Any, **options: Any) -> Any:
        answer = await call(self, method, *arguments, **options)
        if method == "get_object" and options["Key"] == key and options["Range"].startswith("bytes=0-"):
            if change == "deleted":
                client.delete_object(Bucket="counted", Key=key)
            else:
                client.put_object(Bucket="counted", Key=key, Body=CONTENT[:-1] + b"\0")
        return answer

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", change_after_first_block)
    trace = load("s3://counted/logs").trace
    assert [host.host for host in trace.traces] == ["a"]
    [skipped] = [diagnostic for diagnostic in trace.diagnostics if diagnostic.id == "skipped_host"]
    assert re.fullmatch(re.escape(f"s3://counted/{key}") + message, skipped.message)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda answer, _: answer.refuse(403), r"access refused \(Forbidden\); check the credentials"),
        (lambda answer, _: answer.refuse(500), r"cannot be read \(Internal Server Error\)"),
        (lambda answer, request: request.method == "GET" and answer.refuse(403), "byte 0: access refused"),
        (lambda answer, request: request.method == "GET" and answer.refuse(500), "byte 0: cannot be read"),
        (lambda answer, request: request.method == "GET" and answer.reset(), "byte 0: cannot be read"),
        (
            lambda answer, request: request.method == "GET" and answer.send_half(request),
            "byte 0: cannot be read",
        ),
    ],
)
def test_an_endpoint_that_fails_is_a_one_line_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fault: Any, message: str
) -> None:
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 2)
    with web_store() as store:
        for name, value in environment_for(store.address).items():
            monkeypatch.setenv(name, value)
        path = "/profiles/vm.xplane.pb"
        store.files[path], store.faults[path] = CONTENT, fault
        assert main(["report", f"s3:/{path}"]) == 3
    output = capsys.readouterr()
    assert output.out == ""
    assert re.fullmatch(rf"xla-insights: s3:/{path}: {message}.*\n", output.err)
    s3fs.S3FileSystem.clear_instance_cache()
