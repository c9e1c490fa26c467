"""All parts of a comparison agree: none calls a difference that may be chance better or worse."""

from __future__ import annotations

import io
import re
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from captures import comparison_document, real_trace, session
from launching import demo
from rich.console import Console
from schema_checks import check_document
from test_compare import measure, plain

from tb_xla_insights.cli.compare_text import print_comparison
from tb_xla_insights.compare.document import comparison_view
from tb_xla_insights.compare.sentences import VERDICT_TEXTS
from tb_xla_insights.compare.significance import SIGNIFICANCE_LEVEL
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.trace.model import SessionTrace

DEMOS = (
    "synthetic_case_study_8_tpu_cores", "synthetic_dynamo_issue_lazy", "torch_xla_baseline", "torch_xla_dynamic_shapes",
    "torch_xla_dynamo_graph_break", "torch_xla_early_item",
)  # fmt: skip
REAL = ("lazy_train_session", "dynamo_train_session", "tiny_coldstart", "tiny_grad_accum_sync")
BETTER_OR_WORSE = re.compile(r"better|worse|faster|slower", re.IGNORECASE)


def rows_with_verdicts(document: dict[str, Any]) -> list[dict[str, Any]]:
    annotations = [row["host"] for row in document["annotations"]]
    return [*document["measures"], *document["classes"], *annotations]


def text_of(document: dict[str, Any], width: int = 200) -> str:
    out = io.StringIO()
    print_comparison(Console(file=out, width=width, highlight=False, markup=False), document)
    return out.getvalue()


def assert_parts_agree(document: dict[str, Any]) -> None:
    check_document(document, "compare")
    step = measure(document, "step_median")
    headline, chance = document["verdict"]["text"], document["chance"]["text"] or ""
    assert document["verdict"]["verdict"] == (step["verdict"] or "unknown")
    assert document["chance"]["p"] == step["p"]
    assert bool(BETTER_OR_WORSE.search(headline)) == (step["verdict"] in ("better", "worse"))
    assert ("may be chance" in headline) == (step["verdict"] == "chance")
    assert not BETTER_OR_WORSE.search(chance)
    if step["verdict"] in ("better", "worse"):
        assert "may be chance" not in chance
        assert ("faster" in headline) == (step["b_ps"] < step["a_ps"]) == (step["verdict"] == "better")
    for row in rows_with_verdicts(document):
        if row["verdict"] in ("better", "worse"):
            assert row["p"] <= SIGNIFICANCE_LEVEL, row
            assert row["chance"] is None, row
        elif row["verdict"] == "chance":
            assert row["p"] > SIGNIFICANCE_LEVEL, row
        elif row["verdict"] == "few":
            assert row["p"] is None, row
    for line in text_of(document).splitlines():
        assert not ("chance" in line and BETTER_OR_WORSE.search(line)), line


@cache
def demo_session(name: str) -> SessionTrace:
    """Cached with the session's analyses, as many pairs contain it."""
    return session(demo(name))


@cache
def real_session(folder: Path) -> SessionTrace:
    return session(real_trace(folder))


