"""A generated pod of 16 hosts with four TPU cores each; one host gets its batches late.

PyTorch/XLA over PJRT on a TPU v4. The clocks of the hosts differ by up to a few milliseconds, as under NTP, and one of
them drifts.
"""

from pathlib import Path

from synthetic.flow_types import TPU_LAUNCH
from synthetic.hlo import Computation, HloModule, Instruction
from synthetic.pod_schedule import LOSS_EXCHANGE, Clock, Delay, HostStep, Pod, schedule
from synthetic.times import MS, US, jitter, split
from synthetic.writer import EventMetadata, Line, Plane, Space, Stat, Uint

RUN = "synthetic_pod_16_hosts"
SESSION = "2026_05_04_10_12_08_synthetic"
START_UNIX_NS = 1_777_889_528_000_000_000
NOTE = (
    "Written by demo_logs/synthetic, not recorded: 16 hosts with 4 TPU v4 cores each, PyTorch/XLA over PJRT."
)
PROGRAM_ID = 9007199254741
MODULE_NAME = "SyncTensorsGraph.5120"
LATE_HOST = 5
DEMO = Pod(
    delays=(Delay(LATE_HOST, "input", 38 * MS),),
    clocks={host: Clock(jitter(f"clock {host}", 4 * MS), 25.0 if host == 9 else 0.0) for host in range(16)},
)
"""The demo session."""


def name_of(host: int) -> str:
    return f"t1v-n-7f-w-{host}"


def path(host: int) -> Path:
    """A host's file of the demo, relative to the logdir."""
    return Path(RUN) / "plugins" / "profile" / SESSION / f"{name_of(host)}.xplane.pb"


def build(host: int) -> Space:
    """A host's file of the demo."""
    return _File(DEMO, host, schedule(DEMO)[host]).space


def files(pod: Pod) -> list[Space]:
    """The file of each host."""
    return [_File(pod, host, steps).space for host, steps in enumerate(schedule(pod))]


