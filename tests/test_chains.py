"""The chain of a gap: its pieces, which add up to the gap."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from captures import Core, capture, real_trace, thread
from launching import US, Tpu, demo, event
from synthetic import case_study

from tb_xla_insights.analysis.idle.chains import HANDED_OVER, NOT_BEGUN, find_chains
from tb_xla_insights.analysis.idle.idle_time import GAP_KINDS, find_gaps
from tb_xla_insights.text.name_limit import MAX_NAME_LENGTH, shorten_name
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.threads import thread_labels


def chains(trace: Trace) -> Any:
    return find_chains(trace, np.arange(len(find_gaps(trace))))


def brief(chain: list[dict[str, Any]]) -> list[tuple[str, str, str, float]]:
    """Name, class, thread and duration in us of each piece."""
    return [(piece["name"], piece["class"], piece["thread"], piece["duration_ps"] / US) for piece in chain]


def test_the_gap_of_the_case_study_has_its_true_chain() -> None:
    trace, truth = demo("synthetic_case_study_8_tpu_cores"), case_study.truth()
    gaps = find_gaps(trace)
    indices = np.flatnonzero((gaps.device == 0) & (gaps.start_ps == truth.gap_start_ps))
    (chain,) = find_chains(trace, indices)
    assert [
        (
            piece["name"],
            piece["class"],
            piece["thread"].removesuffix(" 1"),
            piece["start_ps"],
            piece["duration_ps"],
        )
        for piece in chain
    ] == [
        (link.name, link.class_name, link.thread, link.start_ps, link.duration_ps) for link in truth.gap_chain
    ]
    for piece in chain:
        if piece["event"] is None:
            assert piece["class"] == "unrecorded"
        else:
            assert trace.name(piece["event"]) == piece["name"]
            assert thread_labels(trace)[trace.line_of(piece["event"]).index] == piece["thread"]
            assert trace.start_ps[piece["event"]] < piece["start_ps"] + piece["duration_ps"]
            assert trace.end_ps[piece["event"]] > piece["start_ps"]


def loop_with_gap(queued: bool = False) -> Tpu:
    """A run until 100 us. The next one begins at 250; it is enqueued at 190, or at 60 if `queued`."""
    loop = Tpu()
    loop.step(0, 180, 3)
    loop.launch(2, (5, 5), (20, 80))
    loop.on_main("backward", 90, 60)
    loop.on_main("embedding", 100, 20)
    loop.on_main("PjRtComputationClient::TransferToDevice", 120, 10)
    if queued:
        loop.launch(40, (50, 20), (250, 50))
    else:
        loop.launch(155, (170, 40), (250, 50), by="marker")
    loop.on_main("data_loading", 182, 150)
    return loop


def test_a_starved_gap_follows_the_launch_from_thread_to_thread() -> None:
    (chain,) = chains(loop_with_gap().trace())
    assert brief(chain) == [
        ("backward", "tracing", "python", 20),
        ("PjRtComputationClient::TransferToDevice", "to_device", "python", 10),
        ("backward", "tracing", "python", 20),
        ("Training_Step", "python", "python", 5),
        ("StepMarker", "sync_prepare", "python", 2),
        (HANDED_OVER, "wait", "tf_pytorchxla", 12.75),
        ("unrecorded", "unrecorded", "", 0.25),
        ("PjRtComputationClient::ExecuteComputation", "dispatch", "tf_pytorchxla", 19),
        ("DoEnqueueProgram", "dispatch", "tf_pytorchxla", 1),
        ("PjRtComputationClient::ExecuteComputation", "dispatch", "tf_pytorchxla", 20),
        (NOT_BEGUN, "wait", "TPU:0", 40),
    ]


def test_host_work_after_the_hand_over_is_concurrent_and_not_a_cause() -> None:
    """The thread that takes the work over at 250 us is busy with other work until 240 us."""
    loop = Tpu()
    loop.step(0, 180, 3)
    loop.launch(2, (5, 5), (20, 80))
    loop.on_main("forward", 100, 50)
    loop.launch(155, (250, 40), (300, 50), by="marker")
    loop.step(190, 160, 4)
    loop.on_main("data_loading", 195, 25)
    loop.executor.append(event("PjRtComputationClient::TransferFromDevice", 230, 10))
    (chain,) = chains(loop.trace())
    assert [(*piece[:3], round(piece[3], 2)) for piece in brief(chain)] == [
        ("forward", "tracing", "python", 50),
        ("Training_Step", "python", "python", 5),
        ("StepMarker", "sync_prepare", "python", 2),
        (HANDED_OVER, "wait", "tf_pytorchxla", 73),
        ("PjRtComputationClient::TransferFromDevice", "from_device", "tf_pytorchxla", 10),
        (HANDED_OVER, "wait", "tf_pytorchxla", 9.75),
        ("unrecorded", "unrecorded", "", 0.25),
        ("PjRtComputationClient::ExecuteComputation", "dispatch", "tf_pytorchxla", 19),
        ("DoEnqueueProgram", "dispatch", "tf_pytorchxla", 1),
        ("PjRtComputationClient::ExecuteComputation", "dispatch", "tf_pytorchxla", 20),
        (NOT_BEGUN, "wait", "TPU:0", 10),
    ]
    meanwhile = [
        {(row["name"], row["class"]): row["duration_ps"] / US for row in piece["meanwhile"]}
        for piece in chain
    ]
    # The second step has no phase in which it could build its graph.
    assert meanwhile[3] == {
        ("data_loading", "input"): 25, ("Training_Step", "python"): 19, ("Training_Step", "tracing"): 15,
        ("unrecorded", "unrecorded"): 10, ("StepMarker", "sync_prepare"): 4,
    }  # fmt: skip
    assert all(
        sum(activity["duration_ps"] for activity in piece["meanwhile"]) == piece["duration_ps"]
        for piece in chain
        if piece["name"] in (HANDED_OVER, NOT_BEGUN)
    )
    assert all(not piece["meanwhile"] for piece in chain if piece["event"] is not None)


def test_long_names_of_concurrent_work_are_shortened() -> None:
    """As those of the pieces are: a name would be repeated in each of many gaps."""
    loop = loop_with_gap()
    loop.on_main("x" * 2 * MAX_NAME_LENGTH, 166, 10)
    names = {
        activity["name"]
        for chain in chains(loop.trace())
        for piece in chain
        for activity in piece["meanwhile"]
    }
    assert shorten_name("x" * 2 * MAX_NAME_LENGTH) in names


def test_a_driving_thread_that_launches_without_an_executor() -> None:
    events = [
        event("PjitFunction(f)", 0, 30),
        event("TpuLoadedExecutable::Execute", 5, 20),
        event("DoEnqueueProgram", 8, 2, run_id=1, queue_id=0, device_ordinal=0, core_type=0),
        event("shard_args", 100, 15),
        event("train", 115, 100),
        event("TpuLoadedExecutable::Execute", 120, 30),
        event("DoEnqueueProgram", 125, 5, run_id=2, queue_id=0, device_ordinal=0, core_type=0),
        event("shard_args", 160, 50),
    ]
    runs = [event("f(1)", at, 40, run_id=n, queue_id=0, core_type=0) for n, at in ((1, 20), (2, 180))]
    core = Core([event("fusion", 20, 40), event("fusion", 180, 40)], runs)
    (chain,) = chains(capture(thread("main/1", *events, role="driving"), core))
    assert brief(chain) == [
        ("unrecorded", "unrecorded", "", 40),
        ("shard_args", "python", "main", 15),
        ("train", "python", "main", 5),
        ("TpuLoadedExecutable::Execute", "dispatch", "main", 5),
        ("DoEnqueueProgram", "dispatch", "main", 5),
        ("TpuLoadedExecutable::Execute", "dispatch", "main", 20),
        (NOT_BEGUN, "wait", "TPU:0", 30),
    ]


def test_a_run_that_begins_before_its_first_op_closes_the_chain() -> None:
    loop = loop_with_gap()
    loop.ops[0][-1] = ("fusion.1", 260 * US, 40 * US)
    (chain,) = chains(loop.trace())
    assert brief(chain)[-2:] == [(NOT_BEGUN, "wait", "TPU:0", 40), ("train", "other", "TPU:0", 10)]


def test_the_chain_of_a_queued_gap_is_the_driving_threads_work() -> None:
    trace = loop_with_gap(queued=True).trace()
    assert [GAP_KINDS[kind] for kind in find_gaps(trace).kind] == ["queued"]
    (chain,) = chains(trace)
    assert brief(chain) == [
        ("backward", "tracing", "python", 20),
        ("PjRtComputationClient::TransferToDevice", "to_device", "python", 10),
        ("backward", "tracing", "python", 20),
        ("Training_Step", "python", "python", 30),
        ("unrecorded", "unrecorded", "", 2),
        ("data_loading", "input", "python", 68),
    ]


def test_negligible_pieces_merge_into_the_piece_before() -> None:
    loop = loop_with_gap()
    loop.on_main("Wait for usage holds", 101, 0.1)
    loop.on_main("Wait for donation holds", 105, 0.2)
    (chain,) = chains(loop.trace())
    names = [name for name, *_ in brief(chain)]
    assert "Wait for usage holds" not in names
    assert brief(chain)[:3] == [
        ("backward", "tracing", "python", 5),
        ("Wait for donation holds", "wait", "python", 0.2),
        ("backward", "tracing", "python", 14.8),
    ]


def test_no_gaps_no_chains() -> None:
    assert find_chains(loop_with_gap().trace(), np.zeros(0, np.int64)) == []


CAPTURES = [
    *(f"torch_xla/tiny_{name}" for name in ("baseline", "dynamo_train", "early_item")),
    *(f"torch_xla/{name}" for name in ("spmd_fsdp_debug", "baseline_server_level1", "dynamo_train_session")),
    *(f"public/{name}" for name in ("tpu_v6e_jax", "gpu_mi300_jax", "gpu_v100_tf")),
]


@pytest.mark.parametrize("folder", CAPTURES)
def test_chains_add_up_to_their_gaps(shared_traces: Path, folder: str) -> None:
    trace = real_trace(shared_traces / folder)
    gaps = find_gaps(trace)
    for gap, chain in enumerate(chains(trace)):
        assert chain[0]["start_ps"] == gaps.start_ps[gap]
        assert all(a["start_ps"] + a["duration_ps"] == b["start_ps"] for a, b in pairwise(chain))
        assert chain[-1]["start_ps"] + chain[-1]["duration_ps"] == gaps.end_ps[gap]
        assert all(piece["duration_ps"] > 0 for piece in chain)
        columns = ("name", "class", "thread")
        assert not any([a[key] for key in columns] == [b[key] for key in columns] for a, b in pairwise(chain))


def test_a_real_gap_reads_in_the_order_of_the_step(shared_traces: Path) -> None:
    trace = real_trace(shared_traces / "torch_xla/tiny_baseline")
    gaps = find_gaps(trace)
    (chain,) = find_chains(trace, np.array([gaps.duration_ps.argmax()]))
    names = [piece["name"] for piece in chain if piece["name"] not in ("Training_Step", "unrecorded")]
    assert names == ["loss", "backward", "FINISH_UPDATE", "StepMarker", "TensorCollectionBarrier", HANDED_OVER,
                    "PjRtComputationClient::ExecuteComputation", NOT_BEGUN, "SyncTensorsGraph.290"]  # fmt: skip
