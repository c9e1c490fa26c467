"""Captures of a size n along one axis each: whatever a file may have many of, has long, or nests deeply.

Each is a small training to which one thing is added n times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from synthetic.hlo import Computation, HloModule, Instruction
from synthetic.writer import Line, Plane, Ref, Space, Stat

US = 10**6
STEP = 1000 * US
EPOCH = 1_700_000_000_000_000_000

Builder = Callable[[int], Space]
AXES: dict[str, Builder] = {}
"""The captures by axis. A file with `n` of it has at most some 500 bytes more than n times 500."""


def axis(build: Builder) -> Builder:
    AXES[build.__name__] = build
    return build


class Training:
    """A host that trains on one TPU core: steps of 1 ms that launch a program of three ops."""

    def __init__(self, steps: int = 3, program: bytes | None = None, ops: bool = True) -> None:
        self.space = Space()
        self.host = self.space.plane("/host:CPU")
        self.python = self.host.line("python", id=1, timestamp_ns=EPOCH)
        self.device = self.space.plane("/device:TPU:0")
        self.modules = self.device.line("XLA Modules", timestamp_ns=EPOCH)
        self.ops = self.device.line("XLA Ops", timestamp_ns=EPOCH)
        if program is not None:
            metadata = self.space.plane("/host:metadata")
            metadata.event_metadata("SyncTensorsGraph.1(7)", 7, stats={"Hlo Proto": program})
        for step in range(steps):
            at = step * STEP
            self.python.event("Training_Step", at, STEP, _r=1, step_num=step)
            self.launch(at + 700 * US, step + 1, ops)

    def launch(self, at: int, flow: int, ops: bool = True, module: str = "SyncTensorsGraph.1(7)") -> None:
        self.python.event("StepMarker", at, 50 * US)
        self.python.event("DoEnqueueProgram", at + 10 * US, 20 * US, _pt=12, _p=flow)
        self.modules.event(module, at + 40 * US, 200 * US, _ct=12, _c=flow)
        if ops:
            for number, name in enumerate(("fusion.1", "dot.2", "copy.3")):
                self.op(name, at + (45 + 60 * number) * US, 50 * US)

    def op(self, name: str, at: int, duration: int, **stats: Stat) -> None:
        known = named(self.device, name, {"program_id": 7, **stats})
        self.ops.event(known, at, duration)


def named(plane: Plane, name: str, stats: dict[str, Stat] | None = None) -> Any:
    """Metadata of a name; `Plane.event_metadata` would look through all ids for a free one."""
    known = plane._by_name.get(name)
    return known or plane.event_metadata(name, len(plane.metadata) + 1, stats=stats)


def nest(plane: Plane, line: Line, names: list[str], start: int, end: int, **stats: Stat) -> None:
    """Events inside each other, the first one outermost."""
    for depth, name in enumerate(names):
        line.event(named(plane, name), start + depth, end - start - 2 * depth, stats)


# Names and nesting.


@axis
def nested_annotations(n: int) -> Space:
    made = Training()
    nest(made.host, made.python, [f"level_{i}" for i in range(n)], 100 * US, 600 * US)
    return made.space


@axis
def nested_alike(n: int) -> Space:
    made = Training()
    nest(made.host, made.python, ["level"] * n, 100 * US, 600 * US)
    return made.space


@axis
def slashes(n: int) -> Space:
    """One annotation whose name has 40 n slashes."""
    made = Training()
    made.python.event("/".join("a" for _ in range(40 * n)), 100 * US, 500 * US)
    return made.space


@axis
def slashes_around(n: int) -> Space:
    """A name of n slashes around n others."""
    made = Training()
    made.python.event("/".join(str(i) for i in range(n)), 100 * US, 500 * US)
    for i in range(n):
        made.python.event(named(made.host, f"part_{i}"), 100 * US + 10 + 10 * i, 5)
    return made.space


@axis
def long_name(n: int) -> Space:
    """A name of 20 n letters around n others, and of n events."""
    made = Training()
    text = "x" * (20 * n)
    made.python.event(named(made.host, text), 100 * US, 400 * US)
    for i in range(n):
        made.python.event(named(made.host, f"part_{i}"), 100 * US + 10 + 10 * i, 5)
        made.python.event(named(made.host, text), 500 * US + 10 * i, 5)
    return made.space


@axis
def long_op(n: int) -> Space:
    """Ops of one name of 20 n letters, in n runs."""
    made = Training(3, ops=False)
    for i in range(n):
        made.op("%fusion = " + "f32[8]," * 3 * n, i * 100_000, 50_000)
    return made.space


@axis
def long_module(n: int) -> Space:
    """Runs of a program with a name of 20 n letters."""
    made = Training(3, ops=False)
    for i in range(n):
        made.launch(3 * STEP + i * 300 * US, 10 + i, False, "g" * 20 * n)
    return made.space


@axis
def long_stat(n: int) -> Space:
    """One text of 20 n letters that n events refer to."""
    made = Training()
    for i in range(n):
        made.python.event(
            "part", 100 * US + 10 * i, 5, {"long": Ref("y" * 20 * n), "hlo_module": Ref("z" * 20 * n)}
        )
    return made.space


@axis
def long_thread(n: int) -> Space:
    """A thread whose name has 20 n letters, and n events, annotations among them."""
    made = Training()
    line = made.host.line("w" * 20 * n, id=2, timestamp_ns=EPOCH)
    for i in range(n):
        line.event(("forward", "PjRtClient::x")[i % 2], 100 * US + 10 * i, 5)
    return made.space


@axis
def long_scope(n: int) -> Space:
    """An op whose name has n scopes."""
    made = Training()
    made.op("deep.1", 3 * STEP, 50 * US, tf_op="/".join(f"s{i}.1" for i in range(n)) + "/aten__mm:")
    return made.space


@axis
def nested_scopes(n: int) -> Space:
    """n ops, each one scope deeper than the one before it."""
    made = Training(steps=3, program=module([Instruction(1, "dot.2", "dot")]))
    path = ""
    for i in range(min(n, 200)):
        path += f"s{i}.1/"
        made.op(f"op.{i}", 3 * STEP + i * US, US // 2, tf_op=f"{path}aten__mm:")
    return made.space


@axis
def many_scopes(n: int) -> Space:
    """n ops of n scopes."""
    made = Training()
    for i in range(n):
        made.op(f"op.{i}", 3 * STEP + i * US, US // 2, tf_op=f"step.1/part{i}.2/aten__mm:")
    return made.space


@axis
def nested_frames(n: int) -> Space:
    """Frames of Python's tracer inside each other."""
    made = Training()
    nest(made.host, made.python, [f"$train.py:{i} f{i}" for i in range(n)], 100 * US, 600 * US)
    return made.space


