"""Logs of TORCH_TRACE: how they are read, and matched with a capture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from captures import Core, capture, thread
from launching import TO_DEVICE, event
from sidecar_texts import diagnostics, report_of
from torch_traces import BREAK, FILE, RECORDED, artifact, materialization, metrics, module, record

from tb_xla_insights.analysis.compiles.torch_trace import torch_trace_document
from tb_xla_insights.analysis.torch_trace import LoggedGraph, Materialization, TorchTraceLog
from tb_xla_insights.catalog.frames import Frame
from tb_xla_insights.cli.main import main
from tb_xla_insights.html.page import report_html
from tb_xla_insights.report import sidecar_files
from tb_xla_insights.report.torch_trace_text import is_torch_trace, parse_break, parse_torch_trace
from tb_xla_insights.trace.model import Trace

EPOCH_US = 1_780_000_000_000_000
PROGRAM = "tt_jit_train_L34C4_main_sum"


def parsed(text: str, file: str = FILE) -> TorchTraceLog:
    log, unread = parse_torch_trace([text.encode()], file)
    assert not unread
    return log


class TestMaterializations:
    def test_a_graph_has_its_reason_time_place_and_program(self) -> None:
        log = parsed(
            materialization(
                "item()",
                start_us=EPOCH_US,
                duration_us=1500,
                program=PROGRAM,
                place="/my job/train.py:34 in main",
            )
            + materialization(".cpu()", "add", start_us=EPOCH_US + 9)
        )
        assert [*log.materializations] == [
            Materialization("item()", "mm", EPOCH_US, 1500, True, False),
            Materialization(".cpu()", "add", EPOCH_US + 9, 30, False, False),
        ]
        assert log.graphs == [LoggedGraph(PROGRAM, "item()", "mm", Frame("main", "/my job/train.py", 34))]
        assert log.start_us == EPOCH_US

    def test_records_of_other_threads_may_come_between(self) -> None:
        event, *others = materialization("item()", start_us=7, program=PROGRAM).split("V1129")[1:]
        between = record("artifact", {"name": "torch_version", "encoding": "json"}, "{\n}") + record(
            "str", ["a", 0]
        )
        log = parsed(between.join(f"V1129{part}" for part in [event, *others]))
        assert [row.start_us for row in log.materializations] == [7]
        assert [graph.program for graph in log.graphs] == [PROGRAM]

    def test_a_time_belongs_to_the_graph_of_its_name(self) -> None:
        lost = materialization("item()", "mm", start_us=7).partition(
            "V1129 03:51:49.980000 12720 torch/a.py:8]"
        )[0]
        log = parsed(lost + materialization("item()", "add"))
        assert [(row.operator, row.start_us) for row in log.materializations] == [("add", 0)]

    def test_payloads_of_the_same_graph_may_differ(self) -> None:
        text = materialization("item()", program="a") + materialization("item()", program="b").replace(
            "0" * 32, "1" * 32
        )
        assert [graph.program for graph in parsed(text).graphs] == ["a", "b"]

    def test_a_record_that_is_cut_is_not_taken_for_one_like_it(self) -> None:
        text = materialization("item()") * 2
        cut = text[: text.rindex('"has_payload"') + 20].encode()
        log, unread = parse_torch_trace([cut], FILE)
        assert [row.text[:3] for row in unread] == ["cut"]
        assert len(log.materializations) == 2

    def test_failed_compilations(self) -> None:
        assert [
            row.has_failed for row in parsed(materialization("item()", failed=True)).materializations
        ] == [True]


class TestTorchCompile:
    def test_what_pytorch_writes(self) -> None:
        """Recorded with PyTorch 2.13: three calls of `scaled` are compiled anew, and a print breaks each graph."""
        log = parsed(RECORDED.read_text())
        assert [(row.compile_id, row.graph_break.place) for row in log.breaks] == [
            (compile_id, "/opt/job/train.py:8 in scaled") for compile_id in ("0/0", "0/1", "0/2")
        ]
        found = log.breaks[0].graph_break
        assert found.reason == "Failed to trace builtin operator"
        assert (found.explanation or "").startswith(
            "Dynamo does not know how to trace builtin operator `print`"
        )
        assert (found.hint or "").startswith("Avoid calling builtin `print`")
        mismatch = "tensor '{}' size mismatch at index 0. expected 4, actual 6"
        assert [
            (row.compile_id, row.function, row.place, row.guard, row.source)
            for row in log.compilations.values()
        ] == [
            ("0/0", "scaled", "/opt/job/train.py:6", None, None),
            ("1/0", "torch_dynamo_resume_in_scaled_at_8", "/opt/job/train.py:8", None, None),
            ("0/1", "scaled", "/opt/job/train.py:6", mismatch.format("x"), None),
            ("1/1", "torch_dynamo_resume_in_scaled_at_8", "/opt/job/train.py:8", mismatch.format("y"), None),
            ("0/2", "scaled", "/opt/job/train.py:6", "scale == 2.0", "y = x * scale"),
        ]
        assert all(10_000 < (row.duration_us or 0) < 10_000_000 for row in log.compilations.values())
        assert log.rank is None

    def test_a_compilation_that_has_not_ended_is_known_by_its_start(self) -> None:
        text = (
            record("str", ["/job/train.py", 1])
            + artifact("recompile_reasons", '[\n"0/1: scale == 2.0",\n"0/0: scale == 1.0"\n]', "0/2")
            + record(
                "dynamo_start",
                {
                    "stack": [
                        {"line": 19, "name": "<module>", "filename": 1},
                        {"line": 6, "name": "f", "filename": 1},
                    ]
                },
                frame_id=0,
                frame_compile_id=2,
                rank=3,
            )
        )
        log = parsed(text)
        (compilation,) = log.compilations.values()
        assert (compilation.function, compilation.place) == ("f", "/job/train.py:6")
        assert (compilation.guard, compilation.duration_us, log.rank) == ("scale == 2.0", None, 3)

    def test_forward_and_backward_of_a_compilation_add_up(self) -> None:
        backward = record("compilation_metrics", {"compile_id": "0/0", "co_name": None, "duration_us": 5})
        (compilation,) = parsed(metrics("0/0", "f", 6, 37) + backward).compilations.values()
        assert (compilation.function, compilation.duration_us) == ("f", 42)

    def test_the_program_of_a_compiled_graph(self) -> None:
        log = parsed(artifact("torchtpu_stablehlo_graph", module("tt_jit_train_L22C9_forward"), "0/1"))
        assert log.graphs == [LoggedGraph("tt_jit_train_L22C9_forward", compile_id="0/1")]

    @pytest.mark.parametrize(
        ("lines", "expected"),
        [
            (
                ["Graph break in user code at a.py:8", "Reason: Unsupported: f()"],
                ("Unsupported: f()", "a.py:8"),
            ),
            (
                [
                    "Graph break: torch.compile cannot properly resume from this graph break, which results in a skip.",
                    "The graph break occurred in the following user code:",
                    '  File "/job/train.py", line 8, in f',
                ],
                (
                    "torch.compile cannot resume here, and runs the whole function without compiling it",
                    "/job/train.py:8 in f",
                ),
            ),
            ([], (None, None)),
        ],
    )
    def test_other_wordings_of_breaks(
        self, lines: list[str], expected: tuple[str | None, str | None]
    ) -> None:
        found = parse_break(lines)
        assert (found.reason, found.place) == expected


class TestDamage:
    def test_blocks_may_end_anywhere(self) -> None:
        data = RECORDED.read_bytes()
        whole = parse_torch_trace([data], FILE)
        for size in (1, 100, 4096):
            assert (
                parse_torch_trace([data[at : at + size] for at in range(0, len(data), size)], FILE) == whole
            )

    def test_a_cut_record_is_told_and_the_rest_is_used(self) -> None:
        text = materialization("item()") + metrics("0/0", "f", 6, 37)
        log, unread = parse_torch_trace([text[:-20].encode()], FILE)
        assert (len(log.materializations), log.compilations) == (1, {})
        assert [(row.line, row.text[:3]) for row in unread] == [(5, "cut")]

    def test_a_cut_payload_is_told(self) -> None:
        _, unread = parse_torch_trace([artifact("dynamo_graph_break_reason", BREAK)[:-40].encode()], FILE)
        assert [row.text for row in unread] == ["cut"]

    def test_lines_between_records_are_told(self) -> None:
        log, unread = parse_torch_trace([("oops\n" + materialization("item()")).encode()], FILE)
        assert [(row.line, row.text) for row in unread] == [(1, "oops")]
        assert len(log.materializations) == 1

    def test_few_of_many_damaged_lines_are_told(self) -> None:
        assert len(parse_torch_trace([b"oops\n" * 1000], FILE)[1]) == 20

    @pytest.mark.parametrize(
        "value", [None, [], 7, {"name": 3, "stack": [3], "compile_id": 3, "co_name": []}]
    )
    @pytest.mark.parametrize(
        "kind", ["artifact", "chromium_event", "compilation_metrics", "dynamo_start", "str"]
    )
    def test_records_of_another_form_are_passed_over(self, kind: str, value: object) -> None:
        log = parsed(record(kind, value, "{\n}", frame_id=-1, frame_compile_id="x", rank=1e300))
        assert (log.breaks, log.compilations, log.graphs, [*log.materializations]) == ([], {}, [], [])

    @pytest.mark.parametrize(
        "text",
        [
            "V1129 03:51:49.980000 1 " + "a:1" * 10**6,
            "\t" + "    # a:1 in " * 10**5,
            artifact("torchtpu_eager_aten_graph", "    # a:1 in " * 10**5),
            artifact(
                "dynamo_graph_break_reason", 'File "a", line 1, in ' * 10**5 + "\n" + "Reason: " * 10**5
            ),
            artifact("recompile_reasons", "0/0: x  # y" * 10**5, "0/0"),
            artifact("torchtpu_stablehlo_graph", 'module @"' * 10**5, "0/0"),
        ],
    )
    def test_long_lines_take_linear_time(self, text: str) -> None:
        """Quadratic time would be an hour."""
        parse_torch_trace([text.encode()], FILE)


class TestRecognition:
    @pytest.mark.parametrize(
        ("name", "text", "expected"),
        [
            (FILE, "", True),
            ("mine.txt", record("str", ["a", 0]), True),
            ("mine.txt", "V1129 03:51:49.980000 12720 torch/a.py:3] [0/1] a record of TORCH_LOGS\n", False),
            ("mine.txt", "V1129 03:51:49.980000 12720 torch/a.py:3] {no JSON\n", False),
            ("mine.txt", "Metric: CompileTime\n", False),
        ],
    )
    def test_by_name_or_first_line(self, name: str, text: str, expected: bool) -> None:
        assert is_torch_trace(name, text.encode()) == expected

    def test_a_log_beside_a_capture_is_read(self, run_folder: Path) -> None:
        (run_folder / FILE).write_text(materialization("item()") + "oops\n")
        report = report_of(run_folder)
        assert report["metrics"]["files"] == [FILE]
        assert [row["reason"] for row in report["metrics"]["torch_trace"]["materializations"]] == ["item()"]
        [message] = diagnostics(report, "text_not_understood")
        assert message == f"{FILE}: line 5 is not understood (oops); the rest is used."

    def test_a_log_that_is_too_long_is_read_in_part(
        self, run_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text = materialization("item()")
        (run_folder / FILE).write_text(text * 3)
        monkeypatch.setattr(sidecar_files, "_MAX_TRACE_BYTES", 2 * len(text))
        monkeypatch.setattr(sidecar_files, "_BLOCK_BYTES", 100)
        report = report_of(run_folder)
        assert report["metrics"]["torch_trace"]["materializations"][0]["logged"] == 2
        assert "only its first" in diagnostics(report, "text_not_understood")[0]

    def test_a_log_of_a_later_run_is_not_used(self, run_folder: Path) -> None:
        (run_folder / FILE).write_text(materialization("item()", start_us=2**61))
        report = report_of(run_folder)
        assert report["metrics"]["torch_trace"] is None
        assert diagnostics(report, "debug_log_disagrees") == [
            f"{FILE} begins after the capture's end: it is of another run, and not used."
        ]


def session_trace(host: str = "vm", regions: int = 3) -> Trace:
    """A second from EPOCH_US on: two launches of PROGRAM, and calls of what compilation 0/1 compiled."""
    runs = [event(f"{PROGRAM}(7)", at, 100, _ct=TO_DEVICE, _c=at) for at in (1000, 500_000)]
    events = [event("aten::mm", 0, 1_000_000)]
    events += [event("Torch-Compiled Region: 0/1", 10 + 20 * number, 10) for number in range(regions)]
    launches = [event("DoEnqueueProgram", at - 500, 10, _pt=TO_DEVICE, _p=at) for at in (1000, 500_000)]
    trace = capture(
        thread("pt_main_thread", *events),
        thread("pt_main_thread", *launches),
        Core([event("fusion.1", row[1] / 10**6, 100) for row in runs], runs),
    )
    trace.host, trace.base_unix_ns = host, EPOCH_US * 1000
    return trace


def document(trace: Trace, *texts: str) -> Any:
    return torch_trace_document(trace, [parsed(text, f"log{number}") for number, text in enumerate(texts)])


class TestMatching:
    def test_programs_by_name(self) -> None:
        report = document(
            session_trace(),
            materialization("item()", program=PROGRAM, place="/job/train.py:34 in main")
            + materialization("item()", program="tt_jit_train_L9C4_main_mm", place="/job/train.py:9 in main"),
        )
        assert report["programs"] == [
            {
                "program": PROGRAM,
                "reason": "item()",
                "operator": "mm",
                "place": "/job/train.py:34 in main",
                "compile_id": None,
                "launches": 2,
            }
        ]

    def test_what_differs_between_graphs_of_one_name_is_not_guessed(self) -> None:
        (row,) = document(
            session_trace(),
            materialization("item()", "mm", program=PROGRAM, place="/job/train.py:34 in main")
            + materialization(".cpu()", "add", program=PROGRAM, place="/job/train.py:35 in main"),
        )["programs"]
        assert (row["reason"], row["operator"], row["place"]) == ("item(), .cpu()", None, None)

    def test_graphs_of_torch_compile_have_its_function(self) -> None:
        (row,) = document(
            session_trace(),
            artifact("torchtpu_stablehlo_graph", module(PROGRAM), "0/1") + metrics("0/1", "f", 6, 37),
        )["programs"]
        assert (row["reason"], row["compile_id"], row["place"]) == (None, "0/1", "/job/train.py:6")

    def test_calls_by_compile_id(self) -> None:
        report = document(
            session_trace(),
            artifact("dynamo_graph_break_reason", BREAK, "0/0")
            + metrics("0/0", "f", 6, 37)
            + artifact("dynamo_graph_break_reason", BREAK, "0/1")
            + metrics("0/1", "f", 6, 38),
        )
        assert [(row["compile_id"], row["calls"]) for row in report["compilations"]] == [
            ("0/1", 3),
            ("0/0", 0),
        ]
        assert [(row["place"], row["logged"], row["calls"]) for row in report["graph_breaks"]] == [
            ("/job/train.py:8 in scaled", 2, 3)
        ]

    def test_a_capture_without_calls_of_compiled_functions_does_not_count_them(self) -> None:
        report = document(session_trace(regions=0), metrics("0/1", "f", 6, 38))
        assert [row["calls"] for row in report["compilations"]] == [None]

    def test_graphs_of_deferred_operators_by_the_time(self) -> None:
        texts = [
            materialization("item()", start_us=EPOCH_US + at, program=program, failed=at == 0)
            for at, program in ((-1, "a"), (0, "a"), (5, ""), (1_000_000, ""), (1_000_001, ""))
        ]
        (row,) = document(session_trace(), "".join(texts))["materializations"]
        assert row == {
            "reason": "item()",
            "meaning": "a value is read",
            "logged": 5,
            "compiled": 2,
            "failed": 1,
            "duration_ps": 150 * 10**6,
            "in_capture": 3,
        }

    def test_without_a_time_nothing_is_counted_in_the_capture(self) -> None:
        timed, untimed = materialization("item()", start_us=EPOCH_US), materialization("item()")
        (row,) = document(session_trace(), timed + untimed)["materializations"]
        assert (row["logged"], row["in_capture"]) == (2, None)
        trace = session_trace()
        trace.base_unix_ns = 0
        assert document(trace, timed)["materializations"][0]["in_capture"] is None

    def test_the_log_of_the_captures_rank(self) -> None:
        logs = [record("str", ["a", 0], rank=rank) + metrics("0/1", f"f{rank}", 6, 1) for rank in range(3)]
        report = document(session_trace("vm_2"), *logs)
        assert (report["matched"], [row["function"] for row in report["compilations"]]) == ("log2", ["f2"])

    @pytest.mark.parametrize(("host", "matched"), [("vm_3", None), ("vm_0", "log0"), ("vm", "log0")])
    def test_a_log_of_another_rank_is_listed_only(self, host: str, matched: str | None) -> None:
        report = document(session_trace(host), record("str", ["a", 0], rank=0) + metrics("0/1", "f", 6, 1))
        assert (report["files"], report["matched"]) == (["log0"], matched)

    def test_of_several_logs_that_may_be_of_the_process_none_is_matched(self) -> None:
        report = document(session_trace(), *(metrics("0/1", "f", 6, 1) for _ in range(2)))
        assert (report["files"], report["matched"]) == (["log0", "log1"], None)
        assert [row["calls"] for row in report["compilations"]] == [None, None]

    def test_a_log_that_begins_after_the_capture_is_left_out(self) -> None:
        later = materialization("item()", start_us=EPOCH_US + 1_000_001)
        assert document(session_trace(), later) is None
        assert document(session_trace(), later, metrics("0/1", "f", 6, 1))["matched"] == "log1"


def test_the_reports_text_and_page(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = re.sub('("start_time_us":) [0-9]+', r"\1 1", RECORDED.read_text())  # the demo capture is older
    (run_folder / FILE).write_text(text.replace("/opt/job", "/<b>job"))
    (run_folder / "my.log").write_text(materialization("repeated_op_heuristic"))
    assert main(["report", "--full", str(run_folder)]) == 0
    text = capsys.readouterr().out
    start = text.index("From TORCH_TRACE")
    section = text[start : text.index("nothing is counted in the capture", start)]
    assert "the same operators repeat, as in a loop" in section
    assert "Failed to trace builtin operator" in section
    assert "scale == 2.0" in section
    assert "In the capture" not in section
    page = report_html(report_of(run_folder))
    assert "From TORCH_TRACE" in page
    assert "/<b>job" not in page
