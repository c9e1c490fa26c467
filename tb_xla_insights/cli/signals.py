"""Signals that stop a command: it prints one line and exits with 128 + the signal's number, as shells report it.

This module imports little, as the command's process imports it first.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from _thread import start_new_thread
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_REPEAT_SECONDS = 1.0
"""A second signal within this time is ignored: launchers forward the signal that a terminal sends to all processes."""

_AGAIN_SECONDS = 0.01

STOPPED_CODES = frozenset(128 + getattr(signal, name) for name in _NAMES if hasattr(signal, name))
"""The exit codes of stopped commands."""


class StoppedBySignal(KeyboardInterrupt):
    """Raised in the main thread on a signal, so that unfinished work is cleaned up."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def exit_code(stop: KeyboardInterrupt) -> int:
    return 128 + (stop.number if isinstance(stop, StoppedBySignal) else signal.SIGINT)


def stop_behind(error: BaseException) -> KeyboardInterrupt | None:
    """The signal that caused an exception, if one did: up to Python 3.11, what is raised while a class is created
    becomes a RuntimeError."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return cause


def exit_on_signal() -> None:
    """Makes signals end the process at once, for times when there is nothing to clean up."""

    def end(number: int, _: object) -> None:
        try:
            os.write(2, b"xla-insights: stopped\n")
        finally:
            os._exit(128 + number)

    _set_handlers(end)


def raise_on_signal() -> None:
    """Makes signals raise Stopped. If Python ignores it, because it was raised in a finalizer or in the callback of a
    weak reference, the signal is sent again."""
    last = -_REPEAT_SECONDS

    def stop(number: int, _: object) -> None:
        nonlocal last
        previous, last = last, time.monotonic()
        if last - previous > _REPEAT_SECONDS:
            raise StoppedBySignal(number)

    def stop_again(ignored: UnraisableHookArgs) -> None:
        nonlocal last
        if not isinstance(ignored.exc_value, StoppedBySignal):
            sys.__unraisablehook__(ignored)
            return
        last = -_REPEAT_SECONDS
        # Sent from here, the signal would be handled, and ignored, in this hook.
        start_new_thread(_send_later, (ignored.exc_value.number,))

    sys.unraisablehook = stop_again
    _set_handlers(stop)


def _send_later(number: int) -> None:
    time.sleep(_AGAIN_SECONDS)
    if sys.platform == "win32":  # there, os.kill would end the process
        signal.raise_signal(number)
    else:
        os.kill(os.getpid(), number)


def ignore_signals() -> None:
    """Ignores further signals while the stopped process ends."""
    _set_handlers(signal.SIG_IGN)


def _set_handlers(handler: Callable[[int, object], object] | signal.Handlers) -> None:
    """Sets the handler of all signals, except those that this process inherited as ignored (`nohup`, `&`)."""
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)
