"""The section on what fills the memory of a device."""

from __future__ import annotations

from collections.abc import Sequence

from tb_xla_insights.report.memory_text import memory_details, memory_headline, waited_for_memory_ps
from tb_xla_insights.report.memory_tree import KINDS, memory_tree
from tb_xla_insights.sections.blocks import Block, Detail, Paragraph, Row, Section, SectionTable, noted
from tb_xla_insights.tables.memory import MEMORY, MEMORY_BY_ANNOTATION
from tb_xla_insights.text import units


def memory_at_the_peak(report: Row, detail: Detail) -> Section | None:
    """The programs with the highest peaks, and what is alive at the highest one, by annotation."""
    rows = report["memory"]
    if not rows:
        return None
    cut = units.cut_note(detail.rows, len(rows))
    programs = SectionTable(noted(MEMORY, MEMORY.note, cut), rows[: detail.rows], {"peak_bytes": _peak_text})
    blocks: list[Block] = [programs]
    tree: Sequence[Row] = memory_tree(rows[0]["by_annotation"])
    waited_ps = waited_for_memory_ps(report)
    sentences = memory_headline(rows[0], tree, waited_ps), memory_details(rows[0], tree, waited_ps)
    blocks.append(Paragraph(" ".join(filter(None, sentences))))
    if tree:
        peak_bytes = rows[0]["peak_bytes"]
        shown = [_with_sum({**row, "path": "  " * row["depth"] + row["name"]}, peak_bytes) for row in tree]
        sums = {
            "path": "peak",
            **{kind: sum(row[kind] for row in tree if not row["depth"]) for kind in KINDS},
        }
        of_program = f"at the peak of {units.cut_middle(rows[0]['program'])}"
        definition = noted(MEMORY_BY_ANNOTATION, of_program, units.cut_note(detail.annotations, len(tree)))
        table = SectionTable(definition, shown[: detail.annotations], sums=_with_sum(sums, peak_bytes))
        blocks.append(table)
    return Section(blocks)


def _peak_text(row: Row) -> str:
    peak = units.byte_size(row["peak_bytes"])
    return peak if row["exact"] else f"{peak} to {units.byte_size(row['total_bytes'])}"


def _with_sum(row: Row, peak_bytes: int) -> Row:
    sum_bytes = sum(row[kind] for kind in KINDS)
    parts = {kind: row[kind] or None for kind in KINDS}
    return {**row, **parts, "sum_bytes": sum_bytes, "share": sum_bytes / peak_bytes if peak_bytes else None}
