"""`xla-insights export PATH --format chrome|csv|parquet -o OUT`: the trace or its tables for other tools."""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from tb_xla_insights.cli import common, printing
from tb_xla_insights.files.replace import replacing, writing


def add_to(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    common.add_session(parser)
    parser.add_argument(
        "--format",
        required=True,
        choices=("chrome", "csv", "parquet"),
        help="a trace for Perfetto, or tables",
    )
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="OUT",
        help="chrome: a file (compressed where it ends in .gz); tables: a folder, one file each",
    )  # fmt: skip
    parser.set_defaults(run=run, parser=parser)


def run(options: Any) -> int:
    tables_there = options.output.glob(f"*.{options.format}") if options.output.is_dir() else ()
    session = common.read(options, outputs=[options.output, *tables_there])
    if not session.hosts.is_streamed:
        common.warn(session)
    if options.format == "chrome":
        told = _chrome(session, options.output)
        # What is written to a pipe, a device or a link may be what is printed to: `-o /dev/stdout`.
        plain = options.output.is_file() and not options.output.is_symlink()
        (printing.answer if plain else printing.tell)(told)
        return 0
    from tb_xla_insights.export import tables

    write = tables.write_csv if options.format == "csv" else tables.write_parquet
    with common.reading(session):
        lines = write(session, options.output)
    if session.hosts.is_streamed:
        common.warn(session)
    for line in lines:
        printing.answer(line)
    return 0


def _chrome(session: Any, path: Path) -> str:
    from tb_xla_insights.export.chrome import write_chrome, write_chrome_of_hosts

    with (
        writing(path, "give a file that can be written with -o"),
        replacing(path) as place,
        _opened(place, path.suffix == ".gz") as file,
    ):
        with common.reading(session):
            trace = session.trace_if_small
            count = write_chrome_of_hosts(session, file) if trace is None else write_chrome(trace, file)
        if session.hosts.is_streamed:
            common.warn(session)
    return f"{path}: {count} events"


@contextmanager
def _opened(path: Path, packed: bool) -> Iterator[BinaryIO]:
    with path.open("wb") as file:
        if not packed:
            yield file
            return
        # Without a name and a time: the same capture gives the same bytes.
        with gzip.GzipFile("", "wb", 4, file, mtime=0) as packing:
            yield cast("BinaryIO", packing)
