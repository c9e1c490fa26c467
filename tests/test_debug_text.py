"""PT_XLA_DEBUG logs: their blocks, and the launch of the trace that each execution belongs to."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loops import STEP, loop
from report_texts import printed

import tb_xla_insights as xi
from tb_xla_insights.analysis.compiles.debug_log import (
    blocks_of_early_executions,
    causes_by_program,
    match_logged_executions,
)
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.sidecar_contents import DebugLogBlock
from tb_xla_insights.report.debug_text import parse_debug

RULE = "=" * 80


def block_text(graph: str, kind: str = "Compilation", cause: str = "user mark_step", prefix: str = "") -> str:
    """One block as PyTorch/XLA prints it."""
    lines = [
        RULE,
        f"{kind} Cause",
        f"  {cause}",
        "Graph Info: ",
        f"  Graph Hash: {graph}",
        "  Number of Graph Inputs: 11",
        "Python Frame Triggered Execution: ",
        "  sync (/venv/lib/python3.11/site-packages/torch_xla/torch_xla.py:87)",
        "  run_step (/home/me/train.py:139)",
        "  <module> (/home/me/train.py:248)",
        "-" * 80,
        RULE,
    ]
    return "".join(f"{prefix}{kind} Analysis: {line}\n" for line in lines)


class TestBlocks:
    def test_compilations_and_executions_have_the_programs_own_frames(self) -> None:
        compilation, *executions = (
            block_text("aa"),
            block_text("aa", "Execution"),
            block_text("bb", "Execution"),
        )
        text = f"hello\n{compilation}Computation hash: 5\n{executions[0]}step 1\n{executions[1]}"
        parsed = parse_debug(text, "e.txt")
        [compiled] = parsed.compilations
        frames = ("run_step (/home/me/train.py:139)", "<module> (/home/me/train.py:248)")
        assert compiled == DebugLogBlock("aa", "user mark_step", frames, "e.txt", 2)
        assert compiled.frame == frames[0]
        assert [block.graph for block in parsed.executions] == ["aa", "bb"]
        assert parsed.unread == []

    def test_lines_after_a_compilation_are_not_a_block(self) -> None:
        post = f"Post Compilation Analysis: {RULE}\nPost Compilation Analysis: Graph input size: 0.1 GB\n"
        assert (
            parse_debug(post + block_text("aa") + post).compilations
            == parse_debug(post + block_text("aa")).compilations
        )

    def test_lines_of_several_processes_may_be_mixed(self) -> None:
        ranks = [
            block_text(graph, prefix=f"[rank{rank}]: ").splitlines()
            for rank, graph in ((10, "aa"), (11, "bb"))
        ]
        mixed = "\n".join(line for lines in zip(*ranks, strict=True) for line in lines)
        assert [block.graph for block in parse_debug(mixed).compilations] == ["aa", "bb"]

    def test_times_before_lines_are_ignored(self) -> None:
        lines = block_text("aa").splitlines()
        stamped = "\n".join(f"2026-11-21 03:04:{second:02} {line}" for second, line in enumerate(lines))
        assert [block.graph for block in parse_debug(stamped).compilations] == ["aa"]

    def test_a_log_that_begins_and_ends_inside_blocks(self) -> None:
        text = (
            block_text("aa").partition("Graph Info")[2]
            + block_text("bb")
            + block_text("cc").partition("Number")[0]
        )
        parsed = parse_debug(text, "e.txt")
        assert [(block.graph, block.cause) for block in parsed.compilations] == [
            ("aa", None),
            ("bb", "user mark_step"),
            ("cc", "user mark_step"),
        ]
        assert [block.text for block in parsed.unread] == [
            "a block of Compilation Analysis without cause",
            "a block of Compilation Analysis without Python frame",
            "ends inside a block of Compilation Analysis",
        ]

    def test_blocks_in_another_wording_are_used_in_part(self) -> None:
        text = (
            block_text("aa")
            .replace("Compilation Cause", "Compilation Origin")
            .replace("Graph Hash", "Graph Id")
        )
        parsed = parse_debug(text, "e.txt")
        assert [(block.graph, block.cause, bool(block.frames)) for block in parsed.compilations] == [
            (None, None, True)
        ]
        assert [block.text for block in parsed.unread] == [
            "a block of Compilation Analysis without cause and graph hash"
        ]

    def test_dots_and_generated_code_are_not_frames(self) -> None:
        frames = ["  forward (<eval_with_key>.13:5)", "  ..........", "  run_step"]
        text = block_text("aa").replace("  run_step", "\nCompilation Analysis: ".join(frames))
        [compiled] = parse_debug(text).compilations
        assert compiled.frames == ("run_step (/home/me/train.py:139)", "<module> (/home/me/train.py:248)")

    def test_advice_about_a_metric_is_the_last_one(self) -> None:
        lines = [f"pt-xla-profiler: CompileTime too frequent: {n} counts during {n} steps" for n in (1, 2, 3)]
        assert parse_debug("\nother\n".join(lines)).advice == [
            "CompileTime too frequent: 3 counts during 3 steps"
        ]

    def test_advice_about_ops_that_are_not_lowered(self) -> None:
        """In the wording of torch_xla 1.x and of 2.9."""
        old = "pt-xla-profiler: Op(s) not lowered: aten::_ctc_loss,  Please open an issue"
        frames = ["  forward (/me/train.py:73)", "  main (/me/train.py:{})", ""]
        head = ["=====", "Unlowered Op usage summary (more of these ops, lower performance)", "-----"]
        unnamed = ["FRAME (count=9):", 'Unlowered Op: "xla_fallback"', ""]
        new = [*head, *unnamed, "FRAME (count=6):", *frames, "FRAME (count=3):", *frames, "====="]
        text = "\n".join([old, *(f"WARNING:pt-xla-profiler:{line}" for line in new)])
        assert parse_debug(text).advice == [
            old.partition(": ")[2],
            'op "xla_fallback" is not lowered, 9 times',
            "ops are not lowered at forward (/me/train.py:73), 9 times",
        ]
        ranks = [f"[rank{rank}]:WARNING:pt-xla-profiler:" for rank in (0, 1)]
        mixed = [rank + line for line in ("FRAME (count=2):", 'Unlowered Op: "a"') for rank in ranks]
        assert parse_debug("\n".join(mixed)).advice == ['op "a" is not lowered, 4 times']
        once = 'pt-xla-profiler:FRAME (count=1):\npt-xla-profiler:Unlowered Op: "a"'
        assert parse_debug(once).advice == ['op "a" is not lowered, 1 time']

    @given(st.integers(0, 3000))
    def test_a_cut_log_has_no_wrong_block(self, length: int) -> None:
        text = block_text("aa") + block_text("bb", "Execution") + block_text("cc")
        whole, parsed = parse_debug(text), parse_debug(text[:length])
        complete = parsed.compilations[: -1 if parsed.unread else None]
        assert complete == [block for block in whole.compilations if block in complete]
        assert [block.graph for block in whole.compilations][: len(complete)] == [
            block.graph for block in complete
        ]

    @pytest.mark.parametrize("text", ["", "hello\n", "Static Analysis: ====\n", "Compilation Analysis\n"])
    def test_other_texts_have_no_blocks(self, text: str) -> None:
        parsed = parse_debug(text)
        assert (parsed.compilations, parsed.executions, parsed.advice, parsed.unread) == ([], [], [], [])


def blocks(graphs: str, causes: str = "") -> list[DebugLogBlock]:
    return [
        DebugLogBlock(graph, cause, (f"f (train.py:{ord(cause)})",), "e.txt", line)
        for line, (graph, cause) in enumerate(zip(graphs, causes or "x" * len(graphs), strict=True))
    ]


class TestExecutions:
    """In most tests ten steps of one program, so ten equal launches in a row."""

    def test_part_of_a_log_of_one_graph_matches_that_graph(self) -> None:
        matches = match_logged_executions(loop(10).trace(), blocks("a" + "b" * 14))
        assert {block.graph for block in matches.values()} == {"b"}
        assert len(matches) == 10

    def test_launches_with_ambiguous_causes_have_none(self) -> None:
        """Ten of eleven blocks fit at two offsets; only causes that agree at both are known."""
        matches = match_logged_executions(loop(10).trace(), blocks("b" * 11, "xxxxxyyyyyy"))
        assert sorted(matches) == [launch for launch in range(10) if launch != 4]

    @pytest.mark.parametrize("graphs", ["", "b" * 9, "ab" * 10, "a" * 9 + "b" + "a" * 9])
    def test_a_log_of_another_training_matches_no_launch(self, graphs: str) -> None:
        assert match_logged_executions(loop(10).trace(), blocks(graphs)) == {}

    def test_the_cause_of_a_launch_distinguishes_alternating_graphs(self) -> None:
        """Each step reads a value and then ends; the log alone fits shifted by one as well."""
        tpu = loop(0)
        for i in range(5):
            tpu.step(i * 1000, 1000, i)
            tpu.launch(i * 1000 + 100, (i * 1000 + 110, 20), (i * 1000 + 150, 100), program="part(9)")
            tpu.launch(i * 1000 + 700, (i * 1000 + 710, 20), (i * 1000 + 750, 100), by="marker")
        read, marker = "trying to access tensor value before torch_xla.sync", "user mark_step"
        log = [DebugLogBlock(graph, cause, (), "e", 1) for graph, cause in 7 * [("a", read), ("b", marker)]]
        trace = tpu.trace()
        assert {name: causes[0]["graph_hash"] for name, causes in causes_by_program(trace, log).items()} == {
            "part": "a",
            "train": "b",
        }
        without_causes = [DebugLogBlock(block.graph, None, (), "e", 1) for block in log]
        assert match_logged_executions(trace, without_causes) == {}

    def test_causes_are_counted_by_program(self) -> None:
        trace = loop(10).trace()
        [program] = {name for name, _ in find_launches(trace).programs}
        assert causes_by_program(trace, blocks("b" * 10, "x" * 7 + "y" * 3)) == {
            program: [
                {"graph_hash": "b", "cause": "x", "frame": "f (train.py:120)", "count": 7},
                {"graph_hash": "b", "cause": "y", "frame": "f (train.py:121)", "count": 3},
            ]
        }

    def test_early_executions_without_a_log_have_no_cause(self) -> None:
        tpu = loop()
        tpu.launch(STEP + 290, (STEP + 300, 10), (STEP + 320, 100), program="part(9)")
        tpu.on_main("PjRtComputationClient::TransferFromDevice", STEP + 425, 10)
        assert blocks_of_early_executions(tpu.trace(), []) == [None]


def test_a_real_log_matches_all_launches_and_compilations(shared_traces: Path) -> None:
    """Each of the three graphs was compiled in the capture, for the first of its three executions."""
    report: Any = xi.load(str(shared_traces / "torch_xla/tiny_dynamic")).report()
    hashes = [row["graph_hash"] for row in report["compiles"]]
    for row in report["compiles"]:
        assert row["cause"] == "torch_xla.sync when exiting a profiler StepTrace region"
        assert row["frame"].endswith("train.py:139)")
        assert row["frames"][0] == row["frame"]
        assert len(row["frames"]) == 3
    [execution] = report["executions"]
    assert [(cause["graph_hash"], cause["count"]) for cause in execution["causes"]] == [
        (graph_hash, 3) for graph_hash in hashes
    ]
    debug = report["metrics"]["debug"]
    assert (debug["compilations"], debug["executions"]) == (5, 12)
    assert (debug["joined_compiles"], debug["joined_executions"]) == (3, 9)
    starts = [row["start_ps"] for row in report["compiles"]]
    assert all(a < b for a, b in pairwise(starts))


def test_a_log_may_explain_more_compilations_than_it_has(shared_traces: Path, tmp_path: Path) -> None:
    """Each host compiles the graphs of the one log."""
    run = copytree(shared_traces / "torch_xla/tiny_dynamic", tmp_path / "run")
    [capture] = run.rglob("*.xplane.pb")
    capture.with_name("second.xplane.pb").write_bytes(capture.read_bytes())
    report: Any = xi.load(str(run)).report()
    counts = "5 compilations and 12 executions; it explains 6 compilations and 18 executions in the capture."
    assert f"Debug log: {counts}" in printed(report)
