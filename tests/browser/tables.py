"""How browser tests read tables."""

from __future__ import annotations

from playwright.sync_api import Locator


def ps(cells: Locator) -> list[int]:
    """The exact times of cells."""
    return [int(text) for text in cells.evaluate_all("cells => cells.map(it => it.dataset.ps)")]


def column(table: Locator, head: str) -> Locator:
    """The cells of a table's body below a head, once the table has rows: one in a fold is filled after it opens."""
    rows = table.locator("tbody tr[data-index]")
    rows.first.wait_for(state="attached")
    heads = table.locator("thead th").all_text_contents()
    at = next(index for index, text in enumerate(heads) if text.startswith(head))
    return rows.locator(f"td:nth-child({at + 1})")
