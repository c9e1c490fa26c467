"""The finding about programs that wait for Python."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath

import numpy as np

from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    Window,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.host.callbacks import (
    callback_frame,
    callback_functions,
    callback_primitive,
    callback_time_ps,
    find_callbacks,
)
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.columns import runs_of_ops
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.source import Frame
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.time.intervals import union, union_all
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.trace.model import Int64, Trace
from tb_xla_insights.units import brief_time

_NAMES = {
    "pure_callback": "jax.pure_callback",
    "debug_callback": "jax.debug.callback",
    "debug_print": "jax.debug.print",
}
"""What users write for JAX's primitives, where that is something else."""


def host_callback(facts: Facts) -> Finding | None:
    """Time in which cores wait for Python functions that their programs call."""
    trace, count, whole = facts.trace, 0, 0
    times, kinds, places = Counter[str](), Counter[str](), Counter[Frame]()
    windows: list[Window] = []
    steps: set[int] = set()
    ops, launches = find_ops(trace), find_launches(trace)
    for index, device in enumerate(trace.devices):
        found = find_callbacks(trace, index)
        whole += found.alone.total_ps
        count += len(found.op)
        length = device.ops.end_ps[found.op] - device.ops.start_ps[found.op]
        for key in np.unique(ops.devices[index].key[found.op]).tolist():
            time = int(length[ops.devices[index].key[found.op] == key].sum())
            kind = str(callback_primitive(ops, key))
            kinds[_NAMES.get(kind, kind)] += time
            if place := callback_frame(ops, key):
                places[place] += time
        run = runs_of_ops(trace, index)[found.op]
        steps |= set(launches.step_of_run[run[run >= 0]].tolist()) - {-1}
        windows += [
            Window(int(device.ops.start_ps[it]), int(device.ops.end_ps[it]), device.id)
            for it in found.op.tolist()
        ]
        times += callback_functions(trace, device.ops.row[found.op])
    if not count:
        return None
    kind = kinds.most_common(1)[0][0]
    name = times.most_common(1)[0][0] if times else None
    place = places.most_common(1)[0][0] if places else None
    where = f" ({PurePath(place.file).name}:{place.line})" if place else ""
    recurs = facts.recurs(steps)
    each = brief_time(times[name] // count) if name else ""
    called = f"; {name} takes {each} each time" if name else ""
    return Finding(
        "host_callback",
        first_fitting_title(f"The program waits for Python: {name or kind}", "The program waits for Python"),
        f"the program waits for Python ({name or kind})",
        f"{facts.core} waits {facts.mean_of_runs(_waited(trace), recurs)} for {kind}{where}{called}.",
        _advice(kind, name, where),
        whole,
        {
            "calls": count,
            "callback_ps": whole,
            "function": name,
            "python_ps": times[name] if name else None,
            "place": str(place) if place else None,
            "kinds": dict(kinds.most_common()),
        },
        longest_windows(windows),
        recurs,
        Fix(CLASSES, windows=_held_up(trace), device_ps=_waited(trace)),
    )


def _advice(kind: str, name: str | None, where: str) -> str:
    what = name or f"the function of {kind}{where}"
    if kind.startswith("jax.debug"):
        return f"Take {what} out of the program, or call it in few steps."
    if kind == "io_callback":
        return (
            f"Return what {what} needs from the program and call it afterwards, every tenth step or later, while the "
            "device works on the next one."
        )
    return (
        f"Write {what} in jax.numpy, so that it is part of the program, or call it before the step or on another "
        "thread, and pass in what it returns."
    )


def _held_up(trace: Trace) -> tuple[Int64, Int64]:
    """When callbacks hold up the thread that drives: on a CPU it runs programs itself, and their calls return when they
    are over."""
    found = []
    for index, device in enumerate(trace.devices):
        runs = device.modules
        own = np.isin(trace.lines_of(runs.row), trace.driving_lines)
        found.append(find_callbacks(trace, index).alone.within(union(runs.start_ps, runs.end_ps, own)))
    when = union_all(found)
    return when.start_ps, when.end_ps


def _waited(trace: Trace) -> Int64:
    """Per run, how long its core waits for callbacks alone."""
    runs = find_launches(trace).runs
    found = np.zeros(len(runs), np.int64)
    for index in range(len(trace.devices)):
        its = runs.of_device(index)
        found[its] = callback_time_ps(trace, index, runs.start_ps[its], runs.end_ps[its])
    return found
