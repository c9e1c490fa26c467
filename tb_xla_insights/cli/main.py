"""`xla-insights`: picks the command, and turns what goes wrong into one line and an exit code.

0 done, 1 findings, 2 wrong usage, 3 the input cannot be read, 128 + its number where a signal stopped it.
"""

from __future__ import annotations

import argparse
import atexit
import errno
import gc
import importlib
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from tb_xla_insights import __version__
from tb_xla_insights.cli import printing, signals
from tb_xla_insights.errors import InputError
from tb_xla_insights.memory import use_single_heap

WRONG_USAGE, UNREADABLE = 2, 3
_FULL = (errno.ENOSPC, errno.EDQUOT)
_DEBUG = "XLA_INSIGHTS_DEBUG"

_COMMANDS = {
    "sessions": "list sessions and hosts",
    "report": "what is known about a session",
    "window": "what happened in a window of time",
    "capture": "capture from running profiler servers",
    "compare": "two sessions side by side",
    "export": "for Perfetto, spreadsheets and data frames",
}
"""The commands, a module of this package each, and what they are for."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        printing.tell(f"{self.prog}: {message}; see {self.prog} --help")
        self.exit(WRONG_USAGE)


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """All commands with their options, or only the one with its options: the others need not be imported then."""
    top = _Parser(
        prog="xla-insights", description="Why is the accelerator idle? Answers from XPlane profiles."
    )
    top.add_argument("--version", action="version", version=f"xla-insights {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, text in _COMMANDS.items():
        it = commands.add_parser(name, help=text)
        if command in (None, name):
            importlib.import_module(f"tb_xla_insights.cli.{name}").add_to(it)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns its exit code; only wrong usage and `--help` leave by SystemExit."""
    # Whoever started us may have closed them.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names in a trace must never be what breaks a terminal
            stream.reconfigure(errors="backslashreplace")
    if not os.environ.get(_DEBUG):
        # What file systems log is in the one line of the error, too.
        for name in ("tb_xla_insights", "gcsfs", "s3fs"):
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        return _run(arguments)
    except BrokenPipeError:  # `| head` has seen enough
        printing.print_no_more()
        return 0


def _run(arguments: Sequence[str]) -> int:
    command = arguments[0] if arguments and arguments[0] in _COMMANDS else None
    try:
        options = parser(command).parse_args(arguments)
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except InputError as error:
        return _fail(str(error), UNREADABLE)
    except KeyboardInterrupt as stop:
        return _fail("stopped", signals.code_of(stop))
    except BrokenPipeError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _FULL:
            printing.print_no_more()
            return _fail(
                f"what is printed finds no room ({error.strerror}); make room or print elsewhere", UNREADABLE
            )
        if os.environ.get(_DEBUG):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return _fail(
            f"fault in xla-insights ({reason}); {_DEBUG}=1 shows where, report it with that", UNREADABLE
        )


def _fail(message: str, code: int) -> int:
    printing.tell(f"xla-insights: {' '.join(message.split())}")
    return code


def command() -> NoReturn:
    """`main` as a process of its own, which then ends at once: taking a large trace apart object by object costs a
    report an eighth of its time, and nobody needs it any more."""
    use_single_heap()
    gc.disable()  # what a command makes stays until it ends; looking for cycles in it takes a thirtieth of a report
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # else threads for algebra, of which there is none, spin
    code = 0
    # The first one that is registered runs last. What Python does after it ends threads wherever they are, and NumPy's
    # C++ answers with an abort (before Python 3.14).
    atexit.register(lambda: code in signals.STOPPED and os._exit(code))
    signals.raise_stopped()
    try:
        code = main()
    except KeyboardInterrupt as stop:
        code = _fail("stopped", signals.code_of(stop))
    (signals.ignore if code in signals.STOPPED else signals.end_at_once)()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # whoever read it has left
            stream.flush()
    logging.shutdown()
    if code in signals.STOPPED:
        # Semaphores that ended processes shared are released by what else is registered.
        sys.exit(code)
    os._exit(code)


if __name__ == "__main__":
    command()
