"""The host threads of the case study, as the profiler of PyTorch/XLA 1.9 and the XRT server would name their events.

Flows link the parts of an execution: the main thread's `ScheduleSyncTensorsGraph` to the executor thread, that to the
server's `XRTExecute` on each core's thread, and `TPUExecute` to the run on the device.
"""

from collections.abc import Iterable

from synthetic.case_study_schedule import (
    CORES,
    FORWARD_BEFORE_EARLY,
    Execution,
    NamedInterval,
    Schedule,
    Step,
)
from synthetic.flow_types import THREAD_POOL, TPU_LAUNCH
from synthetic.times import MS, NS, US, hash64, jitter, ms, split
from synthetic.writer import Line, Plane, Ref, Stat

TENSORS = 64
COMPILER_WORK = (
    "XLA::TPU HLO optimizations",
    "XLA::TPU lowering and optimization",
    "XLA::TPU memory space and buffer assignment",
    "LSRAv2 ConstructLiveRanges",
)


class HostThreads:
    """The `/host:CPU` plane. Each thread has its own time base, as in files of profilers."""

    def __init__(self, plane: Plane, plan: Schedule) -> None:
        self.plan = plan
        self.main = _Thread(plane, "python", -6425952159224306882, ms(20))
        self.loaders = [_Thread(plane, "python", hash64(f"loader {number}"), 0) for number in range(2)]
        self.executor = _Thread(plane, "tf_xla_executor/7741", 7741, ms(20))
        self.servers = [
            _Thread(plane, f"tf_Compute/{id}", id, ms(20)) for id in range(7810, 7810 + 2 * CORES)
        ]
        compilation = next(step.compile for step in plan.steps if step.compile)
        self.compilers = [
            _Thread(plane, f"tf_xla-compile/{id}", id, compilation.start_ps) for id in range(9120, 9124)
        ]

    def write(self) -> None:
        self._loaders()
        for execution in self.plan.executions:
            self._execution(execution)
        for step in self.plan.steps:
            self._step(step)
        self.main.add(self.plan.cut_step.phases[0])  # the event around it was open when the capture ended

    def _step(self, step: Step) -> None:
        self.main.event("Training_Step", step.start_ps, step.end_ps, _r=1, step_num=step.number)
        for phase in step.phases:
            if phase.name == "StepMarker":
                assert step.execution
                self._marker(step.execution, step.compile)
                continue
            self.main.add(phase)
            if phase.name == "forward":
                self._forward(step, phase)
            elif phase.name == "FINISH_UPDATE":
                self.main.event("reduce_gradients", phase.start_ps + 50 * US, phase.start_ps + ms(2.154))
                self.main.event(
                    "optimizer_step", phase.start_ps + ms(2.2), phase.start_ps + ms(6.51) - ms(0.2)
                )

    def _forward(self, step: Step, phase: NamedInterval) -> None:
        """The annotations of the model's modules. The one in which the early execution runs is longer by the time from
        its marker to the end of its read."""
        early_start_ps = phase.start_ps + FORWARD_BEFORE_EARLY
        early_ps = step.early_read.end_ps - early_start_ps if step.early_read else 0
        own_ps = phase.duration_ps - early_ps

        def shift(moment_ps: int) -> int:
            return moment_ps + early_ps if moment_ps > early_start_ps else moment_ps

        moment = phase.start_ps + ms(2)
        for name, per_mille in (
            ("image_encoder", 380),
            ("text_encoder", 200),
            ("decoder", 270),
            ("losses", 90),
        ):
            end = moment + own_ps * per_mille // 1000 // NS * NS
            self.main.event(name, shift(moment), shift(end))
            moment = end + MS
        if step.early and step.early_read:
            self._marker(step.early, None)
            read = step.early_read
            self.main.event(read.name, read.start_ps, read.end_ps, total_size=4, num_tensors=1)
            self.main.event("DeviceBarrier", read.start_ps, step.early.runs[0][1])

    def _marker(self, execution: Execution, compilation: NamedInterval | None) -> None:
        """The step marker: it collects, orders and schedules the graph, and waits until the launch is complete."""
        start, end = execution.marker.start_ps, execution.marker.end_ps
        self.main.event("StepMarker", start, end)
        for name, delay in (
            ("SyncLiveTensorsGraph", 20 * US),
            ("SyncTensorsGraph", 60 * US),
            ("SyncTensorsGraphInternal", 80 * US),
        ):
            self.main.event(name, start + delay, end)
        self.main.event("CollectSyncTensors", start + ms(0.2), start + ms(1.4))
        self.main.event("RunPostOrder", start + ms(1.5), start + ms(5.4))
        ready_ps = start + ms(5.5)
        if compilation:
            ready_ps = compilation.end_ps
            text = Ref(graph_hash(execution.program.name))
            self.main.event(compilation.name, compilation.start_ps, compilation.end_ps, graph_hash=text)
            self.main.event("Compile", compilation.start_ps + ms(1.2), compilation.end_ps - ms(0.8))
            self._compilers(compilation)
        flow: dict[str, Stat] = {"_pt": THREAD_POOL, "_p": execution.run_id << 32}
        self.main.event("ScheduleSyncTensorsGraph", ready_ps + ms(0.3), end, flow)
        self.main.event("TensorCollectionBarrier", execution.wait_start_ps, end)

    def _compilers(self, compilation: NamedInterval) -> None:
        """The compiler's threads, which have events only during a compilation."""
        for number, thread in enumerate(self.compilers):
            moment = compilation.start_ps + ms(4) + number * MS
            for name, duration in zip(
                COMPILER_WORK, split(ms(300), len(COMPILER_WORK), f"pass {number}"), strict=True
            ):
                thread.event(name, moment, moment + duration)
                inner = moment + 200 * US
                for pass_name in ("algsimp", "cse", "dce"):  # as recorded: the names of passes have no prefix
                    thread.event(pass_name, inner, inner + ms(3.1))
                    inner += ms(5)
                moment += duration

    def _execution(self, execution: Execution) -> None:
        """Executor thread and server threads of one execution."""
        from_main: dict[str, Stat] = {"_ct": THREAD_POOL, "_c": execution.run_id << 32}
        to_server: dict[str, Stat] = {"_pt": THREAD_POOL, "_p": execution.run_id << 32 | 1}
        transfer = execution.transfer
        self.executor.event(transfer.name, transfer.start_ps, transfer.end_ps, from_main)
        moment = transfer.start_ps + 60 * US
        for size in split(transfer.duration_ps * 3 // 10, 8, f"transform {execution.run_id}"):
            self.executor.event("TransferToServerTransform", moment, moment + size)
            moment += size
        self.executor.event(
            "TransferToServerExecute",
            moment + 20 * US,
            transfer.end_ps - 30 * US,
            total_size=transfer_bytes(execution),
            num_tensors=TENSORS if not execution.early else 12,
        )
        self.executor.event(
            "ExecuteReplicated", execution.inputs_ps, execution.enqueued_ps, from_main | to_server
        )
        for core in range(CORES):
            self._server(execution, core)

    def _server(self, execution: Execution, core: int) -> None:
        """One core's server thread. The times of cores other than 0 are within 70 µs of core 0's."""
        delay_ps = (
            (core * 7 + abs(jitter(f"{execution.run_id}/late/{core}", 20 * US)) // US) * US if core else 0
        )
        thread = self.servers[core + CORES * execution.early]
        finished = execution.runs[core][1] + ms(0.6)
        from_executor: dict[str, Stat] = {"_ct": THREAD_POOL, "_c": execution.run_id << 32 | 1}
        thread.event("XRTExecute", execution.inputs_ps + delay_ps, finished + 50 * US, from_executor)
        thread.event(
            "BuildComputationInputs", execution.inputs_ps + ms(0.2) + delay_ps, execution.look_up_ps - 90 * US
        )
        thread.event(
            "TpuExecuteOp::LookupProto", execution.look_up_ps + delay_ps, execution.enqueue_ps - delay_ps
        )
        enqueue = execution.enqueue_ps + delay_ps
        thread.event("RunExecutable", enqueue, finished)
        thread.event(
            "TPUExecute",
            enqueue,
            execution.enqueued_ps - delay_ps,
            run_id=execution.run_id,
            queue_id=0,
            device_ordinal=core,
            core_type=0,
            _pt=TPU_LAUNCH,
            _p=device_flow(execution, core),
        )

    def _loaders(self) -> None:
        """Two threads that load batches ahead of the main thread, from before its first step to the end."""
        for number, thread in enumerate(self.loaders):
            moment = number * ms(90)
            while (end := moment + ms(128) + jitter(f"batch {number} {moment}", ms(9))) < self.plan.end_ps:
                thread.event("load_batch", moment, end)
                moment = end + ms(96) + jitter(f"pause {number} {moment}", ms(9))


class _Thread:
    """A line whose events are given in session time."""

    def __init__(self, plane: Plane, name: str, id: int, base_ps: int) -> None:
        self.base_ps = base_ps // NS * NS
        self.line: Line = plane.line(name, id, timestamp_ns=self.base_ps // NS, display_name=name)

    def event(
        self, name: str, start_ps: int, end_ps: int, stats: dict[str, Stat] | None = None, **more: Stat
    ) -> None:
        self.line.event(name, start_ps - self.base_ps, end_ps - start_ps, {**(stats or {}), **more})

    def add(self, interval: NamedInterval) -> None:
        """Adds an event of this name and time."""
        self.event(interval.name, interval.start_ps, interval.end_ps)


def device_flow(execution: Execution, core: int) -> int:
    """The id of the flow from `TPUExecute` to the run on a core."""
    return hash64(f"launch {execution.run_id} core {core}")


def graph_hash(module: str) -> str:
    return f"{hash64(module) % (1 << 64):016x}{hash64(f'{module}/2') % (1 << 64):016x}"


def transfer_bytes(execution: Execution) -> int:
    """The bytes of an execution's transfer: a batch and its constants; fewer for an early execution."""
    return 61_400_000 if execution.early else 318_400_000


def sort_lines(lines: Iterable[Line]) -> None:
    """Sorts events by time, parents before the events that they enclose."""
    for line in lines:
        line.events.sort(key=lambda event: (event.start_ps, -event.duration_ps))
