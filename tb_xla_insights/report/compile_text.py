"""Rows of the report's `compiles` in words that text and HTML share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CUT = {
    "start": "begun before the capture",
    "end": "unfinished",
    "both": "begun before the capture, unfinished",
}

_CUT_HEADING = {
    "start": "begun before the capture",
    "end": "unfinished where the capture ends",
    "both": "longer than the capture",
}

UNKNOWN_GRAPH = "unknown graph"
"""What a graph is called of which nothing is known."""


def compile_state(row: Mapping[str, Any]) -> str:
    """`warm-up`, `after warm-up, unfinished`."""
    told = ("warm-up" if row["warm_up"] else "after warm-up", _CUT.get(row["cut"]))
    return ", ".join(filter(None, told))


def difference_text(row: Mapping[str, Any]) -> str | None:
    """What differs from the nearest graph, as a phrase that begins with a capital unless it begins with a shape; None
    where nothing is known, and in warm-up where no graph is near: everything is new then."""
    text = row["difference"]
    if text is None or (row["warm_up"] and row["nearest"] is None):
        return None
    return text if row["nearest"] and row["nearest"]["differ"] else f"{text[:1].upper()}{text[1:]}"


def compile_heading(row: Mapping[str, Any]) -> str:
    """`What is new in SyncTensorsGraph.608`, `jit_f: unfinished where the capture ends`."""
    name = row["module"] or row["graph"] or UNKNOWN_GRAPH
    if row["cut"]:
        return f"{name}: {_CUT_HEADING[row['cut']]}"
    return f"{name} was compiled in the warm-up" if row["warm_up"] else f"What is new in {name}"


def compile_reason(row: Mapping[str, Any]) -> str:
    """Why a graph was compiled: the cause that a debug log tells, and what is new."""
    new = difference_text(row)
    told = ([f"Cause: {row['cause']}."] if row["cause"] else []) + ([f"{new}."] if new else [])
    if told:
        return " ".join(told)
    if row["warm_up"]:
        return "The first steps compile each graph once: nothing to mend."
    return "The trace does not say why the graph is new."
