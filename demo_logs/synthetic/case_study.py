"""The project's case study: UniT on eight TPU v3 cores, with an unexplained idle gap of 72.143 ms.

Ten training steps of PyTorch/XLA 1.9 over XRT, `XLA_HLO_DEBUG=1`. The session is generated: names, nesting and flows
follow recorded files and the sources of that release, and the times are chosen so that the exact answer is known.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from synthetic.case_study_host import (
    HostThreads,
    device_flow,
    graph_hash,
    sort_lines,
)
from synthetic.case_study_schedule import (
    CORES,
    EARLY_STEP,
    PLAIN_STEP,
    RECOMPILED_STEP,
    Execution,
    Schedule,
    schedule,
)
from synthetic.device_program import Op
from synthetic.flow_types import TPU_LAUNCH
from synthetic.writer import Space, Uint

RUN = "synthetic_case_study_8_tpu_cores"
SESSION = "2026_11_21_20_11_37_synthetic"
HOST = "t1v-n-8c41-w-0"
START_UNIX_NS = 1_795_291_897_000_000_000
NOTE = "Written by demo_logs/synthetic, not recorded: UniT on 8 TPU v3 cores, PyTorch/XLA 1.9 (XRT)."


@dataclass(frozen=True)
class ChainLink:
    """One link of a gap's chain: the host's activity, by class and thread."""

    name: str
    class_name: str
    thread: str
    start_ps: int
    duration_ps: int


@dataclass(frozen=True)
class Coverage:
    """Device time of one run by the state of the ops' scopes."""

    direct_ps: int
    recovered_ps: int
    bare_ps: int
    none_ps: int


@dataclass(frozen=True)
class StepTruth:
    number: int
    start_ps: int
    duration_ps: int
    launch_count: int


@dataclass(frozen=True)
class DeviceTruth:
    """Span, busy and idle time of a device, the numbers of its runs and ops, and its gaps as (start, duration)."""

    name: str
    span_ps: int
    busy_ps: int
    idle_ps: int
    run_count: int
    op_count: int
    gaps: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class CaseStudyTruth:
    """The figures that an analysis of the session must find."""

    steps: tuple[StepTruth, ...]
    devices: tuple[DeviceTruth, ...]
    gap_step: int
    gap_start_ps: int
    gap_ps: int
    gap_parts_ps: dict[str, int]
    gap_chain: tuple[ChainLink, ...]
    transfers_to_device: int
    early_step: int
    early_annotation: str
    recompiled_step: int
    compile_start_ps: int
    compile_ps: int
    graph_hash: str
    recompiled_module: str
    module_launches: dict[str, int]
    run_ps: int
    coverage: Coverage
    phase_order: tuple[tuple[str, int], ...]
    scope_ps: dict[str, int]
    lost_annotations: dict[str, str]


def path() -> Path:
    """The session's file, relative to the logdir."""
    return Path(RUN) / "plugins" / "profile" / SESSION / f"{HOST}.xplane.pb"


