"""Documents have the keys that `tb_xla_insights.schema` names, of these types, and no others; what is generated from it
is up to date."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from pydantic import TypeAdapter
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from docs.schema.generate import DOCUMENTS, generated, json_schema
from tb_xla_insights.report import execution_views, gap_views, views
from tb_xla_insights.schema.routes import Routes

DEMOS = sorted(path.parents[2] for path in LOGDIR.glob("*/plugins/profile/*"))


def fits(document: Mapping[str, Any], name: str) -> None:
    """Raises where a JSON document has another key or another type than the schema says."""
    checker(name).validate_json(json.dumps(document), strict=True)


def fits_route(answer: Mapping[str, Any], route: str) -> None:
    """Raises where the answer of a route has another key or another type than the schema says."""
    route_checker(route).validate_json(json.dumps(answer), strict=True)


@cache
def route_checker(route: str) -> TypeAdapter[Any]:
    json_schema("routes")  # forbids other keys
    return TypeAdapter(get_type_hints(Routes)[route])


@cache
def checker(name: str) -> TypeAdapter[Any]:
    """Built once, for the documents of all sessions."""
    json_schema(name)  # forbids other keys
    return TypeAdapter(DOCUMENTS[name])


@pytest.fixture(scope="module")
def sessions() -> list[xi.Session]:
    return [xi.load(str(logdir)) for logdir in DEMOS]


GENERATED = generated()


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_generated_files_are_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == GENERATED[path], "run `make schema`"


def test_reports_fit(sessions: list[xi.Session]) -> None:
    for session in sessions:
        fits(session.report(), "report")


def test_windows_fit(sessions: list[xi.Session]) -> None:
    for session in sessions:
        fits(session.window(0, session.duration_ps // 3), "window")


def test_comparisons_fit(sessions: list[xi.Session]) -> None:
    for first, second in zip(sessions, [*sessions[1:], sessions[0]], strict=True):
        fits(first.compare(second), "compare")


def test_reports_of_real_captures_fit(shared_traces: Path) -> None:
    folders = [path for path in sorted(shared_traces.glob("torch_xla/tiny_*")) if (path / "plugins").is_dir()]
    assert folders
    for folder in folders:
        fits(xi.load(str(folder)).report(), "report")


def test_answers_of_routes_fit(sessions: list[xi.Session]) -> None:
    for trace in (session.trace for session in sessions):
        gaps = gap_views.gaps(trace)
        first = [
            gap_views.gap(trace, item["device"], item["start_ps"], beside=1) for item in gaps["items"][:1]
        ]
        device = [trace.devices[0].id] if trace.devices else []
        fits_route(views.overview(trace), "overview")
        fits_route({"counts": views.counts(trace)}, "counts")
        fits_route(gaps, "gaps")
        for gap in first:
            fits_route(gap, "gap")
        fits_route(execution_views.executions(trace), "executions")
        fits_route(execution_views.executions(trace, devices=device), "executions")
        fits_route(execution_views.compiles(trace), "compiles")


def test_another_key_and_another_type_are_found(sessions: list[xi.Session]) -> None:
    report = sessions[0].report()
    for wrong in ({"more": 1}, {"schema": "1"}, {"gaps": report["gaps"] | {"count": None}}):
        with pytest.raises(ValueError, match="validation error"):
            fits(report | wrong, "report")
