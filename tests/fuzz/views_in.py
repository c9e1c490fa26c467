"""Targets that ask: every view of hostile sessions, and hostile requests for the views of a usual one."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from random import Random
from typing import Any, cast
from urllib.parse import urlencode

from fuzz import words
from fuzz.change import damaged
from fuzz.sessions_in import make_session, session_of
from fuzz.target import Limits, Target, refused, scratch
from helpers import write_session
from tensorboard.plugins import base_plugin
from werkzeug.test import Client, EnvironBuilder, run_wsgi_app
from werkzeug.wrappers import Response

from tb_xla_insights.errors import InputError
from tb_xla_insights.logdir.loaded import Loaded
from tb_xla_insights.logdir.sessions import SessionFiles
from tb_xla_insights.logdir.store import Load, Store
from tb_xla_insights.plugin.names import Names
from tb_xla_insights.plugin.plugin import XlaInsightsPlugin
from tb_xla_insights.plugin.respond import Application, get, post
from tb_xla_insights.plugin.routes import Routes
from tb_xla_insights.timeline import Timeline

_ASKED = 6
"""Views of one session."""
_ANY_NAME = Names(("*",))

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "session": ("session",),
    "timeline": ("session", "start_ps", "end_ps", "px", "rows"),
    "event": ("session", "event", "row", "start_ps", "depth"),
    "neighbor": ("session", "row", "depth", "start_ps", "direction"),
    "search": ("session", "q", "rows"),
    "window": ("session", "start_ps", "end_ps", "device"),
    "table": ("session", "start_ps", "end_ps", "rows", "limit"),
    "overview": ("session",),
    "counts": ("session",),
    "gaps": ("session",),
    "gap": ("session", "device", "start_ps", "beside"),
    "executions": ("session", "step", "devices"),
    "compiles": ("session",),
    "compare": ("session", "other"),
    "propagation": ("session", "step", "st", "device", "row", "start_ps", "depth"),
    "scopes": ("session",),
    "hosts": ("session", "host"),
    "device": ("session", "dd", "st", "pk", "category", "whole"),
    "waits": ("session", "hosts", "start_ps", "end_ps", "px"),
    "collective": ("session", "hosts", "device", "start_ps", "end_ps"),
    "sessions": (),
    "capture_progress": (),
}
"""Routes below `data/`, and their arguments."""

_ODD = (
    "",
    "0",
    "-1",
    "1",
    "2",
    "99999999999999999999",
    "9007199254740992",
    "1e3",
    "٣",
    "nan",
    "h0",
    "h0.",
    "0.0",
    ",",
    "%",
)


class _Log(logging.Handler):
    """Keeps what a route raised that it must not: the answer is only a line."""

    error: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.error = record.exc_info[1]


@cache
def _log() -> _Log:
    log, logger = _Log(), logging.getLogger("tb_xla_insights")
    logger.addHandler(log)
    logger.propagate = False
    return log


class _Held:
    """As `Store`, with one session that is in memory."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._load = Load(loaded.files)
        self._load.run(lambda _: loaded)

    def load(self, _name: str, _reload: bool = False) -> Load:
        return self._load

    def loaded(self, _name: str, _wait: float | None = None) -> Loaded:
        return self._loaded

    def changed(self, _load: Load) -> bool:
        return False

    def stop(self, _name: str) -> bool:
        return False


def check_views(data: bytes) -> Iterator[str]:
    """Whatever is asked of a hostile session is answered, in JSON; what is refused is refused in one line."""
    try:
        session = session_of(data)
    except InputError as error:
        yield refused(error)
        return
    pick = Random(data)
    loaded = Loaded(SessionFiles("session", session.path, ()), session, Timeline(session))
    routes = Routes(cast(Any, None), cast(Store, _Held(loaded))).gets()
    head = _answer(get("session", routes["session"], _ANY_NAME), "/?session=session")[1]
    known = _known(head)
    if pick.random() < 0.3:
        loaded.find_scopes()
    names = sorted(routes.keys() & ARGUMENTS.keys() - {"sessions"})
    for name in pick.sample(names, _ASKED):
        code, _ = _answer(get(name, routes[name], _ANY_NAME), "/?" + urlencode(_arguments(pick, name, known)))
        yield f"{name} {code}"


