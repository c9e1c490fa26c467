"""Prints the devices' work by annotation and by op, and the distance from the peaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import common

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]


def print_work(out: Console, ops: Sequence[Document], work: Document) -> None:
    """Prints the keys `ops` and `device_work` of a report; nothing if there are no ops."""
    from tb_xla_insights.report.work_tables import TEXT_COLUMNS, by_annotation, by_op, peaks_text

    if not work["total"]["self_ps"]:
        return
    for content in (by_annotation(work, common.ROWS), by_op(ops, work, common.ROWS)):
        left = [index for index, head in enumerate(content.total) if head in TEXT_COLUMNS]
        table = common.table(f"{content.title} (all cores)", *content.total, left=left)
        for row in (*content.rows, content.total):
            table.add_row(*(units.cut_middle(text) if head == "Op" else text for head, text in row.items()))
        out.print(table)
    common.print_paragraph(out, peaks_text(work))
    out.print()
