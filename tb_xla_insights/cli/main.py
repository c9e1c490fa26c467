"""`xla-insights`: runs the command and turns errors into one line and an exit code.

Exit codes: 0 success, 1 the condition of `--fail-on` holds, 2 usage error, 3 any other error (such as unreadable input
or an incomplete capture), 128 + n stopped by signal n.
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

from tb_xla_insights.cli import printing, signals
from tb_xla_insights.errors import InputError
from tb_xla_insights.system.memory import use_single_heap
from tb_xla_insights.version import __version__

USAGE_ERROR, INPUT_ERROR = 2, 3
_DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)
_DEBUG_VARIABLE = "XLA_INSIGHTS_DEBUG"

_COMMANDS = {
    "sessions": "list sessions and hosts",
    "report": "print why the device is idle, and what to change",
    "window": "print what happened in a window of time",
    "capture": "capture a session from running profiler servers",
    "compare": "compare two sessions",
    "export": "export a session for Perfetto, spreadsheets and data frames",
}
"""The commands, each with a module of this package, and their descriptions."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        printing.print_note(f"{self.prog}: {message}; see {self.prog} --help")
        self.exit(USAGE_ERROR)


def parser(command: str | None = None) -> argparse.ArgumentParser:
    """The parser of all commands, with the options of all or of one command, whose module alone is then imported."""
    top = _Parser(
        prog="xla-insights", description="Why is the accelerator idle? Answers from XPlane profiles."
    )
    top.add_argument("--version", action="version", version=f"xla-insights {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, text in _COMMANDS.items():
        subparser = commands.add_parser(name, help=text)
        if command in (None, name):
            importlib.import_module(f"tb_xla_insights.cli.{name}").add_to(subparser)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; only usage errors and `--help` raise SystemExit."""
    # The parent process may have closed stdout or stderr.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names in a trace may not be encodable
            stream.reconfigure(errors=printing.ENCODING_ERRORS)
    if not os.environ.get(_DEBUG_VARIABLE):
        # The errors that file systems log are also in the one line of the error.
        for name in ("tb_xla_insights", "gcsfs", "s3fs"):
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        return _run(arguments)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        printing.discard_output()
        return 0


def _run(arguments: Sequence[str]) -> int:
    command = arguments[0] if arguments and arguments[0] in _COMMANDS else None
    try:
        options, unknown = parser(command).parse_known_args(arguments)
        if unknown:  # parse_args would refer to the help of the top parser, which lacks the command's options
            options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except InputError as error:
        return _fail(str(error), INPUT_ERROR)
    except KeyboardInterrupt as stop:
        return _fail("stopped", signals.exit_code(stop))
    except BrokenPipeError:
        raise
    except Exception as error:
        if (cause := signals.stop_behind(error)) is not None:
            return _fail("stopped", signals.exit_code(cause))
        if isinstance(error, OSError) and error.errno in _DISK_FULL_ERRORS:
            printing.discard_output()
            return _fail(
                f"the output cannot be written ({error.strerror}); free some space or print elsewhere",
                INPUT_ERROR,
            )
        if os.environ.get(_DEBUG_VARIABLE):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return _fail(
            f"bug in xla-insights ({reason}); report it with the traceback that {_DEBUG_VARIABLE}=1 prints",
            INPUT_ERROR,
        )


def _fail(message: str, code: int) -> int:
    printing.print_note(f"xla-insights: {' '.join(message.split())}")
    return code


def command() -> NoReturn:
    """Runs `main` and ends the process without cleaning up objects: deallocating a large trace takes an eighth of a
    report's time."""
    use_single_heap()
    gc.disable()  # objects live until the command ends; looking for cycles takes a thirtieth of a report's time
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # unused linear algebra threads would spin
    code = 0
    # Registered first, so that it runs last. After it, Python would end threads wherever they are; inside NumPy's C++
    # code, that aborts the process (before Python 3.14).
    atexit.register(lambda: code in signals.STOPPED_CODES and os._exit(code))
    signals.raise_on_signal()
    try:
        code = main()
    except KeyboardInterrupt as stop:
        code = _fail("stopped", signals.exit_code(stop))
    (signals.ignore_signals if code in signals.STOPPED_CODES else signals.exit_on_signal)()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # the reader has closed the pipe
            stream.flush()
    logging.shutdown()
    if code in signals.STOPPED_CODES:
        # The other atexit handlers release semaphores shared with processes that have ended.
        sys.exit(code)
    os._exit(code)
