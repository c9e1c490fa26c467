"""Fits tables and prose to the width of the console, without breaking numbers or heads.

rich draws the tables and measures the width of characters. But rich never leaves out a column: instead, it makes text
columns narrower than their longest word, and separates numbers from their units (see `units`). So this module chooses
the columns and their widths, and `textwrap`, which breaks only at ASCII spaces, wraps the lines. rich is imported for
text output only, as the import takes 20 ms.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from tb_xla_insights.columns.head import LAST_PRIORITY
from tb_xla_insights.tables.definition import Column
from tb_xla_insights.text.escapes import escape_text
from tb_xla_insights.text.units import MISSING

NO_BREAK_SPACE = "\u00a0"
"""A space at which lines do not break; printed as an ordinary space."""
_MIN_TEXT_WIDTH, _MAX_NAME_WIDTH = 26, 40
"""The minimum width of a text column, and the length up to which a name in it is not broken."""
_ZERO_CELLS = {"", MISSING, "0", "0.000", "0.0"}
_FILLER = "\1"
"""Follows each character that is two cells wide (Chinese, Japanese, Korean), as `textwrap` counts characters."""


class _Wrapper(textwrap.TextWrapper):
    # Paths break after their slashes, Chinese and Japanese text after any character.
    wordsep_simple_re = re.compile(rf"([\t\n\r ]+|(?<=/)(?=[^/\s])|(?<={_FILLER}))")


def wrap(text: str, width: int, indent: str = "", hanging: str = "") -> list[str]:
    """The lines of a text, at most `width` cells wide; the first is indented by `indent`, the others by `hanging`."""
    text = escape_text(text)
    if cell_len(text) <= width - len(indent):
        return [indent + text.replace(NO_BREAK_SPACE, " ")]
    words = (
        word if cell_len(word) <= width - len(hanging) else word.replace(NO_BREAK_SPACE, " ")
        for word in text.split(" ")
    )
    filled = " ".join(words) if text.isascii() else "".join(map(_add_filler, " ".join(words)))
    wrapper = _Wrapper(width, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False)
    lines = wrapper.wrap(filled)
    return [line.replace(NO_BREAK_SPACE, " ").replace(_FILLER, "") for line in lines] or [""]


def _add_filler(character: str) -> str:
    return character + _FILLER * (cell_len(character) - 1)


@dataclass(frozen=True)
class _Column:
    head: str
    cells: list[str]
    is_text: bool
    """Text columns are left-aligned and may break between words."""
    priority: int

    @cached_property
    def is_zero(self) -> bool:
        return set(self.cells) <= _ZERO_CELLS

    @cached_property
    def max_width(self) -> int:
        """The width at which every cell fits into one line."""
        return max(map(cell_len, [self.head, *self.cells]))

    @cached_property
    def min_width(self) -> int:
        """The width below which the head or a number would break, or text would be hard to read."""
        longest = max(map(cell_len, self.cells), default=0)
        if self.is_text:
            words = (cell_len(word) for cell in self.cells for word in _words(cell))
            longest = max(min(longest, _MIN_TEXT_WIDTH), min(max(words, default=0), _MAX_NAME_WIDTH))
        return max(longest, *map(cell_len, self.head.split(" ")))


def _words(cell: str) -> list[str]:
    return [word.strip(" ") for word in _Wrapper.wordsep_simple_re.split(cell) if word]


@dataclass(frozen=True)
class FittingTable:
    """A table without empty columns, which on a narrow console leaves out columns by their priority and names them."""

    title: str
    columns: Sequence[Column]
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        total_width = options.max_width
        candidates = []
        for n, (defined, head) in enumerate(zip(self.columns, self.heads, strict=True)):
            cells = [escape_text(row[n]) for row in self.rows]
            if not (n and defined.is_empty(cells)):
                candidates.append(_Column(escape_text(head), cells, defined.is_text, defined.priority))
        spacing = 3 if sum(column.max_width + 3 for column in candidates) - 3 <= total_width else 2
        shown_columns, left_out_columns = _choose_columns(candidates, total_width, spacing)
        widths = _widths(shown_columns, total_width, spacing)
        if self.title:
            yield Text("\n".join(wrap(self.title, total_width)), style="bold")
        # The spacing is part of each column, because releases of rich disagree about padding at the edges.
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
        prefixes = [" " * (spacing - 1) * bool(n) for n in range(len(shown_columns))]
        for column, prefix, width in zip(shown_columns, prefixes, widths, strict=True):
            head = _wrap_cell(column.head, width, prefix)
            table.add_column(
                head, justify="left" if column.is_text else "right", width=len(prefix) + width, no_wrap=True
            )
        for row in zip(*(column.cells for column in shown_columns), strict=True):
            table.add_row(*map(_wrap_cell, row, widths, prefixes))
        yield table
        if left_out_columns:
            heads = ", ".join(column.head.partition(",")[0] for column in left_out_columns)
            yield Text(
                "\n".join(wrap(f"A wider terminal also shows: {heads}.", total_width, hanging="   ")),
                style="dim",
            )
        yield ""


def _wrap_cell(cell: str, width: int, prefix: str) -> str:
    lines = wrap(cell, width, hanging=" " * (len(cell) - len(cell.lstrip(" "))))
    return "\n".join(prefix + line for line in lines)


def _choose_columns(
    columns: Sequence[_Column], total_width: int, spacing: int
) -> tuple[list[_Column], list[_Column]]:
    """The columns that fit into the width, and those left out. Columns of zeros are left out before text is wrapped to
    make space for them."""

    def width_of(indices: set[int], in_one_line: bool = False) -> int:
        widths = (columns[n].max_width if in_one_line else columns[n].min_width for n in indices)
        return sum(width + spacing for width in widths) - spacing

    def removal_order(n: int) -> tuple[bool, bool, int]:
        column = columns[n]
        is_optional = column.priority < LAST_PRIORITY
        return not is_optional, not column.is_zero, column.priority if is_optional else -n

    removable = sorted(range(1, len(columns)), key=removal_order)
    chosen_indices, removed_indices = set(range(len(columns))), []
    for n in removable:
        if (
            width_of(chosen_indices, in_one_line=columns[n].is_zero and columns[n].priority < LAST_PRIORITY)
            > total_width
        ):
            chosen_indices.remove(n)
            removed_indices.append(n)
    for n in reversed(removed_indices):  # removing a wide column may leave enough width for narrow ones
        if not columns[n].is_zero and width_of(chosen_indices | {n}) <= total_width:
            chosen_indices.add(n)
    return [columns[n] for n in sorted(chosen_indices)], [
        column for n, column in enumerate(columns) if n not in chosen_indices
    ]


def _widths(columns: Sequence[_Column], total_width: int, spacing: int) -> list[int]:
    """The minimum widths, with the remaining width given first to the columns that lack least, so that most cells take
    one line."""
    widths = [min(column.min_width, total_width) for column in columns]
    remaining = total_width - sum(widths) - spacing * (len(columns) - 1)
    for n in sorted(range(len(columns)), key=lambda n: columns[n].max_width - widths[n]):
        extra = max(0, min(columns[n].max_width - widths[n], remaining))
        widths[n] += extra
        remaining -= extra
    return widths
