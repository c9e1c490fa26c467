"""Elements of the commands' text: paragraphs, tables, and the texts of their cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tb_xla_insights.text import units

if TYPE_CHECKING:
    from rich.console import Console

    from tb_xla_insights.cli.layout import FittingTable
    from tb_xla_insights.tables.definition import Column, Definition, Row

MAX_ROWS = 12
"""The maximum number of rows of a long table; `--json` has all rows, but of gaps the 1,000 longest without
`--all-gaps`."""
_MAX_CLASSES = 3
"""The maximum number of classes in a cell of times by class."""


def print_paragraph(out: Console, text: str, indent: str = "", style: str | None = None) -> None:
    """Prints a paragraph with a hanging indent."""
    from tb_xla_insights.cli.layout import wrap

    out.print("\n".join(wrap(text, out.width, indent, "   ")), style=style)


def table(
    definition: Definition,
    rows: Iterable[Row],
    cells: Mapping[str, Callable[[Any], str]] | None = None,
    *,
    title: str | None = None,
    sums: Row | None = None,
    time_units: Mapping[str, str] | None = None,
) -> FittingTable:
    """The table as text. `cells` composes the cells of some columns, by key; `sums` is a last row; `time_units` sets
    the units of some columns, by key, in place of those that fit their largest times."""
    from tb_xla_insights.cli.layout import FittingTable

    rows = [*rows, *([sums] if sums is not None else [])]
    time_units = definition.time_units(rows) | dict(time_units or {})
    class_units = {
        column.key: units.column_unit([ps for row in rows for ps in (row.get(column.key) or {}).values()])
        for column in definition.columns
        if column.unit == "by class"
    }

    def text(column: Column, row: Row) -> str:
        if cells and column.key in cells:
            return cells[column.key](row)
        if column.unit == "by class":
            return class_times(row.get(column.key) or {}, _MAX_CLASSES, class_units[column.key])
        return column.text(row, time_units.get(column.key, ""))

    texts = [[text(column, row) for column in definition.columns] for row in rows]
    return FittingTable(
        definition.heading if title is None else title,
        definition.columns,
        definition.heads(time_units),
        texts,
    )


def without_single_host(definition: Definition, host_count: int) -> Definition:
    """The table, without the column of hosts if the session has a single host."""
    return definition if host_count > 1 else definition.without("host")


def class_times(by_class: Mapping[str, int], limit: int, unit: str | None = None) -> str:
    """The classes with most time: `IR tracing 185.218 ms, wait 1.755 ms`, in the given unit, else each in its own;
    lines break only between classes."""
    from tb_xla_insights.catalog.classes import label
    from tb_xla_insights.cli.layout import NO_BREAK_SPACE

    largest = sorted(by_class.items(), key=lambda item: -item[1])[:limit]
    times = ((name, ps, unit or units.time_unit(ps)) for name, ps in largest)
    texts = (f"{label(name)} {units.time_in(ps, unit)}{units.NARROW_SPACE}{unit}" for name, ps, unit in times)
    return ", ".join(text.replace(" ", NO_BREAK_SPACE) for text in texts)
