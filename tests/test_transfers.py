"""Transfers: the outermost ones on each thread, in the step that requested them, with their recorded bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from captures import capture, real_trace, thread
from launching import demo

from tb_xla_insights.analysis.delays.early_executions import find_early_executions
from tb_xla_insights.analysis.delays.transfers import find_transfers, transfers_report
from tb_xla_insights.report.metrics_text import parse_metrics

TO_DEVICE, FROM_DEVICE = (
    "PjRtComputationClient::TransferToDevice",
    "PjRtComputationClient::TransferFromDevice",
)


def test_nested_transfer_of_the_same_direction_is_part_of_the_outer_one() -> None:
    trace = capture(
        thread("python", (TO_DEVICE, 0, 20), ("CopyToDevice", 2, 5),
               (FROM_DEVICE, 30, 40), ("CommonPjRtBuffer::ToLiteral", 32, 5), (TO_DEVICE, 40, 10))
    )  # fmt: skip
    report = transfers_report(trace)
    assert (report["to_device"]["count"], report["to_device"]["duration_ps"]) == (2, 30)
    assert (report["from_device"]["count"], report["from_device"]["duration_ps"]) == (1, 40)
    assert report["to_device"]["bytes"] is None


def test_bytes_are_those_of_the_outermost_event_with_a_size() -> None:
    trace = capture(
        thread(
            "python",
            ("TransferToServerInternal", 0, 50),
            ("TransferToServerExecute", 5, 40, {"total_size": 1000}),
            ("WriteHbm", 10, 10, {"size": 600}),
            ("TransferToServerExecute", 46, 3, {"total_size": 24}),
            ("TransferToServerInternal", 60, 5),
        )
    )
    transfers = find_transfers(trace)
    assert transfers.bytes.tolist() == [1024, -1]
    report = transfers_report(trace)["to_device"]
    assert (report["count"], report["bytes"], report["known_size_count"]) == (2, 1024, 1)


def test_carrying_threads_count_only_without_requesting_threads() -> None:
    requesting = thread("python", (TO_DEVICE, 0, 20), role="driving")
    carrying = thread(
        "tf_XLAPjRtCpuClient/3", ("Transpose::Execute", 5, 3), ("Transpose::Execute", 9, 3), role="client"
    )
    assert len(find_transfers(capture(requesting, carrying))) == 1
    assert len(find_transfers(capture(thread("python", ("forward", 0, 20), role="driving"), carrying))) == 2


def test_read_after_a_step_belongs_to_it() -> None:
    """As for `per_step` of early executions. So does a transfer to the device between two annotations. A read before
    the first step is in no step."""
    steps = [("Training_Step", at, 100, {"_r": 1, "step_num": at // 200}) for at in (200, 400)]
    events = [
        (FROM_DEVICE, 110, 10),
        steps[0],
        (FROM_DEVICE, 250, 10),
        (TO_DEVICE, 310, 5),
        (FROM_DEVICE, 320, 20),
        steps[1],
        (FROM_DEVICE, 510, 20),
    ]
    trace = capture(thread("python", *events, role="driving"))
    report = transfers_report(trace)
    assert (report["to_device"]["per_step"], report["from_device"]["per_step"]) == (0.5, 1.5)
    assert (
        find_transfers(trace).per_step(trace, 1).tolist()
        == find_early_executions(trace).per_step(trace).reads.tolist()
        == [2, 1]
    )


def test_case_study() -> None:
    report = transfers_report(demo("synthetic_case_study_8_tpu_cores"))
    assert (report["to_device"]["count"], report["from_device"]["count"]) == (12, 1)
    assert report["to_device"]["bytes"] == 11 * 318_400_000 + 61_400_000
    assert report["from_device"]["bytes"] == 4


@pytest.mark.parametrize(
    "folder", ["tiny_early_item", "tiny_slow_input", "tiny_grad_accum_sync", "spmd_fsdp_debug"]
)
def test_counts_do_not_exceed_the_metrics_report(shared_traces: Path, folder: str) -> None:
    """The report counts from the process's start and so includes the capture's steps."""
    capture_folder = shared_traces / "torch_xla" / folder
    metrics = parse_metrics((capture_folder / "metrics_report.txt").read_text())
    assert metrics
    trace = real_trace(capture_folder)
    transfers = find_transfers(trace)
    for direction, name in enumerate(("TransferToDeviceTime", "TransferFromDeviceTime")):
        samples = metrics.samples(name) or 0
        count = int((transfers.direction == direction).sum())
        assert count <= samples
        assert (count > 0) == (samples > 0)
        per_step = transfers.per_step(trace, direction).tolist()
        assert len(set(per_step)) == 1, "every step of these scenarios transfers equally often"
        assert sum(per_step) == count


def test_bytes_of_gpu_copies_are_in_their_details() -> None:
    """The tracers of GPUs write them in an older form and in one with more fields."""
    copies = capture(
        thread(
            "python",
            ("MemcpyH2D", 0, 5, {"memcpy_details": "size:112 dest:4 async:0"}),
            (
                "MemcpyH2D",
                10,
                5,
                {"memcpy_details": "kind_src:pageable kind_dst:device size:64 dest:0 async:1"},
            ),
            ("MemcpyH2D", 20, 5, {"memcpy_details": "dest:4 async:0"}),
            ("MemcpyD2H", 30, 5, {"memcpy_details": "size:8 dest:4 async:1"}),
        )
    )
    report: Any = transfers_report(copies)
    assert [(sums["count"], sums["bytes"], sums["known_size_count"]) for sums in report.values()] == [
        (3, 176, 2),
        (1, 8, 1),
    ]
    assert report["to_device"]["bytes_per_step"] is None  # there are no steps


def test_bytes_per_step_are_those_of_the_transfers_in_steps() -> None:
    size = {"total_size": 1000}
    trace = capture(
        thread(
            "python",
            ("Training_Step", 0, 40, {"_r": 1}),
            ("TransferToServerExecute", 5, 10, size),
            ("Training_Step", 40, 40, {"_r": 1}),
            ("TransferToServerExecute", 90, 10, size),
            role="driving",
        )
    )
    report = transfers_report(trace)["to_device"]
    assert (report["per_step"], report["bytes"], report["bytes_per_step"]) == (0.5, 2000, 500)
    assert transfers_report(trace)["from_device"]["bytes_per_step"] is None


def test_bytes_of_a_real_gpus_copies(shared_traces: Path) -> None:
    report: Any = transfers_report(real_trace(shared_traces / "public" / "gpu_v100_tf"))
    assert [(sums["bytes"], sums["known_size_count"]) for sums in report.values()] == [
        (81_118, 202),
        (73_888, 24),
    ]
