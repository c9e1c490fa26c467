"""What holds for the report of every capture: demos, recorded captures, and real ones where there are some. Each is
read once for all tests."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from conftest import TRACES_VARIABLE
from contradictions import broken_rules
from schema_checks import check_answer, check_document
from synthetic.__main__ import LOGDIR
from test_frameworks import foreign_sentences
from test_words import AVOIDED

import tb_xla_insights as xi
from tb_xla_insights.analysis.environment import framework_of
from tb_xla_insights.analysis.findings.finding import MAX_TITLE_LENGTH
from tb_xla_insights.analysis.findings.worth import sort_rows
from tb_xla_insights.analysis.propagation.annotations_view import propagation_view
from tb_xla_insights.catalog import CLASSES
from tb_xla_insights.cli.printing import console
from tb_xla_insights.cli.report_text import print_report
from tb_xla_insights.cli.screen import MAX_LINES, MAX_WIDTH, print_screen
from tb_xla_insights.report import compile_views, execution_views, gap_views, views
from tb_xla_insights.report.finding_text import gain_of
from tb_xla_insights.report.gap_text import gap_sentence
from tb_xla_insights.report.headline import fits
from tb_xla_insights.report.one_step import one_step
from tb_xla_insights.report.session_view import SessionView

TESTS = Path(__file__).parent
SHARED = Path(os.environ.get(TRACES_VARIABLE) or TESTS.parents[1] / "shared" / "traces")
CAPTURES = sorted(
    path.parent for root in (LOGDIR, TESTS / "recorded", SHARED) for path in root.glob("**/plugins")
)
NAME = "{0.parent.name}-{0.name}".format
EDITED = [
    folder for folder in CAPTURES if folder.parent.name in ("demo_logs", "torch_xla", "other", "public")
]
"""Captures whose texts have been edited to be read at a glance."""

VIEWS = (
    views.overview,
    gap_views.gaps,
    execution_views.executions,
    compile_views.compiles,
)
MAX_VIEW_BYTES = 60_000

MAX_DETAILS_LENGTH = 400
MAX_EVIDENCE_LENGTH = 260
MAX_ADVICE_LENGTH = 240

DECIMALS = re.compile(r"\d\.\d{4,}")
TIME = re.compile(r"\d\u202f(s|ms|µs|ns)\b")


def test_the_shared_captures_are_of_all_frameworks(shared_traces: Path) -> None:
    """Without them, the tests of this file read recorded and synthetic captures only."""
    of_each_set = {folder.parent: folder for folder in CAPTURES if shared_traces in folder.parents}
    frameworks = {framework_of(xi.load(str(folder)).trace.traces[0]) for folder in of_each_set.values()}
    assert frameworks >= {"torch_xla", "torch_tpu", "jax", "tensorflow"}


@pytest.fixture(scope="module", params=CAPTURES, ids=NAME)
def loaded(request: pytest.FixtureRequest) -> xi.Session:
    return xi.load(str(request.param))


@pytest.fixture(scope="module")
def report(loaded: xi.Session) -> Any:
    return loaded.report()


def has_only_exact_integers(document: Any) -> bool:
    """Whether every integer is exact in a double, as larger ones are decimal strings."""
    if isinstance(document, dict):
        return all(has_only_exact_integers(value) for value in document.values())
    if isinstance(document, list):
        return all(map(has_only_exact_integers, document))
    return not isinstance(document, int) or abs(document) < 2**53


def sentences(text: str) -> list[str]:
    """A sentence ends with a point before a space or the end; a colon or semicolon ends none."""
    return [part for part in re.split(r"(?<=\.)\s+(?=\S)", text) if part]


def find_texts(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The verdict, the diagnostics, the findings and the first 50 gaps of a report, as users read them, each with its
    field."""
    yield "verdict", report["verdict"]["text"]
    for diagnostic in report["diagnostics"]:
        yield "diagnostic", diagnostic["message"]
    for finding in report["findings"]:
        for name in ("title", "brief", "detail", "advice"):
            yield f"{finding['id']}, {name}", finding[name]
        yield f"{finding['id']}, gain", gain_of(finding, report).text
    framework = report["environment"]["framework"]
    for gap in report["gaps"]["items"][:50]:
        yield "gap", gap_sentence(gap, framework)


