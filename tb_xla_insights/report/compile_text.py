"""Rows of the report's `compiles` in words that text and HTML share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CUT = {
    "start": "begun before the capture",
    "end": "unfinished",
    "both": "begun before the capture, unfinished",
}


def state_of(row: Mapping[str, Any]) -> str:
    """`warm-up`, `after warm-up, unfinished`."""
    told = ("warm-up" if row["warm_up"] else "after warm-up", _CUT.get(row["cut"]))
    return ", ".join(filter(None, told))


def what_is_new(row: Mapping[str, Any]) -> str | None:
    """What differs from the nearest graph, as a phrase that begins with a capital unless it begins with a shape; None
    where nothing is known, and in warm-up where no graph is near: everything is new then."""
    text = row["difference"]
    if text is None or (row["warm_up"] and row["nearest"] is None):
        return None
    return text if row["nearest"] and row["nearest"]["differ"] else f"{text[:1].upper()}{text[1:]}"
