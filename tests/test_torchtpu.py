"""Captures of TorchTPU: which thread drives, what its operators and the thread that launches them do, and its steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from captures import Core, Event, capture, real_trace, session, thread
from launching import TO_DEVICE, US, event

from tb_xla_insights.analysis.environment import framework_of
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.report.document import session_report
from tb_xla_insights.trace.model import Trace

STEP_US = 1000


def operator(name: str, at: float, duration: float) -> Event:
    """An event that PyTorch records for an operator or a function."""
    return event(name, at, duration, pt_correlation_id=int(at) + 1)


def training(*main: Event, compiler: tuple[Event, ...] = (), steps: int = 3) -> Trace:
    """Each step takes 1000 us. Its operator is recorded for 100 us; another thread runs a task from 100 to 600 us, in
    which it launches from 400 to 600 us; the program runs from 600 to 700 us."""
    events, tasks, runs = [*main], [], []
    for number in range(steps):
        at = number * STEP_US
        events += [event("ProfilerStep", at, STEP_US), operator("aten::mm", at + 10, 100)]
        tasks += [
            event("ExecutionTask::Run", at + 100, 500),
            event("Execute", at + 400, 200),
            event("PjRtCApiLoadedExecutable::Execute", at + 410, 180),
            event("DoEnqueueProgram", at + 420, 10, _pt=TO_DEVICE, _p=number),
        ]
        runs.append(event("tt_jit_train_L33C4_main_mm(7)", at + 600, 100, _ct=TO_DEVICE, _c=number))
    return capture(
        thread("pt_main_thread", *sorted(events, key=lambda row: (row[1], -row[2]))),
        thread("pt_main_thread", *tasks),
        thread(
            "futex-default-SDomainT/7",
            *(event("tpu::System::Execute=>Done", row[1] / US + 110, 1) for row in runs),
        ),
        thread("tf_tt_compile", *compiler),
        Core([event("fusion.1", row[1] / US, 100) for row in runs], runs),
    )


def class_at(trace: Trace, at_us: float) -> str:
    """What the host does, as far as it decides about the device's idle time, at an instant."""
    segments = host_class_segments(trace)
    number = int((segments.start_ps <= at_us * US).sum()) - 1
    return CLASSES[int(segments.class_index[number])]


def test_the_thread_that_calls_operators_drives_though_another_one_launches() -> None:
    trace = training()
    assert framework_of(trace) == "torch_tpu"
    assert [row.role for row in trace.threads] == ["driving", "executor", "other", "compiler"]


def test_steps_are_those_of_pytorchs_profiler() -> None:
    trace = training()
    steps = find_steps(trace)
    assert [(step.source, step.name, step.start_ps // US) for step in steps] == [
        ("annotation", "ProfilerStep", at) for at in (0, 1000, 2000)
    ]
    assert find_launches(trace).step.tolist() == [0, 1, 2]


def test_the_thread_that_launches_decides_while_it_launches() -> None:
    """At 450 us the main thread records an operator, but the device waits for the launch."""
    trace = training(operator("aten::linear", 120, 800))
    assert [class_at(trace, at) for at in (50, 200, 450, 950)] == ["tracing", "tracing", "dispatch", "python"]


def test_a_task_that_waits_for_a_compilation_is_compiling() -> None:
    trace = training(
        operator("aten::linear", 120, 800), compiler=(event("XLAGraphExecutor::Compile", 150, 100),)
    )
    assert [class_at(trace, at) for at in (140, 200, 300)] == ["tracing", "compile", "tracing"]


def test_a_read_waits_for_what_is_launched_meanwhile() -> None:
    """Its own time is the wait for the device: what the launching thread does then is why the device idles."""
    trace = training(operator("AtenLocalScalarDense", 120, 700), event("CopyTpuToCpu", 121, 690))
    assert [class_at(trace, at) for at in (200, 450, 750)] == ["wait", "dispatch", "wait"]


@pytest.fixture(params=["tt_eager", "tt_compiled_checkpoint"])
def simulated(request: pytest.FixtureRequest, shared_traces: Path) -> tuple[Trace, dict[str, Any]]:
    """A simulated session and the truth about it."""
    folder = shared_traces / "torchtpu" / request.param
    return real_trace(folder), json.loads((folder / "truth.json").read_text())


def test_the_devices_work_is_that_of_the_simulation(simulated: tuple[Trace, dict[str, Any]]) -> None:
    trace, truth = simulated
    (device,) = session_report(session(trace))["devices"]
    assert device["busy_ps"] / 1e9 == pytest.approx(truth["busy_ms"])
    assert device["modules"] == truth["runs"]


def test_eager_operators_are_many_small_programs(shared_traces: Path) -> None:
    """The read only waits for them, and is no mistake."""
    report: Any = session_report(session(real_trace(shared_traces / "torchtpu/tt_eager")))
    assert report["verdict"]["headline"].endswith(
        "mostly it waits for the host, which launches many small programs."
    )
    first, *rest = report["findings"]
    assert (first["id"], report["step_idle"]["steps"]) == ("many_small_executions", 6)
    assert first["title"].startswith("63 executions a step")
    assert "torch.compile" in first["advice"]
    assert all((row["gain"] or 0) < 0.01 for row in rest if row["id"] == "sync_every_step")
    assert report["step_idle"]["by_class_ps"]["dispatch"] / 1e9 == pytest.approx(1.8, abs=0.05)


def test_a_pause_is_named_after_the_function(shared_traces: Path) -> None:
    report = session_report(session(real_trace(shared_traces / "torchtpu/tt_compiled_checkpoint")))
    pause = next(row for row in report["findings"] if row["id"] == "host_pause")
    assert pause["title"] == "A pause of 25.0\u202fms in step 5: save_checkpoint"
    assert not any(row["id"] == "sync_every_step" for row in report["findings"])