@axis
def nested_calls(n: int) -> Space:
    """Calls of the runtime inside each other, of every class in turn."""
    made = Training()
    names = ["TransferFromDevice", "XLAGraphExecutor::Compile", "ExecuteComputation", "SyncTensorsGraphInternal",
             "TensorCollectionBarrier", "StepMarker", "TransferToDevice", "BlockUntilReady"]  # fmt: skip
    nest(made.host, made.python, [names[i % len(names)] for i in range(n)], 100 * US, 600 * US)
    return made.space


@axis
def nested_steps(n: int) -> Space:
    made = Training()
    nest(made.host, made.python, ["Training_Step"] * n, 3 * STEP, 4 * STEP, _r=1, step_num=9)
    return made.space


@axis
def nested_ops(n: int) -> Space:
    """Ops inside each other on a device."""
    made = Training()
    for i in range(n):
        made.op(f"while.{i}", 3 * STEP + i, 800 * US - 2 * i)
    return made.space


@axis
def nested_stored_scopes(n: int) -> Space:
    """Stored rows of name scopes, as files of 2020 have them: n inside each other, with an op in each."""
    made = Training()
    line = made.device.line("TensorFlow Name Scope", timestamp_ns=EPOCH)
    nest(made.device, line, [f"s{i}" for i in range(n)], 3 * STEP, 4 * STEP)
    for i in range(n):
        made.op("op", 3 * STEP + i, 1)
    return made.space


