"""Programs that wait for Python: the ops, the time in which nothing else runs, the function, and a step's gain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from captures import Event, session
from launching import US, event
from loops import findings, us
from programs import module, read
from synthetic.hlo import Instruction
from synthetic.writer import Space

from tb_xla_insights.analysis.delays.callbacks import find_callbacks
from tb_xla_insights.analysis.findings import Finding
from tb_xla_insights.analysis.replay.what_if import Fix, step_without
from tb_xla_insights.compare import compare
from tb_xla_insights.report.session_view import SessionView
from tb_xla_insights.trace.model import Trace

STEPS = 4
CALL = "CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice"
COMPLETION = "ThunkExecutor::Execute (wait for completion)"
HLO = module(
    [
        Instruction(1, "dot.1", "dot", op_name="jit(f)/dot_general"),
        Instruction(2, "custom-call.2", "custom-call", op_name="jit(f)/while/body/pure_callback",
                    source_file="/home/me/train.py", source_line=119),
        Instruction(3, "fusion.3", "fusion", op_name="jit(f)/io_callback"),
        Instruction(4, "debug_print.4", "custom-call", op_name="jit(f)/debug_print"),
    ],
    name="jit_f",
)  # fmt: skip


Interval = tuple[str, float, float]
"""Name, start and length in a step, in microseconds."""


def trace_of(
    tmp_path: Path,
    *ops: Interval,
    inline: bool = False,
    frames: Sequence[Interval] = (),
    length: int = 1000,
) -> Trace:
    """Steps of 1,000 us (`length`) in JAX, each with a run that lasts from 10 us after the step's start to 10 us before
    its end and has these ops. The run is on a client thread while the host waits for it, or `inline` in its call on the
    driving thread, where Python records `frames`."""
    space = Space()
    host = space.plane("/host:CPU")
    main: list[Event] = []
    client: list[Event] = []
    for step in range(STEPS):
        step_us = step * length
        key = {"run_id": step + 1, "device_ordinal": 0}
        run = [
            event(op, step_us + start, duration, hlo_op=op, hlo_module="jit_f", program_id=7, **key)
            for op, start, duration in ops
        ]
        run.append(event(COMPLETION, step_us + length - 15, 5, **key))
        main.append(event("train", step_us, length, _r=1, step_num=step + 5))
        if inline:
            main += [event(CALL, step_us + 10, length - 15), *run]
            main += [event(name, step_us + start, duration) for name, start, duration in frames]
        else:
            main += [
                event(CALL, step_us + 5, 4),
                event("ThreadpoolListener::Record", step_us + 6, 0, _pt=15, _p=step),
            ]
            main.append(event("$api.py:9 block_until_ready", step_us + 20, length - 25))
            client.append(event("ThreadpoolListener::StartRegion", step_us + 10, 0, _ct=15, _c=step))
            client += [*run, event("ThreadpoolListener::StopRegion", step_us + length - 9, 0)]
    for number, (name, events) in enumerate({"python": main, "tf_XLAPjRtCpuClient/1": client}.items(), 1):
        line = host.line(name, id=number)
        for event_name, start, duration, stats in sorted(events, key=lambda item: (item[1], -item[2])):
            line.event(event_name, start, duration, stats=stats)
    space.plane("/host:metadata").event_metadata("jit_f(7)", 1, stats={"program_id": 7, "Hlo Proto": HLO})
    return read(space, tmp_path)


@pytest.mark.parametrize("inline", [False, True])
def test_fix_saves_the_time_in_callbacks(tmp_path: Path, inline: bool) -> None:
    """If the driving thread runs the program itself, a step also loses the 20 us of the host before and after the run,
    because without a callback the host only launches, and runs ahead."""
    trace = trace_of(tmp_path, ("dot.1", 10, 390), ("custom-call.2", 400, 585), inline=inline)
    findings_by_id = findings(trace)
    assert "device_bound" not in findings_by_id
    callback = findings_by_id["host_callback"]
    assert us(callback.cost_ps) == STEPS * 585
    assert us(callback.step_if_fixed_ps) == 1000 - 585 - (20 if inline else 0)
    assert (callback.severity, callback.recurs) == ("critical", "every_step")
    assert callback.evidence["calls"] == STEPS
    assert callback.evidence["kinds"] == {"jax.pure_callback": STEPS * 585 * US}
    assert callback.evidence["place"] == "/home/me/train.py:119"
    assert callback.evidence["function"] is None
    assert callback.detail == "The device waits 0.585\u202fms a step for jax.pure_callback (train.py:119)."
    assert len(callback.windows) == STEPS


def test_launching_gains_nothing_of_what_the_driving_thread_runs_itself(tmp_path: Path) -> None:
    """The call is of class `dispatch`, but the device works in it for 980 of its 985 us."""
    trace = trace_of(tmp_path, ("dot.1", 10, 980), inline=True)
    assert us(step_without(trace)) == 1000
    assert us(step_without(trace, Fix(("dispatch",)))) == 1000 - 5
    assert us(step_without(trace, Fix(("dispatch",), all_waits=True))) == 1000 - 5
    shorter = np.full(STEPS, 300 * US)
    assert us(step_without(trace, Fix(device_ps=shorter))) == 1000 - 300


def test_comparison_counts_inline_runs_as_device_work(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    long = session(trace_of(folders[0], ("dot.1", 10, 980), inline=True))
    short = session(trace_of(folders[1], ("dot.1", 10, 480), inline=True, length=500))
    document = compare(SessionView(long), SessionView(short))
    assert document["a"]["launched_by"] == "JAX"
    [dispatch] = [row for row in document["classes"] if row["class"] == "dispatch"]
    assert (us(dispatch["difference_ps"]), dispatch["verdict"]) == (-500, "better")
    assert document["verdict"]["text"].endswith(
        "0.500\u202fms less per step. The device has 0.500\u202fms less work per step, on average. "
        "On the device, jit(f) takes 0.500\u202fms less per step and core."
    )
    a, b = (
        session(trace_of(folder, ("dot.1", 10, length - 20), length=length))
        for folder, length in zip(folders, (1000, 500), strict=True)
    )
    text = compare(SessionView(a), SessionView(b))["verdict"]["text"]
    assert "The host has 0.500\u202fms less wait per step, on average." in text


def test_time_with_another_op_is_no_wait_for_a_callback(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, ("custom-call.2", 100, 500), ("dot.1", 200, 100), ("dot.1", 550, 430))
    waits = find_callbacks(trace, 0).waits
    assert [us(ps) for ps in waits.start_ps.tolist()[:2]] == [100, 300]
    assert [us(ps) for ps in waits.end_ps.tolist()[:2]] == [200, 550]


def test_fusion_around_a_callback_is_no_callback(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, ("fusion.3", 10, 900))
    assert len(find_callbacks(trace, 0).op) == 0
    assert "host_callback" not in findings(trace)


def test_short_prints_are_not_reported(tmp_path: Path) -> None:
    findings_by_id = findings(trace_of(tmp_path, ("dot.1", 10, 955), ("debug_print.4", 966, 18)))
    assert "host_callback" not in findings_by_id
    assert "device_bound" in findings_by_id


def callback_with_frames(tmp_path: Path, ops: Sequence[Interval], *frames: Interval) -> Finding:
    """The finding about callbacks of an inline run of `dot.1` and these ops, in which Python records these frames."""
    trace = trace_of(tmp_path, ("dot.1", 10, 390), *ops, inline=True, frames=frames)
    return findings(trace)["host_callback"]


def test_python_tracer_names_the_function(tmp_path: Path) -> None:
    callback = callback_with_frames(
        tmp_path,
        [("custom-call.2", 400, 585)],
        ("$callback.py:815 _wrapped_callback", 401, 580),
        ("$callback.py:69 __call__", 410, 560),
        ("$tree_util.py:101 tree_leaves", 411, 300),
        ("$metrics.py:6 slow_metric", 720, 240),
        ("$metrics.py:20 inner", 730, 200),
    )
    assert (callback.evidence["function"], us(callback.evidence["python_ps"])) == ("slow_metric", STEPS * 240)
    assert callback.title == "The program waits for Python: slow_metric"
    assert callback.brief == "a call of Python inside the program (slow_metric)"
    assert callback.advice.startswith("Write slow_metric in jax.numpy")


def test_time_of_a_function_is_per_call_of_it(tmp_path: Path) -> None:
    callback = callback_with_frames(
        tmp_path,
        [("custom-call.2", 400, 300), ("custom-call.2", 700, 285)],
        ("$callback.py:69 __call__", 410, 280),
        ("$metrics.py:6 slow_metric", 420, 240),
        ("$callback.py:69 __call__", 710, 200),
        ("$metrics.py:30 fast_metric", 720, 20),
    )
    assert callback.evidence["calls"] == 2 * STEPS
    assert "; slow_metric takes 0.240\u202fms each time" in callback.detail


@pytest.mark.parametrize("file", ["my metrics.py", "<ipython-input-5-7a3b>"])
def test_functions_in_any_file_and_in_cells_are_found(tmp_path: Path, file: str) -> None:
    callback = callback_with_frames(
        tmp_path,
        [("custom-call.2", 400, 585)],
        ("$callback.py:69 __call__", 410, 560),
        ("$<string>:1 __init__", 411, 300),
        (f"${file}:6 slow_metric", 720, 240),
    )
    assert (callback.evidence["function"], us(callback.evidence["python_ps"])) == ("slow_metric", STEPS * 240)


def test_place_and_function_are_those_of_the_kind_with_most_time(tmp_path: Path) -> None:
    callback = callback_with_frames(
        tmp_path,
        [("custom-call.2", 400, 200), ("debug_print.4", 600, 385)],
        ("$callback.py:69 __call__", 410, 180),
        ("$metrics.py:6 slow_metric", 420, 160),
        ("$debugging.py:69 _flat_callback", 610, 100),
        ("$logs.py:6 show", 620, 50),
    )
    assert callback.detail == (
        "The device waits 0.585\u202fms a step, mostly for jax.debug.print; show takes 50.0\u202fµs each time."
    )
    assert callback.advice.startswith("Remove show from the program")
    assert callback.evidence["place"] is None
