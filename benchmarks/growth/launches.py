"""Captures with n flows, launches, programs, compilations and transfers."""

from __future__ import annotations

from synthetic.hlo import Instruction
from synthetic.writer import Ref, Space, Stat

from benchmarks.growth.training import EPOCH, STEP, US, Training, axis, module, shared_metadata


@axis
def flows_alike(n: int) -> Space:
    """Producers and consumers of one flow."""
    training = Training()
    for i in range(n):
        training.python.event("DoEnqueueProgram", 3 * STEP + 10 * i, 5, _pt=12, _p=77)
        training.modules.event("SyncTensorsGraph.1(7)", 3 * STEP + US * i, US // 2, _ct=12, _c=77)
    return training.space


@axis
def flow_chain(n: int) -> Space:
    """Tasks on two threads in turn: each launches a run, and hands over to the next task."""
    training = Training()
    lines = [training.host.line(f"tf_pool/{i}", id=20 + i, timestamp_ns=EPOCH) for i in range(2)]
    for i in range(n):
        line, start = lines[i % 2], 3 * STEP + 100 * i
        line.event("ThreadpoolListener::StartRegion", start, 0, _ct=15, _c=i)
        line.event("ThreadpoolListener::Record", start + 5, 1, _pt=15, _p=i + 1)
        line.event("DoEnqueueProgram", start + 10, 5, _pt=12, _p=1000 + i)
        line.event("ThreadpoolListener::StopRegion", start + 50, 0)
        training.modules.event("SyncTensorsGraph.1(7)", start + 60, 20, _ct=12, _c=1000 + i)
    return training.space


@axis
def keys_alike(n: int) -> Space:
    """Runs and calls that share device, queue and run id."""
    training = Training()
    for i in range(n):
        training.python.event(
            "DoEnqueueProgram", 3 * STEP + US * i, US // 2, device_ordinal=0, run_id=5, queue_id=0
        )
        training.modules.event(
            "SyncTensorsGraph.1(7)", 3 * STEP + US * i + US // 2, US // 4, run_id=5, queue_id=0
        )
    return training.space


@axis
def unjoined(n: int) -> Space:
    """Runs and as many calls, which only their order joins."""
    training = Training(0)
    for i in range(n):
        training.python.event("ExecuteComputation", US * i, US // 2)
        training.modules.event("SyncTensorsGraph.1(7)", US * (i + n), US // 2)
    return training.space


@axis
def many_programs(n: int) -> Space:
    """Programs, each with its proto and one run."""
    training = Training()
    metadata = training.space.plane("/host:metadata")
    for i in range(n):
        proto = module(
            [Instruction(1, f"dot.{i}", "dot", "step.1/a.1/aten__mm")], name=f"graph.{i}", id=100 + i
        )
        metadata.event_metadata(f"graph.{i}({100 + i})", 100 + i, stats={"Hlo Proto": proto})
        training.launch((3 + i) * STEP, 50 + i, False, f"graph.{i}({100 + i})")
    return training.space


@axis
def programs_alike(n: int) -> Space:
    """Programs of one name, compiled and run once each."""
    training = Training()
    metadata = training.space.plane("/host:metadata")
    for i in range(n):
        proto = module(
            [Instruction(1 + j, f"dot.{j}", "dot") for j in range(1 + i % 9)], name="graph", id=100 + i
        )
        metadata.event_metadata(f"graph({100 + i})", 100 + i, stats={"Hlo Proto": proto})
        training.python.event("XLAGraphExecutor::Compile", (3 + i) * STEP, 300 * US)
        training.launch((3 + i) * STEP + 400 * US, 50 + i, False, f"graph({100 + i})")
    return training.space


@axis
def compilations(n: int) -> Space:
    training = Training()
    for i in range(n):
        training.python.event("XLAGraphExecutor::Compile", (3 + i) * STEP, 300 * US)
    return training.space


@axis
def compile_parts(n: int) -> Space:
    """Parts of one compilation on n threads of the compiler."""
    training = Training()
    training.python.event("XLAGraphExecutor::Compile", 3 * STEP, STEP)
    for i in range(n):
        line = training.host.line(f"tf_xla-cpu-codegen/{i}", id=20 + i, timestamp_ns=EPOCH)
        line.event("FusionCompiler::Compile", 3 * STEP + i, 500)
    return training.space


@axis
def transfers(n: int) -> Space:
    training = Training()
    for i in range(n):
        training.python.event("TransferFromDevice", 3 * STEP + 100 * US * i, 50 * US)
        training.python.event("TransferToDevice", 3 * STEP + 100 * US * i + 60 * US, 20 * US)
    return training.space


@axis
def loaders(n: int) -> Space:
    """Threads of a loader, each with a batch that the training loop waits for."""
    training = Training()
    for i in range(n):
        line = training.host.line(f"Thread-{i}", id=20 + i, timestamp_ns=EPOCH)
        line.event("cpu_loader.next", 10 * US * i, 5 * US)
        training.python.event("get_batch_from_cpu_queue", 3 * STEP + 10 * US * i, 9 * US)
    return training.space


@axis
def collectives(n: int) -> Space:
    """Collectives on two devices."""
    training = Training()
    second_ops = training.space.plane("/device:TPU:1").line("XLA Ops", timestamp_ns=EPOCH)
    for i in range(n):
        stats: dict[str, Stat] = {"hlo_category": "all-reduce", "program_id": 7}
        for ops, duration in ((training.ops, 10 * US), (second_ops, 20 * US)):
            metadata = shared_metadata(ops.plane, f"all-reduce.{i}", stats)
            ops.event(metadata, 3 * STEP + 50 * US * i, duration)
    return training.space


@axis
def dynamo_launches(n: int) -> Space:
    """Launches by dynamo, with reads between them."""
    training = Training()
    for i in range(n):
        start = (3 + i) * STEP
        training.python.event("ExecuteComputationWithBarrier", start, 50 * US)
        training.python.event("DoEnqueueProgram", start + 10 * US, 5 * US, _pt=12, _p=5000 + i)
        training.modules.event("SyncTensorsGraph.1(7)", start + 40 * US, 100 * US, _ct=12, _c=5000 + i)
        training.python.event("TransferFromDevice", start + 200 * US, 50 * US)
    return training.space


@axis
def cpu_runs(n: int) -> Space:
    """Runs on a CPU, each with one op in a region of a pool thread."""
    return _cpu_space([1] * n)


@axis
def cpu_ops(n: int) -> Space:
    """One run on a CPU with n ops, which end on another thread."""
    return _cpu_space([n])


@axis
def cpu_ordinals(n: int) -> Space:
    """Ops on a CPU, each with its own device ordinal."""
    space = _cpu_space([1])
    host = space.planes[0]
    line = host.line("tf_XLAEigen/100", id=5)
    for i in range(n):
        line.event(
            shared_metadata(host, f"dot.{i}"), i * US, US, {"hlo_op": Ref(f"dot.{i}"), "device_ordinal": i}
        )
    return space


def _cpu_space(ops_of_runs: list[int]) -> Space:
    """A capture of runs on a CPU, given by their numbers of ops."""
    space = Space()
    host = space.plane("/host:CPU")
    python, executor = host.line("python", id=1), host.line("tf_pytorchxla/77", id=2)
    client, pool = host.line("tf_XLAPjRtCpuClient/88", id=3), host.line("tf_XLAEigen/99", id=4)
    start, flow = 0, 0
    for number, ops in enumerate(ops_of_runs):
        length = (100 + 10 * ops) * US
        flow += 1
        python.event("Training_Step", start, length, _r=1, step_num=number)
        python.event("ThreadpoolListener::Record", start + US, 0, _pt=15, _p=flow)
        executor.event("ThreadpoolListener::StartRegion", start + 2 * US, 0, _ct=15, _c=flow)
        executor.event("PjRtComputationClient::ExecuteComputation", start + 3 * US, 10 * US)
        flow += 1
        executor.event("ThreadpoolListener::Record", start + 4 * US, 0, _pt=15, _p=flow)
        executor.event("ThreadpoolListener::StopRegion", start + 20 * US, 0)
        client.event("ThreadpoolListener::StartRegion", start + 30 * US, 0, _ct=15, _c=flow)
        client.event("ThunkExecutor::Execute", start + 31 * US, US)
        for op in range(ops):
            flow += 1
            stats: dict[str, Stat] = {"hlo_op": Ref(f"dot.{op}"), "hlo_module": Ref("g"), "program_id": 7}
            client.event(
                shared_metadata(host, f"dot.{op}"), start + (40 + 10 * op) * US, 8 * US, stats, _pt=0, _p=flow
            )
            pool.event(
                shared_metadata(host, f"end: dot.{op}"), start + (49 + 10 * op) * US, 5_000, _ct=0, _c=flow
            )
        client.event("ThunkExecutor::Execute (wait for completion)", start + length - 20 * US, 10 * US)
        client.event("ThreadpoolListener::StopRegion", start + length - 5 * US, 0)
        start += length
    return space
