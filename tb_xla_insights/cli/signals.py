"""Signals that stop a command: it prints one line and exits with 128 + the signal's number, as shells report it.

This module imports little, as the command's process imports it first.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_REPEAT_SECONDS = 1.0
"""A second signal within this time is ignored: launchers forward the signal that a terminal sends to all processes."""

STOPPED_CODES = frozenset(128 + getattr(signal, name) for name in _NAMES if hasattr(signal, name))
"""The exit codes of stopped commands."""


class Stopped(KeyboardInterrupt):
    """Raised in the main thread on a signal, so that unfinished work is cleaned up."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def exit_code(stop: KeyboardInterrupt) -> int:
    return 128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)


def exit_on_signal() -> None:
    """Makes signals end the process at once, for times when there is nothing to clean up."""

    def end(number: int, _: object) -> None:
        try:
            os.write(2, b"xla-insights: stopped\n")
        finally:
            os._exit(128 + number)

    _set_handlers(end)


def raise_on_signal() -> None:
    """Makes signals raise Stopped."""
    last = -_REPEAT_SECONDS

    def stop(number: int, _: object) -> None:
        nonlocal last
        previous, last = last, time.monotonic()
        if last - previous > _REPEAT_SECONDS:
            raise Stopped(number)

    _set_handlers(stop)


def ignore_signals() -> None:
    """Ignores further signals while the stopped process ends."""
    _set_handlers(signal.SIG_IGN)


def _set_handlers(handler: Callable[[int, object], object] | signal.Handlers) -> None:
    """Sets the handler of all signals, except those that this process inherited as ignored (`nohup`, `&`)."""
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)
