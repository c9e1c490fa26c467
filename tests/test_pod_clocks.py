"""The alignment of hosts: matching of runs, clock offsets, and pods that cannot be aligned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from build import trace_of
from hypothesis import given, settings
from hypothesis import strategies as st
from pods import inputs, recorded_trace
from synthetic import pod
from synthetic.pod_schedule import Clock, Delay, Pod
from synthetic.times import MS, US

from tb_xla_insights.pod import instances
from tb_xla_insights.pod.arrivals import Arrivals, find_arrivals
from tb_xla_insights.pod.clocks import Clocks, relate_clocks
from tb_xla_insights.pod.collectives import HostCollectives, host_collectives
from tb_xla_insights.pod.comparison import compare_hosts
from tb_xla_insights.pod.groups import Groups

AHEAD_PS = (0, 3 * MS, -2 * MS, 7 * MS, -900 * US, 12 * US)
POD = Pod(
    hosts=6,
    cores=2,
    steps=12,
    clocks={host: Clock(ahead) for host, ahead in enumerate(AHEAD_PS)},
    delays=(Delay(4, "input", 30 * MS),),
)

NAMES = ("all-reduce.1", "all-reduce.2", "all-reduce.3")
"""The collectives of a step."""


def hosts_of(training: Pod) -> list[HostCollectives]:
    return [host_collectives(trace_of(space.to_bytes())) for space in pod.files(training)]


def errors_us(arrivals: Arrivals, training: Pod) -> list[float]:
    """The errors of the known clocks, relative to their median error."""
    hosts = np.flatnonzero(arrivals.clocks.is_known)
    ahead = np.array([training.clocks.get(host, Clock()).ahead_ps for host in hosts.tolist()])
    errors = arrivals.clocks.offset_ps[hosts] - ahead
    return [float(error) for error in np.abs(errors - np.median(errors)) / US]


def test_offsets_are_those_of_the_written_clocks() -> None:
    arrivals = find_arrivals(hosts_of(POD))
    assert arrivals.clocks.is_known.all()
    assert max(errors_us(arrivals, POD)) < 0.5  # ends differ by up to a microsecond
    assert arrivals.clocks.residual_ps.max() < US
    assert np.sort(arrivals.clocks.offset_ps)[2] == 0  # offsets are relative to the lower median
    assert (arrivals.clocks.drift == 0).all()


def test_a_drifting_clock() -> None:
    training = replace(POD, steps=24, clocks={3: Clock(0, 25.0)})
    arrivals = find_arrivals(hosts_of(training))
    assert arrivals.clocks.drift[3] == pytest.approx(25e-6, rel=0.05)
    assert np.flatnonzero(arrivals.clocks.drift).tolist() == [3]
    assert arrivals.clocks.residual_ps[3] < US


@pytest.mark.parametrize("recorded", ["run ids", "step numbers", "nothing"])
def test_hosts_that_captured_different_ranges(recorded: str) -> None:
    """The captures begin up to three steps apart. Without run ids and step numbers, runs are matched by their ends and
    the epoch."""
    training = replace(
        POD,
        captured_steps={1: (3, 11), 3: (0, 8), 5: (2, 10)},
        has_run_ids=recorded == "run ids",
        has_step_numbers=recorded != "nothing",
    )
    arrivals = find_arrivals(hosts_of(training))
    assert arrivals.clocks.is_known.all()
    assert max(errors_us(arrivals, training)) < 0.5
    assert arrivals.step_count == 12
    assert arrivals.shared_count.tolist() == [36, 27, 36, 27, 36, 27]
    assert [int(steps[0]) for steps in arrivals.common_step] == [0, 3, 0, 0, 0, 2]


def test_consecutive_captures_have_no_common_collective() -> None:
    """Runs have the same intervals in both captures; their step numbers and the epoch show that they differ."""
    ranges = {host: (0, 7) if host < 3 else (12, 23) for host in range(6)}
    arrivals = find_arrivals(hosts_of(replace(POD, steps=24, captured_steps=ranges)))
    assert arrivals.component.tolist() == [1, 1, 1, 0, 0, 0]


def test_run_ids_that_match_different_runs() -> None:
    """Hosts count ids from different numbers, so equal ids belong to different runs: another match fits much better."""
    hosts = hosts_of(POD)
    hosts[2] = replace(hosts[2], run_id=hosts[2].run_id + 1, step_numbers=hosts[2].step_numbers + 1)
    arrivals = find_arrivals(hosts)
    assert max(errors_us(arrivals, POD)) < 0.5
    assert arrivals.shared_count.tolist() == [36] * 6


def test_files_without_an_epoch() -> None:
    hosts = [replace(host, base_unix_ns=0) for host in hosts_of(POD)]
    arrivals = find_arrivals(hosts)
    assert arrivals.clocks.is_known.all()
    assert arrivals.shared_count.tolist() == [36] * 6


def test_pipeline_stages_are_related_by_a_common_collective() -> None:
    training = replace(POD, groups=((0, 1, 2), (3, 4, 5)))
    arrivals = find_arrivals(hosts_of(training))
    assert set(arrivals.component.tolist()) == {0}
    assert max(errors_us(arrivals, training)) < 0.5
    assert arrivals.shared_count.tolist() == [36] * 6
    assert len(arrivals.instances) == 12 * (2 * 2 + 1)


def test_stages_without_a_common_collective_are_separate() -> None:
    training = replace(POD, groups=((0, 1, 2), (3, 4, 5)), exchanges_loss=False)
    arrivals = find_arrivals(hosts_of(training))
    assert arrivals.component.tolist() in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])
    for stage in (slice(0, 3), slice(3, 6)):
        errors = arrivals.clocks.offset_ps[stage] - np.array(AHEAD_PS[stage])
        assert np.ptp(errors) < US


def with_core_groups(host: HostCollectives, groups: Mapping[str, Groups]) -> HostCollectives:
    """The host as if its collectives had these groups of cores, by their names."""
    instructions = tuple(replace(item, groups=list(groups).index(item.name)) for item in host.instructions)
    return replace(host, groups=tuple(groups.values()), instructions=instructions)


def groups_across(hosts: int, cores: int) -> Groups:
    """A group per core, with the same core of all hosts."""
    return tuple(tuple(range(core, hosts * cores, cores)) for core in range(cores))


@pytest.mark.parametrize(("hosts", "cores"), [(2, 2), (2, 8), (4, 4)])
def test_cores_of_a_host_in_different_groups(hosts: int, cores: int) -> None:
    """Each core exchanges data with the same core of the other hosts only, and all of these groups end together."""
    training = replace(POD, hosts=hosts, cores=cores, delays=())
    groups = dict.fromkeys(NAMES, groups_across(hosts, cores))
    arrivals = find_arrivals([with_core_groups(host, groups) for host in hosts_of(training)])
    assert arrivals.clocks.is_known.all()
    assert max(errors_us(arrivals, training)) < 0.5
    assert arrivals.shared_count.tolist() == [12 * 3 * cores] * hosts


def test_groups_of_the_cores_of_a_host_count_once() -> None:
    """One host is late by 30 ms in each step, whether its cores are in one group or in four."""
    hosts = inputs(replace(POD, hosts=4, cores=4, delays=(Delay(2, "input", 30 * MS),)))
    groups = dict.fromkeys(NAMES, groups_across(4, 4))
    apart = [replace(host, collectives=with_core_groups(host.collectives, groups)) for host in hosts]
    late_hosts, late_hosts_apart = compare_hosts(hosts).late_hosts, compare_hosts(apart).late_hosts
    assert late_hosts_apart.parties == late_hosts.parties == [2]
    assert late_hosts_apart.waits_ps == pytest.approx(late_hosts.waits_ps, rel=0.01)
    assert late_hosts_apart.saved_ps == pytest.approx(late_hosts.saved_ps, rel=0.01)


def test_unrecorded_groups_give_no_clocks() -> None:
    """The ends of two stages, mistaken for one, contradict those of their common collective."""
    training = replace(POD, groups=((0, 1, 2), (3, 4, 5)), programs_have_groups=False)
    arrivals = find_arrivals(hosts_of(training))
    assert not arrivals.clocks.is_known.any()
    assert len(arrivals.instances) == 0


def test_programs_with_different_names_have_no_common_collective() -> None:
    training = replace(POD, module_names={host: f"SyncTensorsGraph.{host}" for host in range(6)})
    arrivals = find_arrivals(hosts_of(training))
    assert arrivals.component.tolist() == [-1] * 6
    assert len(arrivals.instances) == 0


def test_unrelated_programs_with_the_same_name() -> None:
    """Two jobs with steps of different durations."""
    job_a = hosts_of(replace(POD, hosts=1))
    job_b = hosts_of(
        replace(POD, hosts=1, compute_ps=(25 * MS, 7 * MS, 3 * MS), noise_ps=MS, has_run_ids=False)
    )
    assert not find_arrivals([*job_a, *job_b]).clocks.is_known.any()


def test_steps_of_hosts_without_a_common_run_are_matched_by_their_numbers() -> None:
    first_steps = hosts_of(replace(POD, hosts=1))
    other_job = replace(POD, hosts=1, compute_ps=(25 * MS, 7 * MS, 3 * MS), noise_ps=MS, has_run_ids=False)
    later_steps = hosts_of(replace(other_job, captured_steps={0: (4, 11)}))
    arrivals = find_arrivals([*first_steps, *later_steps])
    assert [int(steps[0]) for steps in arrivals.common_step] == [0, 4]


def test_fewer_than_three_common_runs_give_no_clock() -> None:
    training = replace(POD, captured_steps={1: (4, 5)})
    arrivals = find_arrivals(hosts_of(training))
    assert arrivals.clocks.is_known.tolist() == [True, False, True, True, True, True]


def test_processes_on_one_machine_have_equal_clocks() -> None:
    """Gloo's ends differ by some tenths of a millisecond, and so do the offsets, but no more."""
    for name in ("steady", "late_loader"):
        arrivals = find_arrivals([host_collectives(recorded_trace(name, rank)) for rank in range(4)])
        assert arrivals.clocks.is_known.all()
        assert np.abs(arrivals.clocks.offset_ps).max() < MS
        assert arrivals.clocks.residual_ps.max() < MS
        assert (arrivals.clocks.drift == 0).all()


