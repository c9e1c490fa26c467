"""The order in which hosts are told everywhere: numbers in their names count as numbers, `w-2` before `w-10`."""

from __future__ import annotations

import re


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """What to sort names by."""
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(part), "") if place % 2 else (1, 0, part) for place, part in enumerate(parts))
