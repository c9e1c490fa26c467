"""Findings that say why and where by a log of TORCH_TRACE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captures import Core, capture, real_trace, thread
from launching import TO_DEVICE, event
from test_findings_graph_breaks import compiled
from torch_traces import BREAK, FILE, artifact, materialization, metrics, module, record

from tb_xla_insights.analysis.compiles.compile_table import compiles_report
from tb_xla_insights.analysis.compiles.torch_trace import causes_of
from tb_xla_insights.analysis.findings import Finding, find_findings
from tb_xla_insights.analysis.findings.dynamo import graph_breaks
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.logged_reasons import compilation_cause, main_reason, read_place
from tb_xla_insights.analysis.sidecar_contents import Sidecars
from tb_xla_insights.report.torch_trace_text import parse_torch_trace
from tb_xla_insights.trace.model import Trace

MM, ADD = "tt_jit_train_L33C4_main_mm", "tt_jit_sgd_L88C6_step_add_"


def sidecars(*texts: str) -> Sidecars:
    logs = [parse_torch_trace([text.encode()], FILE)[0] for text in texts]
    return Sidecars(torch_traces=logs, files=[FILE])


def found(trace: Trace, *texts: str) -> dict[str, Finding]:
    return {finding.id: finding for finding in find_findings(trace, sidecars(*texts))}


def at(trace: Trace, us: int) -> int:
    """Microseconds since the epoch at an instant of a trace."""
    return trace.base_unix_ns // 1000 + us


@pytest.fixture
def eager(shared_traces: Path) -> Trace:
    return real_trace(shared_traces / "torchtpu/tt_eager")


class TestReasons:
    def test_many_small_executions_say_why_they_run_and_where(self, eager: Trace) -> None:
        made = [
            materialization("debug_mode", program=program, place=place, start_us=at(eager, -1000))
            for program, place in ((MM, "/job/train.py:33 in main"), (ADD, "/job/sgd.py:88 in step"))
        ]
        in_capture = [materialization("debug_mode", start_us=at(eager, 100 + number)) for number in range(9)]
        in_capture.append(materialization("item()", start_us=at(eager, 500)))
        finding = found(eager, "".join(made + in_capture))["many_small_executions"]
        assert finding.detail.endswith(
            f"{FILE}: 9 of 10 graphs of operators run because each operator runs at once, as in Strict Eager "
            "(debug_mode), most often at /job/sgd.py:88 in step."
        )

    def test_without_times_the_programs_tell(self, eager: Trace) -> None:
        log = materialization("debug_mode", program=MM, place="/job/train.py:33 in main")
        sentence = str(main_reason(Facts(eager, sidecars(log))))
        assert "60 of 60 graphs" in sentence
        assert sentence.endswith("most often at /job/train.py:33 in main.")

    def test_a_log_of_another_program_says_nothing(self, eager: Trace) -> None:
        facts = Facts(eager, sidecars(materialization("debug_mode", program="tt_jit_other")))
        assert (main_reason(facts), read_place(facts)) == ("", "")

    def test_of_several_logs_none_is_quoted(self, eager: Trace) -> None:
        log = materialization("debug_mode", program=MM)
        assert main_reason(Facts(eager, sidecars(log, log))) == ""

    def test_reads_say_where_they_run_graphs(self, eager: Trace) -> None:
        log = materialization("item()", program=MM, place="/job/train.py:34 in main")
        finding = found(eager, log)["sync_every_step"]
        assert finding.detail.endswith(f"{FILE}: reads run graphs at /job/train.py:34 in main.")
        assert (
            "reads run graphs"
            not in found(eager, log.replace("item()", "debug_mode"))["sync_every_step"].detail
        )


class TestGraphBreaks:
    def test_breaks_in_what_the_capture_calls(self, shared_traces: Path) -> None:
        trace = real_trace(shared_traces / "torchtpu/tt_compiled_checkpoint")
        broken = artifact("dynamo_graph_break_reason", BREAK, "0/0")
        finding = found(trace, broken * 2)["graph_breaks"]
        assert finding.title == "torch.compile breaks the graph once"
        assert finding.detail == (
            f"{FILE} counts 1 break and 1 graph: Failed to trace builtin operator at /job/train.py:8 in scaled. "
            "The capture has 9 calls of 1 compiled function."
        )
        assert "the tpu backend" in finding.advice
        assert (finding.cost_ps, finding.evidence["suspected"]) == (0, False)
        assert "graph_breaks" not in found(trace, broken.replace('"frame_id": 0', '"frame_id": 7'))

    def test_suspected_breaks_are_confirmed(self) -> None:
        trace = compiled(4).trace()
        finding = found(
            trace, artifact("dynamo_graph_break_reason", BREAK, "0/0") + metrics("0/0", "f", 6, 1)
        )
        assert not finding["graph_breaks"].evidence["suspected"]
        assert "at /job/train.py:8 in scaled" in finding["graph_breaks"].detail

    def test_breaks_elsewhere_are_no_finding(self) -> None:
        """Two graphs a step, and no record of which functions are called."""
        log = artifact("dynamo_graph_break_reason", BREAK, "0/0")
        assert graph_breaks(Facts(compiled(2).trace(), sidecars(log))) is None


class TestGuards:
    RECOMPILED = artifact("recompile_reasons", "0/0: scale == 2.0  # y = x * scale  # a.py:7 in f", "0/1")

    def test_guards_that_failed_during_the_capture(self, eager: Trace) -> None:
        for start_us, count in ((-2000, 0), (-999, 1), (5000, 1), (10**9, 0)):
            log = (
                metrics("0/0", "g", 1, 1)
                + self.RECOMPILED
                + metrics("0/1", "f", 6, 1000, at(eager, start_us))
            )
            guards = Facts(eager, sidecars(log)).guards
            assert len(guards) == count
            if guards:
                assert (guards[0].guard, guards[0].place) == ("scale == 2.0", "/job/train.py:6")

    def test_without_a_clock_all_guards_count(self, eager: Trace) -> None:
        eager.base_unix_ns = 0
        assert len(Facts(eager, sidecars(self.RECOMPILED + metrics("0/1", "f", 6, 1))).guards) == 1


class TestCompilations:
    """A program that is compiled in the capture, as its name shows."""

    def trace(self) -> Trace:
        runs = [event(f"{MM}(7)", 1000 * number + 900, 50, _ct=TO_DEVICE, _c=number) for number in range(6)]
        launches = [
            event("DoEnqueueProgram", 1000 * number + 800, 10, _pt=TO_DEVICE, _p=number)
            for number in range(6)
        ]
        compiling = [
            event("XLAGraphExecutor::Compile", 4100, 600),
            event(f"HLO passes through layout assignment ({MM})", 4110, 500),
        ]
        steps = [event("ProfilerStep", 1000 * number, 1000) for number in range(6)]
        return capture(
            thread("pt_main_thread", *steps, event("aten::mm", 10, 5)),
            thread("pt_main_thread", *sorted([*launches, *compiling], key=lambda row: row[1])),
            Core([event("fusion.1", row[1] / 10**6, 50) for row in runs], runs),
        )

    @pytest.mark.parametrize(
        ("log", "cause", "frame"),
        [
            (
                materialization("item()", program=MM, place="/job/train.py:34 in main"),
                "item()",
                "/job/train.py:34 in main",
            ),
            (
                TestGuards.RECOMPILED
                + metrics("0/1", "f", 6, 1)
                + artifact("torchtpu_stablehlo_graph", module(MM), "0/1"),
                "the guard scale == 2.0 failed",
                "/job/train.py:6",
            ),
            (materialization("item()", program=MM) + materialization(".cpu()", program=MM), None, None),
            (record("str", ["a", 0]), None, None),
        ],
    )
    def test_the_cause_is_that_of_the_modules_graph(
        self, log: str, cause: str | None, frame: str | None
    ) -> None:
        trace, files = self.trace(), sidecars(log)
        causes: dict[str, Any] = causes_of(trace, files)
        (row,) = compiles_report(trace, causes)
        assert (row["module"], row["cause"], row["frame"]) == (MM, cause, frame)
        sentence = str(compilation_cause(Facts(trace, files), causes.get(MM, {})))
        assert (cause or "") in sentence
        assert bool(sentence) == bool(cause)
