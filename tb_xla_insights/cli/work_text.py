"""What the devices do, as text: where most time goes, by annotation and by op, and how far that is from the peaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import common

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]


def print_work(out: Console, ops: Sequence[Document], work: Document) -> None:
    """Prints the keys `ops` and `device_work` of a report; nothing without ops."""
    from tb_xla_insights.report.work_tables import TEXT_COLUMNS, by_annotation, by_op, peaks_text

    if not work["total"]["self_ps"]:
        return
    for told in (by_annotation(work, common.ROWS), by_op(ops, work, common.ROWS)):
        left = [place for place, head in enumerate(told.total) if head in TEXT_COLUMNS]
        table = common.table(f"{told.title} (all cores)", *told.total, left=left)
        for row in (*told.rows, told.total):
            table.add_row(*(units.cut_middle(text) if head == "Op" else text for head, text in row.items()))
        out.print(table)
    common.say(out, peaks_text(work))
    out.print()
