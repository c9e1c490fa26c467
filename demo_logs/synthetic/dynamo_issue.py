"""One training step run lazily and one run through dynamo, on one TPU v4 over PJRT, with the overhead of each
execution.

The numbers are those of a manual measurement in January 2023: the same step is one execution when lazy and five with
`torch.compile`, each with an overhead of two to four milliseconds, independent of its computation. Host time is from
the execute call to the later of its end and the run's end; nothing is queued before any execution.
"""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

from synthetic.device_program import Piece, Program
from synthetic.dynamo_issue_host import StepHost
from synthetic.dynamo_issue_plan import Execution, StepPlan
from synthetic.flow_types import TPU_LAUNCH
from synthetic.times import US, hash64, ms
from synthetic.writer import Space, Uint

Mode = Literal["lazy", "dynamo"]
MODES: tuple[Mode, ...] = ("lazy", "dynamo")
SESSION = "2023_01_12_18_04_22_synthetic"
HOST = "t1v-n-2b07-w-0"
START_UNIX_NS = 1_673_546_662_000_000_000
STEP_START_PS = ms(0.8)
STEP_NUMBER = 120
OP_PS = 120 * US
NOTE = "Written by demo_logs/synthetic, not recorded: one training step on TPU v4, PyTorch/XLA over PJRT, {}."


@dataclass(frozen=True)
class ExecutionTruth:
    """One row of the overhead table."""

    name: str
    kind: str
    program: str
    host_ps: int
    device_ps: int
    overhead_ps: int


@dataclass(frozen=True)
class DynamoIssueTruth:
    """The figures that an analysis of one of the two sessions must find. `tracing_ps`: None with dynamo. `gaps_ps`: the
    names of the executions before and after each gap, and its duration."""

    step_number: int
    step_ps: int
    tracing_ps: int | None
    device_ps: int
    executions: tuple[ExecutionTruth, ...]
    gaps_ps: tuple[tuple[str, str, int], ...]
    input_syncs: int
    early_syncs: int


def path(mode: Mode) -> Path:
    """The session's file, relative to the logdir."""
    return Path(f"synthetic_dynamo_issue_{mode}") / "plugins" / "profile" / SESSION / f"{HOST}.xplane.pb"


def plan(mode: Mode) -> StepPlan:
    """The step's executions and phases, in session time."""
    return _lazy() if mode == "lazy" else _dynamo()


def _lazy() -> StepPlan:
    scope = "Training_Step.1/"
    pieces = (
        Piece(f"{scope}forward.2", ms(3.912), ms(2.401)),
        Piece("", bare_ps=ms(2.218)),
        Piece(f"{scope}loss.3", ms(0.214), ms(0.102)),
        Piece(f"{scope}FINISH_UPDATE.5", ms(0.871)),
        Piece("", bare_ps=ms(6.905), none_ps=ms(0.312)),
        Piece(f"{scope}FINISH_UPDATE.5", ms(0.610), ms(0.287)),
    )
    program = Program(8261, 4779527277395604928, pieces, OP_PS)
    phases = (
        ("data_loading", 0.35),
        ("forward", 5.85),
        ("loss", 6.43),
        ("backward", 11.83),
        ("FINISH_UPDATE", 14.02),
        ("StepMarker", 17.0),
        ("DeviceBarrier", 39.0),
    )
    whole = Execution("the whole step", "lazy", program, _at(16.93), ms(21.831))
    return StepPlan(STEP_NUMBER, STEP_START_PS, phases, (whole,))


