"""What tests of the view Hosts read of it, and what the server tells."""

from __future__ import annotations

import json
from typing import Any

from browser.driver import Xi

LATE = "t1v-n-7f-w-5"
"""The host of the demo that holds up the others."""


def document(xi: Xi, session: str, view: str = "hosts", **more: str) -> dict[str, Any]:
    """What the server tells of a session's hosts, or for another view."""
    board = xi.address.partition("/data/plugin_entry.html")[0]
    answer = xi.page.request.get(
        f"{board}/data/plugin/xla_insights/data/{view}", params={"session": session, **more}
    )
    document: dict[str, Any] = json.loads(answer.text())
    return document


def canvas(xi: Xi) -> dict[str, float]:
    box = xi.page.get_by_test_id("heat-canvas").bounding_box()
    assert box is not None
    return {"x": box["x"], "y": box["y"]}


def place(xi: Xi, host: int, step: int) -> tuple[float, float]:
    """The middle of a cell, in the window."""
    box = canvas(xi)
    row = next(row for row in xi.drawn("rows") if host in row["hosts"])
    cell = next(column for column in xi.drawn("columns") if column["step"] == step)
    return box["x"] + cell["x"] + cell["w"] / 2, box["y"] + row["y"] + row["h"] / 2


def plain(text: str) -> str:
    return text.replace("\u202f", " ").replace("\u00a0", " ")
