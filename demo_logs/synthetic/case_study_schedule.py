"""The schedule of the case study: steps, launches and device runs.

The host builds a graph per step (forward, backward, FINISH_UPDATE). The step marker hands it to an executor thread,
which moves tensors to the server and executes on eight cores; the main thread waits until the launch is complete.
Each launch is therefore later than the end of the previous run, and the device idles in between.
"""

from dataclasses import dataclass, field

from synthetic.device_program import Piece, Program
from synthetic.times import US, jitter, ms

CORES = 8
STEPS = range(1204, 1214)
PLAIN_STEP = 1206  # has exactly the durations below, so that its gap lasts 72.143 ms
RECOMPILED_STEP, EARLY_STEP = 1209, 1211
FIRST_STEP_START_PS = ms(61.2)

DATA_LOADING, FORWARD, BACKWARD, FINISH_UPDATE = ms(8.4), ms(88.2), ms(92.061), ms(6.612)
STEP_MARKER, HAND_OVER, TRANSFER, SESSION_RUN = ms(9.742), ms(0.412), ms(21.305), ms(0.452)
INPUTS, LOOK_UP, ENQUEUE, START_UP = ms(3.902), ms(3.118), ms(7.505), ms(0.891)
COMPILE = ms(318.407)
FORWARD_BEFORE_EARLY, EARLY_MARKER, EARLY_TRANSFER, EARLY_EXECUTE = ms(40.1), ms(8.1), ms(4.2), ms(9.2)
EARLY_READ = ms(2.3)

_FORWARD_SCOPE = "Training_Step.1/forward.2/"
IMAGE, TEXT, DECODER, LOSSES = (
    f"{_FORWARD_SCOPE}{name}" for name in ("image_encoder.1", "text_encoder.2", "decoder.3", "losses.4")
)
_UPDATE_SCOPE = "Training_Step.1/FINISH_UPDATE.4/"
REDUCE, OPTIMIZER = f"{_UPDATE_SCOPE}reduce_gradients.1", f"{_UPDATE_SCOPE}optimizer_step.2"


def _scoped(scope: str, total: float, direct: float) -> Piece:
    """A piece with a scope; the times are in milliseconds, and the rest of `total` is recovered."""
    return Piece(scope, ms(direct), ms(total) - ms(direct))


def _backward(bare: float, none: float) -> Piece:
    """A piece of the backward pass, in milliseconds: ops with a bare op name, and ops without one."""
    return Piece("", bare_ps=ms(bare), none_ps=ms(none))


# One training step on a core, in milliseconds: 170.457 in total; 74.319 direct, 50.967 recovered from fused
# instructions and copies, 37.671 bare (backward) and 7.500 without an op name.
WHOLE_STEP = (
    _scoped(IMAGE, 8.523, 4.301),
    _scoped(OPTIMIZER, 4.773, 2.690),
    _scoped(IMAGE, 9.000, 4.512),
    _scoped(TEXT, 3.784, 1.893),
    _backward(4.314, 0.800),
    _scoped(IMAGE, 11.341, 5.702),
    _scoped(DECODER, 4.000, 2.105),
    _scoped(OPTIMIZER, 5.966, 3.120),
    _scoped(TEXT, 5.932, 3.004),
    _scoped(IMAGE, 6.000, 3.018),
    _backward(7.223, 1.300),
    _scoped(DECODER, 10.880, 5.611),
    _scoped(IMAGE, 7.018, 3.490),
    _scoped(OPTIMIZER, 4.261, 2.207),
    _scoped(TEXT, 2.654, 1.322),
    _scoped(DECODER, 14.025, 7.015),
    _scoped(LOSSES, 3.947, 2.006),
    _backward(16.603, 3.000),
    _scoped(REDUCE, 21.307, 21.307),
    _backward(9.531, 2.400),
    _scoped(OPTIMIZER, 1.875, 1.016),
)
EARLY_PART = (_scoped(IMAGE, 30.000, 15.870), _scoped(TEXT, 8.044, 4.120))
REST_OF_STEP = (
    _scoped(TEXT, 4.326, 2.207),
    _scoped(OPTIMIZER, 8.112, 4.410),
    _scoped(DECODER, 28.905, 14.731),
    _backward(11.537, 2.100),
    _scoped(LOSSES, 3.947, 2.006),
    _backward(16.603, 3.000),
    _scoped(REDUCE, 21.307, 21.307),
    _backward(9.531, 2.400),
    _scoped(OPTIMIZER, 8.763, 4.623),
)


