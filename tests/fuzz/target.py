"""What is tried: how inputs are made, what must hold of each, and how much time and memory it may take."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from tb_xla_insights.errors import InputError


@dataclass(frozen=True)
class Limits:
    """What an input may take at most: so much in any case, and so much more for each of its bytes."""

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
    """One part of the package that takes inputs.

    `check` raises where anything does not hold of an input, and names what the input is an example of: inputs that are
    the first of something are changed further. All that it does depends on the input's bytes alone. `kind` is the
    message that inputs are, None where they are none. `share` is how much of the time it gets.
    """

    name: str
    make: Callable[[Random], bytes]
    check: Callable[[bytes], Iterable[str]]
    limits: Limits
    share: float
    kind: str | None = None


def refused(error: InputError) -> str:
    """Fails where the reason for which an input is refused is none of one line."""
    told = str(error)
    assert told, "a refusal without a reason"
    assert "\n" not in told, f"a refusal of several lines: {told!r}"
    return "refused"


@cache
def scratch() -> Path:
    """A folder of this process, in memory where the system has such, that goes when the process ends."""
    memory = Path("/dev/shm")
    place = tempfile.mkdtemp(prefix="fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return Path(place)
