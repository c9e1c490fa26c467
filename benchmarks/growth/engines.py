"""Captures with n asynchronous ops, SparseCores, their jobs, cores that exchange data, and transfers between slices."""

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


def _transfer(training: Training, name: str, number: int, start: int) -> None:
    """A transfer between slices of 40 ps, and what the host records of it."""
    names = f'_xla_host_transfer_rendezvous="{name}", _xla_megascale_transfer_type="ALL_REDUCE"'
    text, device = (
        f"%send.{number} = (f32[1]) send(f32[1] %p.{number}), frontend_attributes={{{names}}}",
        training.device,
    )
    training.ops.event(shared_metadata(device, text, {"hlo_category": "host send"}), start, 5)
    done = f"%send-done.{number} = token[] send-done((f32[1]) %send.{number})"
    training.ops.event(shared_metadata(device, done, {"hlo_category": "host send-done"}), start + 20, 20)


def _actions(training: Training, keys: list[str]) -> None:
    line = training.space.plane("/device:CUSTOM:Megascale Trace").line("actions", timestamp_ns=EPOCH)
    for i, key in enumerate(keys):
        stats: dict[str, int | str] = {
            "graph_key": key,
            "action_duration_ns": 3,
            "network_transport_latency_us": 1,
        }
        line.event("NetworkReceive END", 4 * STEP + 100 * i, 1, stats)


@axis
def slice_transfers(n: int) -> Space:
    """One transfer between slices n times; the host recorded one more."""
    training = Training()
    _run(training, 100 * n)
    for i in range(n):
        _transfer(training, "grads", 1, 4 * STEP + 100 * i)
    _actions(training, [f"device_0_gid_grads$1^i{i}" for i in range(n + 1)])
    return training.space


@axis
def slice_transfer_names(n: int) -> Space:
    """n transfers between slices, each once."""
    training = Training()
    _run(training, 100 * n)
    for i in range(n):
        _transfer(training, f"grads.{i}", i, 4 * STEP + 100 * i)
    _actions(training, [f"device_0_gid_grads.{i}$1^i0" for i in range(n)])
    return training.space


@axis
def slice_actions(n: int) -> Space:
    """One transfer between slices, of n parts."""
    training = Training()
    _run(training, 100 * n)
    _transfer(training, "grads", 1, 4 * STEP)
    _actions(training, ["device_0_gid_grads$1^i0"] * n)
    return training.space