@axis
def stored_scopes(n: int) -> Space:
    """Stored rows of name scopes: n beside each other, with an op in each."""
    made = Training()
    line = made.device.line("TensorFlow Name Scope", timestamp_ns=EPOCH)
    for i in range(n):
        line.event(named(made.device, f"s{i}"), 3 * STEP + 10 * i, 5)
        made.op("op", 3 * STEP + 10 * i, 5)
    return made.space


# Events in time.


@axis
def same_start(n: int) -> Space:
    """Annotations that begin at one instant, the longer first."""
    made = Training()
    for i in range(n):
        made.python.event("forward", 100 * US, n - i)
    return made.space


@axis
def same_time(n: int) -> Space:
    """Events of no duration at one instant: annotations, launches, runs, ops."""
    made = Training()
    for _ in range(n):
        made.python.event("forward", 3 * STEP, 0)
        made.python.event("DoEnqueueProgram", 3 * STEP, 0)
        made.modules.event("SyncTensorsGraph.1(7)", 3 * STEP, 0)
        made.op("fusion.1", 3 * STEP, 0)
    return made.space


@axis
def staircase(n: int) -> Space:
    """Events that each begin inside the one before and end after it, on a thread and as ops."""
    made = Training()
    for i in range(n):
        made.python.event("forward", 3 * STEP + i, n)
        made.op("fusion.1", 3 * STEP + i, n)
    return made.space


@axis
def many_annotations(n: int) -> Space:
    made = Training()
    for i in range(n):
        made.python.event(named(made.host, f"part_{i}"), 100 * US + 10 * i, 5)
    return made.space


@axis
def many_steps(n: int) -> Space:
    return Training(n).space


@axis
def alike_steps(n: int) -> Space:
    """Steps that all have one number."""
    made = Training()
    for i in range(n):
        made.python.event("Training_Step", (3 + i) * STEP, STEP, _r=1, step_num=1)
    return made.space


@axis
def steps_at_once(n: int) -> Space:
    """Steps on n threads at the same time."""
    made = Training()
    for i in range(n):
        made.host.line("python", id=9 + i, timestamp_ns=EPOCH).event(
            "Training_Step", 0, STEP, _r=1, step_num=i
        )
    return made.space


@axis
def many_gaps(n: int) -> Space:
    """Pauses of the device, all different."""
    made = Training()
    at = 3 * STEP
    for i in range(n):
        at += 20 * US + i
        made.op(f"fusion.{i % 7}", at, US)
    return made.space


@axis
def one_gap(n: int) -> Space:
    """A gap during which n things happen on n threads."""
    made = Training()
    for i in range(n):
        made.python.event(
            ("forward", "TransferToDevice", "f", "TransferFromDevice")[i % 4], 3 * STEP + 50 * US * i, 20 * US
        )
        line = made.host.line("Thread-3", id=9 + i, timestamp_ns=EPOCH)
        line.event("PjRtCpuClient::Compile", 3 * STEP + 50 * US * i, 20 * US)
    made.launch(3 * STEP + 50 * US * n, 99_999)
    return made.space


# Many of a kind.


@axis
def many_lines(n: int) -> Space:
    made = Training()
    for i in range(n):
        made.host.line(f"pool/{i}", id=9 + i, timestamp_ns=EPOCH).event("forward", 100 * US, 5)
    return made.space


@axis
def lines_alike(n: int) -> Space:
    """Lines of one id and one name."""
    made = Training()
    for i in range(n):
        made.host.line("python", id=1, timestamp_ns=EPOCH).event("forward", 100 * US + i, 5)
    return made.space


@axis
def many_planes(n: int) -> Space:
    """Device planes, each with a run and an op."""
    made = Training()
    for i in range(n):
        plane = made.space.plane(f"/device:TPU:{i + 1}")
        plane.line("XLA Modules", timestamp_ns=EPOCH).event("SyncTensorsGraph.1(7)", 100 * US, 5 * US)
        plane.line("XLA Ops", timestamp_ns=EPOCH).event("fusion.1", 100 * US, 5 * US)
    return made.space


