"""GPUs as profilers record them: kernels on streams, and the calls of the driver that launched them.

Times are microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from captures import Core, Event
from hypothesis import strategies as st

from tb_xla_insights.trace.model import Trace

US = 1_000_000


EXECUTE, HELPER, THUNKS = (
    "PjRtStreamExecutorLoadedExecutable::Execute",
    "PjRtStreamExecutorLoadedExecutable::ExecuteHelper",
    "GpuExecutable::ExecuteThunks",
)


def event(name: str, start: float, duration: float, /, **stats: Any) -> Event:
    return name, round(start * US), round(duration * US), stats


def kernel(start: float, duration: float, call: int | None = None, program: str | None = "jit_f(7)") -> Event:
    """A kernel of a program, launched by a call of the driver."""
    module, _, id_ = (program or "").rstrip(")").partition("(")
    stats: dict[str, Any] = {"hlo_op": "fusion", "hlo_module": module} if program else {}
    if id_:
        stats["program_id"] = int(id_)
    if call is not None:
        stats["correlation_id"] = call
    return event("fusion_kernel", start, duration, **stats)


def nested(*executions: tuple[float, float, list[tuple[int, float]]]) -> list[Event]:
    """Executions and their calls of the driver on one thread, as NVIDIA's tracer records them. An execution is its
    start, its duration, and the ids and starts of its calls, each of which lasts a microsecond."""
    events = []
    for start, duration, calls in executions:
        events += [event(EXECUTE, start, duration), event(HELPER, start + 1, duration - 2)]
        events.append(event(THUNKS, start + 2, duration - 4))
        events += [event("cuLaunchKernel", at, 1, correlation_id=id_) for id_, at in calls]
    return events


def gpu(*kernels: Event, number: int = 0, streams: Mapping[str, list[Event]] | None = None) -> Core:
    return Core(name=f"GPU:{number}", lines={"Stream #1(Kernel)": list(kernels), **(streams or {})})


def runs(trace: Trace, device: int = 0) -> list[tuple[str, float, float]]:
    """Program, start and end of a device's runs, in microseconds from the first event."""
    intervals = trace.devices[device].runs
    return [
        (trace.strings[name], start / US, end / US)
        for name, start, end in zip(
            intervals.name.tolist(), intervals.start_ps.tolist(), intervals.end_ps.tolist(), strict=True
        )
    ]


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, list[tuple[int, int]]]]:
    """What a GPU runs one after the other: a program, and per kernel its stream and duration."""
    kernels = st.lists(st.tuples(st.integers(1, 2), st.integers(1, 30)), min_size=1, max_size=5)
    return draw(
        st.lists(st.tuples(st.sampled_from(["jit_f(7)", "jit_f(8)", "jit_g(7)"]), kernels), max_size=6)
    )
