"""Sections as cards of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from markupsafe import Markup

from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.html.charts import MAX_BARS, steps_chart
from tb_xla_insights.html.markup import Child, HtmlColumn, class_chip, element, share_bar, stacked_bar, table
from tb_xla_insights.report.finding_text import FindingGroup, Gain, Tag
from tb_xla_insights.sections.blocks import (
    Block,
    ClassBar,
    FindingList,
    Folded,
    Paragraph,
    Row,
    Section,
    SectionTable,
    StepsChart,
)
from tb_xla_insights.tables.definition import Column
from tb_xla_insights.text import units

_MAX_LINE_CHARS = 60
"""A longer text takes several lines of a cell, and a longer name is shortened."""

_INDENT_PX = 6
"""The width of a leading space of a name in a tree."""


def card(section: Section) -> Markup:
    """The section with its blocks under its heading."""
    heading_table = section.heading_table
    if heading_table is not None:
        heading = _heading(heading_table.definition.title, heading_table.definition.note)
    else:
        heading = _heading(section.title, section.note)
    children = (
        child for block in section.blocks for child in _block(block, headed=block is not heading_table)
    )
    return element("section", heading, children, class_="card" if section.narrow else "card wide")


def _heading(title: str, note: str) -> Markup | None:
    return element("h2", title, element("small", note) if note else None) if title else None


def _block(block: Block, headed: bool = False) -> Iterator[Markup | None]:
    """The elements of a block, with a table's heading if it is `headed`."""
    match block:
        case Paragraph():
            yield _paragraph(block)
        case SectionTable():
            yield _heading(block.definition.title, block.definition.note) if headed else None
            yield _table(block)
        case ClassBar():
            yield stacked_bar(block.by_class_ps)
        case StepsChart():
            yield steps_chart(block.steps[:MAX_BARS])
            yield _legend(block)
        case FindingList():
            yield _heading("Findings", "")
            yield from _findings(block)
        case Folded():
            yield element("details", element("summary", block.summary), *map(_block, block.blocks))


def _paragraph(paragraph: Paragraph) -> Markup:
    lead = None
    if paragraph.severity:
        lead = element("span", paragraph.lead, class_=f"tag {paragraph.severity}")
    elif paragraph.lead:
        lead = element("b", f"{paragraph.lead}:")
    indented = "indented" if paragraph.indented else None
    return element("p", lead, " " if lead else None, paragraph.text, class_=indented)


def _table(block: SectionTable) -> Markup:
    """The table without empty columns."""
    rows = [*block.rows, *([block.sums] if block.sums is not None else [])]
    time_units = block.definition.time_units(rows)
    columns: list[HtmlColumn] = []
    for column, head in zip(block.definition.columns, block.definition.heads(time_units), strict=True):
        text = block.cells.get(column.key) or partial(column.text, time_unit=time_units.get(column.key, ""))
        if columns and column.is_empty(map(text, rows)):
            continue
        columns.append(HtmlColumn(head, partial(_cell, column, text), left=column.is_text))
        if column.key == block.bar:
            columns.append(HtmlColumn("", partial(_share_bar, column.key), left=True))
    return table(block.rows, *columns, sums=block.sums)


def _cell(column: Column, text_of: Callable[[Row], str], row: Row) -> Child:
    """Names from the program as code, classes with their colour, times by class as a bar, names in a tree indented; all
    others as text."""
    value, text = row.get(column.key), text_of(row)
    if column.unit == "by class":
        return stacked_bar(value or {}, "thin")
    if column.unit == "class" and value in CLASSES:
        return class_chip(value, text)
    if column.unit == "code":
        return element("code", text, title=value if isinstance(value, str) and value != text else None)
    name = text.lstrip(" ")
    if depth := len(text) - len(name):
        return element("span", name, style=f"padding-left:{_INDENT_PX * depth}px")
    if not column.is_text or len(text) <= _MAX_LINE_CHARS:
        return text
    if " " in text:
        return element("div", text, class_="text")
    return element("span", units.cut_middle(text, _MAX_LINE_CHARS), title=text)


def _share_bar(key: str, row: Row) -> Markup:
    return share_bar(row[key] or 0.0)


def _legend(chart: StepsChart) -> Markup:
    names = [name for name in CLASSES if any(name in step["host_ps"] for step in chart.steps[:MAX_BARS])]
    notes = (
        chart.note,
        units.cut_note(MAX_BARS, len(chart.steps)),
        "the line is the device work that the step launched, of the busiest core",
    )
    chips = (element("span", class_chip(name)) for name in names)
    return element("div", chips, element("span", "; ".join(filter(None, notes))), class_="legend")


def _findings(findings: FindingList) -> Iterator[Markup]:
    if not findings.groups:
        yield element("p", "No findings.")
    for group in findings.groups:
        yield _group(group, findings)


def _group(group: FindingGroup, findings: FindingList) -> Markup:
    note, gain = element("small", group.note), element("small", group.gain, class_="gain")
    head = element("h3", group.title, note, gain, class_="group")
    items = (_finding(row, group.tag, findings.gains[row["id"]]) for row in group.findings)
    return element("div", head, element("ol", items, class_="findings"))


def _finding(finding: Row, tag: Tag, gain: Gain) -> Markup:
    severity = finding["severity"]
    return element(
        "li",
        element(
            "h3",
            element("span", severity, class_=f"tag {severity}"),
            element("span", tag, class_=f"tag {tag}"),
            element("span", finding["title"]),
        ),
        element("span", *_gain(gain), class_="gain"),
        element("p", finding["detail"]),
        element("p", element("b", "Do: "), finding["advice"], class_="do"),
    )


def _gain(gain: Gain) -> tuple[Child, ...]:
    if not gain.share:
        return (element("small", gain.basis),)
    return element("b", gain.share), f" {gain.basis} ", element("small", gain.change)
