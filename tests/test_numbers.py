"""Extreme numbers, and duplicate ids and names: every answer is valid, and device names are unique."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from synthetic.writer import Space, Uint

from benchmarks.growth.answers import answers, session_at
from benchmarks.growth.training import EPOCH, STEP, US, Training, shared_metadata
from tb_xla_insights.trace.model import SessionTrace

LARGEST, SMALLEST = 2**63 - 1, -(2**63)


def answer_all(space: Space) -> SessionTrace:
    """Requests every answer about a capture, of which those in JSON must be valid; returns the session."""
    with TemporaryDirectory() as folder:  # an event's stats are read from the file
        session = session_at(space.write(Path(folder, "vm.xplane.pb")))
        for _, answer in answers(session):
            if answer.startswith((b"{", b"[")):
                json.loads(answer)
    return session


def with_plane(name: str) -> Space:
    training = Training()
    plane = training.space.plane(name)
    plane.line("XLA Modules", timestamp_ns=EPOCH).event("SyncTensorsGraph.1(7)", 100 * US, 5 * US, run_id=4)
    plane.line("XLA Ops", timestamp_ns=EPOCH).event("fusion.1", 100 * US, 5 * US)
    training.python.event("DoEnqueueProgram", 90 * US, US, device_ordinal=1, run_id=4)
    return training.space


@pytest.mark.parametrize(
    ("plane", "name"),
    [
        ("/device:TPU:99999999999999999999", "TPU:99999999999999999999"),
        ("/device:TPU:" + "9" * 5000, "TPU:" + "9" * 36 + "…"),
        ("/device:TPU:00", "TPU:0 (2)"),
        ("/device:TPU:0", "TPU:0 (2)"),
        ("/device:TPU:\u0663", None),  # a digit, but not an ASCII one
    ],
)
def test_devices_of_any_number_have_unique_names(plane: str, name: str | None) -> None:
    names = [device.name for device in answer_all(with_plane(plane)).devices]
    assert names == ["TPU:0", *filter(None, [name])]


def test_lines_and_names_may_share_their_ids() -> None:
    training = Training()
    training.host.lines.append(training.python)
    training.device.lines += [training.ops, training.modules]
    for number in range(3):
        training.host.event_metadata(f"again.{number}", 1)
        training.device.event_metadata(f"again.{number}", 1)
    training.host.stat_ids |= {"one": 1, "two": 1, "three": LARGEST}
    answer_all(training.space)


@pytest.mark.parametrize("number", [LARGEST, SMALLEST, -1, 1 << 60])
def test_times_of_any_size_are_handled(number: int) -> None:
    training = Training()
    training.host.line("python", id=7, timestamp_ns=number).event("Training_Step", 0, STEP, _r=1, step_num=8)
    for line in (training.python, training.ops, training.modules):
        line.event("fusion.1", number, STEP)
        line.event("fusion.1", STEP, number)
        line.event("fusion.1", number, number)
    answer_all(training.space)


@pytest.mark.parametrize(
    "number", [LARGEST, SMALLEST, Uint(2**64 - 1), "9" * 5000, "\u00b2", "\uff11\uff12", 1e308]
)
def test_numbers_of_any_size_in_stats_and_names_are_handled(number: int | str | float) -> None:
    training = Training()
    stats = dict.fromkeys(
        ("run_id", "queue_id", "device_ordinal", "program_id", "_p", "flops", "bytes_accessed"), number
    )
    training.python.event("Training_Step", 3 * STEP, STEP, _r=1, step_num=number)
    training.python.event("DoEnqueueProgram", 3 * STEP + US, US, stats)
    training.modules.event(f"SyncTensorsGraph.1({number})", 3 * STEP + 40 * US, 50 * US, stats)
    training.ops.event(
        shared_metadata(training.device, f"fusion.{number}", dict(stats)), 3 * STEP + 60 * US, 5 * US, stats
    )
    groups = f"replica_groups=[1,{number}]<=[{number}]"
    collective = {"hlo_category": "all-reduce", "tf_op": f"a.{number}/b.{number}/aten__mm:"}
    training.op(f"%all-reduce.1 = f32[{number}] all-reduce(), {groups}", 3 * STEP + 70 * US, US, **collective)
    training.device.line("Steps", timestamp_ns=EPOCH).event(f"{number}", 0, STEP)
    training.device.stats |= {
        "peak_teraflops_per_second": float("inf"),
        "peak_hbm_bw_gigabytes_per_second": 5e-324,
    }
    pool = training.host.line("tf_XLAEigen/1", id=3, timestamp_ns=EPOCH)
    pool.event("dot", 3 * STEP, US, {"hlo_op": "dot", "hlo_module": "m", **stats})
    answer_all(training.space)
