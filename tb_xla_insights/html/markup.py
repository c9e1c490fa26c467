"""Building blocks of HTML. Text is escaped unless it is markup already; characters that hide or reorder the text around
them are escaped too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from tb_xla_insights import units
from tb_xla_insights.catalog.classes import CLASSES, label
from tb_xla_insights.escapes import escape_text

Child = str | int | None
Row = Mapping[str, Any]


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
    """A column of a table, aligned to the right as for numbers, or to the `left`."""

    heading: str
    cell: Callable[[Row], Child]
    left: bool = False


def text_column(heading: str, key: str) -> Column:
    return Column(heading, lambda row: units.MISSING if row[key] is None else row[key], left=True)


def code_column(heading: str, key: str) -> Column:
    """A column of names from the program."""
    return Column(heading, lambda row: element("code", row[key] or units.MISSING), left=True)


def number_column(heading: str, key: str) -> Column:
    return Column(heading, lambda row: units.count(row[key]))


def time_column(heading: str, key: str, unit: str) -> Column:
    return Column(f"{heading}, {unit}", lambda row: units.time_in(row[key], unit))


STEP_COLUMN = Column("Step", lambda row: units.step_name(row["step"], row["step_number"]))
"""The step that a row belongs to."""


def cause_column(key: str) -> Column:
    return Column("Cause", lambda row: class_chip(row[key]), left=True)


def table(rows: Iterable[Row], *columns: Column, foot: Sequence[Child] = ()) -> Markup:
    """A table; `foot` is a last row of sums."""

    def table_row(cell_tag: str, cells: Iterable[Child]) -> Markup:
        classes = (None if column.left else "num" for column in columns)
        return element(
            "tr",
            (element(cell_tag, cell, class_=class_) for cell, class_ in zip(cells, classes, strict=True)),
        )

    head = element("thead", table_row("th", (column.heading for column in columns)))
    body = element("tbody", (table_row("td", (column.cell(row) for column in columns)) for row in rows))
    tfoot = element("tfoot", table_row("td", foot)) if foot else None
    return element("div", element("table", head, body, tfoot), class_="scroll")


def card(title: str, note: str | None, *children: Child | Iterable[Child], wide: bool = False) -> Markup:
    """A titled section of the page; a `wide` one spans all columns."""
    head = element("h2", title, element("small", note) if note else None)
    return element("section", head, *children, class_="card wide" if wide else "card")


def class_chip(name: str) -> Markup:
    """The coloured square of a class, and its name."""
    square = element("i", class_=f"chip k-{name}", style=f"--k:var(--c-{name})")
    return Markup(f"{square} {escape(label(name))}")


def stacked_bar(parts: Mapping[str, int], size: str = "") -> Markup:
    """Times by class as a stacked bar, in the order of CLASSES."""
    pieces = (
        element(
            "i",
            class_=f"k-{name}",
            style=f"--k:var(--c-{name});flex:{parts[name]}",
            title=f"{label(name)} {units.time_text(parts[name])}",
        )
        for name in CLASSES
        if parts.get(name)
    )
    return element("div", pieces, class_=f"stack {size}".strip())


def share_bar(share: float) -> Markup:
    """A share from 0 to 1 as a bar from the left."""
    return element("div", element("i", style=f"width:{100 * min(1.0, max(0.0, share)):.1f}%"), class_="bar")
