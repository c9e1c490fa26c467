"""The collectives of one host: rows, groups, and the limit of rows."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import gpus
import numpy as np
import pytest
from build import trace_of
from captures import Core, capture, thread
from helpers import small_space
from pods import recorded_trace
from programs import module, read
from synthetic import pod
from synthetic.hlo import Instruction as Hlo
from synthetic.pod_schedule import Delay, Pod, schedule
from synthetic.times import MS
from synthetic.writer import Space

from tb_xla_insights.pod.collective_columns import TimesOfSteps
from tb_xla_insights.pod.collectives import HostCollectives, host_collectives
from tb_xla_insights.pod.thinning import limit_rows

SMALL = Pod(hosts=2, cores=2, steps=3)


def hosts_of(training: Pod) -> list[HostCollectives]:
    return [host_collectives(trace_of(space.to_bytes())) for space in pod.files(training)]


def first_host(training: Pod) -> HostCollectives:
    return hosts_of(training)[0]


def test_every_execution_on_every_core_has_a_row() -> None:
    host = first_host(SMALL)
    assert [
        (instruction.program, instruction.name, instruction.kind) for instruction in host.instructions
    ] == [(pod.MODULE_NAME, f"all-reduce.{number}", "all-reduce") for number in (1, 2, 3)]
    assert len(host) == host.recorded_count == 3 * 3 * 2
    assert host.run_id.tolist() == [1000, 1001, 1002]
    assert host.run_step.tolist() == [0, 1, 2]
    assert host.step_numbers.tolist() == [1204, 1205, 1206]
    steps = schedule(SMALL)[0]
    for row in range(len(host)):
        exchange = steps[host.run[row]].exchanges[host.core[row]][host.instruction[row]]
        assert host.end_ps[row] - host.begin_ps[row] == exchange.end_ps - exchange.begin_ps
        assert host.exposed_ps[row] == exchange.end_ps - exchange.begin_ps
    assert len(pickle.loads(pickle.dumps(host))) == len(host)


def test_an_asynchronous_collective_is_one_row_that_waits_in_its_done() -> None:
    host = first_host(replace(SMALL, is_asynchronous=True))
    assert [instruction.name for instruction in host.instructions] == ["all-reduce-start.1", "all-reduce.3"]
    rows = host.instruction == 0
    assert (host.wait_start_ps[rows] - host.begin_ps[rows] > 5 * MS).all()
    exchange = schedule(replace(SMALL, is_asynchronous=True))[0][0].exchanges[0][0]
    assert host.wait_start_ps[rows][0] - host.begin_ps[rows][0] == exchange.wait_ps - exchange.begin_ps
    assert host.end_ps[rows][0] - host.wait_start_ps[rows][0] == exchange.end_ps - exchange.wait_ps


def test_a_start_without_its_end_is_left_out() -> None:
    space = Space()
    device = space.plane("/device:TPU:0")
    device.line("XLA Modules").event("jit_f(7)", 0, 100, run_id=1)
    ops = device.line("XLA Ops")
    ops.event("all-reduce-start.1", 10, 2)
    ops.event("all-reduce-done.1", 40, 10)
    ops.event("all-reduce-start.1", 60, 2)
    host = host_collectives(trace_of(space.to_bytes()))
    assert (host.begin_ps.tolist(), host.wait_start_ps.tolist(), host.end_ps.tolist()) == ([10], [40], [50])


def test_iterations_of_a_loop_are_repetitions() -> None:
    space = Space()
    device = space.plane("/device:TPU:0")
    modules, ops = device.line("XLA Modules"), device.line("XLA Ops")
    for run in range(2):
        modules.event("jit_f(7)", 100 * run, 90, run_id=run + 1)
        for number in range(3):
            ops.event("all-gather.4", 100 * run + 20 * number, 10)
        ops.event("collective-permute.1", 100 * run + 70, 10)  # between two cores, so it has no row
    host = host_collectives(trace_of(space.to_bytes()))
    assert [instruction.name for instruction in host.instructions] == ["all-gather.4"]
    assert list(zip(host.run.tolist(), host.repetition.tolist(), strict=True)) == [
        (run, number) for run in range(2) for number in range(3)
    ]


def test_groups_come_from_the_text_or_the_program(tmp_path: Path) -> None:
    host = first_host(replace(SMALL, hosts=4, groups=((0, 1), (2, 3))))
    indices = [instruction.groups for instruction in host.instructions]
    assert [host.groups[index] for index in indices if index is not None] == [
        ((0, 1, 2, 3), (4, 5, 6, 7))
    ] * 2 + [()]
    space = Space()
    device = space.plane("/device:TPU:0")
    device.line("XLA Modules").event("jit_f(7)", 0, 40)
    metadata = device.event_metadata("psum.7", stats={"hlo_category": "all-reduce", "program_id": 7})
    device.line("XLA Ops").event(metadata, 0, 30)
    proto = module([Hlo(1, "psum.7", "all-reduce", groups=[[0, 1], [2, 3]])], name="jit_f")
    space.plane("/host:metadata").event_metadata("jit_f(7)", 7, stats={"Hlo Proto": proto})
    host = host_collectives(read(space, tmp_path))
    [instruction] = host.instructions
    assert instruction.groups is not None
    assert host.groups[instruction.groups] == ((0, 1), (2, 3))


def test_the_groups_of_an_asynchronous_collective_are_those_of_its_start(tmp_path: Path) -> None:
    """The capture begins in the middle of a collective: its first op is an end, which has no groups in the program."""
    space = Space()
    device = space.plane("/device:TPU:0")
    device.line("XLA Modules").event("jit_f(7)", 0, 100)
    start, done = (
        device.event_metadata(f"all-reduce-{half}.1", stats={"hlo_category": "all-reduce", "program_id": 7})
        for half in ("start", "done")
    )
    ops = device.line("XLA Ops")
    for event, begin in ((done, 0), (start, 20), (done, 40)):
        ops.event(event, begin, 10)
    halves = [
        Hlo(1, "all-reduce-start.1", "all-reduce-start", groups=[[0, 1], [2, 3]]),
        Hlo(2, "all-reduce-done.1", "all-reduce-done", operands=[1]),
    ]
    proto = module(halves, name="jit_f")
    space.plane("/host:metadata").event_metadata("jit_f(7)", 7, stats={"Hlo Proto": proto})
    host = host_collectives(read(space, tmp_path))
    [instruction] = host.instructions
    assert instruction.groups is not None
    assert host.groups[instruction.groups] == ((0, 1), (2, 3))


def test_on_a_gpu_the_kernel_of_a_start_is_the_whole_collective() -> None:
    stats = {"hlo_op": "all-reduce-start.1", "hlo_module": "jit_f", "program_id": 7, "correlation_id": 2}
    exchange = gpus.event("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 100, 50, **stats)
    python = thread("python", *gpus.nested((0, 60, [(1, 5), (2, 20)])))
    host = host_collectives(capture(python, gpus.gpu(gpus.kernel(10, 50, 1), exchange)))
    assert [instruction.name for instruction in host.instructions] == ["all-reduce-start.1"]
    assert (host.begin_ps.tolist(), host.wait_start_ps.tolist(), host.end_ps.tolist()) == (
        [100 * gpus.US],
        [100 * gpus.US],
        [150 * gpus.US],
    )


def test_step_work_excludes_collectives() -> None:
    host, steps = first_host(SMALL), schedule(SMALL)[0]
    for step, work in zip(steps, host.step_work_ps.tolist(), strict=True):
        for core, time in enumerate(work):
            start, end = step.runs[core]
            exchanges = step.exchanges[core]
            assert time == end - start - sum(exchange.end_ps - exchange.begin_ps for exchange in exchanges)


@pytest.mark.parametrize("max_rows", [17, 12, 5])
def test_hosts_leave_out_the_same_instructions(max_rows: int) -> None:
    """The remaining rows are a subset. As long as only instructions are left out, the first and the last one of the
    program remain."""
    host, second_host = hosts_of(SMALL)
    limited = limit_rows(host, max_rows)
    assert (limited.instruction == limit_rows(second_host, max_rows).instruction).all()
    assert 0 < len(limited) <= max_rows
    assert limited.recorded_count == host.recorded_count
    rows = set(zip(host.instruction.tolist(), host.run.tolist(), host.core.tolist(), strict=True))
    assert (
        set(zip(limited.instruction.tolist(), limited.run.tolist(), limited.core.tolist(), strict=True))
        < rows
    )
    if max_rows >= 12:
        assert set(limited.instruction.tolist()) >= {0, 2}


def test_a_host_without_collectives() -> None:
    idle = Space()
    idle.plane("/host:CPU").line("python").event("Training_Step", 0, 10, _r=1, step_num=2)
    for space, cores in ((idle, 0), (small_space(), 1)):
        host = host_collectives(trace_of(space.to_bytes()))
        assert (len(host), host.instructions, len(host.cores)) == (0, (), cores)


def test_processes_of_a_recorded_training_share_run_ids() -> None:
    hosts = [host_collectives(recorded_trace("late_loader", rank)) for rank in range(4)]
    assert len({host.instructions for host in hosts}) == 1
    assert {(instruction.program, instruction.kind) for instruction in hosts[0].instructions} == {
        ("jit_train_step", "all-reduce")
    }
    for host in hosts:
        assert np.array_equal(host.run_id, hosts[0].run_id)
        assert host.step_numbers.tolist() == list(range(5, 17))
    assert sorted(ordinal for host in hosts for ordinal in host.ordinals) == [0, 2048, 4096, 6144]


def test_a_late_host_waits_least() -> None:
    late_pod = Pod(hosts=2, cores=1, steps=3, delays=(Delay(0, "input", 30 * MS),))
    late_host, waiting_host = hosts_of(late_pod)
    assert late_host.exposed_ps.sum() < waiting_host.exposed_ps.sum() / 3


def test_an_annotation_has_times_only_for_the_steps_between_its_first_and_its_last_event() -> None:
    """So names with the step's number take no memory per name and step."""
    steps = [("Training_Step", at, 90, {"_r": 1, "step_num": at}) for at in (0, 100, 200, 300)]
    parts = [("load", 10, 5), ("save_100", 110, 50), ("load", 210, 20), ("after", 295, 3), ("mark", 320, 0)]
    trace = capture(thread("python", *steps, *parts), Core([("dot", 20, 360)]))
    times = {
        path: (first, us.tolist()) for path, (first, us) in host_collectives(trace).annotation_times.items()
    }
    assert times == {
        "Training_Step": (0, [90, 90, 90, 90]),
        "Training_Step/load": (0, [5, 0, 20]),
        "Training_Step/save_100": (1, [50]),
        "after": (2, [3]),
    }
    assert TimesOfSteps(1, np.array([50, 7])).total_ps(np.array([0, 1, 3])) == 50
