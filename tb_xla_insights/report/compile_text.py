"""Texts about rows of the report's `compiles`, for the text and HTML outputs and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CUT_STATES = {
    "start": "begun before the capture",
    "end": "unfinished",
    "both": "begun before the capture, unfinished",
}

_CUT_HEADINGS = {
    "start": "begun before the capture",
    "end": "unfinished where the capture ends",
    "both": "longer than the capture",
}

UNKNOWN_GRAPH = "unknown graph"
"""The name of a graph that the capture does not identify."""


def compile_state(row: Mapping[str, Any]) -> str:
    """`warm-up`, `after warm-up, unfinished`."""
    phrases = ("warm-up" if row["warm_up"] else "after warm-up", _CUT_STATES.get(row["cut"]))
    return ", ".join(filter(None, phrases))


def difference_text(row: Mapping[str, Any]) -> str | None:
    """How the graph differs from the nearest one, as a phrase. It begins with a capital letter unless it begins with a
    shape. None if the difference is unknown, and in the warm-up without a nearest graph, when every graph is new."""
    text = row["difference"]
    if text is None or (row["warm_up"] and row["nearest"] is None):
        return None
    return text if row["nearest"] and row["nearest"]["different_count"] else f"{text[:1].upper()}{text[1:]}"


def compile_heading(row: Mapping[str, Any]) -> str:
    """`What is new in SyncTensorsGraph.608`, `jit_f: unfinished where the capture ends`."""
    name = row["module"] or row["graph"] or UNKNOWN_GRAPH
    if row["cut"]:
        return f"{name}: {_CUT_HEADINGS[row['cut']]}"
    return f"{name} was compiled in the warm-up" if row["warm_up"] else f"What is new in {name}"


def compile_reason(row: Mapping[str, Any]) -> str:
    """Why a graph was compiled: the cause from a debug log, and what is new in the graph; a sentence that says so if
    neither is known."""
    difference = difference_text(row)
    sentences = ([f"Cause: {row['cause']}."] if row["cause"] else []) + (
        [f"{difference}."] if difference else []
    )
    if sentences:
        return " ".join(sentences)
    if row["warm_up"]:
        return "The first steps compile each graph once: nothing to fix."
    return "The capture does not record why the graph is new."
