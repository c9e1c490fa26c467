"""The section on the iterations of a server."""

from __future__ import annotations

from tb_xla_insights.analysis.iterations.texts import main_kind
from tb_xla_insights.report.iterations_text import (
    iteration_row,
    iterations_headline,
    kind_name,
    part_rows,
    while_serving,
)
from tb_xla_insights.sections.blocks import Detail, Paragraph, Row, Section, SectionTable, noted
from tb_xla_insights.tables.iterations import ITERATIONS, PARTS


def iterations(report: Row, detail: Detail) -> Section | None:
    """The iterations by kind, and the parts of those that wait longest."""
    if not report["iterations"] or not (kinds := report["iterations"]["kinds"]):
        return None
    shown = main_kind(kinds)
    sentences = iterations_headline(report), while_serving(report)
    return Section(
        [
            Paragraph(" ".join(filter(None, sentences))),
            SectionTable(ITERATIONS, [*map(iteration_row, kinds[: detail.rows])]),
            SectionTable(noted(PARTS, kind_name(shown)), part_rows(shown)),
        ]
    )
