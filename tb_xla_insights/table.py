"""The tables of the Python interface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args, get_type_hints

Row = dict[str, Any]


class Table(Sequence[Row]):
    """Rows with the same keys; times are integer picoseconds, under keys that end in `_ps`."""

    def __init__(self, rows: Iterable[Any], columns: Iterable[str] = ()) -> None:
        """`columns`: the keys of a row, for a table without rows."""
        self._rows: list[Row] = list(rows)
        self._columns = list(self._rows[0] if self._rows else columns)

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return Table(self._rows[index], self._columns) if isinstance(index, slice) else self._rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        count = "1 row" if len(self) == 1 else f"{len(self)} rows"
        return f"Table({count}: {', '.join(self.columns)})" if self._rows else "Table(0 rows)"

    def _repr_html_(self) -> str:
        """The table as notebooks show it."""
        from tb_xla_insights.html.cells import table_cell

        return str(table_cell(self._rows))

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame. Raises ImportError, with the remedy, if pandas is not installed."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError('to_pandas needs pandas; pip install "tb-xla-insights[pandas]"') from error
        return pd.DataFrame(self._rows, columns=self._columns)


def report_table(rows: Sequence[Any], *keys: str) -> Table:
    """A table of the rows that the report has under `keys`; its columns are there without a row, too."""
    from tb_xla_insights.schema.report import Report

    row_type: Any = Report
    for key in () if rows else keys:
        row_type = get_type_hints(row_type)[key]
        row_type = (*get_args(row_type), row_type)[0]
    return Table(rows, () if rows else get_type_hints(row_type))
