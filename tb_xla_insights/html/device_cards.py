"""Cards of the page on the devices' work: by annotation and by op, against the peaks. A card without data is None."""

from __future__ import annotations

from functools import partial

from markupsafe import Markup

from tb_xla_insights import units
from tb_xla_insights.html.markup import Row, card, defined_table, element
from tb_xla_insights.report import work_tables

_MAX_ROWS = 40
"""The most rows of a table; `report --json` has all."""

_MAX_NAME_CHARS = 80


def annotation_work_card(document: Row) -> Markup | None:
    work = document["device_work"]
    if not work["total"]["self_ps"]:
        return None
    return _card(work_tables.work_by_annotation(work, _MAX_ROWS), element("p", work_tables.peaks_text(work)))


def op_work_card(document: Row) -> Markup | None:
    work = document["device_work"]
    return (
        _card(work_tables.work_by_op(document["ops"], work, _MAX_ROWS)) if work["total"]["self_ps"] else None
    )


def _card(work: work_tables.WorkTable, *notes: Markup) -> Markup:
    cells = {key: partial(_name, key) for key in ("path", "op", "annotation", "source")}
    return card(
        work.definition.title,
        work.definition.note,
        defined_table(work.definition, work.rows, cells, sums=work.total),
        notes,
        wide=True,
    )


def _name(key: str, row: Row) -> Markup:
    """A name from the program, shortened: names of C++ kernels are very long."""
    text = row[key]
    short = units.cut_middle(text, _MAX_NAME_CHARS)
    return element("code", short, title=text if short != text else None)
