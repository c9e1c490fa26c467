"""Pods in which no host is late, and hosts that cannot be compared."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from build import trace_of
from helpers import small_space
from pods import HALVES, HOSTS, LOADER, POD, STEPS, compare_pod, host_input, inputs
from synthetic import pod
from synthetic.pod_schedule import Delay
from synthetic.times import MS, US
from synthetic.writer import Space

from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.pod.arrivals import Arrivals, charge_waits
from tb_xla_insights.pod.clocks import Clocks
from tb_xla_insights.pod.collectives import host_collectives
from tb_xla_insights.pod.comparison import compare_hosts
from tb_xla_insights.pod.host_rows import host_rows
from tb_xla_insights.pod.hosts_view import hosts_view
from tb_xla_insights.pod.instances import Instances
from tb_xla_insights.pod.late_hosts import find_late_hosts
from tb_xla_insights.pod.shared_instructions import SharedInstructions
from tb_xla_insights.pod.straggler import exposed_without_waiting, straggler_finding
from tb_xla_insights.report.host_summary import summarise
from tb_xla_insights.report.merge import ReportMerger

ONE_HOST = host_collectives(trace_of(pod.files(replace(POD, hosts=1, steps=1))[0].to_bytes()))


def random_arrivals(hosts: int, steps: int, seed: int) -> Arrivals:
    """A session with one collective per step and random arrivals."""
    noise = np.random.default_rng(seed).normal(0, 10 * MS, (steps, hosts))
    begin = (np.arange(steps)[:, None] * 100 * MS + noise).astype(np.int64)
    end = np.broadcast_to(begin.max(axis=1, keepdims=True) + MS, begin.shape)
    step, present = np.arange(steps, dtype=np.int32), np.ones(begin.shape, np.bool_)
    only_one = np.zeros(steps, np.int32)
    instances = Instances(only_one, step, step, present, begin, begin, end, [])
    zeros, end_count = np.zeros(hosts, np.int64), np.full(hosts, steps, np.int32)
    clocks = Clocks(zeros, zeros, np.zeros(hosts), zeros + US, zeros, end_count, np.ones(hosts, np.bool_))
    parties, shared = (ONE_HOST,) * hosts, SharedInstructions([], [], [], [])
    component, charges = np.zeros(hosts, np.int32), charge_waits(instances)
    return Arrivals(parties, shared, instances, clocks, component, *charges, [step] * hosts, steps)


def test_no_late_host() -> None:
    comparison = compare_pod(POD)
    assert comparison.late_hosts.kind == "none"
    assert straggler_finding(comparison) is None
    assert comparison.late_hosts.waits_ps < 100 * US


def test_a_later_stage_of_a_pipeline_is_not_late() -> None:
    """Its hosts arrive at the common collective 18 ms after those of the first stage, because they waited that long for
    the first stage's data."""
    comparison = compare_pod(replace(POD, groups=HALVES, is_pipeline=True))
    assert comparison.arrivals.waits_ps.sum() > STEPS * HOSTS // 2 * 18 * MS
    assert comparison.late_hosts.kind == "none"
    assert straggler_finding(comparison) is None


def test_lateness_below_one_percent_of_a_step_is_not_reported() -> None:
    """A host that is late by 200 us in a step of 30 ms."""
    assert straggler_finding(compare_pod(replace(POD, delays=(Delay(3, "device", 200 * US),)))) is None


@pytest.mark.parametrize(("hosts", "steps"), [(2, 12), (4, 5), (4, 40), (16, 12)])
def test_hosts_with_random_arrivals_are_not_late(hosts: int, steps: int) -> None:
    """Noise of a tenth of a step, in 50 sessions each: chance makes a host late in fewer than one of a hundred."""
    kinds = [find_late_hosts(random_arrivals(hosts, steps, seed), 100 * MS).kind for seed in range(50)]
    assert kinds.count("late") <= 1
    assert kinds.count("changing") > 40


def test_a_host_with_another_program_is_not_compared() -> None:
    comparison = compare_pod(replace(POD, module_names={2: "SyncTensorsGraph.7"}, delays=(LOADER,)))
    assert comparison.note == (
        "The clock of 1 host is not related to the others': its arrivals are not compared."
    )
    assert comparison.late_hosts.parties == [5]


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"module_names": {host: f"SyncTensorsGraph.{host}" for host in range(HOSTS)}}, "no_collectives"),
        ({"groups": HALVES, "programs_have_groups": False, "delays": (LOADER,)}, "clocks_apart"),
    ],
)
def test_hosts_that_cannot_be_compared(changes: dict[str, object], state: str) -> None:
    comparison = compare_pod(replace(POD, **changes))  # type: ignore[arg-type]
    assert comparison.state == state
    assert comparison.late_hosts.kind == "unknown"
    assert straggler_finding(comparison) is None


def test_hosts_with_collectives_but_without_steps() -> None:
    """None of the captures has a whole step."""
    hosts = []
    for host in inputs(replace(POD, hosts=3)):
        without_steps = replace(
            host.collectives,
            step_numbers=np.zeros(0, np.int64),
            step_work_ps=host.collectives.step_work_ps[:0],
            run_step=np.full_like(host.collectives.run_step, -1),
        )
        hosts.append(replace(host, document={**host.document, "steps": []}, collectives=without_steps))
    comparison = compare_hosts(hosts)
    assert (comparison.state, comparison.late_hosts.kind) == ("compared", "unknown")
    assert hosts_view(comparison)["verdict"]["text"][0].endswith("no collective is in a whole step.")


def test_hosts_without_devices_collectives_or_steps() -> None:
    hosts = inputs(replace(POD, hosts=2))
    idle, empty = Space(), Space()
    idle.plane("/host:CPU").line("python").event("Training_Step", 0, 10, _r=1, step_num=2)
    empty.plane("/host:CPU").line("python")
    without_collectives = [
        host_input(trace_of(space.to_bytes(), "host")) for space in (idle, empty, small_space())
    ]
    for compared_hosts in (
        [*hosts, *without_collectives],
        without_collectives,
        *([host] for host in without_collectives),
    ):
        comparison = compare_hosts(compared_hosts)
        assert straggler_finding(comparison) is None
        assert len(host_rows(comparison)) == len(exposed_without_waiting(comparison)) == len(compared_hosts)
        assert json.loads(json.dumps(hosts_view(comparison)))["state"] == comparison.state


def test_how_much_is_waiting_for_an_unreadable_host_is_not_known() -> None:
    """The late host is not in the report: the others wait for it, and hardly for each other."""
    merger = ReportMerger("session", "run/session")
    for host, space in enumerate(pod.files(replace(POD, delays=(LOADER,)))):
        if host != LOADER.host:
            merger.add(summarise(trace_of(space.to_bytes(), pod.name_of(host)), "session", "run/session"))
    [exposed] = (row for row in merger.document()["findings"] if row["id"] == "device_waits")
    assert exposed["detail"].endswith(" of that is waiting for others.")
    merger.add_diagnostic(
        Diagnostic("skipped_host", "warning", "the file is empty", pod.name_of(LOADER.host))
    )
    [exposed] = (row for row in merger.document()["findings"] if row["id"] == "device_waits")
    assert exposed["detail"].endswith(
        "; how much of the rest is waiting for hosts that are not compared is not known."
    )
