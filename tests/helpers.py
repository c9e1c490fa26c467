"""Small captures, servers, ports and permissions for several test files."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from synthetic.writer import Space

MS = 10**9


def small_space(steps: int = 3) -> Space:
    """A host that trains on one TPU core: every 10 ms a step of 9 ms, with forward, a step marker and 5 ms of device
    work."""
    space = Space()
    host = space.plane("/host:CPU").line("python", timestamp_ns=1_700_000_000_000_000_000)
    device = space.plane("/device:TPU:0")
    modules = device.line("XLA Modules", timestamp_ns=1_700_000_000_000_000_000)
    ops = device.line("XLA Ops", timestamp_ns=1_700_000_000_000_000_000)
    for step in range(steps):
        at = step * 10 * MS
        host.event("Training_Step", at, 9 * MS, _r=1, step_num=step + 2)
        host.event("forward", at + MS, 3 * MS)
        host.event("StepMarker", at + 5 * MS, 3 * MS)
        modules.event("SyncTensorsGraph.1", at + 4 * MS, 5 * MS, run_id=step)
        ops.event("fusion.1", at + 4 * MS, 5 * MS)
    return space


def write_session(directory: Path, *hosts: str) -> Path:
    """Writes the small capture once per host; returns the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for host in hosts:
        small_space().write(directory / f"{host}.xplane.pb")
    return directory


def write_cut_session(directory: Path, host: str) -> Path:
    """Writes a session of one capture whose second half is missing; returns the file."""
    path = write_session(directory, host) / f"{host}.xplane.pb"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return path


def raising(error: BaseException) -> Callable[..., None]:
    """A function that raises `error` for any arguments."""

    def raise_error(*_: object, **__: object) -> None:
        raise error

    return raise_error


@contextmanager
def serving(command: Sequence[str], **options: Any) -> Iterator[str]:
    """Runs a command that starts a server, and yields the address that the server prints on stderr.

    A server that prints no address within two minutes is killed. So is one that does not end within twenty seconds of
    SIGTERM, which threads of TensorBoard sometimes prevent.
    """
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options
    )
    assert process.stderr is not None
    start_timer = threading.Timer(120, process.kill)
    start_timer.start()
    try:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if match := re.search(r"http://127\.0\.0\.1:\d+", line):
                break
        else:
            pytest.fail(f"{command} did not start:\n" + "".join(lines))
        start_timer.cancel()
        threading.Thread(target=_drain, args=(process.stderr,), daemon=True).start()
        yield match[0]
    finally:
        start_timer.cancel()
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin:
            process.stdin.close()


def _drain(stream: IO[str]) -> None:
    """Reads the rest of a server's output, as a full pipe would block the server."""
    with stream:
        stream.read()


@contextmanager
def joining_threads() -> Iterator[None]:
    """Waits at its end for the threads that were started in its body."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join()


def free_port() -> int:
    """A port for a server to listen at. Another process may take it first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def refusing_port() -> Iterator[int]:
    """A port that refuses connections: it is bound, so that no other process gets it, but nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield int(bound.getsockname()[1])


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Runs the body without root's permission to read every file."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def run_script(program: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a Python program in a process of its own, where JAX is on the CPU."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    root = Path(__file__).parents[1]
    variables = {**os.environ, "PYTHONPATH": str(root), "JAX_PLATFORMS": "cpu", **environment}
    return subprocess.run(command, capture_output=True, text=True, env=variables, cwd=root, check=False)
