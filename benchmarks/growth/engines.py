"""Captures with n asynchronous ops, SparseCores, their jobs, and cores that exchange data."""

from __future__ import annotations

from synthetic.writer import Plane, Space

from benchmarks.growth.training import EPOCH, STEP, US, Training, axis, shared_metadata

_ASYNC_START, _ASYNC_DONE = {"hlo_category": "async-start"}, {"hlo_category": "async-done"}


def _run(training: Training, duration: int) -> None:
    training.modules.event("SyncTensorsGraph.1(7)", 4 * STEP, duration)


def _window(training: Training, name: str, start: int, **stats: int) -> None:
    """An asynchronous op of 40 ps, of which the core computes for 10 and waits for 20."""
    ops, device = training.ops, training.device
    ops.event(shared_metadata(device, f"{name}.call-start", {**_ASYNC_START}), start, 5, stats)
    ops.event("fusion.1", start + 10, 10)
    ops.event(shared_metadata(device, f"{name}.call-done", {**_ASYNC_DONE}), start + 20, 20)


@axis
def windows(n: int) -> Space:
    """One asynchronous op n times in one run."""
    training = Training()
    _run(training, 100 * n)
    for i in range(n):
        _window(training, "gather.1", 4 * STEP + 100 * i)
    return training.space


@axis
def open_windows(n: int) -> Space:
    """n start ops, then their n done ops."""
    training = Training()
    _run(training, 200 * n)
    for i in range(n):
        training.ops.event("all-gather-start.1", 4 * STEP + 10 * i, 5)
        training.ops.event("all-gather-done.1", 4 * STEP + 10 * (n + i), 5)
    return training.space


@axis
def async_ops(n: int) -> Space:
    """n asynchronous ops, each once."""
    training = Training()
    _run(training, 100 * n)
    for i in range(n):
        _window(training, f"gather.{i}", 4 * STEP + 100 * i)
    return training.space


@axis
def sparse_cores(n: int) -> Space:
    """n SparseCores of one core, each with a job."""
    training = Training()
    for i in range(n):
        plane = training.space.plane(f"/device:TPU:0 SparseCore {i}")
        plane.line("Sparse Core Modules", timestamp_ns=EPOCH).event("async_gather.1", 4 * STEP + i, 10)
    return training.space


@axis
def sparse_core_jobs(n: int) -> Space:
    """n jobs of one SparseCore: half of them have ids, the rest are joined by their order."""
    training = Training()
    _run(training, 100 * n)
    plane: Plane = training.space.plane("/device:TPU:0 SparseCore 0")
    jobs = plane.line("Sparse Core Modules", timestamp_ns=EPOCH)
    for i in range(n):
        start = 4 * STEP + 100 * i
        ids = {"tc_offload_start_id": 1, "offload_execution_index": i} if i % 2 else {}
        _window(training, "gather.1", start, **ids)
        jobs.event("async_gather.1", start + 6, 30, ids)
    return training.space


@axis
def exchanging_cores(n: int) -> Space:
    """n cores that take part in one collective."""
    training = Training()
    training.python.event("TpuLoadedExecutable::Execute", 4 * STEP, 10 * US)
    for i in range(n):
        plane = training.space.plane(f"/device:TPU:{i + 1}")
        training.python.event("DoEnqueueProgram", 4 * STEP + 2 * i + 1, 1, _pt=12, _p=1000 + i)
        start = 4 * STEP + 20 * US
        plane.line("XLA Modules", timestamp_ns=EPOCH).event(
            "SyncTensorsGraph.1(7)", start, 100 * US, _ct=12, _c=1000 + i
        )
        ops = plane.line("XLA Ops", timestamp_ns=EPOCH)
        ops.event("all-reduce-start.1", start + i, 5)
        ops.event("all-reduce-done.1", start + 50 * US, 10 * US)
    return training.space
