"""Texts that PyTorch/XLA and dynamo print, and finding them beside a capture."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest
from helpers import small_space, write_session

import tb_xla_insights as xi
from tb_xla_insights.report.beside import beside, metrics_document
from tb_xla_insights.report.metrics_text import parse_causes, parse_explain, parse_metrics

REPORT = """step 3 done
Metric: CompileTime
  TotalSamples: 6
  Accumulator: 01s147ms508.595us
  ValueRate: 02s558ms079.210us / second
  Percentiles: 1%=057ms628.070us
Metric: OutboundData
  TotalSamples: 29
  Accumulator: 171.02KB
Metric: TensorsGraphSize
  TotalSamples: 20
  Accumulator: 716.00
Counter: UncachedCompile
  Value: 6
Counter: aten::special_i1
  Value: 12
Counter: aten::_local_scalar_dense
  Value: 3
"""
EXPLAIN = """Graph Count: 3
Graph Break Count: 2
Op Count: 18
Break Reasons:
  Break Reason 1:
    Reason: Unsupported Tensor.item() call
    User Stack:
      <FrameSummary file outer.py, line 3 in main>
      <FrameSummary file train.py, line 73 in forward>
  Break Reason 2:
    Reason: print
Ops per Graph:
  Ops 1:
    Reason: not one
"""
LOG = """
Compilation Analysis: ================================================================================
Compilation Analysis: Compilation Cause
Compilation Analysis:   mark_step in the loader
Compilation Analysis: Graph Info:
Compilation Analysis:   Graph Hash: {}
Compilation Analysis:   Number of Graph Inputs: 11
Compilation Analysis: Python Frame Triggered Execution:
Compilation Analysis:   sync (/venv/site-packages/torch_xla/torch_xla.py:87)
Compilation Analysis:   run_step (/home/me/train.py:139)
Compilation Analysis:   <module> (/home/me/train.py:248)
Compilation Analysis: --------------------------------------------------------------------------------
Compilation Analysis: ================================================================================
Post Compilation Analysis: ================================================================================
Post Compilation Analysis: Graph input size: 0.000155 GB
Execution Analysis: ================================================================================
Execution Analysis:   Graph Hash: 99
"""


def test_a_metrics_report() -> None:
    found = parse_metrics(REPORT, "m.txt")
    assert found
    assert found.metrics["CompileTime"] == {"samples": 6, "total": 1_147_508_595_000, "unit": "ps"}
    assert found.metrics["OutboundData"] == {"samples": 29, "total": round(171.02 * 1024), "unit": "bytes"}
    assert found.metrics["TensorsGraphSize"] == {"samples": 20, "total": 716.0, "unit": None}
    assert found.counters["UncachedCompile"] == 6
    assert found.fallbacks() == {"special_i1": 12}


@pytest.mark.parametrize(
    ("text", "ps"),
    [("02m01s000ms000.000us", 121 * 10**12), ("003.926us", 3_926_000), ("1d00h00m00s", 86_400 * 10**12)],
)
def test_times(text: str, ps: int) -> None:
    found = parse_metrics(f"Metric: M\n  TotalSamples: 1\n  Accumulator: {text}\n")
    assert found
    assert found.metrics["M"]["total"] == ps


@pytest.mark.parametrize("text", ["", "hello\n", "Counter: \n", "Metrics are good\n  Value: 3\n"])
def test_what_is_no_metrics_report(text: str) -> None:
    assert parse_metrics(text) is None
    assert parse_explain(text) is None
    assert parse_causes(text) == {}


def test_damaged_numbers_are_passed_over() -> None:
    found = parse_metrics(
        "Counter: A\n  Value: many\nCounter: B\n  Value: 2\nMetric: C\n  Accumulator: 3parsecs\n"
    )
    assert found
    assert (found.counters, found.metrics["C"]["total"]) == ({"B": 2}, None)


def test_dynamos_explanation() -> None:
    found = parse_explain(EXPLAIN, "d.txt")
    assert found
    assert (found.graphs, found.breaks) == (3, 2)
    assert found.reasons == [
        {"reason": "Unsupported Tensor.item() call", "place": "train.py:73 in forward"},
        {"reason": "print", "place": None},
    ]


def test_causes_by_graph_with_the_users_own_frame() -> None:
    found = parse_causes(LOG.format("aa11") + LOG.format("bb22"))
    told = {"cause": "mark_step in the loader", "frame": "run_step (/home/me/train.py:139)"}
    assert found == {"aa11": told, "bb22": told}


class TestBeside:
    def test_files_of_the_run_and_of_the_session_whatever_their_names(self, tmp_path: Path) -> None:
        directory = write_session(tmp_path / "plugins/profile/s", "vm")
        (tmp_path / "my notes.txt").write_text(REPORT)
        (directory / "explained.log").write_text(EXPLAIN)
        (tmp_path / "stderr.txt").write_bytes(LOG.format("aa11").encode() + b"\xff\xfe")
        (tmp_path / "picture.png").write_bytes(b"\x89PNG")
        report = xi.load(str(tmp_path)).report()
        assert report["metrics"]["file"] == "my notes.txt"
        assert report["metrics"]["dynamo"]["breaks"] == 2
        assert {"cpu_fallback", "graph_breaks"} <= {it["id"] for it in report["findings"]}

    def test_a_file_of_the_usual_name_comes_first(self, tmp_path: Path) -> None:
        write_session(tmp_path / "plugins/profile/s", "vm")
        (tmp_path / "a.txt").write_text(REPORT)
        (tmp_path / "metrics_report_rank0.txt").write_text(REPORT.replace("Value: 6", "Value: 7"))
        metrics = xi.load(str(tmp_path)).report()["metrics"]
        assert (metrics["file"], metrics["counters"]["UncachedCompile"]) == ("metrics_report_rank0.txt", 7)

    def test_nothing_beside_is_none(self, tmp_path: Path) -> None:
        write_session(tmp_path / "plugins/profile/s", "vm")
        session = xi.load(str(tmp_path)).trace
        assert metrics_document(beside(session)) is None
        assert beside(session) is beside(session)

    def test_beside_a_remote_capture(self) -> None:
        system = fsspec.filesystem("memory")
        system.pipe_file("/beside/run/plugins/profile/s/vm.xplane.pb", small_space().to_bytes())
        system.pipe_file("/beside/run/metrics_report.txt", REPORT.encode())
        try:
            metrics = xi.load("memory://beside").report()["metrics"]
        finally:
            system.rm("/beside", recursive=True)
        assert metrics["fallbacks"] == {"special_i1": 12}


def test_real_files(shared_traces: Path) -> None:
    folder = shared_traces / "torch_xla/tiny_dynamo_train"
    metrics = parse_metrics((folder / "metrics_report.txt").read_text())
    assert metrics
    assert (metrics.counters["UncachedCompile"], metrics.fallbacks()) == (6, {})
    assert all(it["total"] is not None for it in metrics.metrics.values())
    explained = parse_explain((folder / "dynamo_explain.txt").read_text())
    assert explained
    assert (explained.graphs, explained.breaks, explained.reasons) == (1, 0, [])
