"""A real TensorBoard under load: many clients, more sessions than fit into memory, and files that change meanwhile.

    python benchmarks/bench_load.py [--minutes 10] [--clients 32] [--beyond 10] [--times 100] [--pause 1] [--living]

The logdir is made of a demo capture that goes on and on (`longer_capture.py`), with the demo of 16 hosts beside it.
Of its sessions four fit into the memory that TensorBoard is told to use for them, `--beyond` more do not. In the first
third of the time all clients look at sessions that are in memory, after that at all of them, so that every few requests
a session is read anew. Of eight clients one reads its answers slowly, and one goes away without its answers.

With `--living` somebody replaces, cuts, extends, removes and renames captures all the while, and sets their times to
other years; a second TensorBoard serves the same logdir.

Prints tables for docs/development.md: times from the request to the last byte of the answer, of clients that neither
are slow nor go away, in milliseconds; and the memory of the server's process. The exit status is 1 where an answer had
another status than it may have, the server ended, or it logged a fault.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from living_logdir import POD, Changes, make_logdir

ROOT = Path(__file__).parents[1]
BASE = "/data/plugin/xla_insights/data/"

FIT = 4
"""Sessions that fit into memory."""
HELD_PER_BYTE = 6.0
"""Memory that a session of the demo capture takes, per byte of its file."""
PEACE = frozenset({200, 503})
CHANGE = PEACE | {400, 404, 409}
"""What a request may be answered while files change."""

ROUTES = (
    *["timeline"] * 8, *["window"] * 6, *["event"] * 3, *["neighbor"] * 2, "search", "table", "overview", "counts",
    "gaps", "executions", "compiles", "propagation", "scopes", "device", "hosts", "waits", "sessions", "compare",
)  # fmt: skip
"""As often as a person causes them, about."""


@dataclass
class Measured:
    """What clients and the server's process went through; one lock for all."""

    times: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    """Milliseconds by phase and route."""
    wrong: Counter[str] = field(default_factory=Counter)
    later: Counter[str] = field(default_factory=Counter)
    """Answers that a session is still being read, by phase."""
    rss: list[tuple[float, str, int]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    phase: str = "in memory"

    def add(self, phase: str, route: str, milliseconds: float) -> None:
        with self.lock:
            self.times[phase, route].append(milliseconds)

    def fail(self, what: str) -> None:
        with self.lock:
            self.wrong[what] += 1


@dataclass
class Server:
    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def rss(self) -> int:
        """Bytes of memory that the process holds."""
        with suppress(OSError):
            match = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
            return int(match[1]) * 1024 if match else 0
        return 0


@contextmanager
def tensorboard(logdir: Path, log: Path, memory_mb: int) -> Iterator[Server]:
    """TensorBoard on a free port of this machine."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", logdir, "--port", "0", "--load_fast", "false",
               "--xla_insights_memory_mb", memory_mb]  # fmt: skip
    with log.open("wb") as out:
        process = subprocess.Popen([*map(str, command)], stderr=out, stdout=out, cwd=ROOT)
    try:
        while not (found := re.search(r"http://localhost:(\d+)", log.read_text())):
            if process.poll() is not None:
                sys.exit(f"TensorBoard does not start:\n{log.read_text()}")
            time.sleep(0.1)
        yield Server(process, int(found[1]), log)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


class Client(threading.Thread):
    """A person with the page open: opens a session, looks around, opens another one."""

    def __init__(self, number: int, port: int, load: Load) -> None:
        super().__init__(daemon=True)
        self._port, self._load, self._random = port, load, random.Random(number)
        self.kind = {6: "slow", 7: "going away"}.get(number % 8, "")
        self._connection: http.client.HTTPConnection | None = None
        self._stale = False

    def run(self) -> None:
        while not self._load.over.is_set():
            try:
                self._look_around(self._random.choice(self._load.sessions()))
            except Exception as error:  # all of them are told in the end
                self._close()
                self._load.fail(self._port, error)

    def _look_around(self, name: str) -> None:
        began, phase = time.perf_counter(), self._load.measured.phase
        while (answer := self._ask("session", session=name)) and answer.get("state") == "loading":
            time.sleep(0.15)
        if not answer or answer.get("state") != "ready":
            return
        self._load.measured.add(phase, "(open a session)", 1e3 * (time.perf_counter() - began))
        for _ in range(self._random.randrange(5, 25)):
            if self._load.over.is_set() or self._stale:
                break
            route = self._random.choice(ROUTES)
            time.sleep(self._random.expovariate(1 / self._load.pause) if self._load.pause else 0)
            found = self._ask(route, **self._arguments(route, name, answer))
            if route == "gaps" and found and found["items"]:
                its = self._random.choice(found["items"])
                self._ask(
                    "gap", session=name, mark=answer["mark"], device=its["device"], start_ps=its["start_ps"]
                )

    def _arguments(self, route: str, name: str, head: dict[str, Any]) -> dict[str, Any]:
        """As the page would give them."""
        if route == "sessions":
            return {}
        choose, rows, duration = self._random.choice, head["rows"], head["session"]["duration_ps"]
        length = max(1, duration // choose((1, 1, 4, 16, 64, 1024)))
        start = self._random.randrange(max(1, duration - length + 1))
        window = {"start_ps": start, "end_ps": start + length}
        row = choose(rows)["id"]
        more = {
            "timeline": {**window, "px": 1250, "rows": ",".join(it["id"] for it in rows if it["main"])},
            "window": window,
            "waits": window | {"px": 1250},
            "table": window | {"limit": 500},
            "event": {"event": f"0.{self._random.randrange(2000)}"},
            "neighbor": {"row": row, "depth": 0, "start_ps": start, "direction": "next"},
            "search": {"q": choose(("dot", "e", "Step", "name:StepMarker"))},
            "compare": {"other": choose(self._load.sessions())},
        }
        return {"session": name, "mark": head["mark"], **more.get(route, {})}

    def _ask(self, route: str, **query: Any) -> dict[str, Any] | None:
        """The answer, None for an error. What clients that are slow or go away wait for is not measured."""
        began, phase = time.perf_counter(), self._load.measured.phase
        connection = self._connect()
        connection.request(
            "GET", f"{BASE}{route}?{urlencode(query)}", headers={"Accept-Encoding": "identity"}
        )
        if self.kind == "going away" and route != "session":
            time.sleep(self._random.random() / 50)
            self._close()
            return None
        response = connection.getresponse()
        body = b"".join(self._pieces(response))
        if response.will_close:
            self._close()
        if not self.kind and response.status == 200:
            self._load.measured.add(phase, route, 1e3 * (time.perf_counter() - began))
        # An event, or a gap, need not be where a random one was asked for; the page asks for those it was told of.
        asked_at_random = route in ("event", "gap", "neighbor") and response.status == 400
        if response.status == 503:
            self._load.measured.later[phase] += 1
        elif response.status not in self._load.allowed and not asked_at_random:
            self._load.measured.fail(f"{response.status} {route}: {body[:120].decode(errors='replace')}")
        self._stale = response.status == 409  # the page opens the session anew
        wanted = response.status == 200 and route in ("session", "gaps")
        return json.loads(body) if wanted else None

    def _pieces(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        while piece := response.read(4096 if self.kind == "slow" else 1 << 20):
            yield piece
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
    """The run: what clients may ask for, until it is over."""

    in_memory: list[str]
    every: list[str]
    allowed: frozenset[int]
    pause: float
    measured: Measured = field(default_factory=Measured)
    over: threading.Event = field(default_factory=threading.Event)

    def sessions(self) -> list[str]:
        return self.in_memory if self.measured.phase == "in memory" else self.every

    def fail(self, port: int, error: Exception) -> None:
        if not self.over.is_set():
            self.measured.fail(f"port {port}: {type(error).__name__}: {error}")
            time.sleep(0.1)


def ask(port: int, route: str, **query: Any) -> dict[str, Any]:
    connection = http.client.HTTPConnection("localhost", port, timeout=300)
    try:
        connection.request("GET", f"{BASE}{route}?{urlencode(query)}")
        answer: dict[str, Any] = json.loads(connection.getresponse().read())
        return answer
    finally:
        connection.close()


def post(port: int, route: str, **body: Any) -> dict[str, Any]:
    """As the page asks for something to be done."""
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


def opened(port: int, name: str, reload: bool = False) -> dict[str, Any]:
    """The session once it is in memory."""
    answer = post(port, "reload", session=name) if reload else ask(port, "session", session=name)
    while answer.get("state") == "loading":
        time.sleep(0.1)
        answer = ask(port, "session", session=name)
    return answer


def check_end(server: Server, changes: Changes, measured: Measured) -> None:
    """Once nobody changes anything any more, every session is read as it now is."""
    from tb_xla_insights.session import load

    lengths: dict[Path, int] = {}
    for name, capture in changes.end().items():
        if capture not in lengths:
            lengths[capture] = load(str(capture)).duration_ps
        answer = opened(server.port, name, reload=True)
        if answer.get("session", {}).get("duration_ps") != lengths[capture] or answer["changed"]:
            measured.fail(f"{name} is told as it was: {str(answer)[:120]}")


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def print_tables(measured: Measured) -> None:
    phases = ("in memory", "beyond memory")
    print("\n| route | requests | p50 | p99 | longest | beyond memory: requests | p50 | p99 | longest |")
    print("|---|---|---|---|---|---|---|---|---|")
    routes = sorted({route for _, route in measured.times})
    for route in sorted(routes, key=lambda it: -quantile(measured.times.get((phases[0], it), [0]), 0.99)):
        cells = []
        for phase in phases:
            some = measured.times.get((phase, route), [])
            cells += [
                f"{len(some):,}",
                *(f"{quantile(some, it):,.0f}" if some else "" for it in (0.5, 0.99, 1)),
            ]
        print(f"| {route.strip('()') if route[0] == '(' else f'`{route}`'} | {' | '.join(cells)} |")
    print("\n| phase | answers | asked to come again | memory, first quarter (MB) | last quarter | most |")
    print("|---|---|---|---|---|---|")
    for phase in phases:
        held = [it / 1e6 for _, its, it in measured.rss if its == phase]
        quarter = max(1, len(held) // 4)
        first, last = statistics.median(held[:quarter]), statistics.median(held[-quarter:])
        answers = sum(len(some) for (its, _), some in measured.times.items() if its == phase)
        print(
            f"| {phase} | {answers:,} | {measured.later[phase]} | {first:,.0f} | {last:,.0f} | {max(held):,.0f} |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--beyond", type=int, default=10, help="sessions beyond those that fit into memory")
    parser.add_argument("--times", type=int, default=100, help="how often each capture repeats the demo")
    parser.add_argument("--pause", type=float, default=1, help="mean seconds before a client asks again")
    parser.add_argument("--living", action="store_true", help="change the files meanwhile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench_load_") as folder:
        return run(Path(folder), options)


def run(folder: Path, options: argparse.Namespace) -> int:
    directories, captures = make_logdir(folder / "logdir", FIT + options.beyond, options.times)
    size = captures[0].stat().st_size
    memory_mb = round((FIT + 0.5) * HELD_PER_BYTE * size / 1e6)
    names = [directory.name for directory in directories]
    load = Load(
        names[:FIT],
        [*names, *(f"pod/{it.name}" for it in POD.iterdir())],
        CHANGE if options.living else PEACE,
        options.pause,
    )
    measured = load.measured
    with (
        tensorboard(folder / "logdir", folder / "server.log", memory_mb) as server,
        tensorboard(folder / "logdir", folder / "second.log", memory_mb) as second,
    ):
        print(f"{options.clients} clients, {options.minutes:g} minutes, {os.cpu_count()} cores")
        print(f"{len(names)} sessions of {size / 1e6:.1f} MB and one of 16 hosts; {memory_mb} MB for them")
        print(f"{server.rss() / 1e6:.0f} MB held at the start")
        for name in load.in_memory:
            opened(server.port, name)
        print(f"{server.rss() / 1e6:.0f} MB held with {FIT} sessions in memory", flush=True)
        changes = Changes(directories, captures, load.over)
        ports = [server.port, second.port] if options.living else [server.port]
        clients = [Client(number, ports[number // 8 % len(ports)], load) for number in range(options.clients)]
        for thread in [*clients, *([changes] if options.living else [])]:
            thread.start()
        began = time.monotonic()
        while (now := time.monotonic() - began) < 60 * options.minutes and server.process.poll() is None:
            measured.phase = "in memory" if now < 20 * options.minutes else "beyond memory"
            measured.rss.append((now, measured.phase, server.rss()))
            time.sleep(0.5)
        load.over.set()
        for thread in clients:
            thread.join(60)
            if thread.is_alive():
                measured.fail("a client waits for an answer for a minute")
        if options.living:
            changes.join()
            for one in (server, second):
                check_end(one, changes, measured)
        for one in (server, second):
            if one.process.poll() is not None:
                measured.fail(f"TensorBoard ended with {one.process.returncode}")
            faults = one.log.read_text().count("Traceback")
            if faults:
                measured.fail(f"{faults} tracebacks in {one.log.name}")
                print(one.log.read_text()[-4000:], file=sys.stderr)
    print_tables(measured)
    if options.living:
        print(f"\nChanges: {', '.join(f'{count} × {name}' for name, count in sorted(changes.made.items()))}")
    print(f"\nErrors: {sum(measured.wrong.values())}")
    for what, count in measured.wrong.most_common():
        print(f"- {count} × {what}")
    return 1 if measured.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
