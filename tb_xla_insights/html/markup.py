"""Building blocks of HTML. Text is escaped unless it is markup already; characters that hide or reorder the text around
them are escaped too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from tb_xla_insights.catalog.classes import CLASSES, label
from tb_xla_insights.text import units
from tb_xla_insights.text.escapes import escape_text

Child = str | int | None
Row = Mapping[str, Any]

_LONG_WORD = re.compile(r"\S{21}")
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
class HtmlColumn:
    """A column of an HTML table: its heading and the function that composes a row's cell. It is aligned to the right as
    for numbers, or to the `left`."""

    heading: Child
    cell: Callable[[Row], Child]
    left: bool = False


def table(rows: Iterable[Row], *columns: HtmlColumn, sums: Row | None = None) -> Markup:
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