@dataclass(frozen=True)
class Programs:
    """The four programs of the session: the step's, the recompiled one, and the two parts of the step with an early
    execution."""

    usual: Program
    recompiled: Program
    early: Program
    rest: Program

    def all(self) -> tuple[Program, ...]:
        return self.usual, self.recompiled, self.early, self.rest


def _build_programs() -> Programs:
    return Programs(
        Program(41937, 12190760917235803885, WHOLE_STEP),  # beyond 2**63, as real ids can be
        Program(42210, 9646411105960254074, WHOLE_STEP),
        Program(41102, 2433868464432466958, EARLY_PART),
        Program(41960, 7159309165228431456, REST_OF_STEP),
    )


@dataclass(frozen=True)
class NamedInterval:
    """An interval with a name, in picoseconds from the session's start."""

    name: str
    start_ps: int
    end_ps: int

    @property
    def duration_ps(self) -> int:
        return self.end_ps - self.start_ps


@dataclass(frozen=True)
class Execution:
    """One execution of a program on all cores, from the step marker on the main thread to the runs on the devices."""

    program: Program
    step: int
    run_id: int
    marker: NamedInterval
    wait_start_ps: int  # from here the main thread waits until `ready_ps`
    transfer: NamedInterval
    inputs_ps: int
    look_up_ps: int
    enqueue_ps: int
    enqueued_ps: int
    ready_ps: int
    runs: tuple[tuple[int, int], ...]  # start and end per core
    early: bool = False


@dataclass
class Step:
    """One step of the main thread. It has no early execution if `early` is None, and no compilation if `compile` is;
    only the cut step has no `execution`."""

    number: int
    start_ps: int
    phases: list[NamedInterval] = field(default_factory=list)
    execution: Execution | None = None
    early: Execution | None = None
    early_read: NamedInterval | None = None
    compile: NamedInterval | None = None
    end_ps: int = 0


@dataclass
class Schedule:
    programs: Programs
    steps: list[Step]
    cut_step: Step
    executions: list[Execution]
    end_ps: int


def schedule() -> Schedule:
    """Lays out the session, step by step, on one clock that only moves forward."""
    programs = _build_programs()
    marker = NamedInterval(
        "StepMarker", FIRST_STEP_START_PS - STEP_MARKER - _launch_ps(), FIRST_STEP_START_PS
    )
    executions = [_execution(programs.usual, 1203, 1, marker, marker.start_ps + STEP_MARKER, TRANSFER, None)]
    steps: list[Step] = []
    clock = FIRST_STEP_START_PS
    for number in STEPS:
        step = _step(programs, number, clock, executions)
        steps.append(step)
        clock = step.end_ps
    end_ps = max(end for _, end in executions[-1].runs) + ms(12)
    cut = Step(
        STEPS[-1] + 1, clock, [NamedInterval("data_loading", clock, clock + DATA_LOADING)], end_ps=end_ps
    )
    return Schedule(programs, steps, cut, executions, end_ps)


def _launch_ps() -> int:
    return HAND_OVER + TRANSFER + SESSION_RUN + INPUTS + LOOK_UP + ENQUEUE + START_UP


