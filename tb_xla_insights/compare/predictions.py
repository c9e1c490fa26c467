"""What A's report says that its fixes gain, beside the step that B measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.compare.measures import differ_in_setup, differ_in_step_size
from tb_xla_insights.compare.session_totals import SessionTotals
from tb_xla_insights.report.finding_text import step_at_worst, step_change

if TYPE_CHECKING:
    from tb_xla_insights.schema.compare import Prediction


def predictions(a: SessionTotals, b: SessionTotals) -> list[Prediction]:
    """Returns the findings of A that recur and gain at least INFO_SHARE of a step, without those that B has as well;
    none if the setups or the sizes of steps differ, of which a prediction says nothing. What happened once is left out:
    it is not expected to happen again."""
    measured_ps = b.report["mistakes"]["usual_step_ps"]
    if measured_ps is None or differ_in_setup(a, b) or differ_in_step_size(a, b):
        return []
    ids_in_b = {finding["id"] for finding in b.report["findings"]}
    rows: list[Prediction] = []
    for number, finding in enumerate(a.report["findings"], start=1):
        change = step_change(finding, a.report)
        if finding["recurs"] == "once" or finding["id"] in ids_in_b:
            continue
        if change and change.gain >= INFO_SHARE:
            rows.append(
                {
                    "number": number,
                    "id": finding["id"],
                    "title": finding["title"],
                    "a_ps": change.before_ps,
                    "best_ps": change.after_ps,
                    "worst_ps": step_at_worst(finding, change),
                    "b_ps": measured_ps,
                }
            )
    return rows
