"""Capturing through the plugin, and which requests are allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import refusing_port
from test_plugin import BASE, PAGE_HEADERS, data, document, open_session, post, tensorboard
from werkzeug.test import Client

from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.sessions import SessionList
from tb_xla_insights.plugin.capture import Captures
from tb_xla_insights.plugin.origin import HEADER
from tb_xla_insights.routes.arguments import Arguments

REBOUND = {**PAGE_HEADERS, "Host": "rebound.example:6006", "Origin": "http://rebound.example:6006"}
"""Headers of a page whose host name was rebound to this machine."""


@pytest.fixture
def client(logdir: Path) -> Client:
    return tensorboard("--logdir", str(logdir))


def final_progress(client: Client) -> dict[str, Any]:
    """Polls until the capture is over."""
    while (progress := data(client, "capture_progress"))["state"] in ("waiting", "tracing", "collecting"):
        continue
    return progress


def test_a_capture_is_a_session_that_the_page_can_open(
    client: Client, logdir: Path, profiler_server: str
) -> None:
    answer = post(client, "capture", addresses=profiler_server, duration_ms=300)
    assert (answer.status_code, document(answer)["duration_ms"]) == (200, 300)
    progress = final_progress(client)
    assert (progress["state"], progress["message"]) == ("done", None)
    assert (logdir / "plugins/profile" / progress["session"]).is_dir()
    assert progress["session"] in [session["name"] for session in data(client, "sessions")["sessions"]]
    assert open_session(client, progress["session"])["environment"]["framework"] == "jax"


def test_the_page_knows_the_directory_of_captures(client: Client, logdir: Path) -> None:
    listing = data(client, "sessions")
    assert (listing["capture"], listing["capture_logdir"]) == (True, str(logdir))


def test_a_logdir_below_the_directory_that_tensorboard_was_started_in(
    tmp_path: Path, profiler_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    client = tensorboard("--logdir", "logs/")
    assert data(client, "sessions")["capture_logdir"] == str(tmp_path / "logs")
    assert post(client, "capture", addresses=profiler_server, duration_ms=300).status_code == 200
    progress = final_progress(client)
    assert progress["message"] is None
    assert (tmp_path / "logs/plugins/profile" / progress["session"]).is_dir()


def test_a_session_missing_in_the_listing_is_reported(
    client: Client, profiler_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tb_xla_insights.logdir.listing.list_sessions", lambda _: SessionList())
    assert post(client, "capture", addresses=profiler_server, duration_ms=300).status_code == 200
    progress = final_progress(client)
    assert (progress["state"], progress["session"]) == ("done", None)
    assert "is not among the sessions" in progress["message"]


def test_one_capture_at_a_time_until_it_is_cancelled(
    client: Client, logdir: Path, profiler_server: str
) -> None:
    before = sorted(logdir.rglob("*.pb"))
    assert post(client, "capture", addresses=profiler_server, duration_ms=60_000).status_code == 200
    second = post(client, "capture", addresses=profiler_server)
    assert (second.status_code, "another capture" in document(second)["error"]) == (400, True)
    assert post(client, "capture_cancel").status_code == 200
    progress = final_progress(client)
    assert (progress["state"], progress["session"]) == ("cancelled", None)
    assert sorted(logdir.rglob("*.pb")) == before


def test_a_failure_is_reported_in_one_line(client: Client) -> None:
    with refusing_port() as port:
        address = f"localhost:{port}"
        assert post(client, "capture", addresses=address, retries=0).status_code == 200
        progress = final_progress(client)
    assert progress["state"] == "error"
    assert progress["message"].startswith(f"{address}: nothing listens there")


def test_before_the_first_capture_there_is_none(client: Client) -> None:
    assert data(client, "capture_progress") == {"state": "idle"}
    assert document(post(client, "capture_cancel")) == {"state": "idle"}


@pytest.mark.parametrize(
    "body",
    [{}, {"addresses": ""}, {"addresses": "nowhere"}, {"addresses": "unix:/x"}, {"addresses": ["a:1"]},
     {"addresses": "a:1", "duration_ms": 0}, {"addresses": "a:1", "duration_ms": "long"},
     {"addresses": "a:1", "host_level": 4}, {"addresses": "\ud800"}, {"addresses": "a:１"}],
)  # fmt: skip
def test_invalid_capture_arguments(client: Client, body: dict[str, Any]) -> None:
    answer = post(client, "capture", **body)
    assert answer.status_code == 400
    assert "\n" not in document(answer)["error"]
    assert data(client, "capture_progress") == {"state": "idle"}


@pytest.mark.parametrize("content", [b"not json", b"[]", b"[" * 60_000, b'"a:1"'])
def test_bodies_that_are_not_a_json_object(client: Client, content: bytes) -> None:
    headers = {**PAGE_HEADERS, "Content-Type": "application/json"}
    answer = client.post(f"{BASE}/data/capture", headers=headers, data=content)
    assert answer.status_code == 400
    assert "must be a JSON object" in document(answer)["error"]


def test_a_body_that_ends_too_early(client: Client) -> None:
    headers = {**PAGE_HEADERS, "Content-Type": "application/json"}
    declared = {"CONTENT_LENGTH": "100"}
    answer = client.post(f"{BASE}/data/capture", headers=headers, data=b"{}", environ_overrides=declared)
    assert answer.status_code == 400
    assert "must be a JSON object" in document(answer)["error"]


def test_captures_are_written_to_the_first_root(tmp_path: Path, profiler_server: str) -> None:
    client = tensorboard("--logdir_spec", f"a:{tmp_path}/x,b:{tmp_path}/y")
    assert post(client, "capture", addresses=profiler_server, duration_ms=300).status_code == 200
    session = final_progress(client)["session"]
    assert session.startswith("a/")
    assert (tmp_path / "x/plugins/profile" / session.removeprefix("a/")).is_dir()


def test_without_a_logdir_captures_are_refused() -> None:
    captures = Captures(Listing([]), None)
    with pytest.raises(InputError, match="no logdir"):
        captures.start(Arguments("data/capture", {"addresses": "localhost:1"}))


class TestAllowedRequests:
    @pytest.mark.parametrize("route", ["capture", "capture_cancel"])
    @pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
    def test_only_posts_act(self, client: Client, route: str, method: str) -> None:
        answer = client.open(f"{BASE}/data/{route}", method=method, headers=PAGE_HEADERS)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")

    @pytest.mark.parametrize(
        "headers",
        [
            {key: value for key, value in PAGE_HEADERS.items() if key != HEADER},
            {key: value for key, value in PAGE_HEADERS.items() if key != "Origin"},
            {**PAGE_HEADERS, "Origin": "http://elsewhere.example"},
            {**PAGE_HEADERS, "Origin": "null"},
            {**PAGE_HEADERS, "Origin": "http://localhost:6007"},
            {**PAGE_HEADERS, "Origin": "http://["},
            {**PAGE_HEADERS, "Host": "[::", "Origin": "http://[::", "Sec-Fetch-Site": "same-origin"},
            {**PAGE_HEADERS, "Origin": "http://elsewhere.example", "Sec-Fetch-Site": "cross-site"},
            REBOUND,
        ],
    )
    def test_requests_of_other_pages_are_refused(self, client: Client, headers: dict[str, str]) -> None:
        answer = post(client, "capture", headers, addresses="localhost:1")
        assert answer.status_code == 403
        assert "error" in document(answer)
        assert data(client, "capture_progress") == {"state": "idle"}

    @pytest.mark.parametrize(
        "headers",
        [
            PAGE_HEADERS,
            {**PAGE_HEADERS, "Host": "127.0.0.1:9009", "Origin": "http://127.0.0.1:9009"},
            # Behind a proxy with TLS, which keeps the Host header, or replaces it by TensorBoard's own.
            {**PAGE_HEADERS, "Host": "lab.example", "Origin": "https://lab.example"},
            {**PAGE_HEADERS, "Origin": "https://lab.example", "Sec-Fetch-Site": "same-origin"},
        ],
    )
    def test_requests_of_the_page_are_accepted(self, client: Client, headers: dict[str, str]) -> None:
        assert post(client, "capture_cancel", headers).status_code == 200

    def test_a_proxy_that_changes_the_host_header_must_be_allowed(self, logdir: Path) -> None:
        headers = {**PAGE_HEADERS, "Origin": "http://lab.example:8888"}
        refusal = post(tensorboard("--logdir", str(logdir)), "capture_cancel", headers)
        assert refusal.status_code == 403
        assert document(refusal)["error"].endswith("start TensorBoard with --xla_insights_hosts=lab.example")
        allowing = tensorboard("--logdir", str(logdir), "--xla_insights_hosts=lab.example")
        assert post(allowing, "capture_cancel", headers).status_code == 200

    def test_capturing_can_be_turned_off(self, logdir: Path) -> None:
        client = tensorboard("--logdir", str(logdir), "--xla_insights_capture=off")
        listing = data(client, "sessions")
        assert (listing["capture"], listing["capture_logdir"]) == (False, None)
        for route in ("capture", "capture_cancel"):
            answer = post(client, route, addresses="localhost:1")
            assert answer.status_code == 403
            assert "--xla_insights_capture=off" in json.loads(answer.data)["error"]
