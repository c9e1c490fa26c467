"""Sidecar files: recognised by their content, and compared with the trace."""

from __future__ import annotations

import json
import ntpath
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest
from helpers import raising, small_space, write_session
from sidecar_texts import diagnostics, metrics_text, report_of
from test_debug_text import block_text
from test_metrics_text import EXPLAIN, REPORT
from webstore import web_store

import tb_xla_insights as xi
from tb_xla_insights.analysis.sidecar_contents import RECORD_FILE
from tb_xla_insights.cli.main import main
from tb_xla_insights.errors import InputError
from tb_xla_insights.files import paths
from tb_xla_insights.files.open import open_source
from tb_xla_insights.files.source import Source
from tb_xla_insights.html.page import report_html
from tb_xla_insights.report import sidecar_files
from tb_xla_insights.report.debug_text import parse_debug
from tb_xla_insights.report.explain_text import parse_explain
from tb_xla_insights.report.guards_text import parse_guards
from tb_xla_insights.report.metrics import metrics_document
from tb_xla_insights.report.metrics_text import parse_metrics
from tb_xla_insights.report.sidecar_files import read_sidecars
from tb_xla_insights.text.json_text import json_bytes

LIMIT = "] [1/8] torch._dynamo hit config.recompile_limit (8)\n"
FRAMES = "Python Frame Triggered Execution:"


