"""Captures with n planes, lines, stats, event metadata, host names or GPU kernels."""

from __future__ import annotations

from synthetic.writer import Space, Stat

from benchmarks.growth.training import EPOCH, US, Training, axis


@axis
def many_lines(n: int) -> Space:
    training = Training()
    for i in range(n):
        training.host.line(f"pool/{i}", id=9 + i, timestamp_ns=EPOCH).event("forward", 100 * US, 5)
    return training.space


@axis
def lines_alike(n: int) -> Space:
    """Lines of one id and one name."""
    training = Training()
    for i in range(n):
        training.host.line("python", id=1, timestamp_ns=EPOCH).event("forward", 100 * US + i, 5)
    return training.space


@axis
def many_planes(n: int) -> Space:
    """Device planes, each with a run and an op."""
    training = Training()
    for i in range(n):
        plane = training.space.plane(f"/device:TPU:{i + 1}")
        plane.line("XLA Modules", timestamp_ns=EPOCH).event("SyncTensorsGraph.1(7)", 100 * US, 5 * US)
        plane.line("XLA Ops", timestamp_ns=EPOCH).event("fusion.1", 100 * US, 5 * US)
    return training.space


@axis
def planes_alike(n: int) -> Space:
    """The same device plane, n times."""
    training = Training()
    for i in range(n):
        plane = training.space.plane("/device:TPU:0")
        plane.line("XLA Ops", timestamp_ns=EPOCH).event("fusion.1", 100 * US + i, 5 * US)
    return training.space


@axis
def other_planes(n: int) -> Space:
    training = Training()
    for i in range(n):
        training.space.plane(f"/host:other:{i}", stats={"a": i}).line("x").event("y", 0, 1)
    return training.space


@axis
def device_lines(n: int) -> Space:
    training = Training()
    for i in range(n):
        training.device.line(f"Stream #{i}", timestamp_ns=EPOCH).event("fusion.1", 100 * US + i, 5)
    return training.space


@axis
def gpu_streams(n: int) -> Space:
    """A GPU's kernels on n streams, and the calls that launched them."""
    training = Training(0)
    plane = training.space.plane("/device:GPU:0")
    for i in range(n):
        training.python.event("PjRtStreamExecutorLoadedExecutable::Execute", i * 100 * US, 80 * US)
        training.python.event("cuLaunchKernel", i * 100 * US + US, US, correlation_id=i)
        stats: dict[str, Stat] = {"hlo_op": "fusion", "hlo_module": "f", "program_id": 7, "correlation_id": i}
        plane.line(f"Stream #{i}(Kernel)", timestamp_ns=EPOCH).event(
            "kernel", i * 100 * US + 50 * US, 5 * US, stats
        )
    return training.space


@axis
def gpu_alike(n: int) -> Space:
    """A GPU's kernels with one correlation id."""
    training = Training(0)
    stream = training.space.plane("/device:GPU:0").line("Stream #1(Kernel)", timestamp_ns=EPOCH)
    for i in range(n):
        training.python.event("PjRtStreamExecutorLoadedExecutable::Execute", i * 100 * US, 80 * US)
        training.python.event("cuLaunchKernel", i * 100 * US + US, US, correlation_id=1)
        stream.event(
            "kernel", i * 100 * US + 50 * US, 5 * US, hlo_op="fusion", hlo_module="f", correlation_id=1
        )
    return training.space


@axis
def stats_of_event(n: int) -> Space:
    training = Training()
    for i in range(n):
        training.host.stat_id(f"stat_{i}", len(training.host.stat_ids) + 1)
    training.python.event("forward", 100 * US, 5, {f"stat_{i}": i for i in range(n)})
    return training.space


@axis
def stats_of_plane(n: int) -> Space:
    training = Training()
    training.device.stats.update({f"stat_{i}": i for i in range(n)})
    for number, name in enumerate(training.device.stats):
        training.device.stat_ids[name] = 1000 + number
    return training.space


@axis
def metadata_alike(n: int) -> Space:
    """Event metadata of one id."""
    training = Training()
    for i in range(n):
        training.host.event_metadata(f"name_{i}", 5000)
    training.python.event(training.host.metadata[-1], 100 * US, 5)
    return training.space


@axis
def hostnames(n: int) -> Space:
    """A file with n host names, errors and warnings."""
    training = Training()
    training.space.hostnames += [f"host-{i}" for i in range(n)]
    training.space.errors += [f"error {i}" for i in range(n)]
    training.space.warnings += [f"warning {i}" for i in range(n)]
    return training.space
