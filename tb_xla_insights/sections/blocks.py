"""What sections consist of. Blocks have values and texts but no form: each medium draws them in its own way, and
leaves out what it cannot draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tb_xla_insights.report.finding_text import FindingGroup, Gain
from tb_xla_insights.tables.definition import Definition

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Detail:
    """How much a medium shows: the most rows of its tables (of gaps None: all that the report has), reasons of gaps and
    counters. `wide`: whether it has space for columns that need much; `duty`: the definition of busy."""

    rows: int
    annotations: int
    ops: int
    gaps: int | None
    chains: int
    counters: int
    wide: bool
    duty: str = "ops"


@dataclass(frozen=True)
class Paragraph:
    """A text; `lead` says what it is. One that is `indented` belongs to the one above."""

    text: str
    lead: str = ""
    severity: str | None = None
    indented: bool = False


@dataclass(frozen=True)
class SectionTable:
    """Rows in the columns of a definition, whose note says which rows these are. `cells` composes the texts of some
    columns, by key; leading spaces of a text are the depth in a tree. `sums` is a last row; `bar` is the key of a share
    that is also drawn as a bar."""

    definition: Definition
    rows: Sequence[Row]
    cells: Mapping[str, Callable[[Row], str]] = field(default_factory=dict)
    sums: Row | None = None
    bar: str | None = None


@dataclass(frozen=True)
class ClassBar:
    """Times by class as one bar."""

    by_class_ps: Mapping[str, int]


@dataclass(frozen=True)
class StepsChart:
    """A bar per step. `note` says which steps these are, if not all."""

    steps: Sequence[Row]
    note: str = ""


@dataclass(frozen=True)
class FindingList:
    """The report's findings in groups, with their gains by id. `cores` is the number of cores that their costs add
    up."""

    groups: Sequence[FindingGroup]
    gains: Mapping[str, Gain]
    cores: int


@dataclass(frozen=True)
class Folded:
    """Blocks that a page shows after a click on the summary."""

    summary: str
    blocks: Sequence[Block]


Block = Paragraph | SectionTable | ClassBar | StepsChart | FindingList | Folded


@dataclass(frozen=True)
class Section:
    """Blocks under one heading: the `title` with the `note`, or without a title the first table's. A `narrow` one needs
    half of a page's width; a `brief` one is part of a summary."""

    blocks: Sequence[Block]
    title: str = ""
    note: str = ""
    narrow: bool = False
    brief: bool = False

    @property
    def heading_table(self) -> SectionTable | None:
        """The table whose heading is the section's, if one is."""
        return None if self.title else next(_tables(self.blocks), None)


def _tables(blocks: Sequence[Block]) -> Iterator[SectionTable]:
    for block in blocks:
        if isinstance(block, SectionTable):
            yield block
        elif isinstance(block, Folded):
            yield from _tables(block.blocks)


def noted(definition: Definition, *notes: str) -> Definition:
    """The table with these notes in place of its own; empty ones are left out."""
    return replace(definition, note="; ".join(filter(None, notes)))