def build() -> Space:
    """The whole file, planes in the order in which profilers write them."""
    plan = schedule()
    space = Space(hostnames=[HOST])
    for core in range(CORES):
        _device(space, plan, core)
    metadata = space.plane("/host:metadata", id=0)
    for program in plan.programs.all():
        metadata.event_metadata(program.event_name, program.metadata_id, stats={"Hlo Proto": program.hlo()})
    host = space.plane("/host:CPU", id=CORES + 1)
    HostThreads(host, plan).write()
    sort_lines(host.lines)
    environment = space.plane("Task Environment", id=CORES + 2)
    environment.stats["profile_start_time"] = Uint(START_UNIX_NS)
    environment.stats["profile_stop_time"] = Uint(START_UNIX_NS + plan.end_ps // 1000)
    environment.stats["synthetic"] = 1
    environment.stats["synthetic_note"] = NOTE
    return space


def _device(space: Space, plan: Schedule, core: int) -> None:
    plane = space.plane(f"/device:TPU:{core}", id=core + 1)
    plane.stats["device_type_string"] = "TPU v3"
    plane.stats["peak_teraflops_per_second"] = 61.5
    plane.stats["peak_hbm_bw_gigabytes_per_second"] = 450.0
    modules = plane.line("XLA Modules", 2)
    ops = plane.line("XLA Ops", 3)
    metadata = {program.name: program.add_metadata(plane) for program in plan.programs.all()}
    for execution in plan.executions:
        start, end = execution.runs[core]
        modules.event(
            execution.program.event_name,
            start,
            end - start,
            run_id=Uint(execution.run_id),
            replica_id=core,
            queue_id=Uint(0),
            core_type=Uint(0),
            _ct=TPU_LAUNCH,
            _c=device_flow(execution, core),
        )
        moment = start
        for op_metadata, (op, duration) in zip(
            metadata[execution.program.name], _durations(execution, end - start), strict=True
        ):
            event = ops.event(op_metadata, moment, duration)
            event.stats = {"device_offset_ps": Uint(moment), "device_duration_ps": Uint(duration)}
            if op.is_collective:
                event.stats["all_reduce_unique_id"] = Uint(execution.run_id << 16 | 1)
            moment += duration


def _durations(execution: Execution, run_ps: int) -> list[tuple[Op, int]]:
    """The ops of a run with their durations. A core that starts late waits less in the all-reduce."""
    late_ps = execution.program.duration_ps - run_ps
    return [
        (op, op.duration_ps - late_ps if op.is_collective else op.duration_ps) for op in execution.program.ops
    ]


def truth() -> CaseStudyTruth:
    """The figures of the session, from its schedule and not from the file."""
    plan = schedule()
    previous, execution = _execution_of(plan, PLAIN_STEP - 1), _execution_of(plan, PLAIN_STEP)
    gap_start, gap_end = previous.runs[0][1], execution.runs[0][0]
    chain = _chain(plan, execution, gap_start)
    parts: dict[str, int] = {}
    for link in chain:
        parts[link.class_name] = parts.get(link.class_name, 0) + link.duration_ps
    recompiled = next(step for step in plan.steps if step.compile)
    assert recompiled.compile
    assert recompiled.execution
    module_launches: dict[str, int] = {}
    for program in (execution.program.name for execution in plan.executions):
        module_launches[program] = module_launches.get(program, 0) + 1
    usual = plan.programs.usual
    return CaseStudyTruth(
        steps=tuple(
            StepTruth(step.number, step.start_ps, step.end_ps - step.start_ps, 1 + (step.early is not None))
            for step in plan.steps
        ),
        devices=tuple(_device_truth(plan, core) for core in range(CORES)),
        gap_step=execution.step,
        gap_start_ps=gap_start,
        gap_ps=gap_end - gap_start,
        gap_parts_ps=parts,
        gap_chain=chain,
        transfers_to_device=len(plan.executions),
        early_step=EARLY_STEP,
        early_annotation="Training_Step/forward/text_encoder",
        recompiled_step=RECOMPILED_STEP,
        compile_start_ps=recompiled.compile.start_ps,
        compile_ps=recompiled.compile.duration_ps,
        graph_hash=graph_hash(recompiled.execution.program.name),
        recompiled_module=recompiled.execution.program.name,
        module_launches=module_launches,
        run_ps=usual.duration_ps,
        coverage=Coverage(
            **{
                f"{state}_ps": sum(op.duration_ps for op in usual.ops if op.state == state)
                for state in ("direct", "recovered", "bare", "none")
            }
        ),
        phase_order=_phase_order(plan),
        scope_ps=_scope_ps(plan),
        lost_annotations={"backward": "autograd thread", "data_loading": "no ops of its own"},
    )


def _execution_of(plan: Schedule, number: int) -> Execution:
    return next(step.execution for step in plan.steps if step.number == number and step.execution)


def _chain(plan: Schedule, execution: Execution, gap_start_ps: int) -> tuple[ChainLink, ...]:
    """The links of the chain of the gap before an execution: each lasts until the next one begins."""
    step = next(step for step in plan.steps if step.number == execution.step)
    update = next(phase for phase in step.phases if phase.name == "FINISH_UPDATE")
    starts = (
        ("backward", "tracing", "python", gap_start_ps),
        ("FINISH_UPDATE", "tracing", "python", update.start_ps),
        ("StepMarker", "sync_prepare", "python", execution.marker.start_ps),
        ("TensorCollectionBarrier", "wait", "python", execution.wait_start_ps),
        ("TransferToServerInternal", "to_device", "tf_xla_executor", execution.transfer.start_ps),
        ("TensorCollectionBarrier", "wait", "python", execution.transfer.end_ps),
        ("XRTExecute", "dispatch", "tf_Compute", execution.inputs_ps),
        ("TpuExecuteOp::LookupProto", "program_load", "tf_Compute", execution.look_up_ps),
        ("TPUExecute", "dispatch", "tf_Compute", execution.enqueue_ps),
        ("RunExecutable", "wait", "tf_Compute", execution.enqueued_ps),
    )
    ends = [start for *_, start in starts[1:]] + [execution.runs[0][0]]
    return tuple(
        ChainLink(name, class_name, thread, start, end - start)
        for (name, class_name, thread, start), end in zip(starts, ends, strict=True)
    )


def _device_truth(plan: Schedule, core: int) -> DeviceTruth:
    runs = [execution.runs[core] for execution in plan.executions]
    span = runs[-1][1] - runs[0][0]
    busy = sum(end - start for start, end in runs)
    gaps = tuple((end, start - end) for (_, end), (start, _) in pairwise(runs) if start > end)
    ops = sum(len(execution.program.ops) for execution in plan.executions)
    return DeviceTruth(f"/device:TPU:{core}", span, busy, span - busy, len(runs), ops, gaps)


def _phase_order(plan: Schedule) -> tuple[tuple[str, int], ...]:
    """Phases of the step in the order in which a core runs them, as (name, time). The name is empty for ops without a
    scope; neighbours of the same name are merged."""
    order: list[tuple[str, int]] = []
    for piece in plan.programs.usual.pieces:
        name = piece.scope.split("/")[1].split(".")[0] if piece.scope else ""
        if order and order[-1][0] == name:
            order[-1] = (name, order[-1][1] + piece.total_ps)
        else:
            order.append((name, piece.total_ps))
    return tuple(order)


def _scope_ps(plan: Schedule) -> dict[str, int]:
    """Device time of one run by annotation path, including enclosing annotations."""
    times: dict[str, int] = {}
    for piece in plan.programs.usual.pieces:
        names = [segment.split(".")[0] for segment in piece.scope.split("/")]
        for depth in range(1, len(names) + 1) if piece.scope else ():
            key = "/".join(names[:depth])
            times[key] = times.get(key, 0) + piece.total_ps
    return times
