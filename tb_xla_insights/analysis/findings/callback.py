"""The finding about programs that wait for Python callbacks."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import PurePath

import numpy as np

from tb_xla_insights.analysis.delays.callbacks import (
    callback_functions,
    callback_primitive,
    callback_time_ps,
    find_callbacks,
)
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import (
    Finding,
    ShownWindow,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.columns import runs_of_ops
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.time.intervals import Intervals
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.frames import Frame
from tb_xla_insights.text.english import Phrase, sentences
from tb_xla_insights.text.units import brief_time
from tb_xla_insights.trace.model import Trace

_PUBLIC_NAMES = {
    "pure_callback": "jax.pure_callback",
    "debug_callback": "jax.debug.callback",
    "debug_print": "jax.debug.print",
}
"""The public function for each JAX primitive whose name differs."""


def host_callback(facts: Facts) -> Finding | None:
    """Time in which cores wait for Python functions that their programs call. Place and function are those of the kind
    of callback with most time."""
    trace, count = facts.trace, 0
    waits: list[Intervals] = []
    kind_times, frame_times_of_kind = Counter[str](), defaultdict[str, Counter[Frame]](Counter)
    rows_of_kind = defaultdict[str, list[Int32]](list)
    windows: list[ShownWindow] = []
    steps, launches_with_callbacks = set[int](), np.zeros(0, np.intp)
    ops, launches = find_ops(trace), find_launches(trace)
    for index, device in enumerate(trace.devices):
        callbacks = find_callbacks(trace, index)
        waits.append(callbacks.waits)
        count += len(callbacks.op)
        duration_ps = device.ops.end_ps[callbacks.op] - device.ops.start_ps[callbacks.op]
        op_keys = ops.devices[index].key[callbacks.op]
        for key in np.unique(op_keys).tolist():
            time = int(duration_ps[op_keys == key].sum())
            primitive = str(callback_primitive(ops, key))
            kind = _PUBLIC_NAMES.get(primitive, primitive)
            kind_times[kind] += time
            rows_of_kind[kind].append(device.ops.row[callbacks.op[op_keys == key]])
            if frame := ops.user_frame(key):
                frame_times_of_kind[kind][frame] += time
        run = runs_of_ops(trace, index)[callbacks.op]
        steps |= set(launches.step_of_run[run[run >= 0]].tolist()) - {-1}
        launches_with_callbacks = np.union1d(launches_with_callbacks, launches.runs.launch[run[run >= 0]])
        windows += [
            ShownWindow(int(device.ops.start_ps[op]), int(device.ops.end_ps[op]), device.id)
            for op in callbacks.op.tolist()
        ]
    if not count:
        return None
    kind = kind_times.most_common(1)[0][0]
    frame_times = frame_times_of_kind[kind]
    function_times, function_calls = callback_functions(trace, np.concatenate(rows_of_kind[kind]))
    name = function_times.most_common(1)[0][0] if function_times else None
    frame = frame_times.most_common(1)[0][0] if frame_times else None
    location = f" ({PurePath(frame.file).name}:{frame.line})" if frame else ""
    frequency, waiting_ps = facts.frequency_of(steps), sum(times.total_ps for times in waits)
    mostly = ", mostly" if max(len(kind_times), len(frame_times)) > 1 else ""
    call_text = (
        f"; {name} takes {brief_time(function_times[name] // function_calls[name])} each time" if name else ""
    )
    return Finding(
        "host_callback",
        first_fitting_title(f"The program waits for Python: {name or kind}", "The program waits for Python"),
        f"a call of Python inside the program ({name or kind})",
        sentences(
            f"{facts.core_subject} waits {facts.mean_of_times(waits, frequency)}{mostly} for {kind}{location}"
            f"{call_text}"
        ),
        _advice(kind, name, location),
        waiting_ps,
        {
            "calls": count,
            "callback_ps": waiting_ps,
            "function": name,
            "python_ps": function_times[name] if name else None,
            "place": frame.place if frame else None,
            "kinds": dict(kind_times.most_common()),
        },
        longest_windows(windows),
        frequency,
        Fix(device_ps=_waiting_ps_of_runs(trace), own_launches=np.setdiff1d(launches_with_callbacks, [-1])),
        waits_for=Phrase("Python", f" ({name or kind})"),
    )


def _advice(kind: str, name: str | None, location: str) -> str:
    function = name or f"the function of {kind}{location}"
    if kind.startswith("jax.debug"):
        return f"Remove {function} from the program, or call it only every now and then."
    if kind == "io_callback":
        return (
            f"Let the program return the arguments of {function}, and call it afterwards, at most every tenth "
            "step, while the device works on the next one."
        )
    return (
        f"Write {function} in jax.numpy, so that it is part of the program, or call it before the step or on another "
        "thread, and pass in what it returns."
    )


def _waiting_ps_of_runs(trace: Trace) -> Int64:
    """Per run of Launches.runs, how long its core does nothing but wait for callbacks."""
    runs = find_launches(trace).runs
    waiting_ps = np.zeros(len(runs), np.int64)
    for index in range(len(trace.devices)):
        rows = runs.of_device(index)
        waiting_ps[rows] = callback_time_ps(trace, index, runs.start_ps[rows], runs.end_ps[rows])
    return waiting_ps
