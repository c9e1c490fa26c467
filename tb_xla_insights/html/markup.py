"""HTML without string concatenation: text is escaped unless it is markup already, and none in it hides or turns round
what stands beside it."""

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
    """`<name …>children</name>`; what is None is left out. `class_` is written for `class`, `http_equiv` for
    `http-equiv`."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(it)}"'
        for key, it in attributes.items()
        if it is not None
    )
    inner = "".join(_markup(child) for child in children)
    return Markup(f"<{name}{given}>{inner}" + ("" if name == "meta" else f"</{name}>"))


def _markup(child: Child | Iterable[Child]) -> str:
    if child is None:
        return ""
    return _escaped(child) if isinstance(child, (str, int)) else "".join(map(_markup, child))


def _escaped(text: str | int) -> Markup:
    return escape(escape_text(text) if isinstance(text, str) and not isinstance(text, Markup) else text)


@dataclass(frozen=True)
class Column:
    """A column of a table: numbers stand at the right, what is `left` at the left."""

    head: str
    cell: Callable[[Row], Child]
    left: bool = False


def text(head: str, key: str) -> Column:
    return Column(head, lambda row: units.MISSING if row[key] is None else row[key], left=True)


def code(head: str, key: str) -> Column:
    """A name out of the program."""
    return Column(head, lambda row: element("code", row[key] or units.MISSING), left=True)


def number(head: str, key: str) -> Column:
    return Column(head, lambda row: units.count(row[key]))


def time(head: str, key: str, unit: str) -> Column:
    return Column(f"{head}, {unit}", lambda row: units.time_in(row[key], unit))


STEP = Column("Step", lambda row: units.step_name(row["step"], row["step_number"]))
"""The step that a row lies in."""


def cause(key: str) -> Column:
    return Column("Cause", lambda row: chip(row[key]), left=True)


def table(rows: Iterable[Row], *columns: Column, foot: Sequence[Child] = ()) -> Markup:
    """A table, and a last row of sums where `foot` is given."""

    def line(kind: str, cells: Iterable[Child]) -> Markup:
        signs = (None if column.left else "num" for column in columns)
        return element("tr", (element(kind, it, class_=sign) for it, sign in zip(cells, signs, strict=True)))

    body = (line("td", (column.cell(row) for column in columns)) for row in rows)
    parts = element("thead", line("th", (it.head for it in columns))), element("tbody", body)
    return element(
        "div",
        element("table", *parts, element("tfoot", line("td", foot)) if foot else None),
        class_="scroll",
    )


def card(title: str, note: str | None, *children: Child | Iterable[Child], wide: bool = False) -> Markup:
    """A titled part of the page; a wide one takes all columns."""
    head = element("h2", title, element("small", note) if note else None)
    return element("section", head, *children, class_="card wide" if wide else "card")


def chip(name: str) -> Markup:
    """The sign of a class, and its name."""
    sign = element("i", class_=f"chip k-{name}", style=f"--k:var(--c-{name})")
    return Markup(f"{sign} {escape(label(name))}")


def stack(parts: Mapping[str, int], size: str = "") -> Markup:
    """Times by class as a bar of parts, in the order of the classes."""
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


def bar(part: float) -> Markup:
    """A share from 0 to 1 as a bar from the left."""
    return element("div", element("i", style=f"width:{100 * min(1.0, max(0.0, part)):.1f}%"), class_="bar")
