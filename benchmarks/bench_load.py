"""Puts a real TensorBoard under load: many clients, more sessions than fit into memory, files that change meanwhile.

    python benchmarks/bench_load.py [--minutes 10] [--clients 32] [--beyond 10] [--times 100] [--pause 1] [--living]

The logdir contains long captures, repetitions of a demo capture (`longer_capture.py`), and the demo of 16 hosts. Four
sessions fit into TensorBoard's memory budget, `--beyond` more do not. In the first third of the time, all clients open
sessions that are in memory; after that any session, so that every few requests a session is read again. Of every eight
clients, one reads its responses slowly and one disconnects before its responses.

With `--living`, a thread replaces, truncates, rewrites, removes and renames captures all the time and sets their file
times to other years; a second TensorBoard serves the same logdir.

Prints tables for docs/development.md: the times from a request to the last byte of its response, in milliseconds, of
clients that neither are slow nor disconnect; and the memory of the server's process. The exit status is 1 if a response
had an unexpected status, a client failed or still waits after a minute, a server ended or logged an error, or, with
`--living`, a session is not as its file is at the end.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from living_logdir import POD, Changes, make_logdir
from load_measurements import Measurements, print_tables

ROOT = Path(__file__).parents[1]
BASE = "/data/plugin/xla_insights/data/"

SESSIONS_IN_MEMORY = 4
"""The number of sessions that fit into memory."""
MEMORY_PER_FILE_BYTE = 6.0
"""Memory that a session of the demo capture takes, per byte of its file."""
EXPECTED_STATUSES = frozenset({200, 503})
STATUSES_WITH_CHANGES = EXPECTED_STATUSES | {400, 404, 409}
"""The expected statuses while files change."""

ROUTES = (
    *["timeline"] * 8, *["window"] * 6, *["event"] * 3, *["neighbor"] * 2, "search", "table", "overview", "counts",
    "gaps", "executions", "compiles", "propagation", "scopes", "device", "hosts", "waits", "sessions", "compare",
)  # fmt: skip
"""Routes, approximately as often as a user's actions cause them."""


@dataclass
class Server:
    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def rss(self) -> int:
        """The process's resident memory in bytes."""
        with suppress(OSError):
            match = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
            return int(match[1]) * 1024 if match else 0
        return 0


