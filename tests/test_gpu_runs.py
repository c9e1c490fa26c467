"""Program runs derived from a GPU's kernels: how runs are separated, and which execution launched them, if known."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from captures import Core, Event, HostThread, capture, real_trace, thread
from gpus import EXECUTE, HELPER, THUNKS, US, event, gpu, kernel, nested, programs, runs
from hypothesis import given, settings
from independent import parse
from synthetic.writer import Space
from timelines import timeline_of

from tb_xla_insights.analysis.completeness.diagnostics import diagnose
from tb_xla_insights.analysis.idle.gaps import gaps_report
from tb_xla_insights.analysis.launches.enqueues import JOINS
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.trace.model import Trace


def joins(trace: Trace) -> list[tuple[str, int]]:
    """The join and launch of each run, in order."""
    runs = find_launches(trace).runs
    return [
        (JOINS[join], launch) for join, launch in zip(runs.join.tolist(), runs.launch.tolist(), strict=True)
    ]


def test_runs_are_separated_by_the_execution_around_their_calls() -> None:
    main = nested((0, 20, [(1, 5), (2, 8)]), (30, 20, [(3, 35), (4, 38)]))
    # The second run begins while the host still launches; the first run's kernels follow each other without a pause.
    kernels = [kernel(10, 20, 1), kernel(30, 10, 2), kernel(40, 5, 3), kernel(45, 5, 4)]
    trace = capture(thread("python", *main, role="driving"), gpu(*kernels))
    assert runs(trace) == [("jit_f(7)", 10, 40), ("jit_f(7)", 40, 50)]
    assert joins(trace) == [("exact", 0), ("exact", 1)]
    launches = find_launches(trace)
    assert [trace.name(row) for row in launches.row.tolist()] == [EXECUTE, EXECUTE]
    assert (launches.runs.enqueue_ps // US).tolist() == [6, 36]
    assert launches.programs == [("jit_f", "7")]
    assert [step.name for step in find_steps(trace)] == ["jit_f"]  # from one run to the next
    assert "no_launches" not in {diagnostic.id for diagnostic in diagnose(trace)}


def test_a_run_s_kernels_are_those_of_its_program_alone() -> None:
    main = nested((0, 20, [(1, 5), (2, 8), (3, 9), (4, 10), (5, 11)]))
    copies = [event("MemcpyD2D", 90, 5, hlo_module="jit_f", program_id=7, correlation_id=4)]
    kernels = [kernel(2, 2, 5, None), kernel(10, 20, 1), kernel(35, 2, 2, "jit_g(8)"), kernel(80, 9, 5, None)]
    concurrent = [kernel(20, 30, 3)]
    streams = {"Stream #2(Kernel)": concurrent, "Stream #3(MemcpyD2D)": copies}
    trace = capture(thread("python", *main, role="driving"), gpu(*kernels, streams=streams))
    assert runs(trace) == [("jit_f(7)", 10, 50), ("jit_g(8)", 35, 37)]
    assert len(trace.devices[0].ops) == 5


def test_a_graph_s_kernels_share_a_call() -> None:
    main = nested((0, 20, [(1, 5)]), (30, 20, [(2, 35)]))
    kernels = [kernel(10, 5, 1), kernel(16, 5, 1), kernel(40, 5, 2), kernel(46, 5, 2)]
    trace = capture(thread("python", *main, role="driving"), gpu(*kernels))
    assert runs(trace) == [("jit_f(7)", 10, 21), ("jit_f(7)", 40, 51)]


def amd_capture(*, delays: tuple[int, ...] = (0, 0)) -> tuple[list[HostThread], list[Core]]:
    """Two executions on two GPUs as AMD's tracer records them: the driving thread, a helper thread per GPU whose
    executions begin after a delay, and the calls of each helper on a line of their own; then the GPUs."""
    main, helpers, calls, cores = [], [], [], []
    for step, at in enumerate((0, 100)):
        main.append(event(EXECUTE, at, 5, _pt=5, _p=step))
    for number, delay in enumerate(delays):
        executions, launches, kernels = [], [], []
        for step, at in enumerate((10 + delay, 110 + delay)):
            executions += [event(HELPER, at, 20, _ct=5, _c=step), event(THUNKS, at + 1, 10)]
            ids = [100 * number + 10 * step + index for index in (1, 2)]
            launches += [
                event("hipModuleLaunchKernel", at + 2 + index, 1, correlation_id=ids[index])
                for index in (0, 1)
            ]
            kernels += [kernel(at + 4, 8, ids[0]), kernel(at + 12, 20, ids[1])]
        helpers.append(thread(f"py_xla_execute/{number}", *executions, role="executor"))
        calls.append(thread(f"Host Threads/{number}", *launches))
        cores.append(gpu(*kernels, number=number))
    return [thread("python", *main, role="driving"), *helpers, *calls], cores


def test_calls_on_lines_of_their_own_belong_to_the_one_thread_around_them_all() -> None:
    rows, cores = amd_capture(delays=(0, 40))
    trace = capture(*rows, *cores)
    assert runs(trace) == [("jit_f(7)", 14, 42), ("jit_f(7)", 114, 142)]
    assert runs(trace, 1) == [("jit_f(7)", 54, 82), ("jit_f(7)", 154, 182)]
    assert joins(trace) == [("exact", 0), ("exact", 1)] * 2
    launches = find_launches(trace)
    assert [trace.line_of(row).name for row in launches.row.tolist()] == ["python"] * 2
    call_line = trace.line_of(int(trace.flows.producers(launches.runs.enqueue_row[-1:])[0]))
    assert call_line.name == "py_xla_execute/1"


def test_calls_that_several_threads_could_have_made_have_no_thread() -> None:
    rows, cores = amd_capture()
    trace = capture(*rows, *cores)
    assert runs(trace) == [("jit_f(7)", 14, 142)], "the two runs cannot be distinguished"
    (gap,) = gaps_report(trace)["items"][:1]
    assert (gap["inside_run"], gap["kind"]) == (True, "starved"), "the call of each kernel is still known"


def test_a_thread_that_contains_two_lines_of_calls_is_not_used() -> None:
    rows, cores = amd_capture(delays=(0, 40))
    calls = rows[3]
    rows[4] = thread(
        "Host Threads/9",
        *[(*call[:3], {"correlation_id": call[3]["correlation_id"] + 100}) for call in calls.events],
    )
    trace = capture(*rows, *cores)
    assert [len(device.runs) for device in trace.devices] == [1, 1]


def test_cut_executions_have_separate_runs() -> None:
    rows, cores = amd_capture(delays=(0, 40))
    first_call = event("hipModuleLaunchKernel", 1, 1, correlation_id=900)
    last_call = event("hipModuleLaunchKernel", 200, 1, correlation_id=901)
    rows[3] = thread(rows[3].name, first_call, *rows[3].events, last_call)
    stream = cores[0].lines["Stream #1(Kernel)"]
    cores[0] = gpu(kernel(3, 2, 900), *stream, kernel(202, 2, 901), kernel(204, 2))
    trace = capture(*rows, *cores)
    assert [run[1:] for run in runs(trace)] == [(3, 5), (14, 42), (114, 142), (202, 206)]


def test_a_kernel_launched_by_another_thread_during_the_execution_belongs_to_the_run() -> None:
    main = nested((0, 20, [(1, 5), (2, 8)]), (30, 20, [(4, 38)]))
    second_thread = thread("nccl", event("cuLaunchKernelExC", 9, 1, correlation_id=3))
    kernels = [kernel(10, 2, 1), kernel(12, 2, 2), kernel(15, 5, 3), kernel(22, 2), kernel(40, 5, 4)]
    trace = capture(thread("python", *main, role="driving"), second_thread, gpu(*kernels))
    assert [run[1:] for run in runs(trace)] == [(10, 24), (40, 45)]


def test_a_kernel_launched_before_an_execution_does_not_belong_to_it() -> None:
    second_thread = thread("nccl", event("cuLaunchKernelExC", 0, 1, correlation_id=3))
    main = nested((10, 20, [(1, 15)]), (40, 20, [(2, 45)]))
    kernels = [kernel(20, 5, 1), kernel(30, 5, 3), kernel(50, 5, 2)]
    trace = capture(thread("python", *main, role="driving"), second_thread, gpu(*kernels))
    assert [run[1:] for run in runs(trace)] == [(20, 25), (30, 35), (50, 55)]


def test_of_calls_with_the_same_id_the_last_one_before_the_kernel_launched_it() -> None:
    main = nested((0, 20, [(1, 5)]), (30, 20, [(1, 35)]), (60, 20, [(1, 65)]))
    kernels = [kernel(10, 5, 1), kernel(40, 5, 1), kernel(50, 5, 0), kernel(70, 5, 1)]
    trace = capture(thread("python", *main, role="driving"), gpu(*kernels))
    assert [run[1:] for run in runs(trace)] == [(10, 15), (40, 55), (70, 75)]
    assert joins(trace) == [("exact", 0), ("exact", 1), ("exact", 2)]


@pytest.mark.parametrize("host", [[], nested((0, 20, []), (50, 20, []))])
def test_without_calls_kernels_of_a_program_in_a_row_are_one_run(host: list[Event]) -> None:
    kernels = [
        kernel(10, 5),
        kernel(26, 5),
        kernel(33, 1, None, None),
        kernel(36, 5, None, "jit_g(8)"),
        kernel(60, 5),
    ]
    trace = capture(thread("python", event("f", 0, 1), *host, role="driving"), gpu(*kernels))
    assert runs(trace) == [("jit_f(7)", 10, 31), ("jit_g(8)", 36, 41), ("jit_f(7)", 60, 65)]
    assert {join for join, _ in joins(trace)} <= {"ordered", "none"}
    [inside] = [gap for gap in gaps_report(trace)["items"] if gap["inside_run"]]
    assert (inside["start_ps"], inside["kind"]) == (15 * US, "unknown")


def test_a_program_without_an_id_has_runs() -> None:
    trace = capture(gpu(kernel(0, 5, None, "cluster_1"), kernel(5, 5, None, "cluster_2")))
    assert [name for name, *_ in runs(trace)] == ["cluster_1", "cluster_2"]


def test_kernels_without_programs_make_no_runs() -> None:
    main = nested((0, 20, [(1, 5), (2, 8)]))
    kernels = [kernel(10, 5, 1, None), kernel(20, 5, 2, None)]
    trace = capture(thread("python", *main, role="driving"), gpu(*kernels))
    assert runs(trace) == []
    (diagnostic,) = [row for row in diagnose(trace) if row.id == "no_launches"]
    assert diagnostic.message.startswith(
        "What executions cost is unknown: the GPUs' kernels name no programs. Compile with XLA"
    )


def test_without_their_calls_it_is_not_known_what_kernels_without_programs_waited_for() -> None:
    kernels = [kernel(10, 5, None, None), kernel(40, 5, None, None)]
    trace = capture(thread("python", event("f", 0, 50), role="driving"), gpu(*kernels))
    (diagnostic,) = [row for row in diagnose(trace) if row.id == "no_launches"]
    assert diagnostic.message.startswith("Why gaps ended and what executions cost is unknown: ")
    assert [gap["kind"] for gap in gaps_report(trace)["items"]] == ["unknown"]


def test_ops_that_a_profiler_derived_make_no_runs() -> None:
    trace = capture(thread("python", event("f", 0, 1)), Core([kernel(0, 5), kernel(5, 5)], name="GPU:0"))
    assert runs(trace) == []
    (diagnostic,) = [row for row in diagnose(trace) if row.id == "no_launches"]
    assert "the devices recorded no program runs. " in diagnostic.message


def test_recorded_runs_are_unchanged() -> None:
    core = Core(
        [], [event("jit_f(7)", 0, 50)], "GPU:0", lines={"Stream #1": [kernel(5, 5, 1), kernel(20, 5, 2)]}
    )
    assert runs(capture(core)) == [("jit_f(7)", 0, 50)]


def test_the_timeline_finds_runs_by_their_program(tmp_path: Path) -> None:
    space = Space()
    line = space.plane("/host:CPU").line("python", id=1)
    for name, start, duration, stats in nested((0, 20, [(1, 5), (2, 8)]), (30, 20, [(3, 35)])):
        line.event(name, start, duration, stats)
    stream = space.plane("/device:GPU:0").line("Stream #1")
    for name, start, duration, stats in (kernel(10, 5, 1), kernel(15, 5, 2), kernel(40, 5, 3)):
        stream.event(name, start, duration, stats)
    timeline = timeline_of(space, tmp_path)
    rows = [row for row in timeline.search("jit_f")["hits"]["row"] if "modules" in row]
    assert len(rows) == 2
    assert timeline.search("fusion_kernel")["count"] == 3
    run = timeline.event_at(rows[0], 10 * US)
    assert (run["name"], run["duration_ps"]) == ("jit_f(7)", 10 * US)
    assert {stat["name"]: stat["value"] for stat in run["stats"]} == {
        "hlo_module": "jit_f",
        "program_id": "7",
    }
    assert [partner["name"] for partner in run["flow"]["from"]] == ["cuLaunchKernel"]
    second = timeline.event_at(rows[0].replace("modules", "ops"), 15 * US)
    assert [item["name"] for item in second["path"]] == ["jit_f(7)"]


def test_ops_are_of_the_run_whose_kernels_they_are() -> None:
    main = nested((0, 20, [(1, 5), (2, 8)]), (30, 20, [(4, 35)]))
    kernels = [kernel(10, 5, 1), kernel(40, 20, 4, "jit_g(8)"), kernel(50, 5, 9, None), kernel(80, 5, 2)]
    ops = find_ops(capture(thread("python", *main, role="driving"), gpu(*kernels)))
    (device_ops,) = ops.devices
    assert device_ops.run.tolist() == [0, 1, -1, 0]
    assert [ops.program[key] for key in device_ops.key.tolist()] == ["7", "8", "", "7"]


@settings(max_examples=60, deadline=None)
@given(programs())
def test_every_execution_makes_one_run(executions: list[tuple[str, list[tuple[int, int]]]]) -> None:
    main: list[Event] = [event("f", 0, 1)]
    streams: dict[str, list[Event]] = defaultdict(list)
    expected, at, free_at, id_ = [], 10.0, 0.0, 0
    for program, kernels in executions:
        calls: list[tuple[int, float]] = []
        begins, ends = [], []
        free_at = max(free_at, at)
        for stream, duration in kernels:
            id_ += 1
            calls.append((id_, at + 3 + 2 * len(calls)))
            begin = max(free_at, calls[-1][1])
            streams[f"Stream #{stream}"].append(kernel(begin, duration, id_, program))
            begins.append(begin)
            ends.append(begin + duration)
            free_at = begin if stream == 2 else begin + duration
        main += nested((at, 20, calls))
        free_at = max(ends)
        expected.append((program, min(begins), free_at))
        at += 25
    trace = capture(thread("python", *main, role="driving"), Core(name="GPU:0", lines=streams))
    assert (runs(trace) if trace.devices else []) == expected
    assert joins(trace) == [("exact", number) for number in range(len(executions))]


def test_the_real_capture_by_a_second_derivation(shared_traces: Path) -> None:
    """Assigns kernels to executions in another way: by the thread that contains all calls of a line."""
    folder = shared_traces / "public" / "gpu_mi300_jax"
    (path,) = folder.rglob("*.xplane.pb")
    calls: dict[Any, tuple[int, int, int]] = {}
    thunks: dict[int, list[tuple[int, int]]] = defaultdict(list)
    kernels: dict[str, list[tuple[int, int, Any]]] = defaultdict(list)
    for plane in parse(path.read_bytes()):
        for line in plane.lines:
            for recorded in line.events:
                start = line.timestamp_ns * 1000 + recorded.offset_ps
                end = start + recorded.duration_ps
                if recorded.name == THUNKS:
                    thunks[line.id].append((start, end))
                elif plane.name == "/host:CPU" and "hlo_module" in recorded.stats:
                    calls[recorded.stats["correlation_id"]] = (line.id, start, end)
                elif plane.name.startswith("/device:GPU") and "hlo_module" in recorded.stats:
                    kernels[plane.name].append((start, end, recorded.stats["correlation_id"]))
    trace = real_trace(folder)
    first_kernel_ps = min(start for group in kernels.values() for start, *_ in group)
    first_run_ps = min(int(device.runs.start_ps[0]) for device in trace.devices)
    shift_ps = first_run_ps - first_kernel_ps  # to the times of the trace
    for device in trace.devices:
        kernels_of_run: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        (thread_id,) = {calls[id_][0] for *_, id_ in kernels[f"/device:{device.name}"]}
        thread_calls = [call[1:] for call in calls.values() if call[0] == thread_id]
        (executions,) = [
            group
            for group in thunks.values()
            if all(
                any(begin <= start and end <= until for begin, until in group) for start, end in thread_calls
            )
        ]
        for start, end, id_ in kernels[f"/device:{device.name}"]:
            _, call_start, call_end = calls[id_]
            (execution,) = [
                (begin, until) for begin, until in executions if begin <= call_start and call_end <= until
            ]
            kernels_of_run[execution].append((start + shift_ps, end + shift_ps))
        expected = [
            (min(group)[0], max(end for _, end in group)) for _, group in sorted(kernels_of_run.items())
        ]
        assert len(expected) == 5
        times = device.runs.start_ps.tolist(), device.runs.end_ps.tolist()
        assert list(zip(*times, strict=True)) == expected
    launches = find_launches(trace)
    assert [launches.runs.launch.tolist().count(number) for number in range(len(launches))] == [8] * 5
    assert joins(trace) == [("exact", number) for number in range(5)] * 8
