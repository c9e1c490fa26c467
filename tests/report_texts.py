"""Reports of the demo sessions as text, as the command line prints them."""

from __future__ import annotations

import functools
import io
import itertools
from collections.abc import Callable
from typing import Any

from rich.console import Console
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from tb_xla_insights.cli.report_text import DETAIL, print_report, print_sections
from tb_xla_insights.sections.blocks import Detail, Section

CASE_STUDY = "synthetic_case_study_8_tpu_cores"
UNLIMITED_WIDTH = 100_000


@functools.cache
def report(name: str) -> Any:
    return xi.load(str(LOGDIR / name)).report()


@functools.cache
def text_of(name: str, width: int = UNLIMITED_WIDTH) -> str:
    return printed(report(name), width)


def printed(document: dict[str, Any], width: int = UNLIMITED_WIDTH) -> str:
    out = console(width)
    print_report(out, document)
    return printed_text(out)


def section_text(make: Callable[[Any, Detail], Section | None], document: Any) -> str:
    """The text of one section, without line breaks and with single spaces."""
    out, made = console(), make(document, DETAIL)
    assert made is not None
    print_sections(out, [made])
    return single_spaced(printed_text(out))


def console(width: int = UNLIMITED_WIDTH) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)


def printed_text(out: Console) -> str:
    """What was printed on a console from `console`, without spaces at the ends of lines."""
    assert isinstance(out.file, io.StringIO)
    return "\n".join(line.rstrip(" ") for line in out.file.getvalue().splitlines())


def single_spaced(text: str) -> str:
    return " ".join(text.split())


def section(text: str, title: str) -> list[str]:
    """The lines from the title to the next empty one, with single spaces."""
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line == title or line.startswith(f"{title} ("))
    return [single_spaced(line) for line in lines[start : lines.index("", start)]]


def column_headings(text: str, title: str) -> str:
    """The line with the headings of a table's columns, which follows its title."""
    lines = text.splitlines()
    return next(following for line, following in itertools.pairwise(lines) if line.startswith(f"{title} ("))
