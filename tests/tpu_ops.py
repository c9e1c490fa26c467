"""TPU captures whose ops have FLOPs and bytes per execution in their metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from programs import read
from synthetic.wire import block, integer
from synthetic.writer import Space, Stat, Uint

from tb_xla_insights.trace.model import Trace

PEAKS: Mapping[str, Stat] = {
    "device_type_string": "TPU v0",
    "peak_teraflops_per_second": 100.0,
    "peak_hbm_bw_gigabytes_per_second": 1000.0,
}
FLOPS_PER_PS, BYTES_PER_PS = 100, 1
"""The same peaks per picosecond."""


@dataclass(frozen=True)
class Op:
    """An op, and the work of one execution of it, None where the capture has no number; without `model_flops` they are
    `flops`. `hbm` is the part of `nbytes` in the main memory, where the capture separates it."""

    name: str
    scope: str = ""
    flops: int | None = None
    nbytes: int | None = None
    hbm: int | None = None
    category: str = "loop fusion"
    model_flops: int | None = None
    source: str = ""

    def stats(self, program: int) -> dict[str, Stat]:
        recorded: dict[str, Stat | None] = {
            "program_id": program,
            "hlo_category": self.category,
            "tf_op": f"{self.scope}/op:" if self.scope else None,
            "flops": _unsigned(self.flops),
            "model_flops": _unsigned(self.flops if self.model_flops is None else self.model_flops),
            "bytes_accessed": self.nbytes,
            "memory_access_breakdown": None if self.hbm is None else _breakdown(self.hbm, self.nbytes or 0),
            "source": self.source or None,
        }
        return {name: value for name, value in recorded.items() if value is not None}


Executions = Sequence[tuple[Op, int, int]]
"""Ops with start and length in picoseconds."""


def tpu_trace(
    tmp_path: Path,
    cores: Sequence[Executions],
    steps: Sequence[tuple[int, int]] = (),
    peaks: Mapping[str, Stat] = PEAKS,
) -> Trace:
    """Cores that run the program `jit_f`, in one run or in a run for each of the steps. A step (start, length) is an
    annotation; on each core with ops that begin within the annotation, it launches a run of these ops. `peaks` are the
    stats of the cores' planes."""
    space = Space()
    python = space.plane("/host:CPU").line("python", id=1)
    for number, (start, length) in enumerate(steps):
        python.event("Training_Step", start, length, _r=1, step_num=number)
    for number, executions in enumerate(cores):
        plane = space.plane(f"/device:TPU:{number}", stats=dict(peaks))
        modules, ops = plane.line("XLA Modules"), plane.line("XLA Ops")
        for step, (first, length) in enumerate(steps or [(0, 1 << 60)]):
            inside = [
                (start, start + duration)
                for _, start, duration in executions
                if first <= start < first + length
            ]
            if not inside:
                continue
            start, end = min(inside)[0], max(end for _, end in inside)
            flow = 1000 * number + step + 1
            if steps:
                python.event("DoEnqueueProgram", first + number, 1, _pt=12, _p=flow)
            modules.event("jit_f(7)", start, end - start, _ct=12, _c=flow)
        for op, start, length in executions:
            name = f"%{op.name} = f32[] of {op.scope}"
            ops.event(plane.event_metadata(name, display_name=op.name, stats=op.stats(7)), start, length)
    return read(space, tmp_path)


def _unsigned(value: int | None) -> Stat | None:
    return None if value is None else Uint(value)


def _breakdown(hbm: int, nbytes: int) -> bytes:
    """The stat's content: one half of the main memory's bytes is read, the other written; the rest of `nbytes` is in
    another memory."""
    parts = [(1, 1, hbm // 2), (2, 1, hbm - hbm // 2), (1, 3, max(nbytes - hbm, 0))]
    return b"".join(
        block(1, integer(1, operation) + integer(2, memory) + integer(3, count))
        for operation, memory, count in parts
        if count
    )
