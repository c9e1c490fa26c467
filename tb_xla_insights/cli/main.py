"""`xla-insights`: picks the command, and turns what goes wrong into one line and an exit code.

0 done, 1 findings, 2 wrong usage, 3 the input cannot be read.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from tb_xla_insights import __version__
from tb_xla_insights.cli import report, sessions, window
from tb_xla_insights.errors import InputError

WRONG_USAGE, UNREADABLE, INTERRUPTED = 2, 3, 130
_DEBUG = "XLA_INSIGHTS_DEBUG"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = _Parser(
        prog="xla-insights", description="Why is the accelerator idle? Answers from XPlane profiles."
    )
    top.add_argument("--version", action="version", version=f"xla-insights {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for module in (sessions, report, window):
        module.add_to(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns its exit code; only wrong usage and `--help` leave by SystemExit."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names in a trace must never be what breaks a terminal
            stream.reconfigure(errors="backslashreplace")
    if not os.environ.get(_DEBUG):
        logging.getLogger("tb_xla_insights").addHandler(logging.NullHandler())
        logging.getLogger("tb_xla_insights").propagate = False
    options = parser().parse_args(arguments)
    try:
        code = _run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _run(options: Any) -> int:
    try:
        return int(options.run(options))
    except InputError as error:
        return _fail(str(error), UNREADABLE)
    except KeyboardInterrupt:
        return _fail("stopped", INTERRUPTED)
    except BrokenPipeError:
        raise
    except Exception as error:
        if os.environ.get(_DEBUG):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return _fail(
            f"fault in xla-insights ({reason}); {_DEBUG}=1 shows where, report it with that", UNREADABLE
        )


def _fail(message: str, code: int) -> int:
    print(f"xla-insights: {' '.join(message.split())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
