"""`xla-insights capture ADDRESS[,ADDRESS…] LOGDIR`: captures from running profiler servers into one session."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tb_xla_insights.capture.addresses import parse_addresses
from tb_xla_insights.capture.server import LIMITS, Options
from tb_xla_insights.cli import arguments, printing
from tb_xla_insights.errors import InputError
from tb_xla_insights.text import units
from tb_xla_insights.text.units import NARROW_SPACE

if TYPE_CHECKING:
    from tb_xla_insights.capture.capture import SessionCapture

INCOMPLETE = 3
"""The exit code if some of the servers returned no trace."""
_PROGRESS_INTERVAL_S = 0.25
_ACTIVITIES = {"waiting": "Waiting for", "tracing": "Tracing"}
_OPTIONS = {
    "duration_ms": "duration of the trace",
    "host_level": "host tracer: 1 critical, 2 info, 3 verbose, 0 off",
    "python_level": "record every Python call: 1 on, 0 off",
    "retries": "number of retries if no server listens yet, another profile is in progress or the trace is empty",
}


def add_to(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument(
        "addresses",
        metavar="ADDRESS",
        type=_addresses,
        help="HOST:PORT of a profiler server; several separated by commas",
    )
    parser.add_argument(
        "logdir",
        metavar="LOGDIR",
        help="the directory that the servers write to: a URL, or a path that servers and this command can access",
    )
    for name, text in _OPTIONS.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            metavar="N",
            type=_integer_parser(*LIMITS[name]),
            default=getattr(Options, name),
            help=f"{text} (default: %(default)s)",
        )
    arguments.add_json(parser, "one JSON document")
    parser.set_defaults(run=run, parser=parser)


def run(options: Any) -> int:
    """Raises InputError if no server returned a trace, KeyboardInterrupt after Ctrl-C has cancelled the capture."""
    from tb_xla_insights.capture.capture import SessionCapture

    capture_options = Options(**{name: getattr(options, name) for name in _OPTIONS})
    capture = SessionCapture(options.addresses, options.logdir, capture_options)
    thread = threading.Thread(target=capture.run, daemon=True)
    thread.start()
    try:
        _follow(capture)
    except KeyboardInterrupt:
        capture.cancel()
        thread.join()
        raise
    if not capture.has_captures:
        raise InputError(capture.message or "cancelled")
    with printing.ignore_closed_pipe():
        if options.json:
            hosts = [host.as_json() for host in capture.hosts]
            printing.print_json({"session": capture.session, "path": capture.directory, "hosts": hosts})
        else:
            printing.print_line(capture.directory)
    if capture.message:
        printing.print_note(f"xla-insights: {capture.message}")
        return INCOMPLETE
    return 0


def _follow(capture: SessionCapture) -> None:
    """Prints the progress to stderr: one line that is rewritten on a terminal, otherwise a line per change."""
    is_terminal, last_line = sys.stderr.isatty(), ""
    try:
        while not capture.wait(_PROGRESS_INTERVAL_S):
            line = _progress_line(capture, is_terminal)
            if line != last_line:
                (printing.rewrite_note if is_terminal else printing.print_note)(line)
                last_line = line
    finally:
        if is_terminal:
            printing.rewrite_note("")


def _progress_line(capture: SessionCapture, with_elapsed: bool) -> str:
    progress = capture.progress()
    addresses = [host["address"] for host in progress["hosts"]]
    servers = addresses[0] if len(addresses) == 1 else f"{units.count(len(addresses))} servers"
    activity = _ACTIVITIES.get(progress["state"], "Collecting from")
    total = progress["duration_ms"] / 1000
    seconds = f"{progress['elapsed_ms'] / 1000:.1f} of {total:.1f}" if with_elapsed else f"{total:.1f}"
    line = f"{activity} {servers}"
    if progress["state"] != "waiting":
        line += f" · {seconds}{NARROW_SPACE}s"
    return f"{line} · {progress['message']}" if progress["message"] else line


def _addresses(text: str) -> tuple[str, ...]:
    try:
        return parse_addresses(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _integer_parser(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() else -1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text}: a whole number from {low} to {high} is needed")
        return value

    return parse
