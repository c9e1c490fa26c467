"""Reads the session that a command's options name, with progress on a terminal, and prints its warnings."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tb_xla_insights.cli.printing import print_note, progress_note
from tb_xla_insights.text import units
from tb_xla_insights.text.units import NARROW_SPACE

if TYPE_CHECKING:
    from tb_xla_insights.catalog import Catalog
    from tb_xla_insights.logdir.read_hosts import Reading
    from tb_xla_insights.session import Session


def read_session(
    options: Any,
    *,
    meanwhile: Sequence[str] = (),
    outputs: Sequence[Path] = (),
    catalog: Catalog | None = None,
) -> Session:
    """Opens the session that the options name, with progress on a terminal. Raises InputError; the command ends with a
    usage error if one of the `outputs`, the files it will write, is an input.

    `catalog` is given by commands that read several sessions, as the file that the options name may be a pipe.
    Sessions of several hosts are not read here but by each answer. The modules `meanwhile`, which the command needs
    next, are imported in parallel, as decoding releases the interpreter lock.
    """
    from tb_xla_insights.catalog import load_catalog
    from tb_xla_insights.logdir.read_hosts import initial_readings
    from tb_xla_insights.logdir.sessions import joined, resolve
    from tb_xla_insights.session import open_session

    if len(options.path) > 1 and options.session is not None:
        options.parser.error("--session needs one PATH; name the directories of several sessions")
    with progress_note(lambda _: f"Looking for sessions under {', '.join(options.path)}"):
        files = joined([resolve(path, options.session) for path in options.path])
    if outputs:
        from tb_xla_insights.cli.outputs import refusal

        if reason := refusal(outputs, files, options.catalog):
            options.parser.error(reason)
    readings = initial_readings(files)
    with progress_note(partial(_progress_line, readings)), _import_meanwhile(meanwhile):
        return open_session(files, catalog or load_catalog(options.catalog), readings, options.scheduler)


@contextmanager
def show_progress(*sessions: Session, activity: str = "Preparing") -> Iterator[None]:
    """Shows progress on a terminal, in one line for all sessions that an answer needs: how many hosts are read, as long
    as the answer reads hosts, then the `activity`."""
    readings = [host for session in sessions if session.hosts.is_streamed for host in session.hosts.readings]
    with progress_note(lambda elapsed: _progress_line(readings, elapsed, activity)):
        yield


def print_warnings(session: Session, name: str | None = None) -> None:
    """Prints warnings about the input to stderr, for outputs that do not show them in the terminal. `name` is the
    session's among several, whose hosts may have the same names."""
    for diagnostic in session.diagnostics:
        if diagnostic.severity != "info":
            subject = ", ".join(filter(None, (name, diagnostic.host)))
            place = f" ({subject})" if subject else ""
            print_note(f"{diagnostic.severity}{place}: {diagnostic.message}")


@contextmanager
def _import_meanwhile(modules: Sequence[str]) -> Iterator[None]:
    """Imports modules in a thread beside the block and waits for it: an import that the interpreter's exit interrupts
    prints a traceback."""
    thread = threading.Thread(target=lambda: [importlib.import_module(module) for module in modules])
    with suppress(RuntimeError):  # no thread can be started: the modules are imported when needed
        thread.start()
    try:
        yield
    finally:
        if thread.ident is not None:
            thread.join()


def _progress_line(readings: Sequence[Reading], elapsed: float, activity: str = "Preparing") -> str:
    """The line after `elapsed` seconds: the host being read, or how many of several are read, or the `activity` that
    follows."""
    done = sum(host.state in ("ready", "error") for host in readings)
    if done == len(readings):
        return activity
    if len(readings) > 1:
        line = f"{done} of {len(readings)} hosts read"
        return line if not done else f"{line}{_time_left(elapsed, done, len(readings))}"
    (host,) = readings
    if host.state == "reading" and not host.bytes_read and elapsed > 2:
        return f"Waiting for the first bytes of {host.name}"
    if host.bytes_read in (0, host.bytes):
        return "Preparing"
    line = f"Reading {host.name} · {units.byte_size(host.bytes_read)} of {units.byte_size(host.bytes)}"
    return line if elapsed < 1 else f"{line}{_time_left(elapsed, host.bytes_read, host.bytes)}"


def _time_left(elapsed: float, done: int, total: int) -> str:
    return f" · about {max(1, round(elapsed * (total - done) / done))}{NARROW_SPACE}s left"
