"""Cards of the page on the devices' work: by annotation and by op, against the peaks. A card without data is None."""

from __future__ import annotations

from markupsafe import Markup

from tb_xla_insights import units
from tb_xla_insights.html.markup import Column, Row, card, element, table
from tb_xla_insights.report import work_tables

_MAX_ROWS = 40
"""The most rows of a table; `report --json` has all."""

_MAX_NAME_CHARS = 80
_NAME_COLUMNS = ("Op", "Annotation", "Source")


def annotation_work_card(document: Row) -> Markup | None:
    work = document["device_work"]
    if not work["total"]["self_ps"]:
        return None
    return _card(work_tables.by_annotation(work, _MAX_ROWS), element("p", work_tables.peaks_text(work)))


def op_work_card(document: Row) -> Markup | None:
    work = document["device_work"]
    return _card(work_tables.by_op(document["ops"], work, _MAX_ROWS)) if work["total"]["self_ps"] else None


def _card(work: work_tables.WorkTable, *notes: Markup) -> Markup:
    columns = [_column(heading) for heading in work.total]
    return card(
        work.title, "all cores", table(work.rows, *columns, foot=[*work.total.values()]), notes, wide=True
    )


def _column(heading: str) -> Column:
    if heading in _NAME_COLUMNS:
        return Column(heading, lambda row: _name(row[heading]), left=True)
    return Column(heading, lambda row: row[heading], left=heading in work_tables.TEXT_COLUMNS)


def _name(text: str) -> Markup:
    """A name from the program, shortened: names of C++ kernels are very long."""
    short = units.cut_middle(text, _MAX_NAME_CHARS)
    return element("code", short, title=text if short != text else None)
