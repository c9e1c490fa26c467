"""What commands share: the options that name a session, reading it with progress, and the parts of their text."""

from __future__ import annotations

import argparse
import importlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli.printing import tell, telling
from tb_xla_insights.errors import InputError
from tb_xla_insights.units import THIN

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tb_xla_insights.logdir.read import Reading
    from tb_xla_insights.session import Session

ROWS = 12
"""Rows of a table that may be long; `--json` has all of them."""


def add_path(parser: argparse.ArgumentParser) -> None:
    """PATH, `--session`, `--catalog` and `--json`."""
    add_session(parser)
    add_json(parser)


def add_session(parser: argparse.ArgumentParser) -> None:
    """PATH, `--session` and `--catalog`."""
    parser.add_argument(
        "path", metavar="PATH", help="a .xplane.pb file, a session directory or a logdir; local or a URL"
    )
    parser.add_argument("--session", metavar="NAME", help="which session of a logdir (the newest)")
    parser.add_argument("--catalog", metavar="FILE", help="a file with more host event names")
    add_scheduler(parser)


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scheduler",
        type=_scheduler,
        metavar="ADDRESS",
        help="a Dask scheduler, as tcp://HOST:8786, whose workers read the hosts (processes of this machine)",
    )


def _scheduler(text: str) -> str:
    from tb_xla_insights.tasks.address import scheduler_address

    try:
        return scheduler_address(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON document, times in picoseconds")


def samples(text: str) -> float:
    """The number of an option `--samples-per-step`."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= units.MOST_SAMPLES:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number of samples; give a number above 0")
    return int(value) if value == int(value) else value


def peaks(text: str) -> tuple[float, float]:
    """The two numbers of an option `--peaks`."""
    try:
        return units.peaks_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is no FLOP/s,bytes/s; give two numbers above 0, as 918e12,1638e9"
        ) from error


def read(options: Any, *, meanwhile: Sequence[str] = (), outputs: Sequence[Path] = ()) -> Session:
    """The session that the options name, with progress on a terminal. Raises InputError; where one of the `outputs`,
    which are to be written then, is an input, the command ends as one that is used wrongly.

    A session of several hosts is not read yet: its answers read it. The modules `meanwhile`, which are needed next, are
    imported beside: decoding leaves the interpreter free.
    """
    from tb_xla_insights.logdir.read import initial_readings
    from tb_xla_insights.logdir.sessions import resolve
    from tb_xla_insights.session import open_session

    with telling(lambda _: f"Looking for sessions under {options.path}"):
        files = resolve(options.path, options.session)
    if outputs:
        from tb_xla_insights.cli.outputs import refusal

        if reason := refusal(outputs, files, options.catalog):
            options.parser.error(reason)
    readings = initial_readings(files)
    with telling(partial(_progress_line, readings)), _imported(meanwhile):
        return open_session(files, options.catalog, readings, options.scheduler)


@contextmanager
def reading(session: Session) -> Iterator[None]:
    """Tells, on a terminal, how many hosts of a session of several are read while an answer reads them."""
    if not session.hosts.is_streamed:
        yield
        return
    with telling(partial(_progress_line, session.hosts.readings)):
        yield


def warn(session: Session) -> None:
    """Warnings about the input, on stderr, for commands whose answer has no place for them."""
    for diagnostic in session.diagnostics:
        if diagnostic.severity != "info":
            host = f" ({diagnostic.host})" if diagnostic.host else ""
            tell(f"{diagnostic.severity}{host}: {diagnostic.message}")


def say(out: Console, text: str, indent: str = "", style: str | None = None) -> None:
    """A paragraph with a hanging indent."""
    from tb_xla_insights.cli.layout import wrapped

    out.print("\n".join(wrapped(text, out.width, indent, "   ")), style=style)


def table(title: str, *heads: str, left: Sequence[int] = (0,)) -> Table:
    """An empty table; columns are right aligned except those at the places `left`, which are of text."""
    from tb_xla_insights.cli.layout import FittingTable

    made = FittingTable(title=title)
    for place, head in enumerate(heads):
        made.add_column(head, justify="left" if place in left else "right")
    return made


def times(row: Mapping[str, Any], unit: str, *keys: str) -> list[str]:
    """Cells of times, for columns that name the unit."""
    return [units.time_in(row[key], unit) for key in keys]


def host_texts(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Cells of the rows' hosts; empty ones where all are of one, so that the column is left out."""
    hosts = [row["host"] for row in rows]
    return hosts if len(set(hosts)) > 1 else [""] * len(hosts)


def class_text(name: str) -> str:
    """A class as people read it: `sync_prepare` -> `step marker`."""
    from tb_xla_insights.catalog.classes import label

    return label(name)


def class_times(by_class: Mapping[str, int], most: int) -> str:
    """The classes with most time: `IR tracing 185.218 ms, wait 1.755 ms`; lines are broken between them."""
    from tb_xla_insights.cli.layout import TOGETHER

    parts = sorted(by_class.items(), key=lambda it: -it[1])[:most]
    told = (f"{class_text(name)} {units.time_text(ps)}" for name, ps in parts)
    return ", ".join(it.replace(" ", TOGETHER) for it in told)


@contextmanager
def _imported(modules: Sequence[str]) -> Iterator[None]:
    """Imports modules beside the block, and waits for that: one that the interpreter's end cuts off is a traceback."""
    thread = threading.Thread(target=lambda: [importlib.import_module(module) for module in modules])
    with suppress(RuntimeError):  # no room for another thread: whoever needs them imports them
        thread.start()
    try:
        yield
    finally:
        if thread.ident is not None:
            thread.join()


def _progress_line(readings: Sequence[Reading], elapsed: float) -> str:
    read, total = sum(it.bytes_read for it in readings), sum(it.bytes for it in readings)
    over = sum(it.state in ("ready", "error") for it in readings)
    if over < len(readings) > 1:
        line = f"{over} of {len(readings)} hosts read"
        return line if not over else f"{line}{_time_left(elapsed, over, len(readings))}"
    names = [it.name for it in readings if it.state == "reading"]
    if names and not read and elapsed > 2:
        return f"Waiting for the first bytes of {', '.join(names[:3])}"
    if read in (0, total):
        return "Preparing"
    line = f"Reading {', '.join(names[:3])} · {units.byte_size(read)} of {units.byte_size(total)}"
    if elapsed < 1 or not read:
        return line
    return f"{line}{_time_left(elapsed, read, total)}"


def _time_left(elapsed: float, done: int, total: int) -> str:
    return f" · about {max(1, round(elapsed * (total - done) / done))}{THIN}s left"