def _dynamo() -> StepPlan:
    """Dynamo keeps only the outermost scope; graphs that it does not trace have none."""
    scope = "Training_Step.1"
    input_sync = Program(96, 11287434908481120160, [Piece("", bare_ps=ms(0.08347))], OP_PS)
    forward = Program(4410, 1204465029916355081, [Piece(scope, ms(5.702), ms(3.925))], OP_PS)
    clean_up_1 = Program(131, 15032385537203112014, [Piece("", bare_ps=ms(0.118))], OP_PS)
    backward = Program(6902, 6148914691236517205, [Piece("", bare_ps=ms(12.641), none_ps=ms(0.441))], OP_PS)
    clean_up_2 = Program(140, 8646911284551352320, [Piece("", bare_ps=ms(0.289))], OP_PS)
    phases = (
        ("data_loading", 0.4),
        ("forward", 8.6),
        ("loss", 11.2),
        ("backward", 34.0),
        ("FINISH_UPDATE", 45.5),
        ("StepMarker", 47.6),
        ("DeviceBarrier", 52.6),
    )
    executions = (
        Execution("input sync", "lazy", input_sync, _at(1.0), ms(1.892), tail_ps=ms(0.309)),
        Execution("forward", "dynamo", forward, _at(3.2), ms(13.902)),
        Execution("clean-up 1", "lazy", clean_up_1, _at(24.901), ms(2.429), tail_ps=ms(0.2)),
        Execution("backward", "dynamo", backward, _at(28.651), ms(16.698)),
        Execution("clean-up 2", "lazy", clean_up_2, _at(47.5), ms(3.507), tail_ps=ms(0.25)),
    )
    return StepPlan(STEP_NUMBER, STEP_START_PS, phases, executions)


def _at(milliseconds: float) -> int:
    return STEP_START_PS + ms(milliseconds)


def build(mode: Mode) -> Space:
    """The whole file of one of the two sessions."""
    step = plan(mode)
    space = Space(hostnames=[HOST])
    device = space.plane("/device:TPU:0", id=2)
    device.stats["device_type_string"] = "TPU v4"
    device.stats["peak_teraflops_per_second"] = 275.0
    device.stats["peak_hbm_bw_gigabytes_per_second"] = 1200.0
    modules, ops = device.line("XLA Modules", 2), device.line("XLA Ops", 3)
    metadata = space.plane("/host:metadata", id=0)
    for run_id, execution in enumerate(step.executions, 1):
        program = execution.program
        metadata.event_metadata(program.event_name, program.metadata_id, stats={"Hlo Proto": program.hlo()})
        modules.event(
            program.event_name,
            execution.run_start_ps,
            execution.device_ps,
            run_id=Uint(run_id),
            replica_id=0,
            queue_id=Uint(0),
            core_type=Uint(0),
            _ct=TPU_LAUNCH,
            _c=hash64(f"{mode} {run_id}"),
        )
        moment = execution.run_start_ps
        for op_metadata, op in zip(program.add_metadata(device), program.ops, strict=True):
            stats = {"device_offset_ps": Uint(moment), "device_duration_ps": Uint(op.duration_ps)}
            ops.event(op_metadata, moment, op.duration_ps, stats)
            moment += op.duration_ps
    StepHost(space.plane("/host:CPU", id=1), step, mode).write()
    environment = space.plane("Task Environment", id=3)
    environment.stats["profile_start_time"] = Uint(START_UNIX_NS)
    environment.stats["profile_stop_time"] = Uint(START_UNIX_NS + (step.end_ps + ms(2)) // 1000)
    environment.stats["synthetic"] = 1
    environment.stats["synthetic_note"] = NOTE.format(mode)
    return space


def truth(mode: Mode) -> DynamoIssueTruth:
    """The figures of a session, from its plan and not from the file."""
    step = plan(mode)
    rows = tuple(
        ExecutionTruth(
            execution.name,
            execution.kind,
            execution.program.name,
            execution.host_ps,
            execution.device_ps,
            execution.host_ps - execution.device_ps,
        )
        for execution in step.executions
    )
    gaps = tuple(
        (before.name, after.name, after.run_start_ps - before.run_end_ps)
        for before, after in pairwise(step.executions)
    )
    lazy = mode == "lazy"
    return DynamoIssueTruth(
        step_number=step.number,
        step_ps=step.end_ps - step.start_ps,
        tracing_ps=ms(13.67) if lazy else None,
        device_ps=sum(row.device_ps for row in rows),
        executions=rows,
        gaps_ps=gaps,
        input_syncs=0 if lazy else 2,
        early_syncs=0,
    )
