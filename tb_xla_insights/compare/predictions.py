"""What A's report says that its fixes gain, beside the step that B measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.report.finding_text import step_change

if TYPE_CHECKING:
    from tb_xla_insights.schema.compare import Prediction

Row = Mapping[str, Any]


def predictions(a: Row, b: Row) -> list[Prediction]:
    """Returns the findings of report `a` that recur and gain at least INFO_SHARE of a step, without those that `b` has
    as well; none if the setups differ, of which a prediction says nothing. What happened once is left out: it is not
    expected to happen again."""
    measured_ps = b["mistakes"]["usual_step_ps"]
    if measured_ps is None or a["environment"]["label"] != b["environment"]["label"]:
        return []
    ids_in_b = {finding["id"] for finding in b["findings"] if (finding["gain"] or 0) >= INFO_SHARE}
    rows: list[Prediction] = []
    for number, finding in enumerate(a["findings"], start=1):
        change = step_change(finding, a)
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
                    "worst_ps": change.after_at_worst_ps,
                    "b_ps": measured_ps,
                }
            )
    return rows