class _File:
    """One host's file. Times are counted from the host's first event."""

    def __init__(self, pod: Pod, host: int, steps: list[HostStep]) -> None:
        self.pod, self.host = pod, host
        self.clock = pod.clocks.get(host, Clock())
        first, last = pod.captured_steps.get(host, (0, pod.steps - 1))
        self.steps = [step for step in steps if first <= step.index <= last]
        self.zero_ns = START_UNIX_NS + self.clock.reading_ps(self.steps[0].start_ps) // 1000
        self.module_name = pod.module_names.get(host, MODULE_NAME)
        self.space = Space(hostnames=[name_of(host)])
        for core in range(pod.cores):
            self._device(core)
        self.space.plane("/host:metadata", id=0).event_metadata(
            f"{self.module_name}({PROGRAM_ID})", PROGRAM_ID, stats={"Hlo Proto": self._hlo()}
        )
        self._host(self.space.plane("/host:CPU", id=pod.cores + 1))
        environment = self.space.plane("Task Environment", id=pod.cores + 2)
        environment.stats["profile_start_time"] = Uint(self.zero_ns)
        environment.stats["synthetic"] = 1
        environment.stats["synthetic_note"] = NOTE

    def file_ps(self, true_ps: int) -> int:
        """The time on the host's clock at a true time, counted from the file's zero."""
        return self.clock.reading_ps(true_ps) - (self.zero_ns - START_UNIX_NS) * 1000

    def _line(self, plane: Plane, name: str, id: int) -> Line:
        return plane.line(name, id, timestamp_ns=self.zero_ns)

    def _add(self, line: Line, name: str | EventMetadata, start_ps: int, end_ps: int, **stats: Stat) -> None:
        line.event(name, self.file_ps(start_ps), self.file_ps(end_ps) - self.file_ps(start_ps), stats)

    def _groups(self, all_hosts: bool) -> str:
        """The groups of a collective as in HLO text; cores are numbered host by host. With `all_hosts`, one group."""
        pod = self.pod
        groups = (tuple(range(pod.hosts)),) if all_hosts or not pod.groups else pod.groups
        texts = [
            ",".join(str(host * pod.cores + core) for host in group for core in range(pod.cores))
            for group in groups
        ]
        return ",".join(f"{{{text}}}" for text in texts)

    def _op(self, plane: Plane, name: str) -> EventMetadata:
        opcode = name.rsplit(".", 1)[0]
        text = f"%{name} = f32[128,768]{{1,0}} {opcode}(%param.1)"
        if opcode == "all-reduce-done":
            text = f"%{name} = f32[128,768]{{1,0}} all-reduce-done(%all-reduce-start.{name[-1]})"
        elif opcode.startswith("all-reduce") and self.pod.programs_have_groups:
            groups = self._groups(all_hosts=name == LOSS_EXCHANGE)
            text += f", channel_id=1, replica_groups={{{groups}}}, use_global_device_ids=true"
        category = opcode if opcode.startswith(("all-reduce", "recv")) else "loop fusion"
        stats: dict[str, Stat] = {"hlo_category": category, "program_id": Uint(PROGRAM_ID)}
        return plane.event_metadata(text, display_name=name, stats=stats)

    def _device(self, core: int) -> None:
        plane = self.space.plane(f"/device:TPU:{core}", id=core + 1)
        plane.stats["device_type_string"] = "TPU v4"
        modules, ops = self._line(plane, "XLA Modules", 2), self._line(plane, "XLA Ops", 3)
        for step in self.steps:
            start, end = step.runs[core]
            flow = step.index * self.pod.cores + core + 1
            run_stats: dict[str, Stat] = {"run_id": Uint(1000 + step.index)} if self.pod.has_run_ids else {}
            self._add(
                modules, f"{self.module_name}({PROGRAM_ID})", start, end, **run_stats, _ct=TPU_LAUNCH, _c=flow
            )
            now, fusion = start, 10
            for exchange in step.exchanges[core]:
                number = exchange.name.rsplit(".", 1)[1]
                if exchange.begin_ps < exchange.wait_ps:
                    fusion = self._compute(plane, ops, now, exchange.begin_ps, fusion)
                    start_op_end = exchange.begin_ps + 4 * US
                    self._add(
                        ops, self._op(plane, f"all-reduce-start.{number}"), exchange.begin_ps, start_op_end
                    )
                    fusion = self._compute(plane, ops, start_op_end, exchange.wait_ps, fusion)
                    done_op = self._op(plane, f"all-reduce-done.{number}")
                    self._add(ops, done_op, exchange.wait_ps, exchange.end_ps)
                else:
                    fusion = self._compute(plane, ops, now, exchange.begin_ps, fusion)
                    self._add(ops, self._op(plane, exchange.name), exchange.begin_ps, exchange.end_ps)
                now = exchange.end_ps
            self._compute(plane, ops, now, end, fusion)

    def _compute(self, plane: Plane, ops: Line, start_ps: int, end_ps: int, number: int) -> int:
        """Adds fusions from one instant to another; returns the number of the next fusion."""
        if start_ps == end_ps:
            return number
        count = self.pod.ops if end_ps - start_ps > MS else 1
        for length in split(end_ps - start_ps, count, f"fusion {number}"):
            self._add(ops, self._op(plane, f"fusion.{number}"), start_ps, start_ps + length)
            start_ps += length
            number += 1
        return number

    def _host(self, plane: Plane) -> None:
        main = self._line(plane, "python", 7)
        for step in self.steps:
            numbers: dict[str, Stat] = {"_r": 1}
            if self.pod.has_step_numbers:
                numbers["step_num"] = self.pod.first_step + step.index
            self._add(main, "Training_Step", step.start_ps, step.end_ps - US, **numbers)
            marker = next(phase.start_ps for phase in step.phases if phase.name == "CollectSyncTensors")
            for phase in step.phases:
                if phase.name == "CollectSyncTensors":
                    for name in ("StepMarker", "SyncLiveTensorsGraph"):
                        self._add(main, name, marker, step.end_ps - 2 * US)
                self._add(main, phase.name, phase.start_ps, phase.end_ps)
            self._add(main, step.barrier.name, step.barrier.start_ps, step.barrier.end_ps)
            self._add(main, step.dispatch.name, step.dispatch.start_ps, step.dispatch.end_ps)
            for core in range(self.pod.cores):
                enqueued = step.dispatch.start_ps + (core + 1) * 10 * US
                flow = step.index * self.pod.cores + core + 1
                self._add(main, "DoEnqueueProgram", enqueued, enqueued + 5 * US, _pt=TPU_LAUNCH, _p=flow)

    def _hlo(self) -> bytes:
        entry = [Instruction(1, "fusion.10", "fusion", op_name="Training_Step.1/forward.2/aten__mm")]
        return HloModule(self.module_name, PROGRAM_ID, [Computation(1, "entry", entry)]).to_bytes()
