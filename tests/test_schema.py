"""Documents have exactly the keys and types that `tb_xla_insights.schema` declares, and generated files are up to
date."""

from __future__ import annotations

import json

import pytest
from schema_checks import check_answer, check_document
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from docs.schema.generate import DOCUMENTS, generated_files, json_schema
from tb_xla_insights.report import compile_views, execution_views, gap_views, views
from tb_xla_insights.report.session_view import SessionView

DEMOS = sorted(path.parents[2] for path in LOGDIR.glob("*/plugins/profile/*"))


@pytest.fixture(scope="module")
def sessions() -> list[xi.Session]:
    return [xi.load(str(logdir)) for logdir in DEMOS]


def test_generated_files_are_up_to_date() -> None:
    stale = [
        path.name for path, text in generated_files().items() if path.read_text(encoding="utf-8") != text
    ]
    assert stale == [], "run `make schema`"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_key_that_may_be_null_says_when(name: str) -> None:
    document = json_schema(name)
    silent = [
        f"{title}.{key}"
        for title, part in ((document["title"], document), *document["$defs"].items())
        for key, value in part.get("properties", {}).items()
        if '"null"' in json.dumps(value) and "null" not in value["description"] + part["description"]
    ]
    assert silent == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_each_time_is_an_integer(name: str) -> None:
    document = json_schema(name)
    others = [
        f"{title}.{key}"
        for title, part in ((document["title"], document), *document["$defs"].items())
        for key, value in part.get("properties", {}).items()
        if key.endswith("_ps") and '"type": "number"' in json.dumps(value)
    ]
    assert others == []


def test_comparisons_fit(sessions: list[xi.Session]) -> None:
    for first, second in zip(sessions, [*sessions[1:], sessions[0]], strict=True):
        check_document(first.compare(second), "compare")


def test_answers_of_routes_fit(sessions: list[xi.Session]) -> None:
    for trace in (session.trace for session in sessions):
        gaps = gap_views.gaps(SessionView(trace))
        first_gaps = [
            gap_views.gap(SessionView(trace), row["device"], row["start_ps"], other_host=1)
            for row in gaps["items"][:1]
        ]
        device = [trace.devices[0].id] if trace.devices else []
        check_answer(views.overview(SessionView(trace)), "overview")
        check_answer({"counts": views.counts(SessionView(trace))}, "counts")
        check_answer(gaps, "gaps")
        for gap in first_gaps:
            check_answer(gap, "gap")
        check_answer(execution_views.executions(SessionView(trace)), "executions")
        check_answer(execution_views.executions(SessionView(trace), devices=device), "executions")
        check_answer(compile_views.compiles(SessionView(trace)), "compiles")


def test_unknown_keys_and_wrong_types_are_detected(sessions: list[xi.Session]) -> None:
    report = sessions[0].report()
    for change in ({"more": 1}, {"schema": "1"}, {"gaps": report["gaps"] | {"count": None}}):
        with pytest.raises(ValueError, match="validation error"):
            check_document(report | change, "report")
