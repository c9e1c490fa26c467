"""A fuzzing target that requests the views of hostile sessions."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from functools import cache
from random import Random
from typing import Any, cast
from urllib.parse import urlencode

from fuzz import words
from fuzz.session_targets import make_session, session_of
from fuzz.target import Limits, Target, checks_input
from werkzeug.test import EnvironBuilder, run_wsgi_app
from werkzeug.wrappers import Response

from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.loaded_hosts import LoadedHosts
from tb_xla_insights.logdir.opened_session import OpenedSession
from tb_xla_insights.logdir.sessions import SessionFiles
from tb_xla_insights.logdir.store import Store
from tb_xla_insights.plugin.allowed_hosts import AllowedHosts
from tb_xla_insights.plugin.respond import Application, get
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.routes.handlers import Handlers
from tb_xla_insights.timeline import Timeline
from tb_xla_insights.trace.model import SessionTrace

_VIEWS_PER_SESSION = 6
ANY_NAME = AllowedHosts(("*",))

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "session": ("session", "hosts", "seen"),
    "timeline": ("session", "start_ps", "end_ps", "px", "rows"),
    "event": ("session", "event", "row", "start_ps", "depth", "annotation"),
    "neighbor": ("session", "row", "depth", "start_ps", "direction"),
    "search": ("session", "q", "rows"),
    "window": ("session", "start_ps", "end_ps", "device"),
    "table": ("session", "start_ps", "end_ps", "rows", "limit"),
    "overview": ("session",),
    "counts": ("session",),
    "gaps": ("session",),
    "gap": ("session", "device", "start_ps", "other_host"),
    "executions": ("session", "step", "devices"),
    "compiles": ("session",),
    "compare": ("session", "other"),
    "propagation": ("session", "step", "step_number", "device", "row", "start_ps", "depth"),
    "scopes": ("session",),
    "hosts": ("session",),
    "host_steps": ("session", "host"),
    "hosts_in_steps": ("session", "host", "first", "last"),
    "device": ("session", "cores", "steps", "peaks", "category", "whole"),
    "waits": ("session", "hosts", "start_ps", "end_ps", "px"),
    "collective": ("session", "hosts", "device", "start_ps", "end_ps"),
    "sessions": (),
    "capture_progress": (),
}
"""Routes below `data/`, and their arguments."""

_ODD_VALUES = (
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
    """Records unexpected exceptions of routes; the response has only one line about them."""

    error: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.error = record.exc_info[1]


@cache
def plugin_log() -> _Log:
    log, logger = _Log(), logging.getLogger("tb_xla_insights")
    logger.addHandler(log)
    logger.propagate = False
    return log


class _Listing:
    """Stands for a `Listing` with one session."""

    roots_text = "logdir"

    def __init__(self, files: SessionFiles) -> None:
        self._files = files

    def find(self, _name: str) -> SessionFiles:
        return self._files

    last_seen = find


@checks_input(session_of)
def check_views(session: SessionTrace, pick: Random) -> Iterator[str]:
    """Checks that every request about a hostile session is answered in JSON, or refused in one line."""
    files = SessionFiles("session", session.path, ())
    loaded = LoadedHosts(files, SessionView(session), Timeline(session))
    listing = cast(Listing, _Listing(files))
    routes = Handlers(listing, Store(listing, lambda _: OpenedSession(loaded))).gets()
    head = _answer(get("session", routes["session"], ANY_NAME), "/?session=session")[1]
    valid = valid_values(head)
    if pick.random() < 0.3:
        loaded.find_more_rows()
    names = sorted(routes.keys() & ARGUMENTS.keys() - {"sessions"})
    for name in pick.sample(names, _VIEWS_PER_SESSION):
        code, _ = _answer(
            get(name, routes[name], ANY_NAME), "/?" + urlencode(arguments_of(pick, name, valid))
        )
        yield f"{name} {code}"


def valid_values(head: Mapping[str, Any]) -> dict[str, list[str]]:
    """The session's valid values, by argument."""
    rows, columns = [row["id"] for row in head["rows"]], head["devices"]
    devices = [f"{host}/{name}" for host, name in zip(columns["host"], columns["name"], strict=True)]
    times = [str(head["session"]["duration_ps"] * eighth // 8) for eighth in range(9)]
    hosts = [host["name"] for host in head["session"]["hosts"]]
    return {
        "row": rows, "rows": rows, "device": devices, "devices": devices, "start_ps": times, "end_ps": times,
        "host": hosts, "session": ["session"], "other": ["session"],
    }  # fmt: skip


_USUAL_VALUES: dict[str, tuple[str, ...]] = {
    "px": ("1", "7", "1000", "20000"), "depth": ("0", "1", "2", "5"), "limit": ("1", "500"),
    "direction": ("next", "previous"), "q": ("a", "name:forward", "step", "/", "name:"),
    "event": ("0.0", "0.1", "0.5", "1.2"), "step": ("0", "1", "5"),
    "step_number": ("0", "1", "s1"), "steps": ("0", "1", "all", "mean", "s1"), "cores": ("0", "0.0", "1", "all"),
    "peaks": ("1e12,1e11", "918e12,1638e9", "0,0"),
    "category": ("other", "fusion", "infeed"), "whole": ("0", "1"), "hosts": ("all", "slowest", "median", "0", "0-3"),
    "other_host": ("0", "1"), "seen": ("0", "1"),
}  # fmt: skip


def arguments_of(pick: Random, name: str, valid: Mapping[str, list[str]]) -> dict[str, str]:
    arguments = {key: value_of(pick, key, valid) for key in ARGUMENTS.get(name, ()) if pick.random() < 0.93}
    if {"start_ps", "end_ps"} <= arguments.keys() and pick.random() < 0.8:
        arguments["start_ps"], arguments["end_ps"] = "0", valid.get("end_ps", ["10"])[-1]
    return arguments


def value_of(pick: Random, key: str, valid: Mapping[str, list[str]]) -> str:
    choice = pick.random()
    values = valid.get(key) or _USUAL_VALUES.get(key)
    if choice < 0.85 and values:
        value = pick.choice(values)
        return value if key not in ("rows", "devices") or choice < 0.5 else ",".join([value, *values[:6]])
    if choice < 0.95:
        return pick.choice(_ODD_VALUES)
    return pick.choice(words.NAMES["text"])


def _answer(app: Application, address: str) -> tuple[int, Any]:
    """The status and the document of one request. Raises the route's unexpected exception."""
    log = plugin_log()
    log.error = None
    chunks, status, headers = run_wsgi_app(cast(Any, app), EnvironBuilder(address).get_environ())
    response = Response(b"".join(chunks), status, headers)
    if log.error is not None:
        raise log.error
    assert response.status_code in (200, 400, 404), response.status
    document = json.loads(response.get_data())
    if response.status_code != 200:
        reason = document["error"]
        assert reason, "a refusal without a reason"
        assert "\n" not in reason, reason
    return response.status_code, document


TARGETS = [Target("views", make_session, check_views, Limits(2.0, 2e-4, 96_000_000, 4000), 0.08, "Session")]