def _step(programs: Programs, number: int, start_ps: int, executions: list[Execution]) -> Step:
    def varied(duration_ps: int, label: str, reach_ps: int) -> int:
        """The duration in this step, which differs by up to `reach_ps` in all steps but PLAIN_STEP."""
        return duration_ps if number == PLAIN_STEP else duration_ps + jitter(f"{number}/{label}", reach_ps)

    step = Step(number, start_ps)
    clock = start_ps + varied(DATA_LOADING, "data", ms(0.6))
    step.phases.append(NamedInterval("data_loading", start_ps, clock))
    forward = varied(FORWARD, "forward", ms(1.5))
    forward_start = clock
    if number == EARLY_STEP:
        marker_start = clock + FORWARD_BEFORE_EARLY
        wait_start = marker_start + EARLY_MARKER
        marker = NamedInterval("StepMarker", marker_start, wait_start + EARLY_TRANSFER + EARLY_EXECUTE)
        step.early = _execution(
            programs.early, number, len(executions) + 1, marker, wait_start, EARLY_TRANSFER, executions[-1]
        )
        executions.append(step.early)
        read_end = step.early.runs[0][1] + EARLY_READ
        step.early_read = NamedInterval("TransferFromServer", marker.end_ps, read_end)
        clock = read_end - FORWARD_BEFORE_EARLY
    clock += forward
    step.phases.append(NamedInterval("forward", forward_start, clock))
    for name, duration in (
        ("backward", varied(BACKWARD, "backward", ms(2))),
        ("FINISH_UPDATE", varied(FINISH_UPDATE, "update", ms(0.2))),
    ):
        step.phases.append(NamedInterval(name, clock, clock + duration))
        clock += duration
    marker_start = clock
    clock += varied(STEP_MARKER, "marker", ms(0.3))
    program = programs.rest if number == EARLY_STEP else programs.usual
    if number == RECOMPILED_STEP:
        program = programs.recompiled
        compile_start = marker_start + ms(5.5)
        step.compile = NamedInterval("XLATensor::Compile", compile_start, compile_start + COMPILE)
        clock += COMPILE
    transfer = varied(TRANSFER, "transfer", ms(1))
    step.end_ps = clock + _launch_ps() - TRANSFER + transfer
    marker = NamedInterval("StepMarker", marker_start, step.end_ps)
    step.phases.append(marker)
    step.execution = _execution(program, number, len(executions) + 1, marker, clock, transfer, executions[-1])
    executions.append(step.execution)
    return step


def _execution(
    program: Program,
    step: int,
    run_id: int,
    marker: NamedInterval,
    wait_start_ps: int,
    transfer_ps: int,
    previous: Execution | None,
) -> Execution:
    """The execution that is launched once the main thread waits."""
    is_early = step == EARLY_STEP and transfer_ps == EARLY_TRANSFER
    if is_early:
        transfer = NamedInterval("TransferToServerInternal", wait_start_ps, wait_start_ps + transfer_ps)
        inputs = transfer.end_ps
        look_up, enqueue, enqueued = inputs + ms(2.9), inputs + ms(4.1), inputs + EARLY_EXECUTE
        ready = enqueued
    else:
        transfer = NamedInterval(
            "TransferToServerInternal", wait_start_ps + HAND_OVER, wait_start_ps + HAND_OVER + transfer_ps
        )
        inputs = transfer.end_ps + SESSION_RUN
        look_up = inputs + INPUTS
        enqueue = look_up + LOOK_UP
        enqueued = enqueue + ENQUEUE
        ready = enqueued + START_UP
    runs = _runs(program, run_id, ready, previous)
    return Execution(
        program,
        step,
        run_id,
        marker,
        wait_start_ps,
        transfer,
        inputs,
        look_up,
        enqueue,
        enqueued,
        ready,
        runs,
        is_early,
    )


def _runs(
    program: Program, run_id: int, ready_ps: int, previous: Execution | None
) -> tuple[tuple[int, int], ...]:
    """Start and end on each core. Cores start at slightly different times and end an all-reduce together."""
    runs: list[tuple[int, int]] = []
    end_together = any(op.is_collective for op in program.ops)
    for core in range(CORES):
        start = ready_ps + (ms(0.12) + jitter(f"{run_id}/{core}", ms(0.17)) if core else 0)
        if previous is not None:
            start = max(start, previous.runs[core][1] + 12 * US)  # one run at a time on a core
        end = runs[0][1] if end_together and core else start + program.duration_ps
        runs.append((start, end))
    return tuple(runs)