@contextmanager
def tensorboard(logdir: Path, log: Path, memory_mb: int) -> Iterator[Server]:
    """Runs TensorBoard on a free local port."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", logdir, "--port", "0", "--load_fast", "false",
               "--xla_insights_memory_mb", memory_mb]  # fmt: skip
    with log.open("wb") as output:
        process = subprocess.Popen([*map(str, command)], stderr=output, stdout=output, cwd=ROOT)
    try:
        while not (address := re.search(r"http://localhost:(\d+)", log.read_text())):
            if process.poll() is not None:
                sys.exit(f"TensorBoard does not start:\n{log.read_text()}")
            time.sleep(0.1)
        yield Server(process, int(address[1]), log)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


class Client(threading.Thread):
    """A user with the page open: opens a session, browses it, opens another one. `kind` is `slow`, `disconnecting` or
    empty."""

    def __init__(self, number: int, port: int, load: Load) -> None:
        super().__init__(daemon=True)
        self._port, self._load, self._random = port, load, random.Random(number)
        self.kind = {6: "slow", 7: "disconnecting"}.get(number % 8, "")
        self._connection: http.client.HTTPConnection | None = None
        self._stale = False

    def run(self) -> None:
        while not self._load.has_ended.is_set():
            try:
                self._browse(self._random.choice(self._load.sessions()))
            except Exception as error:  # reported at the end
                self._close()
                self._load.fail(self._port, error)

    def _browse(self, name: str) -> None:
        start, phase = time.perf_counter(), self._load.measurements.phase
        while (answer := self._request("session", session=name)) and answer.get("state") == "loading":
            time.sleep(0.15)
        if not answer or answer.get("state") != "ready":
            return
        if not answer["rows"]:  # the capture is truncated before its first event
            return
        if not self.kind:
            self._load.measurements.add(phase, "(open a session)", 1e3 * (time.perf_counter() - start))
        for _ in range(self._random.randrange(5, 25)):
            if self._load.has_ended.is_set() or self._stale:
                break
            route = self._random.choice(ROUTES)
            time.sleep(self._random.expovariate(1 / self._load.pause) if self._load.pause else 0)
            response = self._request(route, **self._arguments(route, name, answer))
            if route == "gaps" and response and response["items"]:
                gap = self._random.choice(response["items"])
                self._request(
                    "gap",
                    session=name,
                    fingerprint=answer["fingerprint"],
                    device=gap["device"],
                    start_ps=gap["start_ps"],
                )

    def _arguments(self, route: str, name: str, head: dict[str, Any]) -> dict[str, Any]:
        """The arguments that the page would send."""
        if route == "sessions":
            return {}
        choose, rows, duration = self._random.choice, head["rows"], head["session"]["duration_ps"]
        length = max(1, duration // choose((1, 1, 4, 16, 64, 1024)))
        start = self._random.randrange(max(1, duration - length + 1))
        window = {"start_ps": start, "end_ps": start + length}
        row = choose(rows)["id"]
        arguments_of_route = {
            "timeline": {
                **window,
                "px": 1250,
                "rows": ",".join(row["id"] for row in rows if row["unfolded"]),
            },
            "window": window,
            "waits": window | {"px": 1250},
            "table": window | {"limit": 500},
            "event": {"event": f"0.{self._random.randrange(2000)}"},
            "neighbor": {"row": row, "depth": 0, "start_ps": start, "direction": "next"},
            "search": {"q": choose(("dot", "e", "Step", "name:StepMarker"))},
            "compare": {"other": choose(self._load.sessions())},
        }
        return {"session": name, "fingerprint": head["fingerprint"], **arguments_of_route.get(route, {})}

    def _request(self, route: str, **query: Any) -> dict[str, Any] | None:
        """Sends a GET. Returns the answer of `session` and `gaps`; None for other routes and for errors. Requests of
        slow and disconnecting clients are not measured."""
        start, phase = time.perf_counter(), self._load.measurements.phase
        connection = self._connect()
        connection.request(
            "GET", f"{BASE}{route}?{urlencode(query)}", headers={"Accept-Encoding": "identity"}
        )
        if self.kind == "disconnecting" and route != "session":
            time.sleep(self._random.random() / 50)
            self._close()
            return None
        response = connection.getresponse()
        body = b"".join(self._chunks(response))
        if response.will_close:
            self._close()
        if not self.kind and response.status == 200:
            self._load.measurements.add(phase, route, 1e3 * (time.perf_counter() - start))
        # A random request may name an event or gap that does not exist; the page requests only those it received.
        is_random_request = route in ("event", "gap", "neighbor") and response.status == 400
        if response.status == 503:
            self._load.measurements.add_still_reading(phase)
        elif response.status not in self._load.expected_statuses and not is_random_request:
            self._load.measurements.fail(f"{response.status} {route}: {body[:120].decode(errors='replace')}")
        self._stale = response.status == 409  # the page would open the session again
        is_needed = response.status == 200 and route in ("session", "gaps")
        return json.loads(body) if is_needed else None

    def _chunks(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        while chunk := response.read(4096 if self.kind == "slow" else 1 << 20):
            yield chunk
            if self.kind == "slow":
                time.sleep(0.02)

    def _connect(self) -> http.client.HTTPConnection:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("localhost", self._port, timeout=300)
            self._connection.connect()
            if self.kind == "slow":
                self._connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@dataclass
class Load:
    """The state of the benchmark that all clients share."""

    sessions_in_memory: list[str]
    all_sessions: list[str]
    expected_statuses: frozenset[int]
    pause: float
    """The mean pause between two requests of a client, in seconds."""
    measurements: Measurements = field(default_factory=Measurements)
    has_ended: threading.Event = field(default_factory=threading.Event)

    def sessions(self) -> list[str]:
        return self.sessions_in_memory if self.measurements.phase == "in memory" else self.all_sessions

    def fail(self, port: int, error: Exception) -> None:
        if not self.has_ended.is_set():
            self.measurements.fail(f"port {port}: {type(error).__name__}: {error}")
            time.sleep(0.1)


def get(port: int, route: str, **query: Any) -> dict[str, Any]:
    connection = http.client.HTTPConnection("localhost", port, timeout=300)
    try:
        connection.request("GET", f"{BASE}{route}?{urlencode(query)}")
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
        return answer
    finally:
        connection.close()


def post(port: int, route: str, **body: Any) -> dict[str, Any]:
    """Sends a POST as the page does."""
    connection = http.client.HTTPConnection("localhost", port, timeout=300)
    headers = {
        "Content-Type": "application/json",
        "X-XLA-Insights": "1",
        "Origin": f"http://localhost:{port}",
    }
    try:
        connection.request("POST", f"{BASE}{route}", json.dumps(body), headers)
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
        return answer
    finally:
        connection.close()


def open_session(port: int, name: str, reload: bool = False) -> dict[str, Any]:
    """Waits until the session is in memory, or cannot be read, and returns the response."""
    answer = post(port, "reload", session=name) if reload else get(port, "session", session=name)
    while answer.get("state") == "loading":
        time.sleep(0.1)
        answer = get(port, "session", session=name)
    return answer


def check_restored_sessions(server: Server, changes: Changes, measurements: Measurements) -> None:
    """Restores all files, and checks that every session is read as its file is now."""
    from tb_xla_insights.session import load

    lengths: dict[Path, int] = {}
    for name, capture in changes.restore().items():
        if capture not in lengths:
            lengths[capture] = load(str(capture)).duration_ps
        answer = open_session(server.port, name, reload=True)
        if answer.get("session", {}).get("duration_ps") != lengths[capture] or answer["changed"]:
            measurements.fail(f"{name} is not as its file is now: {str(answer)[:120]}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--beyond", type=int, default=10, help="sessions beyond those that fit into memory")
    parser.add_argument("--times", type=int, default=100, help="repetitions of the demo per capture")
    parser.add_argument(
        "--pause", type=float, default=1, help="mean seconds between the requests of a client"
    )
    parser.add_argument("--living", action="store_true", help="change the files meanwhile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench_load_") as folder:
        return run(Path(folder), options)


def run(folder: Path, options: argparse.Namespace) -> int:
    directories, captures = make_logdir(folder / "logdir", SESSIONS_IN_MEMORY + options.beyond, options.times)
    size = captures[0].stat().st_size
    memory_mb = round((SESSIONS_IN_MEMORY + 0.5) * MEMORY_PER_FILE_BYTE * size / 1e6)
    names = [directory.name for directory in directories]
    load = Load(
        names[:SESSIONS_IN_MEMORY],
        [*names, *(f"pod/{session.name}" for session in POD.iterdir())],
        STATUSES_WITH_CHANGES if options.living else EXPECTED_STATUSES,
        options.pause,
    )
    measurements = load.measurements
    logs = ("server.log", "second.log") if options.living else ("server.log",)
    with ExitStack() as stack:
        servers = [
            stack.enter_context(tensorboard(folder / "logdir", folder / log, memory_mb)) for log in logs
        ]
        server = servers[0]
        print(f"{options.clients} clients, {options.minutes:g} minutes, {os.cpu_count()} cores")
        print(f"{len(names)} sessions of {size / 1e6:.1f} MB and one of 16 hosts; {memory_mb} MB for them")
        print(f"{server.rss() / 1e6:.0f} MB of memory at the start")
        for name in load.sessions_in_memory:
            open_session(server.port, name)
        print(
            f"{server.rss() / 1e6:.0f} MB of memory with {SESSIONS_IN_MEMORY} sessions in memory", flush=True
        )
        changes = Changes(directories, captures, load.has_ended)
        ports = [instance.port for instance in servers]
        clients = [Client(number, ports[number // 8 % len(ports)], load) for number in range(options.clients)]
        for thread in [*clients, *([changes] if options.living else [])]:
            thread.start()
        start = time.monotonic()
        while (seconds := time.monotonic() - start) < 60 * options.minutes and server.process.poll() is None:
            measurements.phase = "in memory" if seconds < 20 * options.minutes else "beyond memory"
            measurements.rss.append((seconds, measurements.phase, server.rss()))
            time.sleep(0.5)
        load.has_ended.set()
        for thread in clients:
            thread.join(60)
            if thread.is_alive():
                measurements.fail("a client still waits for an answer after a minute")
        if options.living:
            changes.join()
            for instance in servers:
                check_restored_sessions(instance, changes, measurements)
        for instance in servers:
            if instance.process.poll() is not None:
                measurements.fail(f"TensorBoard ended with {instance.process.returncode}")
            traceback_count = instance.log.read_text().count("Traceback")
            if traceback_count:
                measurements.fail(f"{traceback_count} tracebacks in {instance.log.name}")
                print(instance.log.read_text()[-4000:], file=sys.stderr)
    print_tables(measurements)
    if options.living:
        print(
            f"\nChanges: {', '.join(f'{count} × {name}' for name, count in sorted(changes.counts.items()))}"
        )
    print(f"\nErrors: {sum(measurements.errors.values())}")
    for message, count in measurements.errors.most_common():
        print(f"- {count} × {message}")
    return 1 if measurements.errors else 0


if __name__ == "__main__":
    sys.exit(main())
