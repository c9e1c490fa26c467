"""Tables and prose as wide as the console is: no line is longer, and no number and no head is broken.

rich draws the tables and knows how wide characters are. It leaves out no columns, makes those of text narrower than
their longest word, and breaks numbers from their units (see `units`), so columns are fitted here, and `textwrap`, which
knows only ASCII spaces, breaks lines. Importing rich takes 20 ms, of text reports only.
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

from tb_xla_insights.escapes import escape_text
from tb_xla_insights.units import MISSING

_LEAST = {
    "Devices": ("Host", "Ops", "Modules", "Stall", "Span"),
    "Steps": ("Start", "Input syncs", "Reads", "Early syncs", "Executions", "Compiles", "Host"),
    "Gaps": ("Cause", "Kind", "Cores", "Start"),
    "Gaps between programs": ("Mean", "Count"),
    "Ops that only wait": ("Count",),
    "Executions before the step is over": ("Start", "Thread", "Device", "How", "Why", "Where", "Host"),
    "Executions": ("Launches", "Device min / median / max", "Kind", "Queue", "Join", "Host"),
    "Compilations": ("Other graphs", "Start", "Annotation", "Why", "Idle", "Graph", "Where", "Host"),
    "Transfers": ("Size per step", "Per step"),
    "Annotations on the device": ("Launches", "Device ops", "Lost", "Count"),
    "Order of phases on the device": ("Runs", "Phases", "Executions"),
    "Device time without an annotation": ("Scope", "Line"),
    "Ops of several annotations": ("Line",),
    "Device work by annotation": ("TFLOP/s",),
    "Device work by op": ("Line", "Executions", "Category", "TFLOP/s", "Annotation"),
    "Host time per step": ("B − A",),
    "Phases, host time per step": ("B − A",),
    "Device time per step and core, by annotation": ("In", "B / A", "B − A"),
    "Device time per step and core, by op": ("Annotation", "In", "B / A", "B − A"),
    "Hosts": ("Events",),
    "Threads": ("By class", "Most own time in", "Host", "Events"),
    "Device ops by annotation": ("Most own time in", "Count"),
    "Longest by self time": ("Class", "Count", "Total"),
}
"""Per table, the columns that a narrow terminal may do without, the least important first; then it is the last ones."""

TOGETHER = "\u00a0"
"""A space at which no line is broken; it is printed as an ordinary one."""
_TEXT, _NAME = 26, 40
"""What a column of text gets at least, and up to which length a name in it is in one piece."""
_NOTHING = {"", MISSING, "0", "0.000", "0.0"}
_FILLER = "\1"
"""Stands behind a character that is two cells wide (Chinese, Japanese, Korean) while `textwrap` counts characters."""


class _Wrapper(textwrap.TextWrapper):
    # Paths are broken behind their slashes, Chinese and Japanese text behind any character.
    wordsep_simple_re = re.compile(rf"([\t\n\r ]+|(?<=/)(?=[^/\s])|(?<={_FILLER}))")


def wrapped(text: str, width: int, indent: str = "", hanging: str = "") -> list[str]:
    """The lines of a text, at most `width` cells wide; the first begins with `indent`, the others with `hanging`."""
    text = escape_text(text)
    if cell_len(text) <= width - len(indent):
        return [indent + text.replace(TOGETHER, " ")]
    words = (
        it if cell_len(it) <= width - len(hanging) else it.replace(TOGETHER, " ") for it in text.split(" ")
    )
    filled = " ".join(words) if text.isascii() else "".join(map(_filled, " ".join(words)))
    wrapper = _Wrapper(width, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False)
    lines = wrapper.wrap(filled)
    return [line.replace(TOGETHER, " ").replace(_FILLER, "") for line in lines] or [""]


def _filled(character: str) -> str:
    return character + _FILLER * (cell_len(character) - 1)


@dataclass(frozen=True)
class _Column:
    head: str
    cells: list[str]
    text: bool
    """Left aligned: may be broken between words."""

    @cached_property
    def empty(self) -> bool:
        """Nothing is told: no text, no number."""
        return bool(self.cells) and set(self.cells) <= ({"", MISSING} if self.text else {""})

    @cached_property
    def zero(self) -> bool:
        return set(self.cells) <= _NOTHING

    @cached_property
    def widest(self) -> int:
        return max(map(cell_len, [self.head, *self.cells]))

    @cached_property
    def least(self) -> int:
        """The width below which the head or a number would be broken, or text not read well."""
        longest = max(map(cell_len, self.cells), default=0)
        if self.text:
            words = (cell_len(word) for cell in self.cells for word in _words(cell))
            longest = max(min(longest, _TEXT), min(max(words, default=0), _NAME))
        return max(longest, *map(cell_len, self.head.split(" ")))


def _words(cell: str) -> list[str]:
    return [word.strip(" ") for word in _Wrapper.wordsep_simple_re.split(cell) if word]


class FittingTable(Table):
    """A table that leaves out columns where the console is too narrow for them, and says so; and columns of text that
    have none."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        room = options.max_width
        columns = [
            _Column(
                escape_text(str(it.header)),
                [escape_text(str(cell)) for cell in it.cells],
                it.justify == "left",
            )
            for it in self.columns
        ]
        known = [it for n, it in enumerate(columns) if not (n and it.empty)]
        title = str(self.title or "")
        gap = 3 if sum(it.widest + 3 for it in known) - 3 <= room else 2
        shown, left_out = _fitting(known, _LEAST.get(re.split(r" \(|;", title)[0], ()), room, gap)
        widths = _widths(shown, room, gap)
        if title:
            yield Text("\n".join(wrapped(title, room)), style="bold")
        # Columns begin with what parts them, because releases of rich disagree about padding at the edges.
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
        parts = [" " * (gap - 1) * bool(n) for n in range(len(shown))]
        for it, part, width in zip(shown, parts, widths, strict=True):
            head = _broken(it.head, width, part)
            table.add_column(
                head, justify="left" if it.text else "right", width=len(part) + width, no_wrap=True
            )
        for row in zip(*(it.cells for it in shown), strict=True):
            table.add_row(*map(_broken, row, widths, parts))
        yield table
        if left_out:
            heads = ", ".join(it.head.partition(",")[0] for it in left_out)
            yield Text(
                "\n".join(wrapped(f"A wider terminal also shows: {heads}.", room, hanging="   ")), style="dim"
            )
        yield ""


