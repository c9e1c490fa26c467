"""Captures behind URLs: the requests to a store, and stores that stall, refuse requests or fail."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from webstore import Answer, Request, WebStore, web_store

from tb_xla_insights.catalog import load_catalog
from tb_xla_insights.cli.main import main
from tb_xla_insights.errors import InputError
from tb_xla_insights.files import blocks, remote
from tb_xla_insights.files.open import open_source
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.read_hosts import initial_readings, read_session
from tb_xla_insights.logdir.sessions import Root, resolve
from tb_xla_insights.logdir.store import Store, session_opener

[CAPTURE] = (Path(__file__).parents[1] / "demo_logs" / "torch_xla_baseline").rglob("*.xplane.pb")
CONTENT = CAPTURE.read_bytes()
BLOCK = 16 << 10
SESSION = "/logs/run/plugins/profile/2026_01_02_00_00_00"
HOSTS = [f"{SESSION}/{name}.xplane.pb" for name in ("a", "b", "c", "d")]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebStore]:
    """A session of four hosts whose files have many blocks, in a store."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", BLOCK)
    remote._cache.clear()
    with web_store() as store:
        store.files = dict.fromkeys(HOSTS, CONTENT)
        yield store
    remote._cache.clear()


def report(store: WebStore, capsys: pytest.CaptureFixture[str], path: str = "/logs") -> tuple[int, Any, str]:
    """Exit code, document and stderr of a report."""
    code = main(["report", f"{store.address}{path}", "--json"])
    output = capsys.readouterr()
    return code, json.loads(output.out) if output.out else None, output.err


