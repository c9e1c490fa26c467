"""Reads the tables of the page."""

from __future__ import annotations

from playwright.sync_api import Locator


def ps(cells: Locator) -> list[int]:
    """The exact times of cells, in picoseconds."""
    return [int(text) for text in cells.evaluate_all("cells => cells.map(cell => cell.dataset.ps)")]


def column(table: Locator, head: str) -> Locator:
    """The body cells of the column whose heading begins with `head`. Waits for rows: a folded table has none until it
    opens."""
    rows = table.locator("tbody tr[data-index]")
    rows.first.wait_for(state="attached")
    heads = table.locator("thead th").all_text_contents()
    index = next(index for index, text in enumerate(heads) if text.startswith(head))
    return rows.locator(f"td:nth-child({index + 1})")
