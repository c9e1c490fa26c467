"""Reports of real captures and demos: exact sums, counts that agree with the training's own metrics report, and the
findings that scenarios were recorded to show."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from tb_xla_insights.cli.main import main

CLEAN = (
    "tiny_baseline",
    "tiny_nodebug",
    "baseline_session_debug",
    "lazy_train_session",
    "tiny_mp_loader",
    "tiny_server",
    "baseline_server_level1",
)
"""Captures without mistakes; on a CPU the device still idles while the host builds graphs."""

FIRST_FINDINGS = {
    "tiny_early_item": "early_sync",
    "tiny_slow_input": "input_bound",
    "tiny_dynamic": "recompilation",
    "tiny_grad_accum_sync": "many_small_executions",
    "tiny_dynamo_train": "many_small_executions",
    "multihost_server_debug": "input_bound",
}
DEMOS = {
    "synthetic_case_study_8_tpu_cores": {"recompilation", "early_sync", "tracing_bound", "transfer_bound"},
    "synthetic_dynamo_issue_dynamo": {"many_small_executions", "dispatch_overhead"},
    "torch_xla_early_item": {"early_sync", "sync_every_step"},
    "torch_xla_slow_input": {"input_bound"},
    "torch_xla_dynamic_shapes": {"recompilation"},
    "torch_xla_dynamo": {"many_small_executions"},
    "torch_xla_dynamo_graph_break": {"graph_breaks", "sync_every_step"},
}


def report(folder: Path) -> Any:
    return xi.load(str(folder)).report()


def severe_findings(document: dict[str, Any]) -> set[str]:
    return {finding["id"] for finding in document["findings"] if finding["severity"] != "info"}


Reports = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def real_report(shared_traces: Path) -> Reports:
    """The reports of real captures by name, each made once."""
    folders = {
        path.name: path for name in ("torch_xla", "public") for path in (shared_traces / name).iterdir()
    }
    return cache(lambda name: report(folders[name]))


def test_each_scenario_has_its_finding(real_report: Reports) -> None:
    for name, id_ in FIRST_FINDINGS.items():
        assert real_report(name)["findings"][0]["id"] == id_, name
    spmd = {finding["id"]: finding for finding in real_report("spmd_fsdp_debug")["findings"]}
    assert spmd["device_waits"]["cost_ps"] > 0
    stalls = real_report("tpu_v6e_jax")["findings"][0]
    assert stalls["id"] == "device_waits"
    # No finding of this capture occurs once, so gains are shares of the mean step.
    assert stalls["gain"] == pytest.approx(1 - stalls["step_if_fixed_ps"] / stalls["step_ps"], abs=1e-12)
    assert "device_bound" in {finding["id"] for finding in real_report("dynamo_train_session")["findings"]}


def test_clean_captures_have_limits_and_no_mistakes(real_report: Reports) -> None:
    for name in CLEAN:
        assert severe_findings(real_report(name)) <= {"tracing_bound", "dispatch_overhead"}, name
        assert real_report(name)["mistakes"]["count"] == 0
    for name in ("dynamo_train_session", "tiny_coldstart"):
        assert severe_findings(real_report(name)) == set(), name


def test_runs_of_a_gpu_come_from_its_kernels(real_report: Reports) -> None:
    document = real_report("gpu_mi300_jax")
    assert [device["modules"] for device in document["devices"]] == [5] * 8
    (row,) = document["executions"]
    assert (row["program"], row["program_ids"]) == ("jit_forward_3d_conv", ["15"])
    assert (row["launches"], row["count"], row["join"], row["queue_ps"]) == (5, 40, "exact", 0)
    gaps = document["gaps"]["items"]
    counts = Counter((gap["kind"], gap["inside_run"]) for gap in gaps)
    # The host is late with every execution, and with most kernels.
    assert counts == {("starved", False): 32, ("starved", True): 96, ("unknown", True): 11}
    assert {gap["after"] for gap in gaps} == {"jit_forward_3d_conv"}
    # The end of the last step is unknown.
    assert [step["executions"] for step in document["steps"]] == [1] * 4
    # The script calls block_until_ready in every step, which is its longest wait.
    assert [finding["id"] for finding in document["findings"]] == [
        "sync_every_step",
        "dispatch_overhead",
    ]
    without_programs = real_report("gpu_v100_tf")  # its kernels name no program
    assert [device["modules"] for device in without_programs["devices"]] == [0, 0]
    assert without_programs["executions"] == []
    assert without_programs["verdict"]["headline"] == (
        "The GPUs work 72\u202f% of the time while they run; "
        "75\u202f% of the capture is before the first and after the last run."
    )
    assert "no_launches" in {diagnostic["id"] for diagnostic in without_programs["diagnostics"]}


def test_counts_agree_with_the_metrics_report(real_report: Reports) -> None:
    """The capture `tiny_coldstart` has every step from the first on; that of `tiny_early_item` has six of nine."""
    document = real_report("tiny_coldstart")
    counters, metrics = document["metrics"]["counters"], document["metrics"]["metrics"]
    assert sum(row["launches"] for row in document["executions"]) == counters["ExecuteComputation"]
    assert len(document["compiles"]) == counters["UncachedCompile"]
    assert (
        len(document["steps"])
        == counters["MarkStep"]
        == counters["UncachedCompile"] + counters["CachedCompile"]
    )
    compiled = sum(row["duration_ps"] for row in document["compiles"])
    assert compiled == pytest.approx(metrics["CompileTime"]["total"], rel=0.02)
    early_item = real_report("tiny_early_item")
    reads = early_item["metrics"]["metrics"]["TransferFromDeviceTime"]["samples"]
    assert early_item["transfers"]["from_device"]["count"] == reads * 6 // 9


@pytest.mark.parametrize("name", sorted(DEMOS))
def test_demos_have_their_findings(name: str) -> None:
    ids = {finding["id"] for finding in report(Path(LOGDIR) / name)["findings"]}
    assert ids >= DEMOS[name]


def test_fail_on_fails_at_the_given_severity(capsys: pytest.CaptureFixture[str]) -> None:
    early_item, lazy = (
        str(Path(LOGDIR) / name) for name in ("torch_xla_early_item", "synthetic_dynamo_issue_lazy")
    )
    assert main(["report", early_item, "--json", "--fail-on", "critical"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert "critical" in {finding["severity"] for finding in document["findings"]}
    assert main(["report", early_item, "--json"]) == 0
    assert main(["report", lazy, "--full", "--fail-on", "warning"]) == 0
    text = capsys.readouterr().out.partition("Session  ")[2]
    sentence = "1 whole step, mean 39.000 ms: a core works for 17.832 ms and is idle for 21.168 ms."
    assert sentence in text.replace("\u202f", " "), (
        "the duty cycle of 100 % covers the only run, not the step"
    )


def test_the_text_begins_with_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--full", str(Path(LOGDIR) / "synthetic_case_study_8_tpu_cores")]) == 0
    text = capsys.readouterr().out.replace("\u202f", " ")
    first = " ".join(text.partition("\n\n")[0].split())
    # The generator wrote the transfers, a compilation, an early execution, and a host that builds graphs for longer
    # than the cores work.
    assert first == (
        "The 8 TPU cores work 60 % of the time; above all they wait for the host, which builds the graph. Fix first: "
        "324.5 MB sent each step; that brings a step from 242.7 to 221.4 ms. Then the pace is set by the host, which "
        "builds the graph; without it, a step would go from 221.4 to 169.3 ms. Once: a compilation in step 1209 (318 "
        "ms) and 1 other event."
    )
    order = [
        "Fix: what your code can avoid; together at best: mean 290.8 → 221.4 ms",
        "1. Info, fix: ",
        "−8.8 % of a step, 242.7 → 221.4 ms (transfer_bound, costs 1.54 s on all cores)",
        "   Do: Send what the next step needs",
        "Pace: what sets the pace; gains of each alone",
        "no gain now: the host is slower (device_waits, ",
        "No device time: fixes that make no step shorter",
        "no gain (annotations_not_propagated)",
        "Once: what happened once in this capture",
        "Warning, once: ",
        "−318.4 ms once, mean step 290.8 → 259.0 ms (recompilation, ",
        "\nDevices (each core)\n",
        "What the host did",
        "Steps (10, mean 290.831 ms, median 243.248 ms)",
        "Recurring gaps",
        "Executions (means",
    ]
    positions = [text.index(part) for part in order]
    assert positions == sorted(positions)