def test_a_report_has_its_keys_and_sums(report: Any) -> None:
    check_document(report, "report")
    # Without the slower encoder of Python, which `json_bytes` would also use.
    assert orjson.loads(orjson.dumps(report)) == report
    assert has_only_exact_integers(report)
    assert report["session"]["start_unix_ns"].isdigit()
    missing = {"no_device_plane", "device_without_work"} & {
        diagnostic["id"] for diagnostic in report["diagnostics"]
    }
    assert report["devices"] or missing
    for device in report["devices"]:
        assert device["busy_ps"] + device["idle_ps"] == device["span_ps"]
        assert 0 <= device["stall_ps"] <= device["busy_ps"]
        assert 0 <= device["duty_cycle"] <= 1


def test_sums_hold_exactly(report: Any) -> None:
    gaps, devices = report["gaps"], report["devices"]
    assert gaps["total_ps"] == sum(device["idle_ps"] for device in devices)
    assert gaps["listed_ps"] == sum(gaps["by_class_ps"].values()) <= gaps["total_ps"]
    for gap in gaps["items"]:
        assert sum(gap["by_class_ps"].values()) == gap["duration_ps"]
        assert sum(link["duration_ps"] for link in gap["chain"]) == gap["duration_ps"]
    for step in report["steps"]:
        assert sum(step["host_ps"].values()) == step["duration_ps"]
    for row in report["executions"]:
        assert row["host_ps"] == row["device_ps"] + row["queue_ps"] + row["overhead_ps"]


@pytest.mark.parametrize("loaded", EDITED, ids=NAME, indirect=True, scope="module")
def test_findings_are_in_order_and_consistent(report: Any) -> None:
    findings, mistakes, steps = report["findings"], report["mistakes"], report["steps"]
    assert len({finding["id"] for finding in findings}) == len(findings)
    assert findings == sort_rows(findings)
    mean = sum(step["duration_ps"] for step in steps) / len(steps) if steps else 0
    for finding in findings:
        fixed_ps = finding["step_if_fixed_ps"]
        if finding["kind"] == "mistake" and fixed_ps is not None:
            assert mistakes["step_if_fixed_ps"] <= fixed_ps
        assert (finding["gain_at_worst"] is None) == (fixed_ps is None)
        assert 0 <= (finding["gain_at_worst"] or 0) <= (finding["gain"] or 0) <= 1
        assert finding["recurs"] != "once" or finding["severity"] != "critical"
        assert finding["title"]
        if fixed_ps is not None and len(report["session"]["hosts"]) == 1:
            assert 0 < fixed_ps <= mean + 1
        for window in finding["windows"]:
            assert 0 <= window["start_ps"] <= window["end_ps"] <= report["session"]["duration_ps"]


def test_one_step_adds_up_to_the_usual_step(report: Any) -> None:
    step, usual_ps = one_step(report), report["mistakes"]["usual_step_ps"]
    if step is None:
        assert not report["step_idle"]["work_ps"]
        return
    for key in ("ps", "once_ps"):
        times = [part[key] for part in step["parts"]]
        assert all(type(ps) is int and ps >= 0 for ps in times)
        assert sum(times) == step["now_ps" if key == "ps" else "once_ps"]
    if step["per"] == "second":
        assert (step["now_ps"], step["once_ps"], step["rungs"]) == (10**12, 0, [])
    elif usual_ps:
        assert step["now_ps"] == usual_ps
        assert step["now_ps"] + step["once_ps"] == report["mistakes"]["step_ps"]
    for rung in step["rungs"]:
        assert rung["best_ps"] <= rung["worst_ps"] <= step["now_ps"]
        assert rung["gain"] >= 0.01


