"""Sends hostile requests to a real TensorBoard on the loopback interface and reports the failures.

    python benchmarks/hostile/run.py [--requests 10000] [--seed 1] [--clients 4]

The logdir has small sessions, damaged ones, and sessions with names that are hard to print. A request fails if it
should reach the plugin and the connection ends without the plugin's response; if the plugin's status is neither 200,
nor 4xx, nor 503 with `Retry-After`; if the response is not JSON, has an error of more than one line, lacks a header
against sniffing, caching or embedding, or contains data from outside the logdir; or if a forbidden request is answered
with 200. Responses of TensorBoard's own server to malformed HTTP are counted separately. A traceback of the plugin in
TensorBoard's output is a failure too.
Also prints memory, threads and the slowest requests. The same seed sends the same requests.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from attacks import BASE, Attacks, Request, ValidRequests, describe

ROOT = Path(__file__).parents[2]
CAPTURE = next((ROOT / "demo_logs/torch_xla_baseline").rglob("*.xplane.pb"))
SESSION_NAMES = (
    "plain",
    "a b",
    "a%2fb",
    "a&session=plain",
    "a#b",
    "<script>alert(1)<script>",
    "\u202egpj",
    "caf\udce9",
    "a\nb",
    "\x1b]0;x\x07",
    "x" * 200,
    "'; DROP TABLE",
    "..x",
    "{{7*7}}",
    "-rf",
)
SECRET = b"root:x:0:0"
"""The beginning of /etc/passwd."""
REQUIRED_HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
WAIT_SECONDS = 30.0
SLOW_SECONDS = 0.5
"""If the response is not complete after this time, the client closes its side of the connection."""
MAX_SHOWN = 20
MAX_SLOW_SHOWN = 5
MAX_MESSAGE_LENGTH = 5_001
"""Characters of an error, including the ellipsis of a truncated one."""


def make_logdir(folder: Path) -> Path:
    """Creates sessions with difficult names from one small capture, and a truncated, a random and an empty one."""
    content = CAPTURE.read_bytes()
    for name in SESSION_NAMES:
        directory = folder / "plugins/profile" / name
        directory.mkdir(parents=True)
        (directory / f"{name[:100]}.xplane.pb").write_bytes(content)
    for name, damaged in (("cut", content[: len(content) // 2]), ("none", os.urandom(5_000)), ("empty", b"")):
        directory = folder / "plugins/profile" / name
        directory.mkdir()
        (directory / "host.xplane.pb").write_bytes(damaged)
    return folder


@contextmanager
def tensorboard(folder: Path, output: Path) -> Iterator[tuple[int, int]]:
    """Runs TensorBoard with its output in a file; yields its port and process id."""
    command = [
        sys.executable,
        str(ROOT / "tests/browser/serve.py"),
        str(folder),
        "--xla_insights_memory_mb=600",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (
        output.open("wb") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment) as process,
    ):
        try:
            address = None
            while address is None and process.poll() is None:
                address = re.search(rb"http://127\.0\.0\.1:(\d+)", output.read_bytes())
                time.sleep(0.1)
            if address is None:
                sys.exit(f"TensorBoard did not start:\n{output.read_text()}")
            yield int(address[1]), process.pid
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()


def valid_requests(port: int) -> ValidRequests:
    """Valid arguments of each route, from the plugin's answers about a session."""

    def data(route: str, **arguments: Any) -> dict[str, Any]:
        with urlopen(
            f"http://127.0.0.1:{port}{BASE}/data/{route}?{urlencode(arguments)}", timeout=60
        ) as answer:
            document: dict[str, Any] = json.load(answer)
            return document

    while (ready := data("session", session="plain"))["state"] == "loading":
        time.sleep(0.2)
    rows = [row["id"] for row in data("scopes", session="plain")["rows"]]
    window = {"session": "plain", "start_ps": "0", "end_ps": str(ready["session"]["duration_ps"])}
    event_id = data("search", session="plain", q="e")["hits"]["event"][0]
    event = data("event", session="plain", event=event_id)
    position = {
        "session": "plain",
        "row": event["row"],
        "start_ps": str(event["start_ps"]),
        "depth": str(event["depth"]),
    }
    device = f"{ready['devices']['host'][0]}/{ready['devices']['name'][0]}"
    gap = data("gaps", session="plain")["items"][0]
    session = {"session": "plain"}
    arguments = {
        "sessions": {},
        "session": {**session, "seen": "0", "hosts": "all"},
        "timeline": {**window, "px": "1000", "rows": ",".join(rows[:8])},
        "event": position,
        "neighbor": {**position, "direction": "next"},
        "search": {**session, "q": "e", "rows": rows[0]},
        "window": {**window, "device": device},
        "table": {**window, "rows": event["row"], "limit": "20"},
        "overview": session,
        "counts": session,
        "gaps": session,
        "gap": {**session, "device": gap["device"], "start_ps": str(gap["start_ps"]), "other_host": "0"},
        "executions": {**session, "step": "0", "devices": device},
        "compiles": session,
        "compare": {**session, "other": "plain"},
        "propagation": {**position, "step": "0", "device": device, "step_number": "1"},
        "scopes": session,
        "hosts": session,
        "host_steps": {**session, "host": ready["session"]["hosts"][0]["name"]},
        "hosts_in_steps": {
            **session,
            "host": ready["session"]["hosts"][0]["name"],
            "first": "0",
            "last": "1",
        },
        "device": {
            **session,
            "cores": "0",
            "steps": "1",
            "peaks": "918e12,1638e9",
            "category": "fusion",
            "whole": "1",
        },
        "waits": {**window, "px": "1000", "hosts": "all"},
        "collective": {**window, "device": device, "hosts": "all"},
        "capture_progress": {},
    }
    names = [row["name"] for row in data("sessions")["sessions"]]
    return ValidRequests(arguments, [*names, "nothing", "../plain", "plain/../plain", "plain\0", ""])


