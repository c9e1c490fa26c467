"""Sidecar files that contradict the trace, are not understood or exceed a limit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sidecar_texts import diagnostics, metrics_text, report_of
from test_debug_text import block_text

from tb_xla_insights.analysis.sidecar_contents import RECORD_FILE


def test_a_report_that_counts_less_than_the_trace_is_of_another_run(run_folder: Path) -> None:
    (run_folder / "m.txt").write_text(metrics_text(5))
    report = report_of(run_folder)
    [row] = [row for row in report["metrics"]["against_trace"] if row["operation"] == "execute"]
    assert (row["metrics"], row["trace"], row["agrees"]) == (5, 6, False)
    [message] = diagnostics(report, "metrics_disagree")
    assert message.startswith("m.txt counts 5 executions in all, the capture alone has 6")


def test_the_difference_of_two_reports_may_disagree_too(run_folder: Path) -> None:
    (run_folder / "before.txt").write_text(metrics_text(20))
    (run_folder / "after.txt").write_text(metrics_text(21))
    [message] = diagnostics(report_of(run_folder), "metrics_disagree")
    assert "counts 1 execution since the report from before the trace" in message


def test_counting_more_than_the_trace_is_not_a_disagreement(run_folder: Path) -> None:
    (run_folder / "m.txt").write_text(metrics_text(300))
    assert diagnostics(report_of(run_folder), "metrics_disagree") == []


def test_a_log_in_another_order_gives_no_cause(run_folder: Path) -> None:
    (run_folder / "e.txt").write_text("".join(block_text(graph, "Execution") for graph in 4 * ("aa", "bb")))
    report = report_of(run_folder)
    assert report["executions"][0]["causes"] == []
    [message] = diagnostics(report, "debug_log_disagrees")
    assert "an order that does not match the capture's 6" in message


def test_unread_lines_are_reported_once_per_file(run_folder: Path) -> None:
    (run_folder / "m.txt").write_text(
        metrics_text(6) + "Counter: A\n  Value: many\nCounter: B\n  Value: more\n"
    )
    [message] = diagnostics(report_of(run_folder), "text_not_understood")
    assert message == "m.txt: line 10 is not understood (Value: many), and 1 more place; the rest is used."


def test_the_rest_of_a_file_above_the_size_limit_is_not_called_used(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = metrics_text(6) + "Counter: A\n  Value: many\n"
    (run_folder / "m.txt").write_text(text + "Counter: B\n")
    monkeypatch.setattr("tb_xla_insights.report.sidecar_files.MAX_TEXT_BYTES", len(text))
    messages = [
        message.replace("\u202f", " ")
        for message in diagnostics(report_of(run_folder), "text_not_understood")
    ]
    assert messages == [
        f"m.txt is not used, or only in part: only its first {len(text)} B are read.",
        "m.txt: line 10 is not understood (Value: many).",
    ]


def test_files_beyond_the_limit_are_reported_and_a_recording_is_among_the_first(run_folder: Path) -> None:
    folder = run_folder / "plugins/profile/s"
    (folder / RECORD_FILE).write_text('{"versions": {"jax": "0.10"}}')
    for number in range(32):
        (folder / f"{number:02}.log").write_text("no known format\n")
    report = report_of(run_folder)
    assert report["recorded"] == {"versions": {"jax": "0.10"}}
    [message] = diagnostics(report, "text_not_understood")
    assert message == f"{folder} is not used, or only in part: the first 32 of 33 text files are read."


def test_files_after_too_much_text_are_reported_by_their_directory(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run_folder / "a.log").write_text("no known format\n")
    monkeypatch.setattr("tb_xla_insights.report.sidecar_files._MAX_TOTAL_CHARS", 3)
    assert diagnostics(report_of(run_folder), "text_not_understood") == []
    (run_folder / "b.log").write_text("no known format\n")
    [message] = diagnostics(report_of(run_folder), "text_not_understood")
    assert message == (
        f"{run_folder} is not used, or only in part: text files after a.log are not used, as all together are too "
        "long."
    )


def test_a_real_log_with_a_capture_of_another_run(shared_traces: Path, tmp_path: Path) -> None:
    run_folder = tmp_path / "run"
    shutil.copytree(shared_traces / "torch_xla/tiny_grad_accum_sync/plugins", run_folder / "plugins")
    shutil.copy(shared_traces / "torch_xla/tiny_dynamic/stderr.txt", run_folder)
    shutil.copy(shared_traces / "torch_xla/tiny_baseline/metrics_report.txt", run_folder)
    report = report_of(run_folder)
    assert [row["cause"] for row in report["compiles"]] == [None]
    messages = " ".join(diagnostics(report, "debug_log_disagrees"))
    assert "covers no graph compiled in the capture" in messages
    assert "does not match" in messages
    assert any("counts 9 executions in all" in message for message in diagnostics(report, "metrics_disagree"))
