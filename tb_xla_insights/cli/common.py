"""Shared by the commands: options that name a session, reading it with progress, and elements of their text."""

from __future__ import annotations

import argparse
import importlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli.printing import print_note, progress_note
from tb_xla_insights.errors import InputError
from tb_xla_insights.units import THIN

if TYPE_CHECKING:
    from rich.console import Console

    from tb_xla_insights.cli.layout import FittingTable
    from tb_xla_insights.logdir.read import Reading
    from tb_xla_insights.session import Session
    from tb_xla_insights.tables.definition import Column, Definition, Row

ROWS = 12
"""The maximum number of rows of a long table; `--json` has all rows."""
_MAX_CLASSES = 3
"""The maximum number of classes in a cell of times by class."""


def add_path(parser: argparse.ArgumentParser) -> None:
    """PATH, `--session`, `--catalog` and `--json`."""
    add_session(parser)
    add_json(parser)


def add_session(parser: argparse.ArgumentParser) -> None:
    """PATH, `--session` and `--catalog`."""
    parser.add_argument(
        "path", metavar="PATH", help="a .xplane.pb file, a session directory or a logdir; local or a URL"
    )
    parser.add_argument(
        "--session", metavar="NAME", help="the session, if PATH is a logdir (default: the newest)"
    )
    parser.add_argument("--catalog", metavar="FILE", help="a JSON file with further host event names")
    add_scheduler(parser)


def add_scheduler(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--scheduler",
        type=_scheduler,
        metavar="ADDRESS",
        help="a Dask scheduler, such as tcp://HOST:8786, whose workers read the hosts (default: local processes)",
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
    """Parses the value of `--samples-per-step`."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= units.MAX_SAMPLES_PER_STEP:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of samples; give a number above 0")
    return int(value) if value == int(value) else value


def peaks(text: str) -> tuple[float, float]:
    """Parses the value of `--peaks`."""
    try:
        return units.parse_peaks(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not FLOP/s,bytes/s; give two numbers above 0, as 918e12,1638e9"
        ) from error


def read(options: Any, *, meanwhile: Sequence[str] = (), outputs: Sequence[Path] = ()) -> Session:
    """The session that the options name, with progress on a terminal. Raises InputError; the command ends with a usage
    error if one of the `outputs`, the files it will write, is an input.

    Sessions of several hosts are not read here but by each answer. The modules `meanwhile`, which the command needs
    next, are imported in parallel, as decoding releases the interpreter lock.
    """
    from tb_xla_insights.logdir.read import initial_readings
    from tb_xla_insights.logdir.sessions import resolve
    from tb_xla_insights.session import open_session

    with progress_note(lambda _: f"Looking for sessions under {options.path}"):
        files = resolve(options.path, options.session)
    if outputs:
        from tb_xla_insights.cli.outputs import refusal

        if reason := refusal(outputs, files, options.catalog):
            options.parser.error(reason)
    readings = initial_readings(files)
    with progress_note(partial(_progress_line, readings)), _import_meanwhile(meanwhile):
        return open_session(files, options.catalog, readings, options.scheduler)


@contextmanager
def reading(session: Session) -> Iterator[None]:
    """Shows on a terminal, while an answer reads the hosts of a session, how many are read."""
    if not session.hosts.is_streamed:
        yield
        return
    with progress_note(partial(_progress_line, session.hosts.readings)):
        yield


def warn(session: Session) -> None:
    """Prints warnings about the input to stderr, for commands whose output does not include them."""
    for diagnostic in session.diagnostics:
        if diagnostic.severity != "info":
            host = f" ({diagnostic.host})" if diagnostic.host else ""
            print_note(f"{diagnostic.severity}{host}: {diagnostic.message}")


def print_paragraph(out: Console, text: str, indent: str = "", style: str | None = None) -> None:
    """Prints a paragraph with a hanging indent."""
    from tb_xla_insights.cli.layout import wrap

    out.print("\n".join(wrap(text, out.width, indent, "   ")), style=style)


def table(
    definition: Definition,
    rows: Iterable[Row],
    cells: Mapping[str, Callable[[Any], str]] | None = None,
    *,
    title: str | None = None,
    sums: Row | None = None,
    time_units: Mapping[str, str] | None = None,
) -> FittingTable:
    """The table as text. `cells` composes the cells of some columns, by key; `sums` is a last row; `time_units`
    replaces the units that fit the largest times."""
    from tb_xla_insights.cli.layout import FittingTable

    rows = [*rows, *([sums] if sums is not None else [])]
    time_units = definition.time_units(rows) | dict(time_units or {})

    def text(column: Column, row: Row) -> str:
        if cells and column.key in cells:
            return cells[column.key](row)
        if column.unit == "by class":
            return class_times(row.get(column.key) or {}, _MAX_CLASSES)
        return column.text(row, time_units.get(column.key, ""))

    texts = [[text(column, row) for column in definition.columns] for row in rows]
    return FittingTable(
        definition.heading if title is None else title,
        definition.columns,
        definition.heads(time_units),
        texts,
    )


def without_single_host(definition: Definition, rows: Sequence[Row]) -> Definition:
    """The table, without the column of hosts if all rows have the same host."""
    return definition if len({row["host"] for row in rows}) > 1 else definition.without("host")


def step_text(row: Row) -> str:
    """The cell of the step that a row is in."""
    return units.step_name(row["step"], row["step_number"])


def class_text(name: str) -> str:
    """The display name of a class: `sync_prepare` -> `step marker`."""
    from tb_xla_insights.catalog.classes import label

    return label(name)


def class_times(by_class: Mapping[str, int], limit: int) -> str:
    """The classes with most time: `IR tracing 185.218 ms, wait 1.755 ms`; lines break only between classes."""
    from tb_xla_insights.cli.layout import NO_BREAK_SPACE

    largest = sorted(by_class.items(), key=lambda item: -item[1])[:limit]
    texts = (f"{class_text(name)} {units.time_text(ps)}" for name, ps in largest)
    return ", ".join(text.replace(" ", NO_BREAK_SPACE) for text in texts)


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


def _progress_line(readings: Sequence[Reading], elapsed: float) -> str:
    read, total = sum(host.bytes_read for host in readings), sum(host.bytes for host in readings)
    done = sum(host.state in ("ready", "error") for host in readings)
    if done < len(readings) > 1:
        line = f"{done} of {len(readings)} hosts read"
        return line if not done else f"{line}{_time_left(elapsed, done, len(readings))}"
    names = [host.name for host in readings if host.state == "reading"]
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