@axis
def planes_alike(n: int) -> Space:
    """The same device plane, n times."""
    made = Training()
    for i in range(n):
        plane = made.space.plane("/device:TPU:0")
        plane.line("XLA Ops", timestamp_ns=EPOCH).event("fusion.1", 100 * US + i, 5 * US)
    return made.space


@axis
def other_planes(n: int) -> Space:
    made = Training()
    for i in range(n):
        made.space.plane(f"/host:other:{i}", stats={"a": i}).line("x").event("y", 0, 1)
    return made.space


@axis
def device_lines(n: int) -> Space:
    made = Training()
    for i in range(n):
        made.device.line(f"Stream #{i}", timestamp_ns=EPOCH).event("fusion.1", 100 * US + i, 5)
    return made.space


@axis
def gpu_streams(n: int) -> Space:
    """A GPU's kernels on n streams, and the calls that launched them."""
    made = Training(0)
    plane = made.space.plane("/device:GPU:0")
    for i in range(n):
        made.python.event("PjRtStreamExecutorLoadedExecutable::Execute", i * 100 * US, 80 * US)
        made.python.event("cuLaunchKernel", i * 100 * US + US, US, correlation_id=i)
        stats: dict[str, Stat] = {"hlo_op": "fusion", "hlo_module": "f", "program_id": 7, "correlation_id": i}
        plane.line(f"Stream #{i}(Kernel)", timestamp_ns=EPOCH).event(
            "kernel", i * 100 * US + 50 * US, 5 * US, stats
        )
    return made.space


@axis
def gpu_alike(n: int) -> Space:
    """A GPU's kernels with one correlation id."""
    made = Training(0)
    stream = made.space.plane("/device:GPU:0").line("Stream #1(Kernel)", timestamp_ns=EPOCH)
    for i in range(n):
        made.python.event("PjRtStreamExecutorLoadedExecutable::Execute", i * 100 * US, 80 * US)
        made.python.event("cuLaunchKernel", i * 100 * US + US, US, correlation_id=1)
        stream.event(
            "kernel", i * 100 * US + 50 * US, 5 * US, hlo_op="fusion", hlo_module="f", correlation_id=1
        )
    return made.space


@axis
def stats_of_event(n: int) -> Space:
    made = Training()
    for i in range(n):
        made.host.stat_id(f"stat_{i}", len(made.host.stat_ids) + 1)
    made.python.event("forward", 100 * US, 5, {f"stat_{i}": i for i in range(n)})
    return made.space


@axis
def stats_of_plane(n: int) -> Space:
    made = Training()
    made.device.stats.update({f"stat_{i}": i for i in range(n)})
    for number, name in enumerate(made.device.stats):
        made.device.stat_ids[name] = 1000 + number
    return made.space


@axis
def metadata_alike(n: int) -> Space:
    """Event metadata of one id."""
    made = Training()
    for i in range(n):
        made.host.event_metadata(f"name_{i}", 5000)
    made.python.event(made.host.metadata[-1], 100 * US, 5)
    return made.space


@axis
def hostnames(n: int) -> Space:
    made = Training()
    made.space.hostnames += [f"host-{i}" for i in range(n)]
    made.space.errors += [f"error {i}" for i in range(n)]
    made.space.warnings += [f"warning {i}" for i in range(n)]
    return made.space


# Flows and launches.


