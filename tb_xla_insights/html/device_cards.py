"""What the page tells of the devices' work: by annotation and by op, against the peaks. A section without data is
None."""

from __future__ import annotations

from markupsafe import Markup

from tb_xla_insights import units
from tb_xla_insights.html.markup import Column, Row, card, element, table
from tb_xla_insights.report import work_tables

_MOST = 40
"""Rows of a table; `report --json` has all."""

_LONGEST = 80
_NAMES = ("Op", "Annotation", "Source")


def by_annotation(document: Row) -> Markup | None:
    work = document["device_work"]
    if not work["total"]["self_ps"]:
        return None
    return _card(work_tables.by_annotation(work, _MOST), element("p", work_tables.peaks_text(work)))


def by_op(document: Row) -> Markup | None:
    work = document["device_work"]
    return _card(work_tables.by_op(document["ops"], work, _MOST)) if work["total"]["self_ps"] else None


def _card(told: work_tables.WorkTable, *notes: Markup) -> Markup:
    columns = [_column(head) for head in told.total]
    return card(
        told.title, "all cores", table(told.rows, *columns, foot=[*told.total.values()]), notes, wide=True
    )


def _column(head: str) -> Column:
    if head in _NAMES:
        return Column(head, lambda row: _name(row[head]), left=True)
    return Column(head, lambda row: row[head], left=head in work_tables.TEXT_COLUMNS)


def _name(text: str) -> Markup:
    """A name out of the program; kernels of C++ have very long ones."""
    short = units.cut_middle(text, _LONGEST)
    return element("code", short, title=text if short != text else None)
