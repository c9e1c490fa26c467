"""Computes every answer about a capture: the report in all formats, a window, every route of the page about a session,
and the Chrome export."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from rich.console import Console

from tb_xla_insights.analysis.window.window_document import window
from tb_xla_insights.catalog import load_catalog
from tb_xla_insights.cli.report_text import print_report
from tb_xla_insights.cli.window import print_window
from tb_xla_insights.errors import InputError
from tb_xla_insights.export.chrome import write_chrome
from tb_xla_insights.files.open import open_source
from tb_xla_insights.files.source import Source
from tb_xla_insights.html.page import report_html
from tb_xla_insights.logdir.loaded_hosts import LoadedHosts
from tb_xla_insights.logdir.opened_session import OpenedSession
from tb_xla_insights.logdir.store import Load
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.routes.arguments import Arguments
from tb_xla_insights.routes.handlers import Handlers
from tb_xla_insights.text.json_text import json_bytes
from tb_xla_insights.timeline import Timeline
from tb_xla_insights.trace.build import build_session
from tb_xla_insights.trace.model import SessionTrace
from tb_xla_insights.trace.read_trace import read_trace

Answer = tuple[str, bytes]
"""The name of a request, and its answer as sent or printed."""

_MAX_ROWS = 40
_MAX_EVENTS = 12


class _SingleSessionStore:
    """Stands for the listing, the store and the load of a logdir with one session, which is in memory."""

    def __init__(self, loaded: LoadedHosts) -> None:
        self._loaded = loaded
        self.done, self.partial_view = True, None
        self.files = SimpleNamespace(hosts=loaded.hosts.traces, path=loaded.hosts.path)

    def load(self, *_: object) -> Load:
        return cast(Load, self)

    def check(self, *_: object) -> None:
        """Accepts every fingerprint, as the files never change."""

    def loaded(self, *_: object) -> OpenedSession:
        return OpenedSession(self._loaded)


def session_of(*sources: Source) -> SessionTrace:
    """The session of open files, one per host."""
    catalog = load_catalog()
    traces = [read_trace(source, catalog, host=f"host{number}") for number, source in enumerate(sources)]
    return build_session("session", "session", traces, [])


def session_at(path: Path) -> SessionTrace:
    with open_source(str(path)) as source:
        return session_of(source)


def answers(session: SessionTrace, details: bool = True) -> Iterator[Answer]:
    """Yields every answer about a session, computed lazily; without `details` none about a single device, gap, row or
    event. An InputError is an answer too."""
    report = session_report(session, all_gaps=True)
    yield "report --json", json_bytes(report)
    yield "report", _printed_text(lambda console: print_report(console, report, "ops"))
    yield "report --html", report_html(report).encode(errors="backslashreplace")
    timeline = Timeline(session)
    timeline.prepare()
    loaded = LoadedHosts(cast(Any, None), SessionView(session), timeline)
    store = _SingleSessionStore(loaded)
    object.__setattr__(loaded, "files", store.files)
    handlers = Handlers(cast(Any, store), cast(Any, store)).gets()

    def ask(route: str, **arguments: object) -> Answer:
        texts = {name: str(value) for name, value in arguments.items()}
        name = f"{route} {' '.join(f'{key}={text[:40]}' for key, text in texts.items())}"
        try:
            return name, json_bytes(handlers[route](Arguments(route, {"session": "s", **texts})))
        except InputError as error:
            return name, f"InputError: {error}".encode()

    yield "session", json_bytes({**loaded.head, **timeline.rows()})
    yield ask("scopes")
    rows = [track.as_json() for track in timeline._tracks.values()]
    ids = ",".join(row["id"] for row in rows)
    end = max(1, session.duration_ps)
    whole_session = {"start_ps": 0, "end_ps": end}
    for px in (1200, 20_000):
        yield ask("timeline", **whole_session, px=px, rows=ids)
    yield ask("timeline", start_ps=end // 3, end_ps=end // 3 + max(1, end // 100), px=1200, rows=ids)
    yield ask("table", **whole_session, limit=500)
    yield ask("table", **whole_session, limit=5000, rows=ids)
    yield ask("window", **whole_session)
    yield ask("window", start_ps=end // 3, end_ps=end // 2 + 1)
    whole_window = window(session, 0, end)
    yield "window --json", json_bytes(whole_window)
    yield "window as text", _printed_text(lambda console: print_window(console, whole_window, False))
    for query in ("e", "name:Training_Step", "no such name", "a/b"):
        yield ask("search", q=query)
    for route in ("overview", "counts", "gaps", "executions", "compiles", "propagation", "hosts", "device"):
        yield ask(route)
    yield ask("device", whole=1)
    yield ask("executions", step=0)
    yield ask("propagation", step=0)
    yield ask("host_steps", host=session.traces[0].host)
    yield ask("hosts_in_steps", host=session.traces[0].host)
    yield ask("waits", **whole_session, px=1200)
    yield ask("compare", other="s")
    file = io.BytesIO()
    write_chrome(session, file)
    yield "export chrome", file.getvalue()
    if not details:
        return
    for index, device in enumerate(session.devices[:4]):
        yield ask("window", **whole_session, device=device.id)
        yield ask("propagation", device=device.id)
        yield ask("executions", devices=device.id)
        yield ask("device", cores=f"0.{index}")
        for start in device.ops.start_ps[:2].tolist():
            yield ask("collective", device=device.id, start_ps=start)
    for gap in report["gaps"]["items"][:_MAX_EVENTS]:
        yield ask("gap", device=gap["device"], start_ps=gap["start_ps"])
    for row in rows[:_MAX_ROWS]:
        yield ask("neighbor", row=row["id"], depth=0, start_ps=-1, direction="next")
        yield ask("neighbor", row=row["id"], depth=0, start_ps=end, direction="previous")
        lanes = timeline._tracks[row["id"]].lanes
        for depth in sorted({0, len(lanes) - 1}) if lanes else ():
            for start in lanes[depth].start[:: max(1, len(lanes[depth]) // 2)][:2].tolist():
                yield ask("event", row=row["id"], start_ps=start, depth=depth)
                yield ask("propagation", row=row["id"], start_ps=start, depth=depth)
    for host, trace in enumerate(session.traces):
        for event in range(0, len(trace), max(1, len(trace) // _MAX_EVENTS)):
            yield ask("event", event=f"{host}.{event}")


def _printed_text(print_to: Callable[[Console], None]) -> bytes:
    text = io.StringIO()
    print_to(Console(file=text, width=120, force_terminal=False))
    return text.getvalue().encode(errors="backslashreplace")
