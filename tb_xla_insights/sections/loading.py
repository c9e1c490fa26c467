"""The section on loading: whether devices wait for data, what loads it, and how much of the loading is hidden."""

from __future__ import annotations

from tb_xla_insights.report.input_text import input_sentences
from tb_xla_insights.sections.blocks import Detail, Paragraph, Row, Section
from tb_xla_insights.text import units


def loading(report: Row, _: Detail) -> Section | None:
    """The section; None if no loading is recorded."""
    pipeline = report["input_pipeline"]
    if pipeline["verdict"] == "unknown":
        return None
    texts = input_sentences(report)
    for activity, key in (("Loading", "load"), ("Sending to devices", "send")):
        if pipeline[f"{key}_hidden"] is not None:
            time, hidden = units.time_text(pipeline[f"{key}_ps"]), units.share(pipeline[f"{key}_hidden"])
            texts.append(f"{activity} takes {time}; during {hidden} of that some device works.")
    return Section([Paragraph(text) for text in texts], "Input", narrow=True)
