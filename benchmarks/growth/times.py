"""Captures with n events at the same or overlapping times, and n steps and gaps."""

from __future__ import annotations

from synthetic.writer import Space

from benchmarks.growth.training import EPOCH, STEP, US, Training, axis, shared_metadata


@axis
def same_start(n: int) -> Space:
    """Annotations that begin at one instant, the longer first."""
    training = Training()
    for i in range(n):
        training.python.event("forward", 100 * US, n - i)
    return training.space


@axis
def same_time(n: int) -> Space:
    """Events of no duration at one instant: annotations, launches, runs, ops."""
    training = Training()
    for _ in range(n):
        training.python.event("forward", 3 * STEP, 0)
        training.python.event("DoEnqueueProgram", 3 * STEP, 0)
        training.modules.event("SyncTensorsGraph.1(7)", 3 * STEP, 0)
        training.op("fusion.1", 3 * STEP, 0)
    return training.space


@axis
def staircase(n: int) -> Space:
    """Events that each begin inside the one before and end after it, on a thread and as ops."""
    training = Training()
    for i in range(n):
        training.python.event("forward", 3 * STEP + i, n)
        training.op("fusion.1", 3 * STEP + i, n)
    return training.space


@axis
def many_annotations(n: int) -> Space:
    training = Training()
    for i in range(n):
        training.python.event(shared_metadata(training.host, f"part_{i}"), 100 * US + 10 * i, 5)
    return training.space


@axis
def many_steps(n: int) -> Space:
    return Training(n).space


@axis
def alike_steps(n: int) -> Space:
    """Steps that all have one number."""
    training = Training()
    for i in range(n):
        training.python.event("Training_Step", (3 + i) * STEP, STEP, _r=1, step_num=1)
    return training.space


@axis
def steps_at_once(n: int) -> Space:
    """Steps on n threads at the same time."""
    training = Training()
    for i in range(n):
        training.host.line("python", id=9 + i, timestamp_ns=EPOCH).event(
            "Training_Step", 0, STEP, _r=1, step_num=i
        )
    return training.space


@axis
def many_gaps(n: int) -> Space:
    """Gaps of the device, no two of the same length."""
    training = Training()
    start = 3 * STEP
    for i in range(n):
        start += 20 * US + i
        training.op(f"fusion.{i % 7}", start, US)
    return training.space


@axis
def one_gap(n: int) -> Space:
    """A gap with n events of the driving thread and n threads that compile."""
    training = Training()
    for i in range(n):
        training.python.event(
            ("forward", "TransferToDevice", "f", "TransferFromDevice")[i % 4], 3 * STEP + 50 * US * i, 20 * US
        )
        line = training.host.line("Thread-3", id=9 + i, timestamp_ns=EPOCH)
        line.event("PjRtCpuClient::Compile", 3 * STEP + 50 * US * i, 20 * US)
    training.launch(3 * STEP + 50 * US * n, 99_999)
    return training.space
