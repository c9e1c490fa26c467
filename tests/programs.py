"""Captures with compiled programs: steps that launch runs on a TPU core, and the HLO protos that define their ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from captures import CATALOG, session
from synthetic.hlo import Computation, HloModule, Instruction
from synthetic.writer import Space, Stat

from tb_xla_insights.files.open import open_source
from tb_xla_insights.trace.model import SessionTrace, Trace
from tb_xla_insights.trace.read_trace import read_trace

STEP_PS = 1_000_000
"""The duration of a step, which begins with its phases and has its step marker in the last tenth."""


@dataclass
class Step:
    """A step with phases (name, length; `inner` has the phases in a phase), and the runs that the step launches, all of
    one program and on core 0.

    A run is its start, from the first step's start, and its ops: name, length and `tf_op`, which may be empty.
    `markers` are the starts of a step marker per run, from the step's start; by default one marker in the last tenth of
    the step launches all runs. Times are picoseconds."""

    phases: Sequence[tuple[str, int]] = ()
    runs: Sequence[tuple[int, Sequence[tuple[str, int, str]]]] = ()
    inner: Mapping[str, Sequence[tuple[str, int]]] = field(default_factory=dict)
    name: str = "Training_Step"
    program: int = 7
    markers: Sequence[int] = ()


def training(
    tmp_path: Path,
    steps: Sequence[Step],
    hlo: bytes | None = None,
    around: tuple[str, int, int] | None = None,
) -> SessionTrace:
    """The session of a training whose programs are `SyncTensorsGraph.1`; `hlo` is the proto of program 7, if the file
    has one. `around`: an annotation around the steps (name, start, length)."""
    space = Space()
    device = space.plane("/device:TPU:0")
    modules, ops = device.line("XLA Modules"), device.line("XLA Ops")
    host = space.plane("/host:CPU").line("python", id=1)
    launch = 0
    if around is not None:
        host.event(*around)
    for number, step in enumerate(steps):
        now = number * STEP_PS
        markers = [now + start for start in step.markers] or [now + STEP_PS * 9 // 10]
        host.event(step.name, now, STEP_PS, _r=1, step_num=number)
        for name, length in step.phases:
            host.event(name, now, length)
            begin = now
            for inside, inner_duration in step.inner.get(name, ()):
                host.event(inside, begin, inner_duration)
                begin += inner_duration
            now += length
        for marker in markers:
            host.event("StepMarker", marker, 50_000)
        for at, (start, body) in enumerate(step.runs):
            launch += 1
            marker = markers[min(at, len(markers) - 1)]
            host.event("PjRtComputationClient::ExecuteComputation", marker + 100 * at, 90)
            host.event("DoEnqueueProgram", marker + 100 * at + 10, 20, _pt=12, _p=launch)
            length = sum(op[1] for op in body)
            modules.event(f"SyncTensorsGraph.1({step.program})", start, length, _ct=12, _c=launch)
            for name, duration, tf_op in body:
                stats: dict[str, Stat] = {"program_id": step.program}
                if tf_op:
                    stats["tf_op"] = tf_op
                event_metadata = device.event_metadata(
                    f"{name}#{tf_op}#{step.program}", display_name=name, stats=stats
                )
                ops.event(event_metadata, start, duration)
                start += duration
    if hlo is not None:
        metadata = space.plane("/host:metadata")
        metadata.event_metadata("SyncTensorsGraph.1(7)", 7, stats={"Hlo Proto": hlo})
    return session(read(space, tmp_path))


def read(space: Space, tmp_path: Path) -> Trace:
    """The trace of the capture, written to a file, as programs are read from the file again."""
    path = space.write(tmp_path / "vm.xplane.pb")
    with open_source(str(path)) as source:
        return read_trace(source, CATALOG, host="vm")


def module(
    entry: Sequence[Instruction],
    bodies: Mapping[int, Sequence[Instruction]] | None = None,
    name: str = "SyncTensorsGraph.1",
) -> bytes:
    """The proto of a module whose computations have the given ids; the entry computation's id is 1000."""
    computations = [Computation(id_, f"body.{id_}", list(body)) for id_, body in (bodies or {}).items()]
    return HloModule(name, 7, [*computations, Computation(1000, "entry", list(entry))]).to_bytes()  # fmt: skip
