"""The plugin inside a real TensorBoard application."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from helpers import MS, raising, write_cut_session, write_session
from schema_checks import check_answer
from synthetic.writer import Space
from tensorboard import program
from tensorboard.backend import application
from tensorboard.plugins.core import core_plugin
from werkzeug.test import Client, TestResponse

from tb_xla_insights.plugin import XlaInsights
from tb_xla_insights.plugin.origin import HEADER
from tb_xla_insights.routes.arguments import Arguments

BASE = "/data/plugin/xla_insights"
PAGE_HEADERS = {"Host": "localhost:6006", "Origin": "http://localhost:6006", HEADER: "1"}
"""The page's headers in a POST request."""
OLD, NEW = "2026_01_01_00_00_00", "run/2026_01_02_00_00_00"


def tensorboard(*flags: str) -> Client:
    """TensorBoard's own application with this plugin, configured by a command line."""
    loaders = [core_plugin.CorePluginLoader(), XlaInsights()]
    board = program.TensorBoard(plugins=loaders)
    board.configure(argv=("tensorboard", *flags))
    return Client(application.TensorBoardWSGIApp(board.flags, loaders))


def get(client: Client, route: str, **arguments: Any) -> TestResponse:
    return client.get(f"{BASE}/{route}", query_string=arguments)


def document(answer: TestResponse) -> dict[str, Any]:
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    parsed: dict[str, Any] = json.loads(answer.data)
    return parsed


def data(client: Client, route: str, **arguments: Any) -> dict[str, Any]:
    answer = get(client, f"data/{route}", **arguments)
    assert answer.status_code == 200, answer.data
    check_answer(document(answer), route)
    return document(answer)


def post(client: Client, route: str, headers: dict[str, str] = PAGE_HEADERS, **body: Any) -> TestResponse:
    return client.post(f"{BASE}/data/{route}", headers=headers, json=body)


def open_session(client: Client, name: str, reload: bool = False, **arguments: Any) -> dict[str, Any]:
    """Polls until a session is in memory or cannot be read; the server delays each answer a little."""
    if reload:
        assert post(client, "reload", session=name).status_code == 200
    answer = data(client, "session", session=name, **arguments)
    while answer["state"] == "loading":
        answer = data(client, "session", session=name)
    return answer


@pytest.fixture
def client(logdir: Path) -> Client:
    return tensorboard("--logdir", str(logdir))


def test_tensorboard_lists_the_tab(client: Client) -> None:
    data(client, "sessions")  # waits for the first listing
    listed = json.loads(client.get("/data/plugins_listing").data)["xla_insights"]
    assert listed["enabled"] is True
    assert listed["tab_name"] == "XLA Insights"
    assert listed["loading_mechanism"]["type"] == "IFRAME"


def test_the_entry_of_the_page_is_served(client: Client) -> None:
    shell = client.get("/data/plugin_entry.html", query_string={"name": "xla_insights"})
    [path] = [part for part in shell.text.split('"') if part.endswith("/index.js")]
    answer = client.get(f"{BASE}/{path.removeprefix('./')}")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/javascript")


def test_a_logdir_without_a_session_leaves_the_tab_inactive(tmp_path: Path) -> None:
    client = tensorboard("--logdir", str(tmp_path))
    assert data(client, "sessions")["message"] == f"No profile under this logdir: {tmp_path}."
    assert json.loads(client.get("/data/plugins_listing").data)["xla_insights"]["enabled"] is False