class TestDemos:
    @pytest.mark.parametrize(("a", "b"), list(combinations(DEMOS, 2)))
    def test_every_pair(self, a: str, b: str) -> None:
        assert_parts_agree(comparison_document(demo_session(a), demo_session(b)))

    def test_the_text_has_the_verdicts_of_the_document(self) -> None:
        document = comparison_document(
            session(demo("torch_xla_baseline")), session(demo("torch_xla_early_item"))
        )
        lines = [" ".join(line.split()) for line in plain(text_of(document)).splitlines()]
        for row in document["measures"]:
            [line] = [line for line in lines if line.startswith(f"{row['label']} ")]
            verdict = VERDICT_TEXTS.get(row["verdict"])
            assert line.endswith(verdict) if verdict else not re.search("better|worse|chance|same|few", line)

    def test_the_view_has_the_verdicts_of_the_document(self) -> None:
        baseline, graph_break = (
            session(demo("torch_xla_baseline")),
            session(demo("torch_xla_dynamo_graph_break")),
        )
        document, view = (
            comparison_document(baseline, graph_break),
            comparison_view(SessionView(baseline), SessionView(graph_break)),
        )
        for key in ("verdict", "chance", "measures", "classes"):
            assert view[key] == document[key]
        assert "".join(view["lead"]) == document["verdict"]["text"]
        assert re.fullmatch(r"[\d.]+× slower", view["lead"][1])
        assert len(view["lead"]) == 3
        assert view["class_total"]["difference_ps"] == sum(
            row["difference_ps"] or 0 for row in view["classes"]
        )

    def test_the_view_has_the_sums_of_whole_tables_and_lists_phases_first(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        traced = session(demo("synthetic_case_study_8_tpu_cores"))
        whole = comparison_view(SessionView(traced), SessionView(traced))
        rows = whole["device_work"]["annotations"]
        annotated = sum(row["a_ps"] or 0 for row in rows if row["path"])
        monkeypatch.setattr("tb_xla_insights.compare.document._MAX_ROWS", 2)
        cut = comparison_view(SessionView(traced), SessionView(traced))
        assert cut["device_time"] == whole["device_time"]
        assert cut["device_time"]["all"]["a_ps"] == sum(row["a_ps"] or 0 for row in rows)
        assert cut["device_time"]["annotated_share"][0] == annotated / cut["device_time"]["all"]["a_ps"]
        assert cut["row_counts"] == whole["row_counts"]
        assert cut["row_counts"]["device_annotations"] == len(rows) > 2
        assert all(row["phase"] for row in cut["annotations"])

    def test_distinct_step_times_are_significant(self) -> None:
        """Six steps of 12 to 15 ms against six of 215 to 705 ms."""
        document = comparison_document(
            session(demo("torch_xla_baseline")), session(demo("torch_xla_dynamo_graph_break"))
        )
        assert document["verdict"]["text"].startswith("B’s steps are 17.61× slower at the median")
        # One of B's six has a compilation, and is left out.
        assert document["chance"]["p"] == pytest.approx(2 / 462)
        assert document["chance"]["share"] is None


class TestRealCaptures:
    @pytest.mark.parametrize(("a", "b"), list(combinations(REAL, 2)))
    def test_every_pair(self, shared_traces: Path, a: str, b: str) -> None:
        folder = shared_traces / "torch_xla"
        assert_parts_agree(comparison_document(real_session(folder / a), real_session(folder / b)))

    def test_dynamo_is_faster_and_that_is_no_chance(self, shared_traces: Path) -> None:
        """Twelve steps in each, 27.9 against 17.3 ms."""
        folder = shared_traces / "torch_xla"
        lazy, dynamo = (session(real_trace(folder / f"{mode}_train_session")) for mode in ("lazy", "dynamo"))
        document = comparison_document(lazy, dynamo)
        assert document["verdict"]["text"].startswith("B’s steps are 1.62× faster at the median")
        assert (
            measure(document, "step_median")["verdict"]
            == measure(document, "step_mean")["verdict"]
            == "better"
        )
        assert document["chance"]["p"] == pytest.approx(0.03, abs=0.005)


@pytest.mark.parametrize("width", [80, 120])
def test_no_verdict_is_left_out_of_a_narrow_terminal(width: int) -> None:
    document = comparison_document(
        session(demo("torch_xla_baseline")), session(demo("torch_xla_dynamo_graph_break"))
    )
    lines = text_of(document, width).splitlines()
    assert max(map(len, lines)) <= width
    verdicts = re.compile("better|worse|chance$|same$")
    shown_count, total_count = (
        sum(bool(verdicts.search(line.rstrip())) for line in printed)
        for printed in (lines, text_of(document).splitlines())
    )
    assert shown_count == total_count > 15