def _known(head: Mapping[str, Any]) -> dict[str, list[str]]:
    """Values that the session has, by argument."""
    rows = [row["id"] for row in head["rows"]]
    devices = [f"{host}/{name}" for host, name in zip(*_columns(head["devices"]), strict=True)]
    times = [str(head["session"]["duration_ps"] * part // 8) for part in range(9)]
    hosts = [its["name"] for its in head["session"]["hosts"]]
    return {
        "row": rows, "rows": rows, "device": devices, "devices": devices, "start_ps": times, "end_ps": times,
        "host": hosts, "session": ["session"], "other": ["session"],
    }  # fmt: skip


def _columns(devices: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    hosts = devices.get("hosts", [])
    return [hosts[at] if isinstance(at, int) and at < len(hosts) else at for at in devices["host"]], devices[
        "name"
    ]


_USUAL: dict[str, tuple[str, ...]] = {
    "px": ("1", "7", "1000", "20000"), "depth": ("0", "1", "2", "5"), "limit": ("1", "500"),
    "direction": ("next", "previous"), "q": ("a", "name:forward", "step", "/", "name:"), "event": ("0.0",
    "0.1", "0.5", "1.2"), "step": ("0", "1", "5"),
    "st": ("0", "1", "all", "mean", "s1"), "dd": ("0", "0.0", "1", "all"), "pk": ("1e12,1e11", "918e12,1638e9",
    "0,0"),
    "category": ("other", "fusion", "infeed"), "whole": ("0", "1"), "hosts": ("all", "slowest", "median", "0", "0-3"),
    "beside": ("0", "1"), "reload": ("1",), "seen": ("0",),
}  # fmt: skip


def _arguments(pick: Random, name: str, known: Mapping[str, list[str]]) -> dict[str, str]:
    found = {key: _value(pick, key, known) for key in ARGUMENTS.get(name, ()) if pick.random() < 0.93}
    if {"start_ps", "end_ps"} <= found.keys() and pick.random() < 0.8:
        found["start_ps"], found["end_ps"] = "0", known.get("end_ps", ["10"])[-1]
    return found


def _value(pick: Random, key: str, known: Mapping[str, list[str]]) -> str:
    how = pick.random()
    mine = known.get(key) or _USUAL.get(key)
    if how < 0.85 and mine:
        some = pick.choice(mine)
        return some if key not in ("rows", "devices") or how < 0.5 else ",".join([some, *mine[:6]])
    if how < 0.95:
        return pick.choice(_ODD)
    return pick.choice(words.NAMES["text"])


def _answer(app: Application, address: str) -> tuple[int, Any]:
    """Status and document of one request. Raises what the route raised, beyond what it may refuse."""
    log = _log()
    log.error = None
    chunks, status, headers = run_wsgi_app(cast(Any, app), EnvironBuilder(address).get_environ())
    response = Response(b"".join(chunks), status, headers)
    if log.error is not None:
        raise log.error
    assert response.status_code in (200, 400, 404), response.status
    document = json.loads(response.get_data())
    if response.status_code != 200:
        told = document["error"]
        assert told, "a refusal without a reason"
        assert "\n" not in told, told
    return response.status_code, document


@cache
def _client() -> Client:
    """The plugin over a logdir of two usual sessions, both in memory."""
    folder = scratch() / "logdir"
    for name in ("2026_01_01_00_00_00", "2026_01_02_00_00_00"):
        write_session(folder / "plugins/profile" / name, "a", "b")
    _log()
    plugin = XlaInsightsPlugin(base_plugin.TBContext(logdir=str(folder), flags=None))
    apps = plugin.get_plugin_apps()
    # Nothing is to be captured from addresses that nobody knows.
    apps["/data/capture"] = post("data/capture", lambda its: {"addresses": its.text("addresses")}, _ANY_NAME)

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
    return _known(head) | {"session": list(_SESSIONS), "other": list(_SESSIONS)}


def make_request(pick: Random) -> bytes:
    """Method, address, headers and body as JSON, so that what is asked can be seen in the file."""
    known = _usual_values()
    name = pick.choice([*ARGUMENTS, *_POSTS, "none"])
    asked = _arguments(pick, name, known) | {"session": pick.choice(_SESSIONS)}
    if pick.random() < 0.2:
        asked[pick.choice(("session", "hosts", "reload", "seen", "start_ps"))] = _value(pick, "", {})
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
    log = _log()
    log.error = None
    environ = EnvironBuilder(address, method=method).get_environ()
    environ["QUERY_STRING"] = query
    for name, value in headers:
        key = name.upper().replace("-", "_")
        environ[key if key in ("CONTENT_LENGTH", "CONTENT_TYPE") else f"HTTP_{key}"] = value
    from io import BytesIO

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


TARGETS = [
    Target("views", make_session, check_views, Limits(2.0, 2e-4, 96_000_000, 4000), 0.08, "Session"),
    Target("requests", make_request, check_request, Limits(1.0, 1e-4, 64_000_000, 4000), 0.03),
]