def test_is_active_uses_the_last_listing(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []

    def refresh(_: object, wait: float | None = 0, **_options: object) -> tuple[str, ...]:
        waits.append(wait)
        return ("a session",) if len(waits) > 2 else ()

    monkeypatch.setattr("tb_xla_insights.logdir.listing.Listing.refresh", refresh)
    client = tensorboard("--logdir", str(logdir))
    enabled = [
        json.loads(client.get("/data/plugins_listing").data)["xla_insights"]["enabled"] for _ in range(4)
    ]
    assert enabled == [False, True, True, True]
    assert waits == [0, 0, 0]  # it never waits, and does not refresh once there is a session


def test_sessions_come_newest_first(client: Client, logdir: Path) -> None:
    listed = data(client, "sessions")
    assert listed["logdir"] == str(logdir)
    assert listed["message"] is None
    assert [session["name"] for session in listed["sessions"]] == [NEW, OLD]
    assert [host["name"] for host in listed["sessions"][0]["hosts"]] == ["a", "b"]
    assert listed["sessions"][0]["modified_unix_ns"].isdigit()


def test_a_logdir_spec_works(logdir: Path) -> None:
    client = tensorboard("--logdir_spec", f"first:{logdir},second:{logdir / 'run'}")
    names = {session["name"] for session in data(client, "sessions")["sessions"]}
    assert names == {f"first/{OLD}", f"first/{NEW}", f"second/{NEW.removeprefix('run/')}"}


def test_a_path_prefix_works(logdir: Path) -> None:
    client = tensorboard("--logdir", str(logdir), "--path_prefix", "/proxy/tb")
    assert client.get(f"/proxy/tb{BASE}/data/sessions").status_code == 200


def test_a_session_opens(client: Client) -> None:
    ready = open_session(client, NEW)
    assert ready["state"] == "ready"
    assert ready["changed"] is False
    assert [host["name"] for host in ready["session"]["hosts"]] == ["a", "b"]
    assert {
        "environment",
        "diagnostics",
        "devices",
        "phases",
        "annotations",
        "classes",
        "rows",
        "strip",
    } <= set(ready)
    assert len(ready["devices"]["host"]) == 2
    assert {row["host"] for row in ready["rows"]} == {"a", "b"}


def test_one_bad_host_does_not_hide_the_others(logdir: Path) -> None:
    write_session(logdir / "plugins/profile/mixed", "good")
    (logdir / "plugins/profile/mixed/bad.xplane.pb").write_bytes(b"\xff" * 100)
    ready = open_session(tensorboard("--logdir", str(logdir)), "mixed")
    assert [host["name"] for host in ready["session"]["hosts"]] == ["good"]
    [skipped] = [row for row in ready["diagnostics"] if row["id"] == "skipped_host"]
    assert skipped["host"] == "bad"
    assert "bad.xplane.pb" in skipped["message"]


def test_an_unreadable_session_reports_the_reason(logdir: Path) -> None:
    directory = logdir / "plugins/profile/bad"
    directory.mkdir()
    (directory / "vm.xplane.pb").write_text("<html>not a capture</html>")
    failed = open_session(tensorboard("--logdir", str(logdir)), "bad")
    assert failed["state"] == "error"
    assert "vm.xplane.pb" in failed["message"]
    assert "\n" not in failed["message"]
    assert failed["hosts"][0]["state"] == "error"


@pytest.mark.parametrize("method", ["get", "post"])
def test_requests_for_a_session_wait_for_the_imports(
    client: Client, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    imports: list[str] = []
    monkeypatch.setattr("tb_xla_insights.plugin.imports.import_modules", lambda: imports.append("imported"))
    answer = (
        post(client, "reload", session="x") if method == "post" else get(client, "data/session", session="x")
    )
    assert (answer.status_code, imports) == (404, ["imported"])


def test_a_new_capture_is_read_on_reload(client: Client, logdir: Path) -> None:
    assert [host["name"] for host in open_session(client, OLD)["session"]["hosts"]] == ["vm"]
    write_session(logdir / "plugins/profile" / OLD, "another")
    reloaded = open_session(client, OLD, reload=True)
    assert [host["name"] for host in reloaded["session"]["hosts"]] == ["another", "vm"]


def test_a_cut_capture_opens_with_a_diagnostic(logdir: Path) -> None:
    write_cut_session(logdir / "plugins/profile/cut", "vm")
    ready = open_session(tensorboard("--logdir", str(logdir)), "cut")
    assert "truncated_file" in [row["id"] for row in ready["diagnostics"]]


def test_the_views_answer(client: Client) -> None:
    ready = open_session(client, OLD)
    window = {"session": OLD, "start_ps": 0, "end_ps": ready["session"]["duration_ps"]}
    rows = ",".join(row["id"] for row in ready["rows"])
    view = data(client, "timeline", **window, px=1000, rows=rows)
    assert set(view["rows"]) == set(rows.split(","))
    hits = data(client, "search", session=OLD, q="FORWARD")
    assert hits["count"] == 3
    event = data(client, "event", session=OLD, event=hits["hits"]["event"][0])
    assert event["name"] == "forward"
    position = {"session": OLD, "row": event["row"], "start_ps": event["start_ps"], "depth": event["depth"]}
    assert data(client, "event", **position)["event"] == event["event"]
    following = data(client, "neighbor", **position, direction="next")["event"]
    assert following["start_ps"] > event["start_ps"]
    assert data(client, "window", **window)["duration_ps"] == window["end_ps"]
    assert data(client, "table", **window, rows=event["row"], limit=2)["items"]


def test_data_of_a_session_that_is_not_in_memory_is_read_first(client: Client) -> None:
    assert data(client, "search", session=OLD, q="forward")["count"] == 3


def test_sessions_with_names_that_are_not_utf_8_are_listed_and_open(logdir: Path) -> None:
    directory = logdir / "plugins/profile" / os.fsdecode(b"caf\xe9")
    write_session(directory, os.fsdecode(b"vm\xff"))
    client = tensorboard("--logdir", str(logdir))
    [name] = [
        session["name"]
        for session in data(client, "sessions")["sessions"]
        if session["name"] not in (OLD, NEW)
    ]
    ready = open_session(client, name)
    assert ready["state"] == "ready"
    [device, *_] = (
        f"{host}/{device_name}"
        for host, device_name in zip(*map(ready["devices"].get, ("host", "name")), strict=True)
    )
    window = {"session": name, "start_ps": 0, "end_ps": 10, "device": device}
    assert data(client, "window", **window)["duration_ps"] == 10
    (directory / os.fsdecode(b"vm\xff.xplane.pb")).write_bytes(b"\xff")
    assert "vm" in open_session(client, name, reload=True)["message"]


def test_repeated_items_of_a_list_are_answered_once() -> None:
    assert Arguments("data/timeline", {"rows": "b,a,,b,a"}).names("rows") == ["b", "a"]


def test_a_capture_of_more_than_two_and_a_half_hours_can_be_requested(tmp_path: Path) -> None:
    hours = 3 * 3600 * 10**12
    space = Space()
    line = space.plane("/host:CPU").line("python")
    line.event("forward", 0, MS)
    line.event("loss", hours, MS)
    folder = tmp_path / "plugins/profile/s"
    folder.mkdir(parents=True)
    space.write(folder / "vm.xplane.pb")
    client = tensorboard("--logdir", str(tmp_path))
    head = open_session(client, "s")
    window = {"session": "s", "start_ps": 0, "end_ps": hours + MS}
    assert head["session"]["duration_ps"] == data(client, "window", **window)["duration_ps"] == hours + MS
    assert data(client, "timeline", **window, px=1000, rows="h0.t0")["rows"]["h0.t0"][0]["s"] == [0, hours]


def test_items_of_a_list_have_their_commas_encoded() -> None:
    arguments = Arguments("data/executions", {"devices": "run 1%2C b/TPU:0,50%25/TPU:0,50%/TPU:0"})
    assert arguments.names("devices") == ["run 1, b/TPU:0", "50%/TPU:0"]


def test_stopping_a_session_that_is_not_being_read_does_nothing(client: Client) -> None:
    assert document(post(client, "stop", session=OLD)) == {"stopped": False}


WINDOW = {"session": OLD, "start_ps": "0", "end_ps": "10"}


@pytest.mark.parametrize(
    ("route", "arguments", "code", "words"),
    [
        ("session", {}, 400, "session is missing"),
        ("session", {"session": "nothing"}, 404, "no such session"),
        ("session", {"session": "../" + OLD}, 404, "no such session"),
        ("session", {"session": "/etc"}, 404, "no such session"),
        ("timeline", {**WINDOW, "px": "1000", "end_ps": "0"}, 400, "end_ps must be greater"),
        ("timeline", {**WINDOW, "px": "many"}, 400, "px must be a whole number from 1 to 20000, not many"),
        ("timeline", {**WINDOW, "px": "0"}, 400, "px must be"),
        ("timeline", {**WINDOW, "px": "1_000"}, 400, "px must be"),
        ("timeline", {**WINDOW, "px": "٣"}, 400, "px must be"),
        ("timeline", {**WINDOW, "px": "9", "start_ps": "-" + "9" * 30}, 400, "start_ps must be"),
        ("timeline", {**WINDOW, "px": "9", "rows": "nothing"}, 400, "nothing"),
        ("event", {"session": OLD, "event": "9.99999"}, 400, "9.99999"),
        ("event", {"session": OLD, "event": "x"}, 400, "x"),
        ("event", {"session": OLD, "row": "nothing", "start_ps": "0"}, 400, "nothing"),
        ("neighbor", {**WINDOW, "row": "h0.t0", "depth": "0", "direction": "up"}, 400, "direction"),
        ("search", {"session": OLD}, 400, "q is missing"),
        ("window", {**WINDOW, "device": "nothing"}, 400, "no device nothing"),
        ("table", {**WINDOW, "rows": "nothing"}, 400, "nothing"),
        ("table", {**WINDOW, "rows": "", "limit": "1000000"}, 400, "limit must be"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_answered_in_one_line(
    client: Client, route: str, arguments: dict[str, str], code: int, words: str
) -> None:
    answer = get(client, f"data/{route}", **arguments)
    assert answer.status_code == code
    message = document(answer)["error"]
    assert words in message
    assert "\n" not in message


def test_a_request_for_a_session_still_being_read_is_answered_503(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tb_xla_insights.logdir.store.Load.wait", lambda *_: False)
    answer = get(client, "data/overview", session=OLD)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert "still being read" in document(answer)["error"]


def test_a_bug_is_a_one_line_error_and_logged(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tb_xla_insights.logdir.store.Store.load", raising(ZeroDivisionError("secret")))
    answer = get(client, "data/session", session=OLD)
    assert answer.status_code == 500
    message = document(answer)["error"]
    assert "ZeroDivisionError" in message
    assert "secret" not in message
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("route", ["data/sessions", "data/session", "data/overview", "nothing"])
def test_get_routes_refuse_other_methods(client: Client, route: str) -> None:
    assert client.post(f"{BASE}/{route}").status_code == 405


def test_an_unknown_address_is_not_found(client: Client) -> None:
    answer = get(client, "data/nothing")
    assert answer.status_code == 404
    assert document(answer)["error"].startswith("data/nothing: ")


def test_an_error_does_not_repeat_a_whole_request(client: Client) -> None:
    assert len(document(get(client, "data/session", session="x" * 50_000))["error"]) == 5_001


def test_json_is_gzipped_for_clients_that_accept_it(client: Client) -> None:
    answer = client.get(f"{BASE}/data/sessions", headers={"Accept-Encoding": "gzip, br"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(answer.data)) == data(client, "sessions")


def test_request_threads_share_one_heap(monkeypatch: pytest.MonkeyPatch, logdir: Path) -> None:
    called: list[bool] = []
    monkeypatch.setattr("tb_xla_insights.plugin.plugin.use_single_heap", lambda: called.append(True))
    tensorboard("--logdir", str(logdir))
    assert called == [True]


@pytest.mark.parametrize("flag", ["--xla_insights_memory_mb=-1", "--xla_insights_memory_mb=much"])
def test_wrong_flags_are_refused(flag: str, logdir: Path) -> None:
    with pytest.raises((SystemExit, ValueError)):
        tensorboard("--logdir", str(logdir), flag)


def test_a_missing_catalogue_of_the_user_is_reported(logdir: Path, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere.json"
    client = tensorboard("--logdir", str(logdir), "--xla_insights_catalog", str(missing))
    failed = open_session(client, OLD)
    assert failed["state"] == "error"
    assert str(missing) in failed["message"]