def test_classes_add_up_in_every_window(loaded: xi.Session, report: Any) -> None:
    duration_ps = report["session"]["duration_ps"]
    for start, end in [(0, duration_ps), (duration_ps // 3, duration_ps // 2)]:
        window = loaded.window(start, end)
        check_document(window, "window")
        assert has_only_exact_integers(window)
        for host in window["hosts"]:
            assert set(host["by_class_ps"]) <= set(CLASSES)
            assert sum(host["by_class_ps"].values()) == end - start, host["host"]
        for device in window["devices"]:
            assert device["busy_ps"] + device["idle_ps"] <= end - start


def test_the_text_names_the_session(
    loaded: xi.Session, report: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    print_screen(console(), report)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= MAX_WIDTH
    print_report(console(), report)
    assert loaded.name in capsys.readouterr().out


def test_views_have_their_keys_and_are_small(loaded: xi.Session) -> None:
    answers: dict[str, Any] = {view.__name__: view(loaded.view) for view in VIEWS}
    for name, answer in answers.items():
        check_answer(answer, name)
    check_answer({"counts": views.counts(loaded.view)}, "counts")
    answers["propagation"] = propagation_view(loaded.view.hosts)
    for name, answer in answers.items():
        text = json.dumps(answer, separators=(",", ":"), allow_nan=False)
        is_small = len(text) < MAX_VIEW_BYTES  # packing takes longer than most views
        assert is_small or len(gzip.compress(text.encode(), 6)) < MAX_VIEW_BYTES, name


def test_a_report_does_not_contradict_itself(report: Any) -> None:
    assert broken_rules(report) == []


def test_no_other_framework_is_mentioned(report: Any) -> None:
    assert foreign_sentences(report) == []


@pytest.mark.parametrize("loaded", EDITED, ids=NAME, indirect=True, scope="module")
def test_a_gap_and_the_executions_of_one_device_have_their_keys(loaded: xi.Session, report: Any) -> None:
    view = SessionView(loaded.trace)
    for gap in report["gaps"]["items"][:1]:
        check_answer(gap_views.gap(view, gap["device"], gap["start_ps"], other_host=1), "gap")
    devices = [device["id"] for device in report["devices"][:1]]
    check_answer(execution_views.executions(view, devices=devices), "executions")


@pytest.mark.parametrize("loaded", EDITED, ids=NAME, indirect=True, scope="module")
def test_findings_and_verdict_are_read_at_a_glance(report: Any) -> None:
    """A title, at most two sentences of evidence, one of advice, and none of them long."""
    for finding in report["findings"]:
        title, detail, advice = (finding[name] for name in ("title", "detail", "advice"))
        assert len(title) <= MAX_TITLE_LENGTH
        assert not title.endswith(".")
        assert len(sentences(detail)) <= 2, detail
        assert len(detail) <= MAX_EVIDENCE_LENGTH, detail
        assert len(sentences(advice)) == 1, advice
        assert len(advice) <= MAX_ADVICE_LENGTH, advice
        assert detail.endswith(".")
        assert advice.endswith(".")
    verdict = report["verdict"]
    assert fits(verdict["headline"]), verdict["headline"]
    assert verdict["headline"].count(". ") == 0
    assert len(verdict["details"]) <= MAX_DETAILS_LENGTH, verdict["details"]


@pytest.mark.parametrize("loaded", EDITED, ids=NAME, indirect=True, scope="module")
def test_texts_have_few_decimals_one_unit_a_sentence_and_no_word_that_blames(report: Any) -> None:
    for text in find_texts(report):
        assert not DECIMALS.search(text[-1]), text
        assert not AVOIDED.search(text[-1]), text
        for sentence in sentences(text[-1]):
            assert len(set(TIME.findall(sentence))) <= 1, (text[0], sentence)
