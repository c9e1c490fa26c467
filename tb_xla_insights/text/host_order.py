"""The order in which hosts are listed everywhere: numbers in their names compare as numbers, `w-2` before `w-10`."""

from __future__ import annotations

import re


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """The sort key of a host's name."""
    parts = re.split(r"(\d+)", name)  # digits at odd indices
    return tuple((0, int(part), "") if index % 2 else (1, 0, part) for index, part in enumerate(parts))
