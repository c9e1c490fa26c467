"""The lines of the table on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from tb_xla_insights.text import units
from tb_xla_insights.text.escapes import escape_text

if TYPE_CHECKING:
    from tb_xla_insights.report.needed_table import NeededTable

_MAX_NAME = 40
_GAP = "  "


def table_lines(table: NeededTable, max_lines: int, width: int) -> list[str]:
    """The table in at most `max_lines` lines. Columns that do not fit are left out, the last ones first."""
    document = table.document(max_lines - 1)
    rows = [document["heads"], *document["rows"], *([document["last"]] if document["last"] else [])]
    columns = [[_cut(escape_text(cell), width) for cell in column] for column in zip(*rows, strict=True)]
    widths = [max(map(cell_len, cells)) for cells in columns]
    while len(widths) > 1 and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        widths.pop()
    aligned = [
        [_aligned(cell, size, n in document["texts"]) for cell in cells]
        for n, (cells, size) in enumerate(zip(columns, widths, strict=False))
    ]
    return [_GAP.join(row).rstrip() for row in zip(*aligned, strict=True)]


def _cut(text: str, width: int) -> str:
    return units.cut_middle(text, min(_MAX_NAME, width))


def _aligned(text: str, width: int, is_text: bool) -> str:
    space = " " * (width - cell_len(text))
    return text + space if is_text else space + text
