"""A target that takes requests: hostile ones, for all that the plugin answers, over two usual sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from io import BytesIO
from random import Random
from typing import Any
from urllib.parse import urlencode

from fuzz.change import damaged
from fuzz.target import Limits, Target, scratch
from fuzz.views_in import ANY_NAME, ARGUMENTS, arguments_of, known_values, plugin_log, value_of
from helpers import write_session
from tensorboard.plugins import base_plugin
from werkzeug.test import Client, EnvironBuilder
from werkzeug.wrappers import Response

from tb_xla_insights.plugin.plugin import XlaInsightsPlugin
from tb_xla_insights.plugin.respond import post


@cache
def _client() -> Client:
    """The plugin over a logdir of two usual sessions, both in memory."""
    folder = scratch() / "logdir"
    for name in ("2026_01_01_00_00_00", "2026_01_02_00_00_00"):
        write_session(folder / "plugins/profile" / name, "a", "b")
    plugin_log()
    plugin = XlaInsightsPlugin(base_plugin.TBContext(logdir=str(folder), flags=None))
    apps = plugin.get_plugin_apps()
    # Nothing is to be captured from addresses that nobody knows.
    apps["/data/capture"] = post("data/capture", lambda its: {"addresses": its.text("addresses")}, ANY_NAME)

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
_OF_THE_PAGE = (
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
def _usual_values() -> dict[str, list[str]]:
    head = _client().get("/data/session", query_string={"session": _SESSIONS[0]}).get_json()
    return known_values(head) | {"session": list(_SESSIONS), "other": list(_SESSIONS)}


def make_request(pick: Random) -> bytes:
    """Method, address, headers and body as JSON, so that what is asked can be seen in the file."""
    known = _usual_values()
    name = pick.choice([*ARGUMENTS, *_POSTS, "none"])
    asked = arguments_of(pick, name, known) | {"session": pick.choice(_SESSIONS)}
    if pick.random() < 0.2:
        asked[pick.choice(("session", "hosts", "reload", "seen", "start_ps"))] = value_of(pick, "", {})
    query = urlencode(asked, errors="replace").encode()
    headers = [pick.choice(_HEADERS) for _ in range(pick.choice((0, 0, 1, 3)))]
    if name in _POSTS and pick.random() < 0.7:
        headers += _OF_THE_PAGE
    odd = ("/static/..%2f", "/static/", "/", "/data/", "//")
    address = pick.choice((*[f"/data/{name}"] * 40, *odd))
    document = {
        "method": "POST" if name in _POSTS and pick.random() < 0.9 else pick.choice(_METHODS),
        "address": address,
        "query": (damaged(pick, query) if pick.random() < 0.2 else query).decode("latin-1"),
        "headers": headers,
        "body": json.dumps(asked) if pick.random() < 0.5 else pick.choice(_BODIES),
    }
    return json.dumps(document).encode()


def check_request(data: bytes) -> Iterator[str]:
    """Whatever is asked, the answer has one of the documented codes, and what fails says so in one line of JSON."""
    try:
        asked = json.loads(data)
        headers = [tuple(its) for its in asked["headers"]]
        body = asked["body"].encode("utf-8", "surrogatepass")
        method, address, query = asked["method"], asked["address"], asked["query"]
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
    assert response.status_code in (200, 304, 400, 403, 404, 405, 413, 503), response.status
    if (
        response.status_code >= 400
        and method != "HEAD"
        and response.headers.get("Content-Encoding") != "gzip"
    ):
        told = json.loads(response.get_data())["error"]
        assert told, "a refusal without a reason"
        assert "\n" not in told, told
    yield f"{address} {method} {response.status_code}"


TARGETS = [Target("requests", make_request, check_request, Limits(1.0, 1e-4, 64_000_000, 4000), 0.03)]