class TestRecognition:
    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be"])
    def test_texts_redirected_by_powershell_are_read(self, run_folder: Path, encoding: str) -> None:
        byte_order_mark = "\ufeff" if encoding.startswith("utf-16") else ""
        for name, text in (("m.txt", metrics_text(6)), ("e.log", EXPLAIN), ("d.err", block_text("aa11"))):
            (run_folder / name).write_text(byte_order_mark + text, encoding=encoding, newline="\r\n")
        parsed = report_of(run_folder)["metrics"]
        assert parsed["files"] == ["d.err", "e.log", "m.txt"]
        assert parsed["metrics"]["ExecuteTime"]["samples"] == 6
        assert parsed["dynamo"]["breaks"] > 0
        assert parsed["debug"]["compilations"] == 1
        assert parsed["unread"] == []

    def test_sidecar_files_of_the_run_and_the_session_are_recognised_by_content(
        self, run_folder: Path
    ) -> None:
        (run_folder / "my notes.txt").write_text(REPORT)
        (run_folder / "plugins/profile/s/explained.log").write_text(EXPLAIN)
        (run_folder / "stderr.txt").write_bytes(block_text("aa11").encode() + b"\xff\xfe")
        (run_folder / "picture.png").write_bytes(b"\x89PNG")
        report = report_of(run_folder)
        assert report["metrics"]["file"] == "my notes.txt"
        assert report["metrics"]["dynamo"]["breaks"] == 2
        assert set(report["metrics"]["files"]) == {"my notes.txt", "explained.log", "stderr.txt"}
        assert {"cpu_fallback", "graph_breaks"} <= {finding["id"] for finding in report["findings"]}

    def test_very_long_lines_are_cut(self, run_folder: Path) -> None:
        (run_folder / "m.txt").write_text(
            metrics_text(6, more=f"Counter: {'x' * 10**6}\n  Value: 3\nCounter: y\n  Value: 4\n")
        )
        counters = report_of(run_folder)["metrics"]["counters"]
        assert [(name[-2:], value) for name, value in counters.items()][-2:] == [("x…", 3), ("y", 4)]
        assert max(map(len, counters)) < 2000

    @pytest.mark.parametrize(
        ("parse", "start", "repeated"),
        [
            (parse_metrics, "Metric: x", " "),
            (parse_metrics, "Counter: x\n  Value: ", " "),
            (parse_guards, f"{LIMIT}] [1/8]    last reason: 1/7: x", " "),
            (parse_guards, f"{LIMIT}] [1/8]    last reason: 1/7: x  # y", " "),
            (parse_guards, f"{LIMIT}] [1/8]    function: 'a", "' (x:1"),
            (parse_debug, f"Compilation Analysis: {FRAMES}\nCompilation Analysis:   f", " (:1"),
            (parse_explain, "Graph Break Count: 1\nBreak Reason 1:\n  <FrameSummary file a", ", line 1 in b"),
            (parse_explain, "Graph Break Count: 1\nBreak Reason 1:\n  ", "<FrameSummary file a, line 1 in "),
        ],
    )
    def test_no_pattern_backtracks_without_end(
        self, parse: Callable[[str, str], object], start: str, repeated: str
    ) -> None:
        """Quadratic time would be an hour."""
        parse(f"{start}{repeated * (10**6 // len(repeated))}!\n", "log")

    def test_a_file_of_the_usual_name_comes_first(self, run_folder: Path) -> None:
        (run_folder / "a.txt").write_text(REPORT)
        (run_folder / "metrics_report_rank0.txt").write_text(REPORT.replace("Value: 6", "Value: 7"))
        metrics = report_of(run_folder)["metrics"]
        assert (metrics["file"], metrics["counters"]["UncachedCompile"]) == ("metrics_report_rank0.txt", 7)

    def test_without_files_there_are_no_metrics(self, run_folder: Path) -> None:
        session = xi.load(str(run_folder)).trace
        assert metrics_document(session.traces[0]) is None
        assert read_sidecars(session.traces[0]) is read_sidecars(session.traces[0])

    def test_sidecar_files_of_a_remote_capture_are_read(self) -> None:
        system = fsspec.filesystem("memory")
        system.pipe_file("/beside/run/plugins/profile/s/vm.xplane.pb", small_space().to_bytes())
        system.pipe_file("/beside/run/metrics_report.txt", REPORT.encode())
        try:
            metrics: Any = xi.load("memory://beside").report()["metrics"]
        finally:
            system.rm("/beside", recursive=True)
        assert metrics["fallbacks"] == {"special_i1": 12}

    @pytest.mark.parametrize("query", ["", "?sig=a/b"])
    def test_names_on_a_web_server_are_decoded(self, query: str) -> None:
        with web_store() as store:
            run = "/run%20a/plugins/profile/s"
            store.files = {
                f"{run}/vm.xplane.pb{query}": small_space().to_bytes(),
                "/run%20a/at%20the%20end%2525.txt": REPORT.encode(),
            }
            metrics: Any = xi.load(f"{store.address}{run}/vm.xplane.pb{query}").report()["metrics"]
        assert metrics["files"] == ["at the end%25.txt"]

    def test_dots_after_a_link_lead_to_the_directory_above_its_target(self, run_folder: Path) -> None:
        (run_folder / "m.txt").write_text(REPORT)
        (run_folder / "sub").mkdir()
        link = run_folder.parent / "elsewhere/link"
        link.parent.mkdir()
        link.symlink_to(run_folder / "sub")
        (link.parent / "wrong.txt").write_text(REPORT)
        [capture] = run_folder.rglob("*.xplane.pb")
        path = f"{link}/../{capture.relative_to(run_folder)}"
        assert [*sidecar_files.sidecar_files([path])] == [f"{run_folder}/m.txt"]

    def test_a_link_that_cannot_be_followed_does_not_hide_other_files(self, run_folder: Path) -> None:
        (run_folder / "loop.txt").symlink_to(run_folder / "loop.txt")
        (run_folder / "m.txt").write_text(REPORT)
        assert report_of(run_folder)["metrics"]["files"] == ["m.txt"]

    def test_directories_are_found_from_windows_paths(self, monkeypatch: pytest.MonkeyPatch) -> None:
        path = SimpleNamespace(abspath=ntpath.abspath, exists=lambda _: True)
        for module in (paths, sidecar_files):
            monkeypatch.setattr(module, "os", SimpleNamespace(path=path, sep=ntpath.sep))
        monkeypatch.setattr(sidecar_files, "file_names", lambda _: ["m.txt"])
        files = [*sidecar_files.sidecar_files([r"C:\logs\run\plugins\profile\s\vm.xplane.pb"])]
        assert files == ["C:/logs/run/plugins/profile/s/m.txt", "C:/logs/run/m.txt"]

    def test_a_description_is_the_first_paragraph_as_one_line(
        self, run_folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (run_folder / "description.txt").write_text("of the run")
        assert report_of(run_folder)["session"]["description"] == "of the run"
        description = run_folder / "plugins/profile/s/description.txt"
        description.write_text("\nBatch 64,\n  <new> loader.\n\nMore on it below.\n")
        report = report_of(run_folder)
        assert report["session"]["description"] == "Batch 64, <new> loader."
        assert report["metrics"] is None
        assert "Batch 64, &lt;new&gt; loader." in report_html(report)
        assert main(["report", "--full", str(run_folder)]) == 0
        assert "\nBatch 64, <new> loader.\n" in capsys.readouterr().out
        description.write_text("Batch 64,\r\nnew loader.\r\n\r\nMore on it below.\r\n", newline="")
        assert report_of(run_folder)["session"]["description"] == "Batch 64, new loader."
        description.write_text("x" * 1000)
        assert report_of(run_folder)["session"]["description"] == "x" * 300 + "…"
        description.write_text(" \n")
        assert report_of(run_folder)["session"]["description"] == "of the run"

    def test_a_missing_description_is_null(self, run_folder: Path) -> None:
        assert report_of(run_folder)["session"]["description"] is None

    def test_the_file_of_a_recording_is_read(self, run_folder: Path) -> None:
        written = {"versions": {"torch_xla": "2.9.0"}, "flags": {"XLA_HLO_DEBUG": "1"}}
        (run_folder / f"plugins/profile/s/{RECORD_FILE}").write_text(json.dumps(written))
        assert report_of(run_folder)["recorded"] == written

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "Expecting value, line 1, column 1"),
            ("{", "Expecting property name enclosed in double quotes, line 1, column 2"),
            ("\x00", "Expecting value, line 1, column 1"),
            ("[]", "not a JSON object"),
            ("3", "not a JSON object"),
            ("[" * 100_000, "nested too deeply"),
            ('{"versions":' * 100_000, "nested too deeply"),
            (f'{{"samples_per_step": {"9" * 5000}}}', "a number has too many digits"),
            ('{"samples_per_step": NaN}', "NaN is not JSON"),
            ('{"samples_per_step": -Infinity}', "-Infinity is not JSON"),
            (f'{{"samples_per_step": {"9" * 400}}}', "samples_per_step is not a number of samples"),
            (
                '{"versions": [1], "flags": 3}',
                "versions is not an object of texts; flags is not an object of texts",
            ),
            ('{"flags": {"XLA_X": {"a": 1}}}', "flags is not an object of texts"),
            ('{"files": {"a": 1}, "python": []}', "files is not a list of texts; python is not a text"),
        ],
        ids=range(14),
    )
    def test_a_damaged_recording_file_is_ignored_and_reported(
        self, tmp_path: Path, text: str, reason: str
    ) -> None:
        (write_session(tmp_path, "vm") / RECORD_FILE).write_text(text)
        report = report_of(tmp_path)
        assert report["recorded"] is None
        [message] = diagnostics(report, "text_not_understood")
        assert message == f"{RECORD_FILE} is not used, or only in part: {reason}."

    def test_valid_keys_of_a_damaged_recording_file_are_used(
        self, run_folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        document = {"versions": {"jax": "0.10"}, "flags": 3, "of a later version": {"a": [1]}}
        (run_folder / f"plugins/profile/s/{RECORD_FILE}").write_text(
            json.dumps(document), encoding="utf-8-sig"
        )
        assert report_of(run_folder)["recorded"] == {"versions": {"jax": "0.10"}}
        assert main(["report", "--full", str(run_folder)]) == 0
        assert "flags is not an object of texts" in " ".join(capsys.readouterr().out.split())

    def test_a_large_recording_file_is_not_read_whole(self, run_folder: Path) -> None:
        with (run_folder / f"plugins/profile/s/{RECORD_FILE}").open("wb") as file:
            file.truncate(10 << 30)
        assert report_of(run_folder)["recorded"] is None

    @pytest.mark.parametrize(
        "name",
        ["description.txt", "metrics_report.txt", "dynamo_explain.txt", "pt_xla_debug.txt", RECORD_FILE],
    )
    def test_no_sidecar_file_prevents_a_report(self, name: str, tmp_path: Path) -> None:
        digits = "9" * 5000
        invalid_contents = [
            b"",
            b"\0" * 5000,
            bytes(range(256)) * 20,
            b"\xff\xfe\x00",
            b"\xef\xbb\xbf",
            f"Metric: A\n  TotalSamples: {digits}\n  Accumulator: {digits}s\n".encode(),
            f"Counter: A\n  Value: {digits}\nCounter: B\n  Value: \u00b2\n".encode(),
            f"Graph Break Count: {digits}\nGraph Count: \u00b2\nOp Count: NaN\n".encode(),
            f"Dynamo produced {digits} graphs with {digits} graph breaks and {digits} ops\n".encode(),
            f"pt-xla-profiler: FRAME (count={digits}):\n".encode(),
            f"W [1] [1/8] torch._dynamo hit config.recompile_limit ({digits})\n".encode(),
            b"Compilation Analysis: ====\nCompilation Analysis: Compilation Cause\nCompilation Analysis:  x",
        ]
        path = write_session(tmp_path, "vm") / name
        for content in (invalid_contents[2], invalid_contents[3], b"\n".join(invalid_contents)):
            path.write_bytes(content)
            report = report_of(tmp_path)
            assert report["steps"]
            json_bytes(report)

    def test_special_files_are_ignored(self, run_folder: Path) -> None:
        session = run_folder / "plugins/profile/s"
        os.mkfifo(session / "description.txt")
        (session / "metrics_report.txt").symlink_to("/dev/zero")
        (session / RECORD_FILE).mkdir()
        (session / "a.log").symlink_to("a.log")
        assert report_of(run_folder)["recorded"] is None

    def test_unreadable_files_are_reported(self, run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse_texts(path: str, **options: Any) -> Source:
            if path.endswith(".txt"):
                raise InputError(f"{path}: permission denied; make the file readable for this user")
            return open_source(path, **options)

        monkeypatch.setattr("tb_xla_insights.report.sidecar_files.open_source", refuse_texts)
        (run_folder / "notes.txt").write_text("x")
        [message] = diagnostics(report_of(run_folder), "text_not_understood")
        assert message.startswith("notes.txt is not used, or only in part: permission denied; make the file")

    def test_a_fault_in_a_parser_does_not_prevent_a_report(
        self, run_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tb_xla_insights.report.metrics_text.parse_metrics", raising(ZeroDivisionError()))
        (run_folder / "m.txt").write_text("x")
        [message] = diagnostics(report_of(run_folder), "text_not_understood")
        assert message == "m.txt is not used, or only in part: ZeroDivisionError, a fault of xla-insights."


class TestBeforeAndAfter:
    @pytest.mark.parametrize(
        ("before", "after"),
        [("metrics_before.txt", "metrics_after.txt"), ("start.log", "end.log"), ("metrics_report_pre.txt", "m.txt"),
         ("Before-the-trace.txt", "metrics_report.txt")],
    )  # fmt: skip
    def test_the_difference_covers_the_time_between_the_reports(
        self, run_folder: Path, before: str, after: str
    ) -> None:
        (run_folder / before).write_text(metrics_text(10))
        (run_folder / after).write_text(metrics_text(16, more="Counter: aten::special_i1\n  Value: 4\n"))
        parsed = report_of(run_folder)["metrics"]
        assert parsed["file"] == after
        difference = parsed["difference"]
        assert (difference["before"], difference["after"]) == (before, after)
        assert difference["metrics"] == {"ExecuteTime": {"samples": 6, "total": 6 * 10**9, "unit": "ps"}}
        assert difference["counters"] == {"aten::special_i1": 4}
        assert difference["fallbacks"] == {"special_i1": 4}
        assert difference["figures"]["execute_count"] == 6
        [row] = [row for row in parsed["against_trace"] if row["operation"] == "execute"]
        assert row == {
            "operation": "execute",
            "metrics": 16,
            "since_earlier_report": 6,
            "trace": 6,
            "agrees": True,
        }

    def test_unread_counts_are_null(self, run_folder: Path) -> None:
        (run_folder / "before.txt").write_text(metrics_text(10))
        (run_folder / "after.txt").write_text(
            metrics_text(16).replace("TotalSamples: 16", "TotalSamples: more than 10")
        )
        report = report_of(run_folder)
        [row] = [row for row in report["metrics"]["against_trace"] if row["operation"] == "execute"]
        assert row == {
            "operation": "execute",
            "metrics": None,
            "since_earlier_report": None,
            "trace": 6,
            "agrees": True,
        }
        difference = report["metrics"]["difference"]["metrics"]["ExecuteTime"]
        assert difference == {"samples": None, "total": 6 * 10**9, "unit": "ps"}
        assert not diagnostics(report, "metrics_disagree")
        assert "line 2 is not understood" in diagnostics(report, "text_not_understood")[0]

    def test_reports_of_one_process_are_paired(self, run_folder: Path) -> None:
        for rank, executions in ((0, 10), (1, 50)):
            (run_folder / f"rank{rank}_before.txt").write_text(metrics_text(executions))
            (run_folder / f"rank{rank}_after.txt").write_text(metrics_text(executions + 3))
        difference = report_of(run_folder)["metrics"]["difference"]
        assert (difference["before"], difference["after"]) == ("rank0_before.txt", "rank0_after.txt")

    def test_reports_of_processes_with_the_same_words_in_another_order_are_not_paired(
        self, run_folder: Path
    ) -> None:
        for name in ("host1_rank2_before", "host2_rank1_before", "host2_rank1", "host2_rank3"):
            (run_folder / f"{name}.txt").write_text(metrics_text(10))
        difference = report_of(run_folder)["metrics"]["difference"]
        assert (difference["before"], difference["after"]) == ("host2_rank1_before.txt", "host2_rank1.txt")

    def test_no_difference_is_guessed_from_names_alone(self, run_folder: Path) -> None:
        (run_folder / "rank0.txt").write_text(metrics_text(10))
        (run_folder / "rank1.txt").write_text(metrics_text(13))
        assert report_of(run_folder)["metrics"]["difference"] is None

    def test_counters_cleared_by_torch_compile_are_left_out(self, run_folder: Path) -> None:
        counter = "Counter: DynamoExtractCompiledGraph\n  Value: {}\nCounter: MarkStep\n  Value: {}\n"
        (run_folder / "before.txt").write_text(metrics_text(10, more=counter.format(2, 9)))
        (run_folder / "after.txt").write_text(metrics_text(16, more=counter.format(4, 3)))
        report = report_of(run_folder)
        parsed = report["metrics"]
        assert (parsed["cleared"], parsed["figures"]["step_markers"]) == (True, None)
        assert parsed["difference"]["counters"] == {"DynamoExtractCompiledGraph": 2}
        assert parsed["difference"]["figures"]["execute_count"] == 6
        [message] = diagnostics(report, "metrics_disagree")
        assert (
            "after.txt: torch.compile cleared the counters whenever it extracted a graph (4 times)" in message
        )
        # If it extracted nothing in between, both reports began to count at the same instant.
        (run_folder / "before.txt").write_text(metrics_text(10, more=counter.format(4, 1)))
        difference = report_of(run_folder)["metrics"]["difference"]
        assert (difference["counters"], difference["figures"]["step_markers"]) == ({"MarkStep": 2}, 2)

    def test_smaller_counts_after_the_trace_are_reported(self, run_folder: Path) -> None:
        (run_folder / "before.txt").write_text(metrics_text(20))
        (run_folder / "after.txt").write_text(metrics_text(13))
        report = report_of(run_folder)
        assert report["metrics"]["difference"] is None
        [message] = diagnostics(report, "metrics_disagree")
        assert "after.txt counts less than before.txt" in message

    def test_a_single_report_needs_no_partner(self, run_folder: Path) -> None:
        (run_folder / "before.txt").write_text(metrics_text(20))
        parsed = report_of(run_folder)["metrics"]
        assert (parsed["file"], parsed["difference"]) == ("before.txt", None)


def test_the_text_report_shows_sidecar_files(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run_folder / "metrics_before.txt").write_text(metrics_text(10))
    (run_folder / "metrics_after.txt").write_text(metrics_text(12))
    (run_folder / "explained.log").write_text(EXPLAIN)
    (run_folder / "e.txt").write_text(
        block_text("aa", "Compilation") + "".join(block_text("aa", "Execution") for _ in range(9))
    )
    assert main(["report", "--full", str(run_folder)]) == 0
    output = capsys.readouterr().out
    assert "Metrics and trace (metrics_after.txt)" in output
    assert "disagree" in output
    assert "UncachedCompile 1 (0 in the capture)" in output
    assert "Unsupported Tensor.item() call at train.py:73 in forward" in output
    assert (
        "1 compilation and 9 executions; it explains 0 compilations and 6 executions in the capture" in output
    )
