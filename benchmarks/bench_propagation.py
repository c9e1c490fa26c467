"""How long it takes to trace device ops back to annotations.

    python benchmarks/bench_propagation.py [FILE]

First a generated program of 100,000 instructions, of which every one outside of fusions ran: parsing it and telling
each op's origin. Then, with a capture, its report and view, the second time with the answers kept, and
the timeline's rows of scopes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "demo_logs")]

INSTRUCTIONS = 100_000
PER_FUSION = 8


def generated() -> tuple[bytes, list[str]]:
    """A program's bytes, and the names of the ops in its entry computation: a fusion, a dot and a copy in turn."""
    from synthetic.hlo import Computation, HloModule, Instruction

    bodies, entry = [], []
    while len(entry) + len(bodies) * PER_FUSION < INSTRUCTIONS:
        place = len(bodies)
        scope = f"Training_Step.1/forward.2/layer.{place % 97 + 1}"
        inner = [
            Instruction(place * PER_FUSION + n, f"add.{place}.{n}", "add", f"{scope}/aten__add")
            for n in range(PER_FUSION)
        ]
        bodies.append(Computation(place + 1, f"fused_computation.{place}", inner))
        first = 10_000_000 + 3 * place
        entry += [
            Instruction(first, f"fusion.{place}", "fusion", calls=[place + 1]),
            Instruction(first + 1, f"dot.{place}", "dot", f"{scope}/aten__mm", "aten__mm", "model.py", place),
            Instruction(first + 2, f"copy.{place}", "copy", operands=[first + 1]),
        ]
    module = HloModule("large.1", 1, [*bodies, Computation(len(bodies) + 1, "entry", entry)])
    return module.to_bytes(), [it.name for it in entry]


def timed(what: str, work: Callable[[], object]) -> None:
    start, processor = time.perf_counter(), time.process_time()
    work()
    print(
        f"{what:<40}{time.perf_counter() - start:8.3f} s{time.process_time() - processor:8.3f} s of the processor"
    )


def program() -> None:
    from tb_xla_insights.analysis.propagation.hlo_scopes import Program
    from tb_xla_insights.xplane.proto.hlo_pb2 import HloProto

    data, names = generated()
    print(f"{INSTRUCTIONS:,} instructions, {len(names):,} ops, {len(data) / 1e6:.1f} MB")

    def origins() -> None:
        its = Program(HloProto.FromString(data).hlo_module)
        for name in names:
            its.origin(name)
        its.holders(names)
        its.scopes()

    for _ in range(3):
        timed("parse, and the origin of every op", origins)


def capture(path: str) -> None:
    import tb_xla_insights as xi
    from tb_xla_insights.analysis.launches.launches import find_launches
    from tb_xla_insights.analysis.propagation import propagation_report, propagation_view
    from tb_xla_insights.timeline import Timeline

    session = xi.load(path).trace
    events = sum(len(trace) for trace in session.traces)
    print(f"{events:,} events, {sum(len(device.ops) for device in session.devices):,} ops")
    timed("launches, which others need too", lambda: [find_launches(trace) for trace in session.traces])
    timed("report", lambda: propagation_report(session))
    timed("view", lambda: propagation_view(session))
    timed("report again", lambda: propagation_report(session))
    timed("view again", lambda: propagation_view(session))
    timeline = Timeline(session)
    timed("the timeline's rows of scopes", timeline.find_scopes)


if __name__ == "__main__":
    program()
    if len(sys.argv) > 1:
        capture(sys.argv[1])
