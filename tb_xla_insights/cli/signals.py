"""How a command ends that a signal stops: with one line and 128 + the signal's number, as shells tell it.

It imports little, and is what the process of the command imports first.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_ONE_WISH_SECONDS = 1.0
"""What starts commands passes on the signal that a terminal sends to all of them: two signals then, one wish."""

STOPPED = frozenset(128 + getattr(signal, name) for name in _NAMES if hasattr(signal, name))
"""The exit codes."""


class Stopped(KeyboardInterrupt):
    """Raised in the main thread where a signal comes, so that whatever was begun is cleaned up."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def code_of(stop: KeyboardInterrupt) -> int:
    return 128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)


def end_at_once() -> None:
    """From now on a signal ends the process: nothing has begun yet, or everything is done."""

    def end(number: int, _: object) -> None:
        try:
            os.write(2, b"xla-insights: stopped\n")
        finally:
            os._exit(128 + number)

    _handle(end)


def raise_stopped() -> None:
    """From now on a signal raises Stopped."""
    last = -_ONE_WISH_SECONDS

    def stop(number: int, _: object) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before > _ONE_WISH_SECONDS:
            raise Stopped(number)

    _handle(stop)


def ignore() -> None:
    """From now on nothing stops the process: it ends, because it was stopped."""
    _handle(signal.SIG_IGN)


def _handle(handler: Callable[[int, object], object] | signal.Handlers) -> None:
    """Signals that whoever started the process has it ignore (`nohup`, `&`) stay ignored."""
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handler)
