"""The document of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tb_xla_insights.compare import matching as matches
from tb_xla_insights.compare.device import device_work
from tb_xla_insights.compare.lazy_dynamo import lazy_dynamo
from tb_xla_insights.compare.measures import classes, measures
from tb_xla_insights.compare.sentences import chance_text, headline_row, verdict
from tb_xla_insights.compare.session_totals import SessionTotals
from tb_xla_insights.compare.significance import PermutationTest
from tb_xla_insights.compare.step import usual_step
from tb_xla_insights.report.execution_views import executions
from tb_xla_insights.trace.model import SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.schema.compare import Comparison
    from tb_xla_insights.schema.executions_route import Executions

SCHEMA = 1

_MOST = 200


def compare(
    a: SessionTrace, b: SessionTrace, samples_per_step: tuple[float | None, float | None] = (None, None)
) -> Comparison:
    """Two sessions side by side; differences are B - A and ratios B / A. `samples_per_step` of A and of B come before
    what their recordings were told.

    `a`, `b`: which sessions, with `totals` that are those of their reports. `verdict`: one sentence on the steps;
    `chance`: what the test of chance says of the row that it tells (`measure`): `p`, `share` and a sentence.
    `measures`, `classes`, `steps`, `annotations`, `device_work`, `programs`, `gaps`, `compiles`: values of both.
    `lazy_dynamo`: None unless dynamo launched in exactly one of them.
    """
    sides = {"a": SessionTotals(a, samples_per_step[0]), "b": SessionTotals(b, samples_per_step[1])}
    one, other = sides["a"], sides["b"]
    views = {"a": executions(a), "b": executions(b)}
    test = PermutationTest(one.drawn, other.drawn)
    rows, by_class = measures(one, other, test), classes(one, other, test)
    told = headline_row(one, other, rows)
    programs = matches.programs(one, other)
    work = device_work(one, other, test, programs)
    order = {which: _order(view) for which, view in views.items()}
    return {
        "schema": SCHEMA,
        "a": one.document(),
        "b": other.document(),
        "verdict": verdict(one, other, rows, by_class, work),
        "chance": {
            "measure": told["name"],
            "p": told["p"],
            "share": told["chance"],
            "text": chance_text(one, other, told),
        },
        "measures": rows,
        "classes": by_class,
        "steps": matches.steps(one, other),
        "annotations": matches.annotated(one, other, test),
        "device_work": work,
        "programs": programs,
        "gaps": matches.gaps(one, other),
        "compiles": matches.compiles(one, other),
        "lazy_dynamo": lazy_dynamo(
            one, other, {which: view["between"] for which, view in views.items()}, order
        ),
    }


def _order(view: Executions) -> list[str]:
    """Programs as the usual step runs them."""
    return view["runs"]["program"] if view["runs"] else []


def comparison_view(a: SessionTrace, b: SessionTrace) -> dict[str, Any]:
    """`data/compare`: the document, with the usual step of both on one axis (`step`), and its long tables cut to what a
    screen needs; `count` beside a cut one."""
    document: Any = compare(a, b)
    rows = document["steps"]["rows"]
    return {
        **document,
        "step": {"a": usual_step(a), "b": usual_step(b)},
        "steps": {**document["steps"], "rows": rows[:_MOST], "count": len(rows)},
        "device_work": {name: rows[:_MOST] for name, rows in document["device_work"].items()},
        **{name: document[name][:_MOST] for name in ("annotations", "programs", "compiles")},
    }
