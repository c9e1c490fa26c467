"""What the page shows of a device's engines: one run, the asynchronous ops from start to done, and the waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captures import Core, capture, real_trace, session
from schema_checks import check_answer
from test_plugin import data, get, open_session, tensorboard

from tb_xla_insights.analysis.engines.device_rows import device_summaries
from tb_xla_insights.report.engines_view import engines_view
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.trace.model import Trace

RUN_PS = 1_000_000


def answer_about(trace: Trace, device: int = 0) -> Any:
    answer = engines_view(SessionView(session(trace)), trace.devices[device].id, stale=False)
    check_answer(answer, "engines")
    return answer


def of_device(trace: Trace, device: int = 0) -> Any:
    return answer_about(trace, device)["of_device"]


def drawn(row: Any, kind: str) -> list[tuple[int, int]]:
    return [(piece["start_ps"], piece["end_ps"]) for piece in row["pieces"] if piece["kind"] == kind]


def op(name: str, start: int, length: int) -> tuple[str, int, int]:
    return name, start, length


def test_a_run_is_drawn_engine_by_engine() -> None:
    """The core computes for a fifth of the run, then waits for the SparseCore, which has worked since 0.1; a late
    reduction is hidden by a fusion."""
    ids = {"offload_core_id": 1, "tc_offload_start_id": 5, "offload_execution_index": 0}
    core = Core(
        [
            ("gather.1.call-start", 0, 1_000, {"hlo_category": "async-start", **ids}),
            op("fusion.1", 1_000, 199_000),
            ("gather.1.call-done", 200_000, 300_000, {"hlo_category": "async-done"}),
            op("all-reduce-start.2", 500_000, 1_000),
            op("fusion.2", 501_000, 398_000),
            op("all-reduce-done.2", 899_000, 1_000),
        ],
        [op("jit_f(1)", 0, RUN_PS)],
    )
    jobs = Core(
        name="TPU:0 SparseCore 1", lines={"Sparse Core Modules": [("gather.1", 100_000, 380_000, ids)]}
    )
    found = of_device(capture(core, jobs))
    own, sparse_core = found["shown"]["engines"]
    assert (own["name"], sparse_core["name"]) == ("TensorCore", "SparseCore 1")
    assert drawn(own, "computing") == [(0, 200_000), (501_000, 899_000)]
    assert [piece for piece in own["pieces"] if piece["kind"] == "waiting"] == [
        {"kind": "waiting", "op": "gather.1", "start_ps": 200_000, "end_ps": 500_000, "ps": 300_000},
        {"kind": "waiting", "op": "all-reduce.2", "start_ps": 899_000, "end_ps": 900_000, "ps": 1_000},
    ]
    assert (sparse_core["busy_ps"], sparse_core["computing_ps"]) == (380_000, 100_000)
    assert drawn(sparse_core, "computing") == [(100_000, 200_000)]
    assert drawn(sparse_core, "waiting") == [(200_000, 480_000)]
    gather, reduction = found["shown"]["windows"]
    assert (gather["op"], gather["hidden"], drawn(gather, "under_way")) == (
        "gather.1",
        "partly_hidden",
        [(0, 500_000)],
    )
    assert (reduction["op"], reduction["hidden"], reduction["hidden_ps"]) == (
        "all-reduce.2",
        "hidden",
        398_000,
    )
    assert found["headline"] == (
        "The TensorCore computes 0.6 of 1.0\u202fµs; for 0.3\u202fµs it waits for its SparseCore."
    )
    (wait, others) = found["waits"]
    assert (wait["op"], wait["engine_name"], wait["join"]) == ("gather.1", "SparseCore 1", "id")
    assert (wait["wait_own_ps"], wait["wait_queue_ps"], wait["start_up_ps"]) == (280_000, 0, 20_000)
    assert (others["ops"], others["wait_ps"]) == (1, 1_000)


def test_a_sparse_core_that_is_not_traced_is_said_to_be() -> None:
    ops = [
        ("gather.1.call-start", 0, 1_000, {"hlo_category": "async-start"}),
        ("gather.1.call-done", 1_000, 500_000, {"hlo_category": "async-done"}),
    ]
    found = of_device(capture(Core(ops, [op("jit_f(1)", 0, RUN_PS)])))
    assert [(row["name"], row["traced"]) for row in found["shown"]["engines"]] == [
        ("TensorCore", True),
        ("SparseCore", False),
    ]
    assert found["waits"][0]["why"] == "What the SparseCore does meanwhile is not in the capture."


def test_most_ops_are_summed() -> None:
    """Of 20 ops that wait, 12 are drawn and listed; the sums have all of them."""
    ops = []
    for number in range(20):
        at = number * 50_000
        ops += [op(f"copy-start.{number}", at, 1_000), op(f"copy-done.{number}", at + 1_000, 20_000 + number)]
    found = of_device(capture(Core(ops, [op("jit_f(1)", 0, RUN_PS)])))
    windows, waits = found["shown"]["windows"], found["waits"]
    assert [row["ops"] for row in windows] == [row["ops"] for row in waits] == [1] * 12 + [8]
    assert [row["op"] for row in windows[:3]] == ["copy.8", "copy.9", "copy.10"]
    assert [row["op"] for row in waits[:2]] == ["copy.19", "copy.18"]
    assert windows[-1]["op"] is waits[-1]["op"] is None
    assert sum(row["wait_ps"] for row in waits) == sum(found["waits_ps"].values()) == 20 * 20_000 + 190


def test_many_short_waits_are_no_long_one() -> None:
    """Of each 500 ps, the core waits 10 ps: less than a pixel, and no pixel is mostly waiting."""
    ops = []
    for number in range(2000):
        at = number * 500
        ops += [op("copy-start.1", at, 1), op("fusion.1", at + 1, 480), op("copy-done.1", at + 481, 10)]
    found = of_device(capture(Core(ops, [op("jit_f(1)", 0, RUN_PS)])))
    (row,) = found["shown"]["engines"]
    assert drawn(row, "waiting") == []
    assert drawn(row, "computing") == [(0, 1_999 * 500 + 481)]
    assert row["pieces"][0]["ps"] == 2_000 * 481
    assert (found["waits"][0]["op"], found["waits"][0]["wait_ps"]) == ("copy.1", 20_000)


def test_means_are_of_the_main_program_and_the_shown_run_is_the_median_one() -> None:
    ops, runs = [], []
    for number, length in enumerate((300, 100, 200)):
        at = number * 1_000
        runs.append(op("jit_f(1)", at, length))
        ops += [
            op("copy-start.1", at, 1),
            op("fusion.1", at + 1, 49),
            op("copy-done.1", at + 50, length - 50),
        ]
    runs.append(op("jit_g(2)", 3_000, 5_000))  # takes longer, but its only asynchronous op is incomplete
    found = of_device(capture(Core([*ops, op("copy-done.2", 3_000, 50)], runs)))
    assert (found["program"], found["runs"], found["duration_ps"]) == ("jit_f", 3, 600)
    assert (found["shown"]["start_ps"], found["shown"]["duration_ps"]) == (2_000, 200)
    assert (found["waits_ps"], found["waits"][0]["wait_ps"]) == ({"other": 450}, 450)
    assert found["waits"][0]["longest"] == {
        "row": "h0.d0.ops", "depth": 0, "start_ps": 50, "duration_ps": 250,
    }  # fmt: skip


def test_a_device_without_program_runs_has_nothing_to_show() -> None:
    assert answer_about(capture(Core([op("fusion.1", 0, 9)])))["of_device"] is None


@pytest.mark.parametrize("name", ["async_mix", "barrier", "sc_bound", "sc_dependent", "sc_late", "sc_partly"])
def test_sums_are_those_of_the_report(name: str, shared_traces: Path) -> None:
    """All runs of these captures are of one program, and all waits are in runs."""
    trace = real_trace(shared_traces / "engines" / name)
    for index, device in enumerate(device_summaries(trace)):
        found = of_device(trace, index)
        assert found["waits_ps"] == device["waits_ps"]
        assert sum(row["wait_ps"] for row in found["waits"]) == device["stall_ps"]
        assert found["computing_ps"] + found["collectives_ps"] == device["compute_ps"]
        assert found["duty_cycle_xprof"] == device["duty_cycle_xprof"]
        for row in found["shown"]["engines"]:
            assert sum(end - start for start, end in drawn(row, "computing")) == pytest.approx(
                row["computing_ps"], rel=0.01
            )


def test_ops_are_hidden_as_in_the_simulation(shared_traces: Path) -> None:
    found = of_device(real_trace(shared_traces / "engines/async_mix"))
    assert {row["op"]: row["hidden"] for row in found["shown"]["windows"]} == {
        "all-gather.1": "hidden",
        "collective-permute.2": "partly_hidden",
        "all-reduce.3": "exposed",
        "copy.6": "partly_hidden",
    }


def test_the_shown_run_has_asynchronous_ops(shared_traces: Path) -> None:
    """In two of its eight runs, the start or the done op is missing."""
    [row] = of_device(real_trace(shared_traces / "engines/no_async_line"))["shown"]["windows"]
    assert row["op"] == "all-gather.1"


def test_hundreds_of_ops_need_little_space(shared_traces: Path) -> None:
    """A step of a language model with 784 prefetches."""
    client = tensorboard("--logdir", str(shared_traces / "tpu/vllm_qwen3_step"))
    name = data(client, "sessions")["sessions"][0]["name"]
    assert open_session(client, name)["state"] == "ready"
    answer = get(client, "data/engines", session=name)
    assert answer.status_code == 200
    assert len(answer.data) < 40_000


def test_the_route_shows_the_device_that_waits_longest(shared_traces: Path) -> None:
    client = tensorboard("--logdir", str(shared_traces / "engines/async_mix"))
    name = data(client, "sessions")["sessions"][0]["name"]
    assert open_session(client, name)["state"] == "ready"
    found = {
        device: data(client, "engines", session=name, **({"device": device} if device else {}))
        for device in ("", "host/TPU:0", "host/TPU:7")
    }
    assert [(answer["device"], answer["stale"]) for answer in found.values()] == [
        ("host/TPU:1", False),
        ("host/TPU:0", False),
        ("host/TPU:1", True),
    ]
    assert {answer["async_ops"] for answer in found.values()} == {8}
    assert data(client, "counts", session=name)["counts"]["async_ops"] == 8
