"""Positions in the heat map of the view Hosts."""

from __future__ import annotations

from browser.driver import Xi
from playwright.sync_api import Locator

LATE = "t1v-n-7f-w-5"
"""The straggler of the demo."""


def open_picker(xi: Xi, button: str = "host-select") -> Locator:
    """Opens the host picker and waits for the ranking of the hosts, which adds choices before the others."""
    xi.page.get_by_test_id(button).click()
    xi.page.get_by_test_id("host-picker-slowest").wait_for()
    return xi.page.get_by_test_id("host-picker")


def canvas_origin(xi: Xi) -> dict[str, float]:
    """The upper left corner of the heat map, in pixels of the window."""
    box = xi.page.get_by_test_id("heat-canvas").bounding_box()
    assert box is not None
    return {"x": box["x"], "y": box["y"]}


def cell_point(xi: Xi, host: int, step: int) -> tuple[float, float]:
    """The middle of a cell, in pixels of the window."""
    origin = canvas_origin(xi)
    row = next(row for row in xi.drawn("rows") if host in row["hosts"])
    cell = next(column for column in xi.drawn("columns") if column["step"] == step)
    return origin["x"] + cell["x"] + cell["w"] / 2, origin["y"] + row["y"] + row["h"] / 2