def clocks_of(ends: np.ndarray, present: np.ndarray) -> Clocks:
    hosts = ends.shape[1]
    no_shift = np.zeros(hosts, np.int64)
    instruction, component = np.zeros(len(ends), np.int32), np.zeros(hosts, np.int32)
    return relate_clocks(
        ends, present, instruction, np.arange(len(ends), dtype=np.int32), component, no_shift, no_shift
    )


@settings(max_examples=30)
@given(st.integers(2, 6), st.integers(8, 40), st.integers(0, 2**31))
def test_offsets_are_exact_without_noise_despite_missing_ends(hosts: int, count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    ahead = random.integers(-(10**9), 10**9, hosts)
    ends = np.cumsum(random.integers(MS, 60 * MS, count))[:, None] + ahead
    present = np.ones((count, hosts), np.bool_)
    present[random.integers(0, count, 3), random.integers(0, hosts, 3)] = False
    clocks = clocks_of(np.where(present, ends, 0), present)
    assert clocks.is_known.all()
    assert np.ptp(clocks.offset_ps - ahead) <= 4  # rounded to whole picoseconds
    assert clocks.residual_ps.max() <= 2
    for host in range(hosts):
        common = clocks.to_common(host, ends[:, host])
        assert np.abs(common - clocks.to_common(0, ends[:, 0])).max() <= 4


def test_a_fifth_of_the_ends_of_a_host_may_be_wrong() -> None:
    random = np.random.default_rng(0)
    ahead = np.array([0, 5 * MS, -3 * MS, MS])
    ends = np.cumsum(random.integers(20 * MS, 60 * MS, 40))[:, None] + ahead
    ends[::5, 2] += random.integers(0, 10 * MS, 8)
    clocks = clocks_of(ends, np.ones(ends.shape, np.bool_))
    assert np.ptp(clocks.offset_ps - ahead) <= 4


def test_a_large_pod_compares_the_longest_collective(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit allows one of three collectives: the one in which the others wait for the late host."""
    hosts = hosts_of(POD)
    monkeypatch.setattr(instances, "MAX_CELLS", 12 * 6)
    arrivals = find_arrivals(hosts)
    assert {arrivals.shared.instructions[index].name for index in arrivals.instances.instruction} == {
        "all-reduce.1"
    }
    assert arrivals.instances.share == pytest.approx(1 / 3)
    assert max(errors_us(arrivals, POD)) < 0.5


def test_a_large_pod_compares_a_collective_of_several_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest collective is one of each host's own cores."""
    within = tuple((2 * host, 2 * host + 1) for host in range(6))
    groups = {**dict.fromkeys(NAMES, groups_across(6, 2)), "all-reduce.1": within}
    hosts = [with_core_groups(host, groups) for host in hosts_of(POD)]
    monkeypatch.setattr(instances, "MAX_CELLS", 2 * 12 * 6 - 1)
    arrivals = find_arrivals(hosts)
    assert len(set(arrivals.instances.instruction.tolist())) == 1
    assert len(arrivals.instances) == 12 * 2
