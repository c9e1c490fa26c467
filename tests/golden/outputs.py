"""Writes what one checkout answers about sessions: every command, CSV file and route, a file each.

    python tests/golden/outputs.py CHECKOUT LOGDIR OUT SESSION [SESSION ...]

The folders `LOGDIR/SESSION` are those of `write_sessions`. Each session is also compared with the next one.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

Output = tuple[str, bytes]
"""A name and what was answered."""

REPORT_ONLY = "merged"
"""How the names of sessions begin that have a report only."""

MAX_NAME_LENGTH = 150  # of an output's file
MAX_HOSTS, MAX_ROWS = 3, 12
FINGERPRINT = re.compile(rb'"fingerprint":"[^"]*"')
"""Identifies the state of a session's files, by their dates."""


def main() -> None:
    checkout, logdir, out, *sessions = sys.argv[1:]
    os.environ |= {"COLUMNS": "150", "NO_COLOR": "1", "OPENBLAS_NUM_THREADS": "1"}
    sys.path.insert(0, checkout)
    names = sorted(path.name for path in Path(logdir).iterdir())
    routes = Routes(logdir)
    for name in sessions:
        other = names[(names.index(name) + 1) % len(names)]
        run = Path(logdir, name)
        outputs = (
            command_outputs(run)
            if name.startswith(REPORT_ONLY)
            else chain(command_outputs(run, Path(logdir, other)), routes.outputs(name, other))
        )
        for output, answer in outputs:
            path = Path(out, name, output.replace("/", "_")[:MAX_NAME_LENGTH])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(FINGERPRINT.sub(b'"fingerprint":""', answer))
    os._exit(0)  # without waiting for TensorBoard's threads


def printed(*arguments: object) -> bytes:
    """What a command prints, its exit code, and its messages."""
    from tb_xla_insights.cli.main import main as command

    out, messages = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(messages):
        code = command([str(argument) for argument in arguments])
        out.flush()
    return out.buffer.getvalue() + f"\n{code}\n{messages.getvalue()}".encode()


def notebook_page(run: Path) -> bytes:
    """The page of `Session.show()`."""
    from tb_xla_insights import load
    from tb_xla_insights.html.page import report_html

    return report_html(load(str(run)).document()).encode(errors="backslashreplace")


def command_outputs(run: Path, other: Path | None = None) -> Iterator[Output]:
    """The report; with another session to compare with, all commands."""
    report = printed("report", run, "--json")
    yield "report.json", report
    yield "report.txt", printed("report", run, "--full")
    yield "screen.txt", printed("report", run)
    if not other:
        return
    duration_ps = json.loads(report.partition(b"\n")[0])["session"]["duration_ps"]
    window = (
        "--start-ms",
        f"{0.3 * duration_ps / 1e9:.3f}",
        "--end-ms",
        f"{0.6 * duration_ps / 1e9 + 0.01:.3f}",
    )
    for suffix, options in (("json", ["--json"]), ("txt", [])):
        yield f"window.{suffix}", printed("window", run, *window, *options)
        yield f"compare.{suffix}", printed("compare", run, other, *options)
        yield f"sessions.{suffix}", printed("sessions", run, *options)
    yield "report.html", notebook_page(run)
    with tempfile.TemporaryDirectory() as folder:
        printed("export", run, "--format", "csv", "-o", folder)
        for path in sorted(Path(folder).iterdir()):
            yield path.name, path.read_bytes()


class Routes:
    """The routes of the plugin, in TensorBoard without a server."""

    def __init__(self, logdir: str) -> None:
        from tensorboard import program
        from tensorboard.backend import application
        from tensorboard.plugins.core import core_plugin
        from werkzeug.test import Client

        from tb_xla_insights.plugin import XlaInsights

        loaders = [core_plugin.CorePluginLoader(), XlaInsights()]
        board = program.TensorBoard(plugins=loaders)
        board.configure(argv=("tensorboard", "--logdir", logdir))
        self._client = Client(application.TensorBoardWSGIApp(board.flags, loaders))
        listed = json.loads(self._get("sessions")[1].partition(b"\n")[2])["sessions"]
        self._listed = {row["name"].partition("/")[0]: row["name"] for row in listed}

    def _get(self, route: str, **arguments: object) -> Output:
        answer = self._client.get(f"/data/plugin/xla_insights/data/{route}", query_string=arguments)
        shown = {key: value for key, value in arguments.items() if key != "session"}
        name = "&".join(f"{key}={value}" for key, value in shown.items())
        return f"{route}?{name}", f"{answer.status_code}\n".encode() + answer.data

    def outputs(self, name: str, other: str) -> Iterator[Output]:
        session = self._listed[name]

        def get(route: str, **arguments: object) -> Output:
            return self._get(route, session=session, **arguments)

        while _body(get("session")).get("state") == "loading":
            pass  # the server answers when it has read more
        yield get("scopes")  # before `session`, whose rows they belong to
        yield (opened := get("session"))
        head = _body(opened)
        rows = [row["id"] for row in head["rows"]]
        devices = [
            f"{host}/{device}"
            for host, device in zip(head["devices"]["host"], head["devices"]["name"], strict=True)
        ]
        hosts = [host["name"] for host in head["session"]["hosts"]][:MAX_HOSTS]
        span = {"start_ps": 0, "end_ps": head["session"]["duration_ps"]}
        yield from _of_views(get, hosts, devices, span)
        yield from _of_gaps(get)
        yield from _of_timeline(get, rows, span)
        yield get("compare", other=self._listed[other])


Get = Callable[..., Output]


def _body(output: Output) -> Any:
    return json.loads(output[1].partition(b"\n")[2])


def _of_views(get: Get, hosts: list[str], devices: list[str], span: dict[str, int]) -> Iterator[Output]:
    for route in ("overview", "counts", "compiles", "hosts", "propagation", "device", "executions"):
        yield get(route)
    yield get("device", cores="all", steps="all", whole=1)
    yield get("device", cores="0.0", steps="mean")
    for host in hosts:
        yield get("host_steps", host=host)
        yield get("hosts_in_steps", host=host)
        yield get("hosts_in_steps", host=host, first=1, last=2)
    if devices:
        yield get("executions", devices=devices[0])
        yield get("executions", devices=devices[-1], step=0)
        if len(devices) > 1:
            yield get("executions", devices=",".join(devices))
        yield get("propagation", device=devices[-1], step=0)
        yield get("window", device=devices[0], **span)


def _of_gaps(get: Get) -> Iterator[Output]:
    yield (gaps := get("gaps"))
    for gap in _body(gaps).get("items", [])[: MAX_ROWS : MAX_ROWS // 3]:
        yield get("gap", device=gap["device"], start_ps=gap["start_ps"])
        yield get("collective", device=gap["device"], start_ps=gap["start_ps"])


def _of_timeline(get: Get, rows: list[str], span: dict[str, int]) -> Iterator[Output]:
    chosen = ",".join(rows[:MAX_ROWS])
    yield get("timeline", rows=chosen, px=400, **span)
    yield get("table", rows=chosen, limit=40, **span)
    yield get("waits", px=400, **span)
    yield get("search", q="a")
    for row in rows[: MAX_ROWS : MAX_ROWS // 3]:
        yield (found := get("neighbor", row=row, start_ps=0, depth=0, direction="next"))
        if event := _body(found).get("event"):
            yield get("event", event=event["event"])


if __name__ == "__main__":
    main()