def answer_to(port: int, request: Request) -> bytes:
    """The bytes that the server sends until it closes the connection or the response is complete."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), WAIT_SECONDS) as connection, suppress(ConnectionError):
        with suppress(ConnectionError):
            connection.sendall(request.data)
        connection.settimeout(SLOW_SECONDS)
        while not _is_complete(request, received):
            try:
                chunk = connection.recv(1 << 20)
            except TimeoutError:  # the server computes, or waits for the rest of the request
                if connection.gettimeout() == WAIT_SECONDS:
                    raise
                connection.settimeout(WAIT_SECONDS)
                connection.shutdown(socket.SHUT_WR)
                continue
            if not chunk:
                break
            received += chunk
    return received


def _is_complete(request: Request, received: bytes) -> bool:
    head, end, content = _last_response(received).partition(b"\r\n\r\n")
    announced = re.search(rb"content-length: (\d+)", head.lower())
    if not end or announced is None:
        return False
    return request.method.upper() == "HEAD" or len(content) >= int(announced[1])


def _last_response(received: bytes) -> bytes:
    """The response without preceding `100 Continue` responses."""
    return re.sub(rb"\A(HTTP/1\.1 100 Continue\r\n\r\n)+", b"", received)


def check(request: Request, received: bytes) -> tuple[str, str | None]:
    """The status of the response as a text, and its fault or None."""
    head, _, content = _last_response(received).partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    status = re.fullmatch(r"HTTP/1\.[01] (\d{3}).*", lines[0])
    is_of_plugin = "x-content-type-options: nosniff" in head.decode("latin-1").lower()
    if status is None or not is_of_plugin:
        code_text = status[1] if status else "none"
        return f"server {code_text}", "no response of the plugin" if request.reaches_plugin else None
    code = int(status[1])
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
    if code != 200 and not 400 <= code < 500 and not (code == 503 and "retry-after" in headers):
        return str(code), f"status {code}"
    if code == 200 and request.is_forbidden:
        return str(code), "forbidden, but answered"
    if "x-injected" in headers:
        return str(code), "a header injected by the request"
    text = _without_compression(headers, content)
    if SECRET in text or b"Traceback" in text:
        return str(code), "contains secret data or a traceback"
    if not request.reaches_plugin or headers.get("content-type", "").startswith("text/javascript"):
        return str(code), None
    for name, value in REQUIRED_HEADERS.items():
        if headers.get(name) != value:
            return str(code), f"{name}: {headers.get(name)}"
    if request.method.upper() == "HEAD":
        return str(code), None
    if len(content) != int(headers["content-length"]):
        return str(code), f"{len(content)} bytes instead of {headers['content-length']}"
    return str(code), _document_fault(code, text)


def _without_compression(headers: dict[str, str], content: bytes) -> bytes:
    """The content of a response; if it is damaged, as it was sent."""
    if headers.get("content-encoding") == "gzip":
        with suppress(OSError, EOFError, zlib.error):
            return gzip.decompress(content)
    return content


def _document_fault(code: int, text: bytes) -> str | None:
    try:
        document = json.loads(text)
    except ValueError as error:
        return f"no JSON: {error}"
    if not isinstance(document, dict):
        return "no JSON object"
    message = document.get("error")
    if code == 200:
        return None
    if list(document) != ["error"] or not isinstance(message, str) or len(message.splitlines()) != 1:
        return f"not one line: {str(document)[:200]}"
    return f"{len(message)} characters" if len(message) > MAX_MESSAGE_LENGTH else None


def memory_and_threads(process: int) -> tuple[float, int]:
    """Megabytes and threads of a process; zeros without `/proc`."""
    with suppress(OSError):
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        status = dict(line.split(":", 1) for line in lines)
        return int(status["VmRSS"].split()[0]) / 1e3, int(status["Threads"])
    return 0.0, 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=4)
    options = parser.parse_args()
    answers: Counter[tuple[str, str]] = Counter()
    failures: list[str] = []
    seconds: list[tuple[float, str]] = []
    lock = threading.Lock()
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output"
        with tensorboard(make_logdir(Path(folder) / "logs"), output) as (port, process):
            attacks = Attacks(valid_requests(port), options.seed)
            requests = [attacks.next() for _ in range(options.requests)]
            began_at, figures_before = time.monotonic(), memory_and_threads(process)

            def send(request: Request) -> None:
                start = time.monotonic()
                try:
                    status, fault = check(request, answer_to(port, request))
                except OSError as error:
                    status, fault = "none", f"{type(error).__name__}: {error}"
                with lock:
                    seconds.append((time.monotonic() - start, describe(request)))
                    answers[request.family, status] += 1
                    if fault:
                        failures.append(f"{request.family}: {fault}: {describe(request)}")

            with ThreadPoolExecutor(options.clients) as clients:
                list(clients.map(send, requests))
            time.sleep(3)  # lets lingering connections end
            figures_after = memory_and_threads(process)
            valid_requests(port)  # fails if the server no longer answers
        log = output.read_text(errors="replace")
    tracebacks = [
        text for text in re.split(r"(?=Traceback \(most recent)", log)[1:] if "/tb_xla_insights/" in text
    ]
    failures += [f"traceback in TensorBoard's output: {text[-600:]}" for text in tracebacks]
    statuses = sorted({status for _, status in answers})
    print(f"{'':<14}" + "".join(f"{status:>12}" for status in statuses))
    for family in sorted({family for family, _ in answers}):
        print(f"{family:<14}" + "".join(f"{answers[family, status] or '':>12}" for status in statuses))
    print(
        f"\n{sum(answers.values())} requests in {time.monotonic() - began_at:.0f} s; {len(failures)} failed"
    )
    print(
        "TensorBoard had {:.0f} MB and {} threads before, {:.0f} MB and {} threads after".format(
            *figures_before, *figures_after
        )
    )
    print("\n".join(failures[:MAX_SHOWN]))
    print("\nThe slowest:")
    for duration, request in sorted(seconds, reverse=True)[:MAX_SLOW_SHOWN]:
        print(f"{duration:8.2f} s  {request[:160]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
