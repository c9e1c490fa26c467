"""`xla-insights export PATH --format chrome|csv|parquet -o OUT`: exports the trace or its tables for other tools."""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from tb_xla_insights.cli import arguments, printing, reading
from tb_xla_insights.files.replace import replace_atomically, report_write_errors


def add_to(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    arguments.add_session(parser)
    parser.add_argument(
        "--format",
        required=True,
        choices=("chrome", "csv", "parquet"),
        help="a trace for Perfetto, or tables",
    )
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="OUT",
        help="chrome: a file (compressed if its name ends in .gz); tables: a folder, with a file per table",
    )  # fmt: skip
    parser.set_defaults(run=run, parser=parser)


def run(options: Any) -> int:
    existing = options.output.glob(f"*.{options.format}") if options.output.is_dir() else ()
    session = reading.read_session(options, outputs=[options.output, *existing])
    if not session.hosts.is_streamed:
        reading.print_warnings(session)
    if options.format == "chrome":
        summary = _export_chrome(session, options.output)
        # A pipe, device or link may be stdout itself (`-o /dev/stdout`), so the summary is then printed to stderr.
        is_plain_file = options.output.is_file() and not options.output.is_symlink()
        (printing.print_line if is_plain_file else printing.print_note)(summary)
        return 0
    from tb_xla_insights.export import tables

    write = tables.write_csv if options.format == "csv" else tables.write_parquet
    with reading.show_progress(session, activity=f"Writing {options.output}"):
        lines = write(session, options.output)
    if session.hosts.is_streamed:
        reading.print_warnings(session)
    for line in lines:
        printing.print_line(line)
    return 0


def _export_chrome(session: Any, path: Path) -> str:
    from tb_xla_insights.export.chrome import write_chrome, write_chrome_of_hosts

    with (
        report_write_errors(path, "give a file that can be written with -o"),
        replace_atomically(path) as temporary_path,
        _open_output(temporary_path, path.suffix == ".gz") as file,
    ):
        with reading.show_progress(session, activity=f"Writing {path}"):
            trace = session.trace_if_small
            count = write_chrome_of_hosts(session, file) if trace is None else write_chrome(trace, file)
        if session.hosts.is_streamed:
            reading.print_warnings(session)
    return f"{path}: {count} {'event' if count == 1 else 'events'}"


@contextmanager
def _open_output(path: Path, compressed: bool) -> Iterator[BinaryIO]:
    with path.open("wb") as file:
        if not compressed:
            yield file
            return
        # Without a name and a time, so that the same capture gives the same bytes.
        with gzip.GzipFile("", "wb", 4, file, mtime=0) as compressor:
            yield cast("BinaryIO", compressor)