@axis
def flows_alike(n: int) -> Space:
    """Producers and consumers of one flow."""
    made = Training()
    for i in range(n):
        made.python.event("DoEnqueueProgram", 3 * STEP + 10 * i, 5, _pt=12, _p=77)
        made.modules.event("SyncTensorsGraph.1(7)", 3 * STEP + US * i, US // 2, _ct=12, _c=77)
    return made.space


@axis
def flow_chain(n: int) -> Space:
    """Tasks that each hand on to the next one, on two threads in turn; the last one launches."""
    made = Training()
    lines = [made.host.line(f"tf_pool/{i}", id=20 + i, timestamp_ns=EPOCH) for i in range(2)]
    for i in range(n):
        line, at = lines[i % 2], 3 * STEP + 100 * i
        line.event("ThreadpoolListener::StartRegion", at, 0, _ct=15, _c=i)
        line.event("ThreadpoolListener::Record", at + 5, 1, _pt=15, _p=i + 1)
        line.event("DoEnqueueProgram", at + 10, 5, _pt=12, _p=1000 + i)
        line.event("ThreadpoolListener::StopRegion", at + 50, 0)
        made.modules.event("SyncTensorsGraph.1(7)", at + 60, 20, _ct=12, _c=1000 + i)
    return made.space


@axis
def keys_alike(n: int) -> Space:
    """Runs and calls that share device, queue and run id."""
    made = Training()
    for i in range(n):
        made.python.event(
            "DoEnqueueProgram", 3 * STEP + US * i, US // 2, device_ordinal=0, run_id=5, queue_id=0
        )
        made.modules.event(
            "SyncTensorsGraph.1(7)", 3 * STEP + US * i + US // 2, US // 4, run_id=5, queue_id=0
        )
    return made.space


@axis
def unjoined(n: int) -> Space:
    """Runs that nothing joins with calls, of which there are as many."""
    made = Training(0)
    for i in range(n):
        made.python.event("ExecuteComputation", US * i, US // 2)
        made.modules.event("SyncTensorsGraph.1(7)", US * (i + n), US // 2)
    return made.space


@axis
def many_programs(n: int) -> Space:
    """Programs with a proto each, of which each runs once."""
    made = Training()
    metadata = made.space.plane("/host:metadata")
    for i in range(n):
        proto = module(
            [Instruction(1, f"dot.{i}", "dot", "step.1/a.1/aten__mm")], name=f"graph.{i}", id=100 + i
        )
        metadata.event_metadata(f"graph.{i}({100 + i})", 100 + i, stats={"Hlo Proto": proto})
        made.launch((3 + i) * STEP, 50 + i, False, f"graph.{i}({100 + i})")
    return made.space


@axis
def programs_alike(n: int) -> Space:
    """Programs of one name, compiled and run once each."""
    made = Training()
    metadata = made.space.plane("/host:metadata")
    for i in range(n):
        proto = module(
            [Instruction(1 + j, f"dot.{j}", "dot") for j in range(1 + i % 9)], name="graph", id=100 + i
        )
        metadata.event_metadata(f"graph({100 + i})", 100 + i, stats={"Hlo Proto": proto})
        made.python.event("XLAGraphExecutor::Compile", (3 + i) * STEP, 300 * US)
        made.launch((3 + i) * STEP + 400 * US, 50 + i, False, f"graph({100 + i})")
    return made.space


@axis
def compilations(n: int) -> Space:
    made = Training()
    for i in range(n):
        made.python.event("XLAGraphExecutor::Compile", (3 + i) * STEP, 300 * US)
    return made.space


@axis
def compile_parts(n: int) -> Space:
    """Parts of one compilation on n threads of the compiler."""
    made = Training()
    made.python.event("XLAGraphExecutor::Compile", 3 * STEP, STEP)
    for i in range(n):
        line = made.host.line(f"tf_xla-cpu-codegen/{i}", id=20 + i, timestamp_ns=EPOCH)
        line.event("FusionCompiler::Compile", 3 * STEP + i, 500)
    return made.space


@axis
def transfers(n: int) -> Space:
    made = Training()
    for i in range(n):
        made.python.event("TransferFromDevice", 3 * STEP + 100 * US * i, 50 * US)
        made.python.event("TransferToDevice", 3 * STEP + 100 * US * i + 60 * US, 20 * US)
    return made.space


@axis
def loaders(n: int) -> Space:
    """Threads of a loader, each with batches that the training loop waits for."""
    made = Training()
    for i in range(n):
        line = made.host.line(f"Thread-{i}", id=20 + i, timestamp_ns=EPOCH)
        line.event("cpu_loader.next", 10 * US * i, 5 * US)
        made.python.event("get_batch_from_cpu_queue", 3 * STEP + 10 * US * i, 9 * US)
    return made.space


@axis
def collectives(n: int) -> Space:
    """Collectives on two cores."""
    made = Training()
    other = made.space.plane("/device:TPU:1").line("XLA Ops", timestamp_ns=EPOCH)
    for i in range(n):
        known = named(made.device, f"all-reduce.{i}", {"hlo_category": "all-reduce", "program_id": 7})
        made.ops.event(known, 3 * STEP + 50 * US * i, 10 * US)
        other.event(named(other.plane, f"all-reduce.{i}", {"hlo_category": "all-reduce", "program_id": 7}),
                    3 * STEP + 50 * US * i, 20 * US)  # fmt: skip
    return made.space


@axis
def callbacks(n: int) -> Space:
    """Launches by dynamo, reads between them."""
    made = Training()
    for i in range(n):
        at = (3 + i) * STEP
        made.python.event("ExecuteComputationWithBarrier", at, 50 * US)
        made.python.event("DoEnqueueProgram", at + 10 * US, 5 * US, _pt=12, _p=5000 + i)
        made.modules.event("SyncTensorsGraph.1(7)", at + 40 * US, 100 * US, _ct=12, _c=5000 + i)
        made.python.event("TransferFromDevice", at + 200 * US, 50 * US)
    return made.space


@axis
def cpu_runs(n: int) -> Space:
    """Runs on a CPU, each with two ops in a region of a pool thread."""
    return cpu([1] * n)


@axis
def cpu_ops(n: int) -> Space:
    """One run on a CPU with n ops, which end on other threads."""
    return cpu([n])


@axis
def cpu_ordinals(n: int) -> Space:
    """Ops on a CPU, each on a core of its own."""
    space = cpu([1])
    host = space.planes[0]
    line = host.line("tf_XLAEigen/100", id=5)
    for i in range(n):
        line.event(named(host, f"dot.{i}"), i * US, US, {"hlo_op": Ref(f"dot.{i}"), "device_ordinal": i})
    return space


def cpu(runs: list[int]) -> Space:
    space = Space()
    host = space.plane("/host:CPU")
    python, executor = host.line("python", id=1), host.line("tf_pytorchxla/77", id=2)
    client, pool = host.line("tf_XLAPjRtCpuClient/88", id=3), host.line("tf_XLAEigen/99", id=4)
    at, flow = 0, 0
    for number, ops in enumerate(runs):
        length = (100 + 10 * ops) * US
        flow += 1
        python.event("Training_Step", at, length, _r=1, step_num=number)
        python.event("ThreadpoolListener::Record", at + US, 0, _pt=15, _p=flow)
        executor.event("ThreadpoolListener::StartRegion", at + 2 * US, 0, _ct=15, _c=flow)
        executor.event("PjRtComputationClient::ExecuteComputation", at + 3 * US, 10 * US)
        flow += 1
        executor.event("ThreadpoolListener::Record", at + 4 * US, 0, _pt=15, _p=flow)
        executor.event("ThreadpoolListener::StopRegion", at + 20 * US, 0)
        client.event("ThreadpoolListener::StartRegion", at + 30 * US, 0, _ct=15, _c=flow)
        client.event("ThunkExecutor::Execute", at + 31 * US, US)
        for op in range(ops):
            flow += 1
            stats: dict[str, Stat] = {"hlo_op": Ref(f"dot.{op}"), "hlo_module": Ref("g"), "program_id": 7}
            client.event(named(host, f"dot.{op}"), at + (40 + 10 * op) * US, 8 * US, stats, _pt=0, _p=flow)
            pool.event(named(host, f"end: dot.{op}"), at + (49 + 10 * op) * US, 5_000, _ct=0, _c=flow)
        client.event("ThunkExecutor::Execute (wait for completion)", at + length - 20 * US, 10 * US)
        client.event("ThreadpoolListener::StopRegion", at + length - 5 * US, 0)
        at += length
    return space


# Compiled programs.


def module(
    entry: list[Instruction],
    bodies: list[Computation] | None = None,
    name: str = "SyncTensorsGraph.1",
    id: int = 7,
) -> bytes:
    return HloModule(name, id, [*(bodies or []), Computation(10**6, "entry", entry)]).to_bytes()


@axis
def hlo_chain(n: int) -> Space:
    """Copies that each read the one before, none with a name."""
    chain = [Instruction(i + 1, f"copy.{i}", "copy", operands=[i] if i else []) for i in range(n)]
    return _ran(module(chain), [f"copy.{i}" for i in range(n)])


@axis
def hlo_star(n: int) -> Space:
    """Copies that all read one instruction without a name, and one that reads all."""
    star = [
        Instruction(1, "bitcast.0", "bitcast"),
        *(Instruction(i + 2, f"copy.{i}", "copy", operands=[1]) for i in range(n)),
    ]
    star.append(Instruction(n + 2, "tuple.1", "tuple", operands=[instruction.id for instruction in star]))
    return _ran(module(star), [f"copy.{i}" for i in range(n)])


@axis
def hlo_calls(n: int) -> Space:
    """Computations that each call the next one, with a scope of their own in each; all of them ran."""
    bodies = [
        Computation(i, f"b{i}", [
            Instruction(3 * i + 10, f"dot.{i}", "dot", f"step.1/part{i}.1/aten__mm"),
            Instruction(3 * i + 11, f"call.{i}", "call", calls=[i + 1] if i < n else []),
        ]) for i in range(1, n + 1)
    ]  # fmt: skip
    return _ran(
        module([Instruction(5, "call.0", "call", calls=[1])], bodies), [f"call.{i}" for i in range(n)]
    )


@axis
def hlo_whiles(n: int) -> Space:
    """Loops inside each other."""
    bodies = [
        Computation(
            i, f"b{i}", [Instruction(3 * i + 11, f"while.{i}", "while", calls=[i + 1] if i < n else [])]
        )
        for i in range(1, n + 1)
    ]
    return _ran(
        module([Instruction(5, "while.0", "while", calls=[1])], bodies), [f"while.{i}" for i in range(n)]
    )


@axis
def hlo_doubling(n: int) -> Space:
    """Computations that each call the next one twice: 2^n instructions in all."""
    bodies = [
        Computation(i, f"b{i}", [
            Instruction(3 * i + 10, f"x.{i}", "call", calls=[i + 1]),
            Instruction(3 * i + 11, f"y.{i}", "call", calls=[i + 1]),
            Instruction(3 * i + 12, f"dot.{i}", "dot", f"step.1/part{i % 3}.1/aten__mm"),
        ]) for i in range(1, n + 1)
    ]  # fmt: skip
    bodies.append(Computation(n + 1, "last", [Instruction(1, "dot.0", "dot", "step.1/part9.1/aten__mm")]))
    return _ran(module([Instruction(5, "fusion.1", "fusion", calls=[1])], bodies), ["fusion.1"])


@axis
def hlo_shared(n: int) -> Space:
    """n fusions that all call one computation of n scopes."""
    body = Computation(1, "b", [
        Instruction(i + 10, f"add.{i}", "add", f"step.1/part{i}.1/aten__add") for i in range(n)
    ])  # fmt: skip
    entry = [Instruction(10**5 + i, f"fusion.{i}", "fusion", calls=[1]) for i in range(n)]
    return _ran(module(entry, [body]), [f"fusion.{i}" for i in range(n)])


@axis
def hlo_scopes(n: int) -> Space:
    """Instructions, each in a scope of its own."""
    entry = [Instruction(i + 1, f"dot.{i}", "dot", f"step.1/part{i}.1/aten__mm", source_file=f"f{i}.py", source_line=i)
             for i in range(n)]  # fmt: skip
    return _ran(module(entry), [f"dot.{i}" for i in range(n)])


@axis
def hlo_deep_scope(n: int) -> Space:
    """A scope of n levels in a program."""
    return _ran(
        module([Instruction(1, "dot.1", "dot", "/".join(f"s{i}.1" for i in range(n)) + "/aten__mm")]),
        ["dot.1"],
    )


@axis
def hlo_lowerings(n: int) -> Space:
    """A name that is lowerings all through."""
    return _ran(module([Instruction(1, "dot.1", "dot", "aten__add.1/" * n + "aten__add")]), ["dot.1"])


def _ran(program: bytes, ops: list[str]) -> Space:
    made = Training(3, program, ops=False)
    for i, name in enumerate(ops):
        made.op(name, 740 * US + i * 10_000, 8_000)
    return made.space
