"""What a kernel may use besides numpy's scalars and numbers: functions and instructions that become a part of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class Inlined:
    """A function that kernels may call: it becomes a part of them."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


@dataclass(frozen=True)
class Instruction:
    """One of `instructions`, which needs numba and is only imported by its compiler."""

    name: str


def inlined(function: Callable[..., Any]) -> Any:
    """Marks a function that only kernels call."""
    return Inlined(function)


eight_bytes: Any = Instruction("eight_bytes")
"""The uint64 at an address, the first byte lowest."""

zeros_below: Any = Instruction("zeros_below")
"""The number of zero bits below the lowest one that is set, of a uint64 that is not 0."""
