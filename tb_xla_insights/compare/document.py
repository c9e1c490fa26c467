"""Builds the document of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tb_xla_insights.compare.device import compare_device_work
from tb_xla_insights.compare.executions import main_pair
from tb_xla_insights.compare.lazy_dynamo import compare_lazy_dynamo
from tb_xla_insights.compare.matching import (
    compare_compiles,
    compare_gaps,
    match_annotations,
    match_programs,
    match_steps,
)
from tb_xla_insights.compare.measures import class_rows, measure_rows, sum_of_times
from tb_xla_insights.compare.predictions import predictions
from tb_xla_insights.compare.sentences import chance, compare_verdict, op_names_text
from tb_xla_insights.compare.session_totals import SessionTotals
from tb_xla_insights.compare.significance import PermutationTest
from tb_xla_insights.compare.step import default_step_view
from tb_xla_insights.report.execution_views import executions
from tb_xla_insights.text.english import sentence_parts

if TYPE_CHECKING:
    from tb_xla_insights.report.session_view import SessionView
    from tb_xla_insights.schema.compare import Comparison
    from tb_xla_insights.schema.compare_route import CompareAnswer
    from tb_xla_insights.schema.executions_route import Executions

SCHEMA_VERSION = 1
"""Increases if a key changes its meaning or is removed; additional keys do not change it."""

_MAX_ROWS = 200


def compare(
    a: SessionView, b: SessionView, samples_per_step: tuple[float | None, float | None] = (None, None)
) -> Comparison:
    """Compares two sessions; differences are B - A and ratios B / A. `samples_per_step` of A and of B override the
    recorded numbers.

    `a`, `b`: the sessions, with `totals` equal to those of their reports. `verdict`: a few sentences on the steps, or
    on the runs of `program` if a session has no steps. `chance`: the test result of the verdict's row (`measure`): `p`,
    `share` and a sentence. `measures`, `classes`, `steps`, `annotations`, `device_work`, `programs`, `gaps`,
    `compiles`: values of both. `lazy_dynamo`: None unless one session is lazy and the other dynamo.
    """
    return _compare(a, b, samples_per_step).document


class _Compared(NamedTuple):
    """A comparison, the pieces of its verdict (see `english.sentence_parts`), and the numbers of pairs of programs that
    follow each other in A and in B."""

    document: Comparison
    verdict_pieces: list[str]
    between_counts: list[int]


def _compare(
    a: SessionView, b: SessionView, samples_per_step: tuple[float | None, float | None] = (None, None)
) -> _Compared:
    totals_a, totals_b = SessionTotals(a, samples_per_step[0]), SessionTotals(b, samples_per_step[1])
    views = {"a": executions(a), "b": executions(b)}
    test = PermutationTest(totals_a.sample, totals_b.sample)
    programs = match_programs(totals_a, totals_b)
    pair = main_pair(totals_a, totals_b, programs)
    measures, classes = measure_rows(totals_a, totals_b, test, pair), class_rows(totals_a, totals_b, test)
    device_work = compare_device_work(totals_a, totals_b, test, programs, pair)
    between = {side: view["between"] for side, view in views.items()}
    order = {side: _program_order(view) for side, view in views.items()}
    verdict, pieces = compare_verdict(totals_a, totals_b, pair, measures, classes, device_work, programs)
    document: Comparison = {
        "schema": SCHEMA_VERSION,
        "a": totals_a.document(),
        "b": totals_b.document(),
        "verdict": verdict,
        "chance": chance(totals_a, totals_b, pair, measures),
        "predictions": predictions(totals_a, totals_b),
        "measures": measures,
        "classes": classes,
        "steps": match_steps(totals_a, totals_b),
        "annotations": match_annotations(totals_a, totals_b, test),
        "device_work": device_work,
        "programs": programs,
        "gaps": compare_gaps(totals_a, totals_b),
        "compiles": compare_compiles(totals_a, totals_b),
        "lazy_dynamo": compare_lazy_dynamo(totals_a, totals_b, between, order),
    }
    return _Compared(document, pieces, [view["between_count"] for view in views.values()])


def _program_order(view: Executions) -> list[str]:
    """Returns the programs in the order of the default step's runs."""
    return view["runs"]["program"] if view["runs"] else []


def comparison_view(a: SessionView, b: SessionView) -> CompareAnswer:
    """Returns `data/compare`: the document with the default step of both on one axis (`step`). Its long tables are cut
    to _MAX_ROWS rows; `count` in `steps` and `row_counts` are their full lengths, `device_time` has the sums of
    `device_work`. Phases come before other annotations."""
    document, verdict_pieces, between_counts = _compare(a, b)
    steps, work = document["steps"], document["device_work"]
    annotations = sorted(document["annotations"], key=lambda row: not row["phase"])
    device_time = sum_of_times(work["annotations"])
    annotated = sum_of_times(row for row in work["annotations"] if row["path"] is not None)
    shares = [
        (part or 0) / whole if whole else None
        for part, whole in (
            (annotated["a_ps"], device_time["a_ps"]),
            (annotated["b_ps"], device_time["b_ps"]),
        )
    ]
    return {
        **document,
        "lead": sentence_parts(verdict_pieces),
        "class_total": sum_of_times(document["classes"]),
        "device_time": {"all": device_time, "annotated_share": shares},
        "row_counts": {
            "device_annotations": len(work["annotations"]),
            "device_ops": len(work["ops"]),
            "annotations": len(annotations),
            "programs": len(document["programs"]),
            "compiles": len(document["compiles"]),
            "between": between_counts,
        },
        "step": {"a": default_step_view(a), "b": default_step_view(b)},
        "steps": {**steps, "rows": steps["rows"][:_MAX_ROWS], "count": len(steps["rows"])},
        "device_work": {
            "annotations": work["annotations"][:_MAX_ROWS],
            "ops": [{**row, "name": op_names_text(row)} for row in work["ops"][:_MAX_ROWS]],
        },
        "annotations": annotations[:_MAX_ROWS],
        "programs": document["programs"][:_MAX_ROWS],
        "compiles": document["compiles"][:_MAX_ROWS],
    }
