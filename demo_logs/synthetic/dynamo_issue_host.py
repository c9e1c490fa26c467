"""The host threads of the lazy and the dynamo step, as PyTorch/XLA over PJRT and libtpu name their events.

As in recorded files, a thread hands work to another one by a flow from its `ThreadpoolListener::Record` to a region on
the other thread; libtpu records flows from `DoEnqueueProgram` to the run on the device and to the callbacks after it.
"""

from synthetic.dynamo_issue_plan import Execution, StepPlan
from synthetic.flow_types import SYSTEM_EXECUTE, THREAD_POOL, TPU_LAUNCH
from synthetic.times import NS, US, hash64, ms
from synthetic.writer import Line, Plane, Stat

SYNC_EVENTS = (
    ("CollectSyncTensors", 0.04, 0.30),
    ("RunPostOrder", 0.32, 0.70),
    ("SetTensorData", 0.72, 0.74),
)
"""The events of a sync before it schedules the graph: name, start and end as shares of that time."""


class StepHost:
    """Writes the `/host:CPU` plane of one session."""

    def __init__(self, plane: Plane, step: StepPlan, mode: str) -> None:
        self.step, self.mode = step, mode
        self.main = plane.line("python", -7215504918332215046, timestamp_ns=4)
        self.autograd = (
            plane.line("pt_autograd_0", 852539255693136384, timestamp_ns=4) if mode == "dynamo" else None
        )
        self.executor = plane.line("tf_pytorchxla/3117386", 3117386, timestamp_ns=4)
        self.callbacks = plane.line("switchto-default-SDomainT/3118763", 3118763, timestamp_ns=4)
        self.loader = plane.line("python", 4611686018427387904, timestamp_ns=0)

    def write(self) -> None:
        step = self.step
        _add(self.loader, "load_batch", 0, step.start_ps + ms(9.2))
        _add(self.main, "Training_Step", step.start_ps, step.end_ps, _r=1, step_num=step.number)
        start = step.start_ps
        for name, end_ms in step.phases:
            end = step.start_ps + ms(end_ms)
            _add(self.main, name, start, end)
            if name == "data_loading":
                _add(self.main, "PjRtComputationClient::TransferToServer", start + 90 * US, end - 60 * US)
            start = end
        for number, execution in enumerate(step.executions, 1):
            thread = (
                self.autograd if self.autograd and execution.name in ("clean-up 1", "backward") else self.main
            )
            if execution.kind == "dynamo":
                self._dynamo_call(thread, execution, number)
            else:
                self._sync(thread, execution, number)
            self._execute(execution, number)
        # The next step is open when the capture ends.
        _add(self.main, "data_loading", step.end_ps + 50 * US, step.end_ps + ms(0.4))
        for line in (self.main, self.executor, self.callbacks, *([self.autograd] if self.autograd else [])):
            line.events.sort(key=lambda event: (event.start_ps, -event.duration_ps))

    def _sync(self, thread: Line, execution: Execution, number: int) -> None:
        """A sync of lazy tensors: inside the step marker, or where dynamo needs its inputs."""
        scheduled_end = execution.call_start_ps - 60 * US
        phase_ends = {name: self.step.start_ps + ms(end) for name, end in self.step.phases}
        if execution.call_start_ps > phase_ends["FINISH_UPDATE"]:
            start, end = phase_ends["FINISH_UPDATE"] + 10 * US, phase_ends["StepMarker"] - 10 * US
            _add(thread, "SyncLiveTensorsGraph", start, end)
        else:
            before_call_ps = ms(2.3) if execution.name == "clean-up 1" else ms(0.5)
            start, end = (
                execution.call_start_ps - before_call_ps,
                execution.call_start_ps + execution.host_ps + 20 * US,
            )
        _add(thread, "SyncTensorsGraph", start + 5 * US, end)
        _add(thread, "SyncTensorsGraphInternal", start + 8 * US, end)
        work = scheduled_end - start
        for name, begin, finish in SYNC_EVENTS:
            _add(thread, name, start + _share(work, begin), start + _share(work, finish))
        schedule_start = start + _share(work, 0.78)
        _add(thread, "ScheduleSyncTensorsGraph", schedule_start, scheduled_end)
        _add(thread, "TensorCollectionBarrier", schedule_start + 2 * US, schedule_start + 12 * US)
        _add(
            thread,
            "ThreadpoolListener::Record",
            scheduled_end - 4 * US,
            scheduled_end - 4 * US,
            **_producer(number),
        )

    def _dynamo_call(self, thread: Line, execution: Execution, number: int) -> None:
        """Dynamo calls its compiled graph; the thread waits for inputs and hands the call over. It returns right then,
        in the backward pass only after the run has begun."""
        is_backward = execution.name == "backward"
        start = execution.call_start_ps - (ms(1.1) if is_backward else ms(0.25))
        end = execution.run_start_ps + ms(0.3) if is_backward else execution.call_start_ps + ms(0.4)
        _add(thread, "ExecuteComputationWithBarrier", start, end)
        _add(thread, "DeviceBarrier", start + 20 * US, start + 90 * US)
        record = execution.call_start_ps - 64 * US
        _add(thread, "ThreadpoolListener::Record", record, record, **_producer(number))

    def _execute(self, execution: Execution, number: int) -> None:
        """The executor thread's call into libtpu, and libtpu's events when the run has finished."""
        line, call, end = self.executor, execution.call_start_ps, execution.call_end_ps
        region_start = call - 30 * US
        from_thread: dict[str, Stat] = {"_ct": THREAD_POOL, "_c": number}
        _add(line, "ThreadpoolListener::StartRegion", region_start, region_start, **from_thread)
        if execution.kind == "dynamo":
            _add(line, "ExecuteComputationWithBarrier_syncfn", region_start + 4 * US, end + 20 * US)
            _add(line, "update_placeholder", end + 4 * US, end + 9 * US)
        _add(line, "PjRtComputationClient::ExecuteComputation", call, end)
        at = execution.instant_ps
        _add(line, "TfrtTpuLoadedExecutable::Execute", at(60), at(900))
        _add(line, "TfrtTpuLoadedExecutable::ExecuteHelperOnSingleDevice", at(70), at(890))
        _add(line, "TfrtTpuLoadedExecutable::ExecutePrepare", at(80), at(600))
        _add(line, "TfrtTpuLoadedExecutable::ExecuteLaunch", at(620), at(840))
        system_flow = hash64(f"{self.mode} system {number}")
        _add(line, "tpu::System::Execute", at(630), at(830), _pt=SYSTEM_EXECUTE, _p=system_flow)
        _add(
            line,
            "tpu::System::Execute=>IssueSequencedEvent",
            at(640),
            at(825),
            _ct=SYSTEM_EXECUTE,
            _c=system_flow,
        )
        launch_flow = hash64(f"{self.mode} {number}")
        run: dict[str, Stat] = {"run_id": number, "queue_id": 0, "device_ordinal": 0, "core_type": 0}
        _add(line, "DoEnqueueProgram", at(660), at(820), **run, _pt=TPU_LAUNCH, _p=launch_flow)
        _add(line, "TfrtTpuLoadedExecutable::CreateOutputs", at(850), at(880))
        region_end = end + 30 * US
        _add(line, "ThreadpoolListener::StopRegion", region_end, region_end)
        run_end = execution.run_end_ps
        _add(self.callbacks, "ReadSyncFlag", run_end + 8 * US, run_end + 31 * US)
        _add(
            self.callbacks,
            "CompleteCallbacks",
            run_end + 33 * US,
            run_end + 71 * US,
            **run,
            _ct=TPU_LAUNCH,
            _c=launch_flow,
        )
        _add(self.callbacks, "tpu::System::Execute=>Done", run_end + 40 * US, run_end + 60 * US)


def _add(line: Line, name: str, start_ps: int, end_ps: int, **stats: Stat) -> None:
    line.event(name, start_ps - line.timestamp_ns * NS, end_ps - start_ps, stats)


def _share(work_ps: int, share: float) -> int:
    return round(work_ps // NS * share) * NS


def _producer(number: int) -> dict[str, Stat]:
    """The stats of the event that hands an execution to the executor thread."""
    return {"_pt": THREAD_POOL, "_p": number}
