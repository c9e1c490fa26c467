"""Sentences on the cost of launching, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_xla_insights.text import units
from tb_xla_insights.text.english import plural

Row = Mapping[str, Any]

_MIN_SLOPE = 0.001
"""The fixed cost of an execution is told without a smaller share of its device time."""


def lead_text(lead: Row) -> str:
    """How far the host runs ahead of the device, from the report's `launching.lead`."""
    unit = units.column_unit([lead["min_ps"], lead["max_ps"]])

    def text_of(ps: int) -> str:
        return f"{units.time_in(ps, unit)}{units.NARROW_SPACE}{unit}"

    median, low, high = (text_of(lead[key]) for key in ("median_ps", "min_ps", "max_ps"))
    span = f"from {low} to {high} over {plural(lead['runs'], 'run')}"
    if lead["median_ps"] >= 0 > lead["min_ps"]:
        text = (
            f"The host runs ahead of most runs: they are enqueued {median} before the device is free for them"
        )
        return f"{text} (median; {span}). For the others a free device waits, for up to {text_of(-lead['min_ps'])}."
    if lead["median_ps"] >= 0:
        return f"The host runs ahead: a run is enqueued {median} before the device is free for it (median; {span})."
    wait = text_of(-lead["median_ps"])
    return f"The host does not run ahead: a free device waits {wait} for a run (median; lead {span})."


def fixed_cost_text(fixed: Row) -> str:
    """The cost of an execution beyond its device time, from the report's `launching.fixed`."""
    runs = f"fitted to {units.count(fixed['runs'])} runs"
    if not fixed["fixed_ps"]:
        return f"The fixed cost of an execution is indistinguishable from zero ({runs})."
    more = f" and {units.share(fixed['slope'])} of its device time" if fixed["slope"] >= _MIN_SLOPE else ""
    cost = units.time_text(fixed["fixed_ps"])
    return f"Beyond its device time, an execution costs a fixed {cost}{more} ({runs})."
