"""What users read is short, in the field's words, with one unit in a sentence."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import TRACES_VARIABLE
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from tb_xla_insights.analysis.findings.finding import MAX_TITLE_LENGTH
from tb_xla_insights.report.finding_text import gain_of
from tb_xla_insights.report.gap_text import gap_sentence
from tb_xla_insights.report.headline import fits

ROOT = Path(__file__).parents[1]

AVOIDED = re.compile(
    r"\b(stragglers?|skew\w*|slow nodes?|utili[sz]ation|efficien\w+|issues?|problems?|opportunit\w+|saves"
    r"|records nothing)\b",
    re.I,
)
"""Words that blame, promise or mean too much: there are more precise ones for what is late, lost and gained. A host
records nothing; a capture shows nothing of a host."""

MAX_DETAILS_LENGTH = 400
MAX_EVIDENCE_LENGTH = 260
MAX_ADVICE_LENGTH = 240

DECIMALS = re.compile(r"\d\.\d{4,}")
TIME = re.compile(r"\d\u202f(s|ms|µs|ns)\b")


@pytest.fixture(scope="module")
def reports() -> list[Any]:
    """The reports of the demo captures, and of the real ones where there are some."""
    shared = Path(os.environ.get(TRACES_VARIABLE) or ROOT.parent / "shared" / "traces")
    folders = [Path(LOGDIR), *(shared / name for name in ("torch_xla", "other", "public"))]
    logdirs = [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]
    return [
        xi.load(str(path)).report()
        for path in logdirs
        if path.is_dir() and next(path.rglob("*.xplane.pb"), None)
    ]


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


@pytest.fixture(scope="module")
def report_texts(reports: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """These texts of all reports: session, field, text."""
    return [(report["session"]["name"], *text) for report in reports for text in find_texts(report)]


def test_a_finding_is_read_at_a_glance(reports: list[dict[str, Any]]) -> None:
    """A title, at most two sentences of evidence, one of advice, and none of them long."""
    for finding in (finding for report in reports for finding in report["findings"]):
        title, detail, advice = (finding[name] for name in ("title", "detail", "advice"))
        assert len(title) <= MAX_TITLE_LENGTH
        assert not title.endswith(".")
        assert len(sentences(detail)) <= 2, detail
        assert len(detail) <= MAX_EVIDENCE_LENGTH, detail
        assert len(sentences(advice)) == 1, advice
        assert len(advice) <= MAX_ADVICE_LENGTH, advice
        assert detail.endswith(".")
        assert advice.endswith(".")


def test_a_verdict_is_two_short_sentences(reports: list[dict[str, Any]]) -> None:
    for report in reports:
        verdict = report["verdict"]
        assert fits(verdict["headline"]), verdict["headline"]
        assert verdict["headline"].count(". ") == 0
        assert len(verdict["details"]) <= MAX_DETAILS_LENGTH, verdict["details"]


def test_no_number_has_more_decimals_than_are_read(report_texts: list[tuple[str, str, str]]) -> None:
    assert [text for text in report_texts if DECIMALS.search(text[-1])] == []


def test_times_of_a_sentence_have_one_unit(report_texts: list[tuple[str, str, str]]) -> None:
    rows = [
        (session, field, sentence) for session, field, text in report_texts for sentence in sentences(text)
    ]
    assert [row for row in rows if len(set(TIME.findall(row[-1]))) > 1] == []


def test_no_word_blames_or_promises(report_texts: list[tuple[str, str, str]]) -> None:
    assert [text for text in report_texts if AVOIDED.search(text[-1])] == []


def find_literals(path: Path) -> Iterator[str]:
    """The string literals of a module except docstrings; of f-strings, the constant parts."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(expression.value)
        for expression in ast.walk(tree)
        if isinstance(expression, ast.Expr) and isinstance(expression.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_no_text_of_the_product_blames_or_promises() -> None:
    """Including texts that no capture here leads to. Keys of JSON, ids and names of options have no space."""
    modules = sorted((ROOT / "tb_xla_insights").rglob("*.py"))
    texts = [(path.name, text) for path in modules for text in find_literals(path)]
    page = sorted((ROOT / "frontend").rglob("*.js"))
    quoted = re.compile(r"'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`")
    for path in page:
        without_comments = re.sub(r"/\*.*?\*/|^\s*//[^\n]*", "", path.read_text(), flags=re.S | re.M)
        texts += [(path.name, text) for text in quoted.findall(without_comments)]
    assert [literal for literal in texts if " " in literal[1] and AVOIDED.search(literal[1])] == []
