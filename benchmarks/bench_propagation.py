"""Measures how long it takes to trace device ops back to annotations.

    python benchmarks/bench_propagation.py [FILE]

First, for a generated program of 100,000 instructions, in which every instruction outside fusions ran: parsing it and
finding each op's origin. Then, with FILE, its report and view, each a second time with memoised answers, and the
timeline's rows of scopes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "demo_logs")]

INSTRUCTIONS = 100_000
INSTRUCTIONS_PER_FUSION = 8


def build_program() -> tuple[bytes, list[str]]:
    """A program's bytes, and the names of the ops in its entry computation: a fusion, a dot and a copy in turn."""
    from synthetic.hlo import Computation, HloModule, Instruction

    bodies, entry = [], []
    while len(entry) + len(bodies) * INSTRUCTIONS_PER_FUSION < INSTRUCTIONS:
        index = len(bodies)
        scope = f"Training_Step.1/forward.2/layer.{index % 97 + 1}"
        inner = [
            Instruction(index * INSTRUCTIONS_PER_FUSION + n, f"add.{index}.{n}", "add", f"{scope}/aten__add")
            for n in range(INSTRUCTIONS_PER_FUSION)
        ]
        bodies.append(Computation(index + 1, f"fused_computation.{index}", inner))
        first = 10_000_000 + 3 * index
        entry += [
            Instruction(first, f"fusion.{index}", "fusion", calls=[index + 1]),
            Instruction(first + 1, f"dot.{index}", "dot", f"{scope}/aten__mm", "aten__mm", "model.py", index),
            Instruction(first + 2, f"copy.{index}", "copy", operands=[first + 1]),
        ]
    module = HloModule("large.1", 1, [*bodies, Computation(len(bodies) + 1, "entry", entry)])
    return module.to_bytes(), [instruction.name for instruction in entry]


def measure(label: str, work: Callable[[], object]) -> None:
    """Prints the elapsed time and the processor time of a call."""
    start, processor = time.perf_counter(), time.process_time()
    work()
    print(
        f"{label:<40}{time.perf_counter() - start:8.3f} s{time.process_time() - processor:8.3f} s of processor time"
    )


def measure_program() -> None:
    from tb_xla_insights.analysis.propagation.hlo_scopes import ProgramOrigins
    from tb_xla_insights.xplane.proto.hlo_pb2 import HloProto

    data, names = build_program()
    print(f"{INSTRUCTIONS:,} instructions, {len(names):,} ops, {len(data) / 1e6:.1f} MB")

    def find_origins() -> None:
        program = ProgramOrigins(HloProto.FromString(data).hlo_module)
        for name in names:
            program.origin(name)
        program.containers(names)
        program.working_scopes()

    for _ in range(3):
        measure("parse, and the origin of every op", find_origins)


def measure_capture(path: str) -> None:
    import tb_xla_insights as xi
    from tb_xla_insights.analysis.launches.launches import find_launches
    from tb_xla_insights.analysis.propagation import propagation_report, propagation_view
    from tb_xla_insights.timeline import Timeline

    session = xi.load(path).trace
    events = sum(len(trace) for trace in session.traces)
    print(f"{events:,} events, {sum(len(device.ops) for device in session.devices):,} ops")
    measure(
        "launches, shared by several analyses", lambda: [find_launches(trace) for trace in session.traces]
    )
    measure("report", lambda: propagation_report(session))
    measure("view", lambda: propagation_view(session))
    measure("report again", lambda: propagation_report(session))
    measure("view again", lambda: propagation_view(session))
    timeline = Timeline(session)
    measure("the timeline's rows of scopes", timeline.find_more_rows)


if __name__ == "__main__":
    measure_program()
    if len(sys.argv) > 1:
        measure_capture(sys.argv[1])
