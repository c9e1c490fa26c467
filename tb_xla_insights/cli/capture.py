"""`xla-insights capture ADDRESS[,ADDRESS…] LOGDIR`: captures from running profiler servers into one session."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.capture.addresses import parse_addresses
from tb_xla_insights.capture.server import LIMITS, Options
from tb_xla_insights.cli import common, printing
from tb_xla_insights.errors import InputError
from tb_xla_insights.units import THIN

if TYPE_CHECKING:
    from tb_xla_insights.capture.capture import Capture

INCOMPLETE = 3
_TELL_SECONDS = 0.25
_OPTIONS = {
    "duration_ms": "how long to trace",
    "host_level": "host tracer: 1 critical, 2 info, 3 verbose, 0 off",
    "python_level": "every Python call: 1 on, 0 off",
    "retries": "how often to try again where nothing listens yet or the trace is empty",
}


def add_to(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument(
        "addresses",
        metavar="ADDRESS",
        type=_addresses,
        help="HOST:PORT of a profiler server; commas between several",
    )
    parser.add_argument(
        "logdir",
        metavar="LOGDIR",
        help="where the servers write to: a path that they and you reach, or a URL",
    )
    for name, text in _OPTIONS.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            metavar="N",
            type=_whole(*LIMITS[name]),
            default=getattr(Options, name),
            help=f"{text} (%(default)s)",
        )
    common.add_json(parser)
    parser.set_defaults(run=run)


def run(options: Any) -> int:
    """Raises InputError where no server gave anything, KeyboardInterrupt after Ctrl-C has cancelled it."""
    from tb_xla_insights.capture.capture import Capture

    wanted = Options(**{name: getattr(options, name) for name in _OPTIONS})
    capture = Capture(options.addresses, options.logdir, wanted)
    thread = threading.Thread(target=capture.run, daemon=True)
    thread.start()
    try:
        _follow(capture)
    except KeyboardInterrupt:
        capture.cancel()
        thread.join()
        raise
    if not capture.captured:
        raise InputError(capture.message or "cancelled")
    if options.json:
        hosts = [host.as_json() for host in capture.hosts]
        printing.print_json({"session": capture.session, "path": capture.directory, "hosts": hosts})
    else:
        printing.answer(capture.directory)
    if capture.message:
        printing.tell(f"xla-insights: {capture.message}")
        return INCOMPLETE
    return 0


def _follow(capture: Capture) -> None:
    """Tells on stderr how far it is: one line that is told anew on a terminal, a line per change elsewhere."""
    terminal, last = sys.stderr.isatty(), ""
    while not capture.wait(_TELL_SECONDS):
        line = _line(capture, terminal)
        if line != last:
            (printing.tell_anew if terminal else printing.tell)(line)
            last = line
    if terminal:
        printing.tell_anew("")


def _line(capture: Capture, exact: bool) -> str:
    told = capture.progress()
    addresses = [host["address"] for host in told["hosts"]]
    who = addresses[0] if len(addresses) == 1 else f"{units.count(len(addresses))} servers"
    what = {"waiting": "Waiting for", "tracing": "Tracing", "collecting": "Collecting from"}.get(
        told["state"], ""
    )
    whole = told["duration_ms"] / 1000
    part = f"{told['elapsed_ms'] / 1000:.1f} of {whole:.1f}" if exact else f"{whole:.1f}"
    line = f"{what} {who}" if told["state"] == "waiting" else f"{what} {who} · {part}{THIN}s"
    return f"{line} · {told['message']}" if told["message"] else line


def _addresses(text: str) -> tuple[str, ...]:
    try:
        return parse_addresses(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() else -1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text}: a whole number from {least} to {most} is needed")
        return value

    return parse
