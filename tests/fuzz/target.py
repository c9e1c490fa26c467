"""A fuzzing target: generates inputs, checks them, and limits their time and memory."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from random import Random
from typing import TypeVar

from tb_xla_insights.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """The limits of an input: a constant, plus an amount per byte."""

    seconds: float
    seconds_per_byte: float
    bytes: int
    bytes_per_byte: int

    def seconds_of(self, size: int) -> float:
        return self.seconds + self.seconds_per_byte * size

    def bytes_of(self, size: int) -> int:
        return self.bytes + self.bytes_per_byte * size


@dataclass(frozen=True)
class Target:
    """A part of the package that reads inputs.

    `make` generates an input. `check` raises if an input fails, and returns the features of the input; it depends on
    the input's bytes alone. Inputs with a new feature are changed further. `kind` is the message type of the inputs,
    None if they are not messages. `share` is the target's share of the time.
    """

    name: str
    make: Callable[[Random], bytes]
    check: Callable[[bytes], Iterable[str]]
    limits: Limits
    share: float
    kind: str | None = None


def check_refusal(error: InputError) -> str:
    """Checks that the reason of a refusal is one line. Returns the feature `refused`."""
    reason = str(error)
    assert reason, "a refusal without a reason"
    assert "\n" not in reason, f"a refusal of several lines: {reason!r}"
    return "refused"


def checks_input(
    read: Callable[[bytes], T],
) -> Callable[[Callable[[T, Random], Iterator[str]]], Callable[[bytes], Iterator[str]]]:
    """Turns a check of what `read` returns into a check of the input's bytes.

    If `read` refuses an input, only the reason is checked. The check's random choices depend on the bytes alone.
    """

    def decorate(check: Callable[[T, Random], Iterator[str]]) -> Callable[[bytes], Iterator[str]]:
        @wraps(check)
        def check_bytes(data: bytes) -> Iterator[str]:
            try:
                value = read(data)
            except InputError as error:
                yield check_refusal(error)
                return
            yield from check(value, Random(data))

        return check_bytes

    return decorate


@cache
def scratch() -> Path:
    """A temporary folder of this process, in memory if possible, which is deleted when the process ends."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
