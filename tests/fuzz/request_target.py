"""A fuzzing target whose inputs are hostile requests to all routes of the plugin, over two valid sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from io import BytesIO
from random import Random
from typing import Any
from urllib.parse import urlencode

from fuzz.change import damage_bytes
from fuzz.target import Limits, Target, scratch
from fuzz.view_target import ANY_NAME, ARGUMENTS, arguments_of, plugin_log, valid_values, value_of
from helpers import write_session
from tensorboard.plugins import base_plugin
from werkzeug.test import Client, EnvironBuilder
from werkzeug.wrappers import Response

from tb_xla_insights.plugin.plugin import XlaInsightsPlugin
from tb_xla_insights.plugin.respond import post


@cache
def _client() -> Client:
    """A client of the plugin, over a logdir of two valid sessions, both in memory."""
    folder = scratch() / "logdir"
    for name in _SESSIONS:
        write_session(folder / "plugins/profile" / name, "a", "b")
    plugin_log()
    plugin = XlaInsightsPlugin(base_plugin.TBContext(logdir=str(folder), flags=None))
    apps = plugin.get_plugin_apps()
    # The route must not connect to random addresses.
    apps["/data/capture"] = post(
        "data/capture", lambda arguments: {"addresses": arguments.text("addresses")}, ANY_NAME
    )

    def serve(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        path = environ["PATH_INFO"]
        app = apps.get(path) or apps["/static/*" if path.startswith("/static/") else "/*"]
        return app(environ, start)

    client = Client(serve, Response)
    client.get("/data/sessions")
    for name in _SESSIONS:
        while client.get("/data/session", query_string={"session": name}).get_json()["state"] == "loading":
            pass
    return client


_SESSIONS = ("2026_01_01_00_00_00", "2026_01_02_00_00_00")
_POSTS = ("capture", "capture_cancel", "reload", "stop")
_METHODS = (*["GET"] * 20, "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "FOO")
_PAGE_HEADERS = (
    ("X-XLA-Insights", "1"),
    ("Origin", "http://localhost"),
    ("Content-Type", "application/json"),
)
_HEADERS = (
    ("Accept-Encoding", "gzip"), ("Accept-Encoding", "gzip;q=0, *;q=1e9"), ("Accept-Encoding", "\xff"),
    ("Origin", "http://evil.example"), ("Origin", "null"), ("Host", "evil.example"), ("Host", ""),
    ("X-XLA-Insights", "1"), ("Content-Type", "application/json"), ("Content-Type", "text/plain"),
    ("If-None-Match", "*"), ("Range", "bytes=-1"),
    ("Content-Length", "-1"), ("Content-Length", "99999999999"), ("Sec-Fetch-Site", "cross-site"), ("Cookie",
    "a=\x7f"),
)  # fmt: skip
_BODIES = (
    "",
    "{}",
    '{"addresses": "a:1"}',
    '{"addresses": 5}',
    "[]",
    "null",
    '{"a": [1]}',
    "[" * 5000,
    '"',
    "1e999",
    "\ud800",
)


@cache
def _valid_values() -> dict[str, list[str]]:
    head = _client().get("/data/session", query_string={"session": _SESSIONS[0]}).get_json()
    return valid_values(head) | {"session": list(_SESSIONS), "other": list(_SESSIONS)}


def make_request(pick: Random) -> bytes:
    """A request as JSON (method, address, query, headers and body), which is readable in a file."""
    name = pick.choice([*ARGUMENTS, *_POSTS, "none"])
    arguments = arguments_of(pick, name, _valid_values()) | {"session": pick.choice(_SESSIONS)}
    if pick.random() < 0.2:
        arguments[pick.choice(("session", "hosts", "reload", "seen", "start_ps", "fingerprint"))] = value_of(
            pick, "", {}
        )
    query = urlencode(arguments, errors="replace").encode()
    headers = [pick.choice(_HEADERS) for _ in range(pick.choice((0, 0, 1, 3)))]
    if name in _POSTS and pick.random() < 0.7:
        headers += _PAGE_HEADERS
    odd_paths = ("/static/..%2f", "/static/", "/", "/data/", "//")
    address = pick.choice((*[f"/data/{name}"] * 40, *odd_paths))
    document = {
        "method": "POST" if name in _POSTS and pick.random() < 0.9 else pick.choice(_METHODS),
        "address": address,
        "query": (damage_bytes(pick, query) if pick.random() < 0.2 else query).decode("latin-1"),
        "headers": headers,
        "body": json.dumps(arguments) if pick.random() < 0.5 else pick.choice(_BODIES),
    }
    return json.dumps(document).encode()


def check_request(data: bytes) -> Iterator[str]:
    """Checks that every response has a documented status, and every error one line of JSON."""
    try:
        document = json.loads(data)
        headers = [tuple(header) for header in document["headers"]]
        body = document["body"].encode("utf-8", "surrogatepass")
        method, address, query = document["method"], document["address"], document["query"]
    except (ValueError, KeyError, TypeError, AttributeError):
        yield "refused"
        return
    client = _client()
    log = plugin_log()
    log.error = None
    environ = EnvironBuilder(address, method=method).get_environ()
    environ["QUERY_STRING"] = query
    for name, value in headers:
        key = name.upper().replace("-", "_")
        environ[key if key in ("CONTENT_LENGTH", "CONTENT_TYPE") else f"HTTP_{key}"] = value
    environ["wsgi.input"] = BytesIO(body)
    environ.setdefault("CONTENT_LENGTH", str(len(body)))
    response = client.open(environ)
    if log.error is not None:
        raise log.error
    assert response.status_code in (200, 304, 400, 403, 404, 405, 409, 413, 503), response.status
    if (
        response.status_code >= 400
        and method != "HEAD"
        and response.headers.get("Content-Encoding") != "gzip"
    ):
        reason = json.loads(response.get_data())["error"]
        assert reason, "a refusal without a reason"
        assert "\n" not in reason, reason
    yield f"{address} {method} {response.status_code}"


TARGETS = [Target("requests", make_request, check_request, Limits(1.0, 1e-4, 64_000_000, 4000), 0.03)]
