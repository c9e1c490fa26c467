"""The report as text: its sections and their figures."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from captures import Core, capture, thread
from report_texts import (
    CASE_STUDY,
    column_headings,
    printed,
    report,
    section,
    section_text,
    single_spaced,
    text_of,
)
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.cli.main import main
from tb_xla_insights.report.compile_text import difference_text
from tb_xla_insights.sections.host_work import compiles, early_executions, executions, transfers
from tb_xla_insights.sections.loading import loading

MS = 10**9
Capsys = pytest.CaptureFixture[str]


def test_a_synthetic_session_is_labelled_synthetic() -> None:
    assert "System    PyTorch/XLA · XRT · 8 TPU v3 cores · synthetic\n" in text_of(CASE_STUDY)
    assert "System    PyTorch/XLA · PJRT · 1 CPU device\n" in text_of("torch_xla_early_item")


def test_input_that_does_not_delay_devices() -> None:
    idle_sentence = "8.612 ms of idle time on all cores (< 0.1 % of their spans) is spent waiting for data."
    assert section(text_of(CASE_STUDY), "Input") == [
        "Input",
        f"Loading does not hold devices up: {idle_sentence}",
        "Data comes from 2 loader threads; 11 batches took the driving thread 90.136 ms, 8.194 ms each.",
        "Loading takes 2 904.818 ms; during 57.5 % of that some device works.",
        "Sending to devices takes 238.914 ms; during 1.8 % of that some device works.",
    ]


def test_input_that_devices_wait_for() -> None:
    assert section(text_of("torch_xla_slow_input"), "Input")[1:3] == [
        (
            "Devices wait for data: 201.958 ms of idle time on all cores (73.7 % of their spans) is spent waiting for "
            "data."
        ),
        "Loading 6 batches, or waiting for a loader, takes the driving thread 246.976 ms, 41.163 ms each.",
    ]


def test_input_of_other_kinds() -> None:
    pipeline = report(CASE_STUDY)["input_pipeline"] | {
        "kind": "mp_device_loader",
        "idle_ps": 0,
        "infeed_ps": 0,
    }
    hosts = {"hosts": report(CASE_STUDY)["session"]["hosts"] * 2}
    text = section_text(loading, {"input_pipeline": pipeline, "session": hosts})
    assert "Loading does not hold devices up: no idle time is spent waiting for data." in text
    assert "Data comes from MpDeviceLoader (2 loader threads); 11 batches took driving threads" in text
    infeed = {"kind": "infeed", "verdict": "bound", "idle_ps": 5 * MS, "infeed_ps": 2 * MS, "share": 0.2}
    of_infeed = {"input_pipeline": pipeline | infeed | {"batches": 0, "loader_threads": 0}}
    text = section_text(loading, report(CASE_STUDY) | of_infeed)
    assert (
        "5.000 ms of idle time on all cores (20.0 % of their spans) is spent waiting for data; "
        "2.000 ms of it in infeed ops." in text
    )
    assert "Data comes from infeed. " in text


def test_no_input_section_without_loading(logdir: Path) -> None:
    document: Any = xi.load(str(logdir)).report()
    assert document["input_pipeline"]["verdict"] == "unknown"
    assert "\nInput\n" not in printed(document)


def test_early_executions() -> None:
    assert section(text_of(CASE_STUDY), "Early executions")[1:] == [
        "Step Annotation Thread How Program Start, ms Device, ms Idle after, ms",
        "─" * 131,
        "1211 Training_Step/forward/text_encoder python step marker SyncTensorsGraph.41102 2 122.085 304.352 1 566.401",
    ]
    rows = section(text_of("torch_xla_early_item"), "Early executions")
    assert rows[3] == "3 Training_Step/forward python value read SyncTensorsGraph.191 4.038 0.326 6.346"
    assert "Early executions" not in text_of("torch_xla_dynamic_shapes")


def test_the_fixed_cost_of_executions_and_the_lead_of_the_host() -> None:
    text = single_spaced(text_of("torch_xla_early_item"))
    assert section(text_of("torch_xla_early_item"), "Executions")[3].endswith(
        "1.068 0.843 / 1.010 / 1.370 ms 0.000 0.169 0.126 / 0.157 / 0.237 ms"
    )
    assert "a free device waits 6.259 ms for a run (median; lead from −7.610 ms to" in text
    assert (
        "Beyond its device time, an execution costs a fixed 0.136 ms and 2.8 % of its device time "
        "(fitted to 12 runs)." in text
    )
    lead = {"median_ps": 2 * MS, "mean_ps": 2 * MS, "min_ps": -MS, "max_ps": 5 * MS, "runs": 1000}
    fixed = {"fixed_ps": 0, "slope": 0.1, "runs": 7}
    text = section_text(executions, report(CASE_STUDY) | {"launching": {"lead": lead, "fixed": fixed}})
    assert (
        "The host runs ahead of most runs: they are enqueued 2.000 ms before the device is free for them (median; from "
        "−1.000 ms to 5.000 ms over 1 000 runs). For the others a free device waits, for up to 1.000 ms."
        in text
    )
    assert "indistinguishable from zero (fitted to 7 runs)" in text
    one_run = {"lead": lead | {"runs": 1, "min_ps": MS}, "fixed": None}
    text = section_text(executions, report(CASE_STUDY) | {"launching": one_run})
    assert "The host runs ahead: a run is enqueued 2.000 ms before the device is free for it" in text
    assert "over 1 run)" in text


def test_spreads_have_one_unit() -> None:
    [row, *_] = report(CASE_STUDY)["programs"]
    rows = [row | {"spread": row["spread"] | {"overhead_ps": {"min": 500, "median": MS, "max": 20_000 * MS}}}]
    launching = {"lead": None, "fixed": None}
    text = section_text(executions, {"programs": [*rows, row | {"count": 1}], "launching": launching})
    first, single = text.split(" SyncTensorsGraph.41937 ")[1:]
    assert first.endswith("0.000 / 0.001 / 20.000 s")
    assert "/" not in single
    assert "The host" not in text


def test_ops_that_only_wait_over_all_devices() -> None:
    host = thread("python", ("step", 0, 100, {"_r": 1}))
    ops = [("copy-done.1", 2, 30), ("all-reduce-done", 45, 5), ("dot", 70, 5)]
    cores = [Core(name=f"TPU:{n}", ops=ops) for n in range(2)]
    devices = device_summaries(capture(host, *cores))
    text = printed(report(CASE_STUDY) | {"devices": [*report(CASE_STUDY)["devices"], *devices]})
    headings, _, *rows = section(text, "Ops that only wait")[1:]
    assert (headings, rows) == (
        "Op Waits for Count Time, ns",
        ["copy-done.1 other 2 0.060", "all-reduce-done interconnect 2 0.010"],
    )
    assert "Ops that only wait" not in text_of(CASE_STUDY)


def test_compilations() -> None:
    rows = section(text_of("torch_xla_dynamic_shapes"), "Compilations")
    assert (
        rows[1] == "Module Step Start, ms Time, ms Idle for it, ms When What is new Graph During Where Cause"
    )
    assert rows[3] == (
        "SyncTensorsGraph.608 5 47.934 1 789.398 1 789.398 after warm-up s64[4,16] became s64[4,24] "
        "(parameters 12 and 17), 2 of 20 parameters differ from SyncTensorsGraph.603(0) 130ef63c Training_Step step "
        "(/opt/xla-demo/train.py:111) torch_xla.sync when exiting a profiler StepTrace region"
    )
    document = report("torch_xla_dynamic_shapes")
    [row] = document["compiles"]
    related_graphs = ["0123456789abcdef", "SyncTensorsGraph.608(7)", "b", "c", "d"]
    text = section_text(compiles, document | {"compiles": [row | {"graphs_of_same_name": related_graphs}]})
    assert " 01234567, SyncTensorsGraph.608(7), b, 2 more " in text


@pytest.mark.parametrize(
    ("cut", "warm_up", "text"),
    [
        ("start", False, "after warm-up, begun before the capture"),
        ("end", False, "after warm-up, unfinished"),
        ("both", True, "warm-up, begun before the capture, unfinished"),
        (None, True, "warm-up"),
    ],
)
def test_compilations_that_the_capture_cuts(cut: str | None, warm_up: bool, text: str) -> None:
    document = report("torch_xla_dynamic_shapes")
    [row] = document["compiles"]
    changed = row | {"cut": cut, "warm_up": warm_up, "difference": None, "nearest": None}
    assert f" {text} 130ef63c " in section_text(compiles, document | {"compiles": [changed]})


def test_in_warm_up_every_graph_is_new() -> None:
    [row] = report("torch_xla_dynamic_shapes")["compiles"]
    new_graph = {
        "change": "other_graph",
        "difference": "no earlier graph is similar",
        "nearest": None,
    }
    assert difference_text(row | new_graph) == "No earlier graph is similar"
    assert difference_text(row | new_graph | {"warm_up": True}) is None


def test_of_many_lost_annotations_the_first_are_named() -> None:
    document = report("torch_xla_slow_input")
    backward = next(row for row in document["annotations"] if row["lost"] == "autograd thread")
    outer = [backward | {"path": path, "lost": None} for path in ("step", "step/a", "step/b")]
    rows = [backward | {"path": f"step/{part}/layer_{n}"} for part in "ab" for n in range(1500)]
    text = printed(document | {"annotations": [*outer, *rows]})
    [line] = [line for line in text.splitlines() if line.startswith("Lost, ")]
    assert line.startswith("Lost, autograd thread: a/layer_0, a/layer_1, ")
    assert "a/layer_11, 2\u202f988 more. " in line


def test_transfers() -> None:
    rows = section(text_of(CASE_STUDY), "Transfers")
    assert rows[3] == "transfer to device 12 1.1 238.914 3.6 GB 324.5 MB"
    row = report(CASE_STUDY)["transfers"]["to_device"] | {"known_size_count": 3}
    assert "3.6 GB (3 known)" in section_text(transfers, {"transfers": {"to_device": row}})


def test_ops_of_a_window_add_up_over_their_annotations(capsys: Capsys) -> None:
    assert main(["window", str(LOGDIR / CASE_STUDY), "--start-ms", "1000.0001", "--end-ms", "1100"]) == 0
    _, _, _, *rows, total = section(capsys.readouterr().out, "Device ops by annotation")
    numbers = [re.findall(r"\d+\.\d+", row)[:2] for row in rows]
    times, shares = (sum(map(Decimal, column)) for column in zip(*numbers, strict=True))
    assert total == f"all ops 648 {times} {shares} %"


def test_the_times_of_devices_add_up_to_a_window_beyond_their_spans(capsys: Capsys) -> None:
    assert main(["window", str(LOGDIR / CASE_STUDY), "--start-ms=-50", "--end-ms", "700"]) == 0
    _, heads, _, *rows = section(capsys.readouterr().out, "Devices")
    assert "Idle, ms Before or after all runs, ms Stall, ms" in heads
    assert len(rows) == 8
    for row in rows:
        busy, idle, outside, _ = map(Decimal, re.findall(r"\d+\.\d{3}", row))
        assert busy + idle + outside == 750


def test_slashes_in_names_divide_no_annotation() -> None:
    document = report("torch_xla_early_item")
    [row, *_] = document["annotations"]
    rows = [row | {"path": path} for path in ("train/step", "train/step/net/forward")]
    text = printed(document | {"annotations": rows})
    assert [
        line.rstrip()[:14].rstrip() for line in text.splitlines() if "train/step  " in line or "net/" in line
    ] == [
        "train/step",
        "  net/forward",
    ]


def test_tables_that_leave_rows_out_say_so() -> None:
    document = report("torch_xla_early_item")
    [program, *_] = document["programs"]
    collective = {
        "op": "all-reduce.1",
        "kind": "all-reduce",
        "count": 1,
        "duration_ps": 5,
        "exposed_ps": 5,
        "exposed_in_steps_ps": 0,
    }
    [pattern, *_] = document["gaps"]["patterns"]
    [phases, *_] = (row for row in document["propagation"]["programs"] if row["phases"])

    def with_rows(count: int) -> Any:
        many = {"programs": [program] * count, "collectives": [collective] * count}
        gaps = document["gaps"] | {"patterns": [pattern] * count}
        propagation = document["propagation"] | {"programs": [phases] * count}
        return document | many | {"gaps": gaps, "propagation": propagation}

    texts = [printed(with_rows(count)) for count in (12, 13)]
    for title, note in (
        ("Executions", "; the first 12 of 13)"),
        ("Collectives", "; the 12 longest)"),
        ("Recurring gaps", "; the first 12 of 13)"),
        ("Order of phases on the device", "; the first 12 of 13)"),
    ):
        assert [section(text, title)[0].endswith(note) for text in texts] == [False, True]


def test_a_recording_without_versions_and_flags_is_not_described() -> None:
    document = report("torch_xla_early_item") | {"metrics": None}
    assert "Recorded with" not in printed(document | {"recorded": {"samples_per_step": 64}})
    assert "Recorded with jax 0.9" in printed(document | {"recorded": {"versions": {"jax": "0.9"}}})


def test_rows_of_several_hosts_name_the_host(logdir: Path) -> None:
    document: Any = xi.load(str(logdir)).report()
    text = printed(document)
    assert column_headings(text, "Steps").split()[:2] == ["Step", "Host"]
    steps = [step for step in document["steps"] if step["host"] == "b"]
    assert column_headings(printed(document | {"steps": steps}), "Steps").split()[:2] == ["Step", "Host"]
    assert {row.split()[0] for row in section(text, "Gaps")[3:]} == {"a/TPU:0", "b/TPU:0"}
    assert "Host" not in column_headings(text_of(CASE_STUDY), "Steps")
    early = report("torch_xla_early_item")
    [execution, *_], [compilation] = early["early_executions"], report(CASE_STUDY)["compiles"]
    rows = {
        "early_executions": [execution | {"host": "other"}],
        "compiles": [compilation | {"host": "other"}],
    }
    for make in (early_executions, compiles):
        shown = section_text(make, early | rows | {"session": document["session"]})
        assert shown.split().count("other") == 1


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_text_is_readable_if_stdout_lacks_its_characters(encoding: str) -> None:
    """As in an old locale, or in a pipe on Windows."""
    command = [
        sys.executable,
        "-m",
        "tb_xla_insights",
        "report",
        "--full",
        str(LOGDIR / "torch_xla_baseline"),
    ]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    process = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True)
    lines = process.stdout.decode(encoding).splitlines()
    assert lines[1].endswith("without it, a step would go from 13.2 to 2.6 ms.")
    assert not [line for line in lines if "\\" in line]
    assert any("-80.6 % of a step" in line for line in lines)
