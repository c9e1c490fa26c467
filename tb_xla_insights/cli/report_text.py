"""Prints the report as text: the verdict, then its sections, without charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tb_xla_insights.cli import elements
from tb_xla_insights.sections import report_sections
from tb_xla_insights.sections.blocks import (
    Block,
    Detail,
    FindingList,
    Folded,
    Paragraph,
    Section,
    SectionTable,
)
from tb_xla_insights.text import units
from tb_xla_insights.text.escapes import escape_text

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]

DETAIL = Detail(
    rows=elements.MAX_ROWS,
    annotations=24,
    ops=elements.MAX_ROWS,
    gaps=elements.MAX_ROWS,
    chains=0,
    counters=0,
    wide=False,
)


def print_report(out: Console, document: Document, duty: str = "ops") -> None:
    """Prints a session's report; `duty` is the definition of busy for the devices."""
    _print_head(out, document)
    print_sections(out, report_sections(document, replace(DETAIL, duty=duty)))


def _print_head(out: Console, document: Document) -> None:
    session, environment = document["session"], document["environment"]
    elements.print_paragraph(out, document["verdict"]["headline"], style="bold")
    if document["verdict"]["details"]:
        elements.print_paragraph(out, document["verdict"]["details"])
    out.print()
    if session["description"]:
        elements.print_paragraph(out, session["description"])
        out.print()
    system = f"{environment['label']}{' · synthetic' if environment['synthetic'] else ''}"
    start = int(session["start_unix_ns"])
    out.print(f"Session   {escape_text(session['name'])}")
    out.print(f"System    {escape_text(system)}")
    out.print(f"Start     {units.utc_text(start)}{' UTC' if start else ''}")
    out.print(f"Duration  {units.time_text(session['duration_ps'])}\n")


def print_sections(out: Console, sections: Iterable[Section]) -> None:
    """Prints sections, with an empty line between a paragraph and the next section."""
    last: Block | None = None
    for section in sections:
        if isinstance(last, Paragraph):
            out.print()
        if section.title:
            elements.print_paragraph(out, section.title, style="bold")
        for block in section.blocks:
            _print_block(out, block)
            last = block


def _print_block(out: Console, block: Block) -> None:
    match block:
        case Paragraph():
            text = f"{block.lead}: {block.text}" if block.lead else block.text
            elements.print_paragraph(out, text, indent="   " if block.indented else "")
        case SectionTable():
            out.print(elements.table(block.definition, block.rows, block.cells, sums=block.sums))
        case Folded():
            for inner in block.blocks:
                _print_block(out, inner)
        case FindingList():
            _print_findings(out, block)


def _print_findings(out: Console, findings: FindingList) -> None:
    if not findings.groups:
        out.print("No findings.\n", style="bold")
    number, cores = 0, " on all cores" if findings.cores > 1 else ""
    for group in findings.groups:
        gain = f"; {group.gain}" if group.gain else ""
        elements.print_paragraph(out, f"{group.title}: {group.note}{gain}", style="bold")
        for finding in group.findings:
            number += 1
            cost = f", costs {units.brief_time(finding['cost_ps'])}{cores}" if finding["cost_ps"] else ""
            tags = f"{finding['severity'].capitalize()}, {group.tag}"
            title = f"{number}. {tags}: {finding['title']}  {findings.gains[finding['id']].text}"
            elements.print_paragraph(out, f"{title} ({finding['id']}{cost})")
            elements.print_paragraph(out, finding["detail"], indent="   ")
            elements.print_paragraph(out, f"Do: {finding['advice']}", indent="   ")
        out.print()
