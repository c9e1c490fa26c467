"""Prints the devices' work by annotation and by op, and the peaks with which it is compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.cli import elements

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]


def print_work(out: Console, ops: Sequence[Document], work: Document) -> None:
    """Prints the keys `ops` and `device_work` of a report; nothing if there are no ops."""
    from tb_xla_insights.report.work_tables import peaks_text, work_by_annotation, work_by_op

    if not work["total"]["self_ps"]:
        return
    for table in (work_by_annotation(work, elements.MAX_ROWS), work_by_op(ops, work, elements.MAX_ROWS)):
        cells = {"op": lambda row: units.cut_middle(row["op"])}
        out.print(elements.table(table.definition, table.rows, cells, sums=table.total))
    elements.print_paragraph(out, peaks_text(work))
    out.print()