def _broken(cell: str, width: int, part: str) -> str:
    lines = wrapped(cell, width, hanging=" " * (len(cell) - len(cell.lstrip(" "))))
    return "\n".join(part + line for line in lines)


def _fitting(
    columns: Sequence[_Column], least: Sequence[str], room: int, gap: int
) -> tuple[list[_Column], list[_Column]]:
    """The columns for which there is room, and the others. Those of zeros go before text is broken for them."""

    def needs(kept: set[int], in_one_line: bool = False) -> int:
        return sum((columns[n].widest if in_one_line else columns[n].least) + gap for n in kept) - gap

    order = {head: place for place, head in enumerate(least)}
    heads = [it.head.partition(",")[0] for it in columns]
    may_go = sorted(
        range(1, len(columns)),
        key=lambda n: (heads[n] not in order, not columns[n].zero, order.get(heads[n], -n)),
    )
    kept, gone = set(range(len(columns))), []
    for n in may_go:
        if needs(kept, in_one_line=columns[n].zero and heads[n] in order) > room:
            kept.remove(n)
            gone.append(n)
    for n in reversed(gone):  # a wide one made room for narrow ones
        if not columns[n].zero and needs(kept | {n}) <= room:
            kept.add(n)
    return [columns[n] for n in sorted(kept)], [it for n, it in enumerate(columns) if n not in kept]


def _widths(columns: Sequence[_Column], room: int, gap: int) -> list[int]:
    """What each needs at least; what is left goes to those that lack least, so that most are in one line."""
    widths = [min(it.least, room) for it in columns]
    left = room - sum(widths) - gap * (len(columns) - 1)
    for n in sorted(range(len(columns)), key=lambda n: columns[n].widest - widths[n]):
        more = max(0, min(columns[n].widest - widths[n], left))
        widths[n] += more
        left -= more
    return widths
