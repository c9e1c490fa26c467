"""What defines a table: its title and, for each column, key, heading, unit and priority.

The terminal, the HTML report, the page and CSV files show tables from the same definitions. A view may add what only it
can draw, such as bars, and leaves out columns that its rows do not have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, get_type_hints

from tb_xla_insights.catalog.classes import ClassName, label
from tb_xla_insights.columns.head import LAST_PRIORITY, Head, Unit
from tb_xla_insights.columns.shift import instant
from tb_xla_insights.schema.common import ByClass
from tb_xla_insights.text import units

Row = Mapping[str, Any]

TEXT_UNITS: Collection[Unit] = ("text", "code", "words", "class", "by class")
"""Units whose columns are aligned to the left; all others are aligned to the right."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    `key` names the value in a row of the document, the column of a CSV file and, without `_ps`, the sort order in the
    page's links; for a `derived` column there is no such value, and the views compute it. Columns with a low `priority`
    are left out first where space is short. `unit_basis` says what the unit of a time fits:

    - `table`, the largest time of all such columns;
    - `column`, the largest time of this column;
    - `sum`, the sum of this column as sentences quote it: seconds from 1 s on.
    """

    key: str
    head: str
    unit: Unit = "text"
    priority: int = LAST_PRIORITY
    derived: bool = False
    unit_basis: Literal["table", "column", "sum"] = "table"

    @property
    def is_text(self) -> bool:
        return self.unit in TEXT_UNITS

    def is_empty(self, texts: Iterable[str]) -> bool:
        """Whether none of the cells' texts is a text or number."""
        distinct = set(texts)
        return bool(distinct) and distinct <= ({"", units.MISSING} if self.is_text else {""})

    def text(self, row: Row, time_unit: str) -> str:
        """The text of a cell, with times in `time_unit`: a dash for an unknown value, empty if the row has none.
        Strings are returned unchanged, except for classes and words."""
        if self.key not in row:
            return ""
        value = row[self.key]
        if value is None:
            return units.MISSING
        if isinstance(value, str) and self.unit not in ("class", "words"):
            return value
        match self.unit:
            case "time" | "ms":
                return units.time_in(value, time_unit)
            case "change":
                return f"{'+' if value > 0 else ''}{units.time_in(value, time_unit)}"
            case "count":
                return units.count(value)
            case "share":
                return units.share(value)
            case "bytes":
                return units.byte_size(value)
            case "class":
                return label(value)
            case "words":
                return str(value).replace("_", " ")
            case _:
                return str(value)


@dataclass(frozen=True)
class Definition:
    """A table: its title and its columns in their order. `note` says what the values refer to, such as all cores."""

    title: str
    columns: tuple[Column, ...]
    note: str = ""

    @property
    def heading(self) -> str:
        """The title with the note: `Transfers (time on the host)`."""
        return f"{self.title} ({self.note})" if self.note else self.title

    def __getitem__(self, key: str) -> Column:
        """The column of a key. Raises KeyError if the table has no such column."""
        return {column.key: column for column in self.columns}[key]

    def without(self, *keys: str) -> Definition:
        """The table without the columns of these keys. Raises KeyError if the table lacks one of them."""
        if unknown := set(keys) - {column.key for column in self.columns}:
            raise KeyError(*sorted(unknown))
        return replace(self, columns=tuple(column for column in self.columns if column.key not in keys))

    def time_units(self, rows: Iterable[Row]) -> dict[str, str]:
        """The unit of each column of times, by key, that fits the times of these rows; `ms` if all are 0 or unknown, or
        if seconds would leave a time with fewer than three digits."""
        rows = [*rows]
        times = {
            column: [abs(value) for row in rows if isinstance(value := row.get(column.key), int)]
            for column in self.columns
            if column.unit in ("time", "change")
        }
        shared = [ps for column, values in times.items() if column.unit_basis == "table" for ps in values]
        time_units = {column.key: "ms" for column in self.columns if column.unit == "ms"}
        for column, values in times.items():
            if column.unit_basis == "sum":
                unit_of, ps = units.brief_unit, sum(values)
            else:
                unit_of = units.time_unit
                ps = max(shared if column.unit_basis == "table" else values, default=0)
            time_units[column.key] = unit_of(ps) if ps else "ms"
        in_seconds = (values for column, values in times.items() if time_units[column.key] == "s")
        if any(_loses_digits_in_seconds(ps) for values in in_seconds for ps in values):
            time_units = {key: "ms" if unit == "s" else unit for key, unit in time_units.items()}
        return time_units

    def heads(self, time_units: Mapping[str, str]) -> list[str]:
        """The headings, with the units of times: `Start, ms`."""
        return [
            f"{column.head}, {time_units[column.key]}" if column.key in time_units else column.head
            for column in self.columns
        ]


def _loses_digits_in_seconds(ps: int) -> bool:
    return bool(10 * ps < units.PS_PER["s"] and ps % units.PS_PER["ms"])


def table(
    title: str,
    row_type: Any,
    *first: Column,
    derived: Mapping[str, Sequence[Column]] | None = None,
    note: str = "",
) -> Definition:
    """The table of a row type: further columns first, then those of its keys that have a heading, in the order of their
    declaration. `derived`: columns that the views compute, by the key of the column that they follow."""
    columns = [*first, *_declared_columns(row_type)]
    for key, followers in (derived or {}).items():
        place = [column.key for column in columns].index(key) + 1
        columns[place:place] = [replace(column, derived=True) for column in followers]
    return Definition(title, tuple(columns), note)


def _declared_columns(row_type: Any) -> Iterable[Column]:
    for key, hint in get_type_hints(row_type, include_extras=True).items():
        for head in getattr(hint, "__metadata__", ()):
            if isinstance(head, Head):
                unit = head.unit or (
                    "ms" if instant in hint.__metadata__ else _implied_unit(key, hint.__origin__)
                )
                yield Column(key, head.text, unit, head.priority, unit_basis=head.unit_basis)


_UNIT_OF_ENDING: Mapping[str, Unit] = {
    "_ps": "time", "share": "share", "duty_cycle": "share", "bytes": "bytes", "bytes_per_step": "bytes"
}  # fmt: skip
_UNIT_OF_TYPE: Mapping[Any, Unit] = {ClassName: "class", int: "count", float: "number"}


def _implied_unit(key: str, kind: Any) -> Unit:
    if kind == ByClass:
        return "by class"
    units_of_key = (unit for ending, unit in _UNIT_OF_ENDING.items() if key.endswith(ending))
    units_of_type = (unit for known, unit in _UNIT_OF_TYPE.items() if kind in (known, known | None))
    return next(chain(units_of_key, units_of_type), "text")
