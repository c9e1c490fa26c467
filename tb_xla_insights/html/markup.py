"""Building blocks of HTML. Text is escaped unless it is markup already; characters that hide or reorder the text around
them are escaped too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup, escape

from tb_xla_insights import units
from tb_xla_insights.catalog.classes import CLASSES, label
from tb_xla_insights.escapes import escape_text
from tb_xla_insights.tables.definition import Column as DefinedColumn
from tb_xla_insights.tables.definition import Definition

Child = str | int | None
Row = Mapping[str, Any]

_LONG_WORD = re.compile(r"\S{41}")
"""Part of a word that may break anywhere on paper: shorter words are whole."""


def element(name: str, /, *children: Child | Iterable[Child], **attributes: Child) -> Markup:
    """The element `<name …>children</name>`; children and attributes that are None are left out. `class_` stands for
    `class`, `http_equiv` for `http-equiv`."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(_markup(child) for child in children)
    return Markup(f"<{name}{attribute_text}>{inner}" + ("" if name == "meta" else f"</{name}>"))


def _markup(child: Child | Iterable[Child]) -> str:
    if child is None:
        return ""
    return _escaped(child) if isinstance(child, (str, int)) else "".join(map(_markup, child))


def _escaped(text: str | int) -> Markup:
    return escape(escape_text(text) if isinstance(text, str) and not isinstance(text, Markup) else text)


@dataclass(frozen=True)
class Column:
    """A column of an HTML table: its heading and the function that composes a row's cell. It is aligned to the right as
    for numbers, or to the `left`."""

    heading: Child
    cell: Callable[[Row], Child]
    left: bool = False


def columns_of(
    definition: Definition,
    rows: Iterable[Row],
    cells: Mapping[str, Callable[[Row], Child]] | None = None,
    time_units: Mapping[str, str] | None = None,
) -> dict[str, Column]:
    """The columns of a table by key. `cells` has the functions that compose the cells of some columns, by key;
    `time_units` replaces the units that fit the largest times of `rows`."""
    time_units = definition.time_units(rows) | dict(time_units or {})
    return {
        column.key: Column(
            head,
            (cells or {}).get(column.key) or partial(_cell, column, time_unit=time_units.get(column.key, "")),
            left=column.is_text,
        )
        for column, head in zip(definition.columns, definition.heads(time_units), strict=True)
    }


def _cell(column: DefinedColumn, row: Row, *, time_unit: str) -> Child:
    """Names from the program as code, classes with their colour, times by class as a bar; all others as text."""
    value = row.get(column.key)
    if column.unit == "class" and value is not None:
        return class_chip(value)
    if column.unit == "by class":
        return stacked_bar(value or {}, "thin")
    text = column.text(row, time_unit)
    return element("code", text) if column.unit == "code" else text


def table(rows: Iterable[Row], *columns: Column, sums: Row | None = None) -> Markup:
    """A table; `sums` is a last row."""

    def table_row(cell_tag: str, cells: Iterable[Child]) -> Markup:
        return element(
            "tr",
            (
                element(cell_tag, cell, class_=_cell_class(cell) if column.left else "num")
                for cell, column in zip(cells, columns, strict=True)
            ),
        )

    def data_row(row: Row) -> Markup:
        return table_row("td", (column.cell(row) for column in columns))

    head = element("thead", table_row("th", (column.heading for column in columns)))
    body = element("tbody", map(data_row, rows))
    foot = None if sums is None else element("tfoot", data_row(sums))
    return element("div", element("table", head, body, foot), class_="scroll")


def _cell_class(cell: Child) -> str | None:
    text = cell.striptags() if isinstance(cell, Markup) else str(cell)
    return "long" if _LONG_WORD.search(text) else None


def defined_table(
    definition: Definition,
    rows: Sequence[Row],
    cells: Mapping[str, Callable[[Row], Child]] | None = None,
    *,
    sums: Row | None = None,
) -> Markup:
    """The rows in the columns of a definition (see `columns_of`); `sums` is a last row."""
    all_rows = [*rows, *([sums] if sums is not None else [])]
    return table(rows, *columns_of(definition, all_rows, cells).values(), sums=sums)


def card(title: str, note: str | None, *children: Child | Iterable[Child], wide: bool = False) -> Markup:
    """A titled section of the page; a `wide` one spans all columns."""
    head = element("h2", title, element("small", note) if note else None)
    return element("section", head, *children, class_="card wide" if wide else "card")


def class_chip(name: str, text: str | None = None) -> Markup:
    """The coloured square of a class, and its display name or another `text`."""
    square = element("i", class_=f"chip k-{name}", style=f"--k:var(--c-{name})")
    return Markup(f"{square} {escape(label(name) if text is None else text)}")


def stacked_bar(by_class_ps: Mapping[str, int], size: str = "") -> Markup:
    """Times by class as a stacked bar, in the order of CLASSES."""
    pieces = (
        element(
            "i",
            class_=f"k-{name}",
            style=f"--k:var(--c-{name});flex:{by_class_ps[name]}",
            title=f"{label(name)} {units.time_text(by_class_ps[name])}",
        )
        for name in CLASSES
        if by_class_ps.get(name)
    )
    return element("div", pieces, class_=f"stack {size}".strip())


def share_bar(share: float) -> Markup:
    """A share from 0 to 1 as a bar from the left."""
    return element("div", element("i", style=f"width:{100 * min(1.0, max(0.0, share)):.1f}%"), class_="bar")