def test_each_byte_is_requested_once_and_the_state_of_a_file_a_few_times(
    store: WebStore, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document, _ = report(store, capsys)
    assert code == 0
    assert len(document["session"]["hosts"]) == 4
    for path in HOSTS:
        assert set(store.request_counts(path)) == {1}
        assert len(store.requests_of(path)) == -(-len(CONTENT) // BLOCK)
        # Before and after decoding, and by each of the two readers of compiled programs.
        assert len(store.requests_of(path, "HEAD")) <= 4


@pytest.mark.parametrize(
    ("max_hosts", "command"),
    [
        (0, "report --json"),
        (0, "export --format csv -o OUT"),
        (8, "export --format chrome -o OUT"),
        (0, "export --format chrome -o OUT"),
        (8, "window --start-ms 0 --end-ms 5"),
        (0, "window --start-ms 0 --end-ms 5"),
    ],
)
def test_an_answer_requests_no_byte_twice(
    store: WebStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_hosts: int, command: str
) -> None:
    monkeypatch.setattr("tb_xla_insights.logdir.session_hosts._MAX_HOSTS_IN_MEMORY", max_hosts)
    store.files = dict.fromkeys(HOSTS[:2], CONTENT)
    words = command.replace("OUT", str(tmp_path / "out")).split()
    assert main([words[0], f"{store.address}/logs", *words[1:]]) == 0
    assert [set(store.request_counts(path)) for path in HOSTS[:2]] == [{1}, {1}]


def test_remote_and_local_captures_give_the_same_trace(
    store: WebStore, capsys: pytest.CaptureFixture[str]
) -> None:
    store.files = {f"{SESSION}/{CAPTURE.name}": CONTENT}
    _, remote_report, _ = report(store, capsys)
    assert main(["report", str(CAPTURE), "--json"]) == 0
    local_report = json.loads(capsys.readouterr().out)
    for key in ("devices", "steps", "gaps", "executions", "compiles", "propagation", "findings"):
        assert remote_report[key] == local_report[key], key


def test_hosts_and_blocks_are_requested_in_parallel(store: WebStore) -> None:
    """Each answer waits until the maximum of concurrent requests has arrived, so sequential requests would block."""
    last_host = HOSTS[-1]
    hosts_barrier = threading.Barrier(len(HOSTS))
    blocks_barrier = threading.Barrier(blocks.MAX_REQUESTS)
    passed_barriers: list[str] = []

    def wait_for_others(_: Answer, request: Request) -> bool:
        if request.first == 0:
            hosts_barrier.wait(60)
            passed_barriers.append("hosts")
        elif (
            request.path == last_host
            and request.first is not None
            and request.first // BLOCK <= blocks.MAX_REQUESTS
        ):
            blocks_barrier.wait(60)
            passed_barriers.append("blocks")
        return False

    assert len(CONTENT) > (blocks.MAX_REQUESTS + 1) * BLOCK
    store.faults = dict.fromkeys(HOSTS, wait_for_others)
    trace = read_session(resolve(f"{store.address}/logs"), load_catalog())
    assert len(trace.traces) == 4
    assert sorted(passed_barriers) == ["blocks"] * blocks.MAX_REQUESTS + ["hosts"] * 4


def test_progress_counts_the_bytes_received(store: WebStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MAX_REQUESTS", 1)
    session = resolve(f"{store.address}/logs")
    readings = initial_readings(session)
    counts: list[tuple[int, int]] = []

    def record_progress(_: Answer, request: Request) -> bool:
        if request.first is not None:
            counts.append((readings[0].bytes_read, readings[0].bytes))
        return False

    store.faults[HOSTS[0]] = record_progress
    read_session(session, load_catalog(), readings)
    assert {size for _, size in counts} == {len(CONTENT)}
    # Each request is made after the blocks of the earlier ones are counted; one block is shorter than the others.
    assert [-(-bytes_read // BLOCK) for bytes_read, _ in counts] == list(range(len(counts)))
    assert len(counts) > 10
    assert [(reading.bytes_read, reading.bytes, reading.state) for reading in readings] == [
        (len(CONTENT), len(CONTENT), "ready")
    ] * 4


def at_block(number: int, fault: Callable[[Answer, Request], bool]) -> Callable[[Answer, Request], bool]:
    """The fault, for one block only."""
    return lambda answer, request: request.first == number * BLOCK and fault(answer, request)


def replace_during_reading(store: WebStore) -> Callable[[Answer, Request], bool]:
    """A fault that replaces the file by another one of the same size when its third block is requested."""

    def fault(_: Answer, request: Request) -> bool:
        if request.first == 2 * BLOCK:
            store.files[request.path] = store.files[request.path][:-1] + b"\0"
        return False

    return fault


FAULTS: dict[str, tuple[Callable[[Answer, Request], bool], str]] = {
    "refused": (lambda answer, _: answer.refuse(403), r"access refused \(403 Forbidden\); check the credentials"),
    "unknown user": (lambda answer, _: answer.refuse(401), r"access refused \(401 Unauthorized\)"),
    "gone": (lambda answer, _: answer.refuse(404), "no such file; check the path"),
    "fails": (lambda answer, _: answer.refuse(500), r"cannot be read \(500 Internal Server Error\); try again"),
    "reset": (lambda answer, _: answer.reset(), r"cannot be read \(.*; try again"),
    "refused on the way": (at_block(3, lambda answer, _: answer.refuse(403)), "byte .*access refused"),
    "gone on the way": (at_block(3, lambda answer, _: answer.refuse(404)), "byte .*no such file"),
    "fails on the way": (at_block(3, lambda answer, _: answer.refuse(503)), "byte .*503 Service Unavailable"),
    "reset on the way": (at_block(3, lambda answer, _: answer.reset()), "byte .*cannot be read"),
    "cut on the way": (at_block(3, lambda answer, request: answer.send_half(request)), "byte .*cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAULTS)
def test_a_failing_host_is_reported_in_one_line_and_the_others_are_read(store: WebStore, kind: str) -> None:
    fault, message = FAULTS[kind]
    store.files = dict.fromkeys(HOSTS[:2], CONTENT)
    store.faults[HOSTS[1]] = fault
    trace = read_session(resolve(f"{store.address}/logs"), load_catalog())
    assert [host.host for host in trace.traces] == ["a"]
    [skipped] = [diagnostic for diagnostic in trace.diagnostics if diagnostic.id == "skipped_host"]
    assert skipped.host == "b"
    assert re.match(re.escape(f"{store.address}{HOSTS[1]}: ") + message, skipped.message)
    assert "\n" not in skipped.message


def test_a_file_that_changes_during_reading_is_reported_and_the_other_hosts_are_shown(
    store: WebStore, capsys: pytest.CaptureFixture[str]
) -> None:
    store.faults[HOSTS[1]] = replace_during_reading(store)
    code, document, errors = report(store, capsys)
    assert code == 0
    assert "Traceback" not in errors
    assert [host["name"] for host in document["session"]["hosts"]] == ["a", "c", "d"]
    [skipped] = [diagnostic for diagnostic in document["diagnostics"] if diagnostic["id"] == "skipped_host"]
    assert skipped["message"].endswith(
        ": the file changed while it was read; read it again once writing has finished"
    )


@pytest.mark.parametrize("kind", FAULTS)
def test_the_command_fails_only_if_no_host_can_be_read(
    store: WebStore, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    fault, message = FAULTS[kind]
    store.files = dict.fromkeys(HOSTS[:2], CONTENT)
    store.faults = dict.fromkeys(HOSTS[:2], fault)
    code, document, errors = report(store, capsys)
    assert (code, document) == (3, None)
    assert re.fullmatch(
        r"xla-insights: http://\S+/a\.xplane\.pb: " + message + r".* \(2 hosts, all fail\)\n", errors
    )


def test_nothing_is_requested_after_a_failure(store: WebStore) -> None:
    store.faults[HOSTS[0]] = lambda answer, request: request.first is not None and answer.refuse(403)
    with pytest.raises(InputError):
        read_session(resolve(f"{store.address}{HOSTS[0]}"), load_catalog())
    assert len(store.requests_of(HOSTS[0])) == 1


@pytest.mark.parametrize("method", ["send_whole", "send_without_length"])
def test_a_store_without_range_requests_sends_the_file_once(
    store: WebStore, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    store.files = {HOSTS[0]: CONTENT}
    store.faults[HOSTS[0]] = lambda answer, _: getattr(answer, method)()
    code, document, _ = report(store, capsys)
    assert code == 0
    assert document["session"]["hosts"][0]["bytes"] == len(CONTENT)
    # fsspec requests the size with GET if HEAD does not return it, and does not read the answer.
    size_requests = 5 if method == "send_without_length" else 0
    assert len(store.requests_of(HOSTS[0])) - size_requests == 1


def test_a_response_of_the_wrong_length_is_an_error(store: WebStore) -> None:
    def send_nine_bytes(answer: Answer, _: Request) -> bool:
        answer.answer(206, CONTENT[:9])
        return True

    store.faults[HOSTS[0]] = at_block(2, send_nine_bytes)
    with open_source(f"{store.address}{HOSTS[0]}") as source, pytest.raises(InputError) as raised:
        source.read(2 * BLOCK, 10)
    message = (
        f": byte {2 * BLOCK}: cannot be read (the store sent 9 of {BLOCK} requested bytes); try again or "
    )
    assert message in str(raised.value)


def test_a_file_is_not_fetched_whole_for_a_few_bytes(store: WebStore) -> None:
    with open_source(f"{store.address}{HOSTS[0]}") as source:
        assert source.read(5 * BLOCK + 7, 9).tobytes() == CONTENT[5 * BLOCK + 7 :][:9]
        assert source.read(5 * BLOCK + 90, 9).tobytes() == CONTENT[5 * BLOCK + 90 :][:9]
        assert [request.first for request in store.requests_of(HOSTS[0])] == [5 * BLOCK]
        across = source.read(2 * BLOCK - 5, 10).tobytes()
    assert across == CONTENT[2 * BLOCK - 5 :][:10]


def test_a_store_that_stalls_is_abandoned(store: WebStore, monkeypatch: pytest.MonkeyPatch) -> None:
    session, may_go_on = resolve(f"{store.address}/logs"), threading.Event()
    readings = initial_readings(session)

    def expire_once_others_are_read() -> bool:
        """Sets the time limit to 0 once all other hosts are read; called while a thread waits for the store."""
        if [reading.state for reading in readings] == ["ready", "reading", "ready", "ready"]:
            monkeypatch.setattr(blocks, "STALL_TIMEOUT_S", 0)
        return False

    store.faults[HOSTS[1]] = lambda _, request: request.first == 2 * BLOCK and may_go_on.wait()
    try:
        trace = read_session(session, load_catalog(), readings, expire_once_others_are_read)
    finally:
        may_go_on.set()
    [skipped] = [diagnostic for diagnostic in trace.diagnostics if diagnostic.id == "skipped_host"]
    assert skipped.host == "b"
    assert "cannot be read (no answer for 0 s); try again or copy" in skipped.message


def test_a_store_that_never_answers_is_abandoned(store: WebStore, monkeypatch: pytest.MonkeyPatch) -> None:
    session, may_go_on = resolve(f"{store.address}{HOSTS[0]}"), threading.Event()
    monkeypatch.setattr(blocks, "STALL_TIMEOUT_S", 0.2)
    store.faults[HOSTS[0]] = lambda *_: may_go_on.wait()
    try:
        with pytest.raises(
            InputError, match=r"a\.xplane\.pb: cannot be read \(no answer for 0\.2 s\); try again"
        ):
            read_session(session, load_catalog())
    finally:
        may_go_on.set()


def stall_at_third_block() -> tuple[Callable[[Answer, Request], bool], threading.Event, threading.Event]:
    """A fault that blocks the request for the third block, an event for its start, and an event that ends it."""
    requested, may_go_on = threading.Event(), threading.Event()

    def stall(_: Answer, request: Request) -> bool:
        if request.first != 2 * BLOCK:
            return False
        requested.set()
        return may_go_on.wait()

    return stall, requested, may_go_on


def test_a_store_that_stalls_is_left_when_reading_is_stopped(store: WebStore) -> None:
    stall, requested, may_go_on = stall_at_third_block()
    store.faults[HOSTS[1]] = stall
    try:
        trace = read_session(resolve(f"{store.address}/logs"), load_catalog(), should_stop=requested.is_set)
    except InputError as error:
        assert "reading was stopped" in str(error)  # noqa: PT017  it depends on timing whether another host was read
    else:
        skipped = [diagnostic for diagnostic in trace.diagnostics if diagnostic.id == "skipped_host"]
        assert "b" in [diagnostic.host for diagnostic in skipped]
        assert all(
            "not read, because reading was stopped; reload the session" in diagnostic.message
            for diagnostic in skipped
        )
    finally:
        may_go_on.set()


def test_a_file_of_unknown_size_is_left_when_reading_is_stopped(store: WebStore) -> None:
    may_go_on, byte_counts = threading.Event(), list[int]()

    def stall_after_half(answer: Answer, request: Request) -> bool:
        if request.method == "HEAD":
            return answer.send_without_length()
        answer.send_half_without_length()
        return may_go_on.wait(20)

    store.faults[HOSTS[0]] = stall_after_half
    try:
        with pytest.raises(InputError, match=r"a\.xplane\.pb: not read, because reading was stopped"):
            open_source(
                f"{store.address}{HOSTS[0]}",
                on_bytes=byte_counts.append,
                should_stop=lambda: bool(byte_counts),
            )
    finally:
        may_go_on.set()
    assert 0 < byte_counts[-1] <= len(CONTENT) // 2


def test_the_tab_shows_bytes_while_a_store_stalls_and_stopping_ends_the_reading(store: WebStore) -> None:
    stall, requested, may_go_on = stall_at_third_block()
    store.files = {HOSTS[0]: CONTENT}
    store.faults[HOSTS[0]] = stall
    sessions = Store(Listing([Root(f"{store.address}/logs")]), session_opener())
    load = sessions.load("run/2026_01_02_00_00_00")
    try:
        assert requested.wait(60)
        progress = load.progress()
        assert (progress["bytes"], progress["hosts"][0]["state"]) == (len(CONTENT), "reading")
        assert BLOCK <= progress["bytes_read"] < len(CONTENT)
        assert sessions.stop("run/2026_01_02_00_00_00")
        assert load.wait(60)
    finally:
        may_go_on.set()
    assert str(load.error).endswith(
        "a.xplane.pb: not read, because reading was stopped; reload the session to read it"
    )


def send_dated(answer: Answer, request: Request) -> bool:
    """The bytes with a time of modification in whole seconds, and without a tag."""
    body = answer.store.files[request.path][request.first : request.end]
    answer.send_response(200 if request.first is None else 206)
    answer.send_header("Last-Modified", "Fri, 02 Jan 2026 00:00:00 GMT")
    answer.send_header("Content-Length", str(len(body)))
    answer.end_headers()
    if request.method == "GET":
        answer.wfile.write(body)
    return True


def test_a_file_that_grows_within_a_second_is_fetched_again(store: WebStore) -> None:
    path = HOSTS[0]
    store.faults[path] = send_dated
    for content in (b"short", b"longer"):
        store.files[path] = content
        with open_source(f"{store.address}{path}") as source:
            assert source.read(0, 10).tobytes() == content
            source.cache_ranges([(0, 10)])


def test_the_cache_of_closed_files_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MAX_CACHE_BYTES", 10)
    cache = blocks.BlockCache()
    for name in "abc":
        cache.put((name, ""), blocks.CachedBlocks(9, {0: b"12345"}))
        cache.get(("a", ""))
    assert cache.get(("a", "")) == blocks.CachedBlocks(9, {0: b"12345"})
    assert cache.get(("b", "")) is None
    cache.put(("c", ""), blocks.CachedBlocks(9, {1: b"1234567"}))
    assert cache.get(("c", "")) is None
