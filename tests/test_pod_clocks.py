"""Hosts on one clock: which run is which, how far clocks are apart, and what cannot be told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from build import trace_of
from hypothesis import given, settings
from hypothesis import strategies as st
from pods import recorded_trace
from synthetic import pod
from synthetic.pod_schedule import Clock, Late, Pod
from synthetic.times import MS, US

from tb_xla_insights.pod import instances
from tb_xla_insights.pod.arrivals import Arrivals, find_arrivals
from tb_xla_insights.pod.clocks import Clocks, relate_clocks
from tb_xla_insights.pod.collectives import HostCollectives, host_collectives

AHEAD = (0, 3 * MS, -2 * MS, 7 * MS, -900 * US, 12 * US)
POD = Pod(
    hosts=6,
    cores=2,
    steps=12,
    clocks={host: Clock(ahead) for host, ahead in enumerate(AHEAD)},
    late=(Late(4, "input", 30 * MS),),
)


def hosts_of(made: Pod) -> list[HostCollectives]:
    return [host_collectives(trace_of(space.to_bytes())) for space in pod.files(made)]


def errors_us(found: Arrivals, made: Pod) -> list[float]:
    """How far wrong the known clocks are, but for what they are all wrong by."""
    known = np.flatnonzero(found.clocks.is_known)
    ahead = np.array([made.clocks.get(host, Clock()).ahead_ps for host in known.tolist()])
    apart = found.clocks.offset_ps[known] - ahead
    return [float(it) for it in np.abs(apart - np.median(apart)) / US]


def test_clocks_are_as_far_apart_as_they_were_made() -> None:
    found = find_arrivals(hosts_of(POD))
    assert found.clocks.is_known.all()
    assert max(errors_us(found, POD)) < 0.5  # ends differ by up to a microsecond
    assert found.clocks.residual_ps.max() < US
    assert np.sort(found.clocks.offset_ps)[2] == 0
    assert (found.clocks.drift == 0).all()


def test_a_clock_that_gains() -> None:
    made = replace(POD, steps=24, clocks={3: Clock(0, 25.0)})
    found = find_arrivals(hosts_of(made))
    assert found.clocks.drift[3] == pytest.approx(25e-6, rel=0.05)
    assert np.flatnonzero(found.clocks.drift).tolist() == [3]
    assert found.clocks.residual_ps[3] < US


@pytest.mark.parametrize("told", ["run ids", "step numbers", "nothing"])
def test_hosts_that_captured_other_ranges(told: str) -> None:
    """The captures begin up to three steps after one another; without run ids and step numbers, ends and the epoch
    tell which run is which."""
    made = replace(
        POD,
        captured={1: (3, 11), 3: (0, 8), 5: (2, 10)},
        run_ids=told == "run ids",
        numbered=told != "nothing",
    )
    found = find_arrivals(hosts_of(made))
    assert found.clocks.is_known.all()
    assert max(errors_us(found, made)) < 0.5
    assert found.step_count == 12
    assert found.shared_count.tolist() == [36, 27, 36, 27, 36, 27]
    assert [int(steps[0]) for steps in found.common_step] == [0, 3, 0, 0, 0, 2]


def test_captures_one_after_the_other_share_nothing() -> None:
    """Runs are as far apart in either: the numbers of their steps, and the epoch, tell that they are others."""
    ranges = {host: (0, 7) if host < 3 else (12, 23) for host in range(6)}
    found = find_arrivals(hosts_of(replace(POD, steps=24, captured=ranges)))
    assert found.component.tolist() == [1, 1, 1, 0, 0, 0]


def test_run_ids_that_are_another_run_s() -> None:
    """Equal ids on hosts that count from elsewhere: ends agree under another answer, and that much better."""
    hosts = hosts_of(POD)
    hosts[2] = replace(hosts[2], run_id=hosts[2].run_id + 1, step_numbers=hosts[2].step_numbers + 1)
    found = find_arrivals(hosts)
    assert max(errors_us(found, POD)) < 0.5
    assert found.shared_count.tolist() == [36] * 6


def test_files_without_an_epoch() -> None:
    hosts = [replace(host, base_unix_ns=0) for host in hosts_of(POD)]
    found = find_arrivals(hosts)
    assert found.clocks.is_known.all()
    assert found.shared_count.tolist() == [36] * 6


def test_pipeline_stages_are_related_through_what_all_do() -> None:
    made = replace(POD, groups=((0, 1, 2), (3, 4, 5)))
    found = find_arrivals(hosts_of(made))
    assert set(found.component.tolist()) == {0}
    assert max(errors_us(found, made)) < 0.5
    assert found.shared_count.tolist() == [36] * 6
    assert len(found.instances) == 12 * (2 * 2 + 1)


def test_stages_that_share_nothing_are_apart() -> None:
    made = replace(POD, groups=((0, 1, 2), (3, 4, 5)), joined=False)
    found = find_arrivals(hosts_of(made))
    assert found.component.tolist() == [0, 0, 0, 1, 1, 1] or found.component.tolist() == [1, 1, 1, 0, 0, 0]
    for stage in (slice(0, 3), slice(3, 6)):
        apart = found.clocks.offset_ps[stage] - np.array(AHEAD[stage])
        assert np.ptp(apart) < US


def test_groups_that_no_file_tells_are_no_evidence() -> None:
    """Ends of two stages that are taken for one contradict those of what both do."""
    made = replace(POD, groups=((0, 1, 2), (3, 4, 5)), tells_groups=False)
    found = find_arrivals(hosts_of(made))
    assert not found.clocks.is_known.any()
    assert len(found.instances) == 0


def test_programs_of_other_names_share_nothing() -> None:
    made = replace(POD, scripts={host: f"SyncTensorsGraph.{host}" for host in range(6)})
    found = find_arrivals(hosts_of(made))
    assert found.component.tolist() == [-1] * 6
    assert len(found.instances) == 0


def test_programs_of_one_name_that_have_nothing_to_do_with_each_other() -> None:
    """Two jobs: each host's own steps, of other lengths."""
    one = hosts_of(replace(POD, hosts=1))
    other = hosts_of(replace(POD, hosts=1, compute_ps=(25 * MS, 7 * MS, 3 * MS), noise_ps=MS, run_ids=False))
    assert not find_arrivals([*one, *other]).clocks.is_known.any()


def test_too_little_is_no_clock() -> None:
    made = replace(POD, captured={1: (4, 5)})
    found = find_arrivals(hosts_of(made))
    assert found.clocks.is_known.tolist() == [True, False, True, True, True, True]


def test_processes_of_one_machine_have_one_clock() -> None:
    """Gloo's ends are some tenths of a millisecond apart, and so are the clocks told, no more."""
    for name in ("steady", "late_loader"):
        found = find_arrivals([host_collectives(recorded_trace(name, rank)) for rank in range(4)])
        assert found.clocks.is_known.all()
        assert np.abs(found.clocks.offset_ps).max() < MS
        assert found.clocks.residual_ps.max() < MS
        assert (found.clocks.drift == 0).all()


def related(ends: np.ndarray, there: np.ndarray) -> Clocks:
    hosts = ends.shape[1]
    none = np.zeros(hosts, np.int64)
    return relate_clocks(ends, there, np.zeros(len(ends), np.int32), np.zeros(hosts, np.int32), none, none)


@settings(max_examples=30)
@given(st.integers(2, 6), st.integers(8, 40), st.integers(0, 2**31))
def test_offsets_are_exact_without_noise_whatever_is_missing(hosts: int, count: int, seed: int) -> None:
    drawn = np.random.default_rng(seed)
    ahead = drawn.integers(-(10**9), 10**9, hosts)
    ends = np.cumsum(drawn.integers(MS, 60 * MS, count))[:, None] + ahead
    there = np.ones((count, hosts), np.bool_)
    there[drawn.integers(0, count, 3), drawn.integers(0, hosts, 3)] = False
    found = related(np.where(there, ends, 0), there)
    assert found.is_known.all()
    assert np.ptp(found.offset_ps - ahead) <= 4  # rounded to whole picoseconds
    assert found.residual_ps.max() <= 2
    for host in range(hosts):
        assert np.abs(found.to_common(host, ends[:, host]) - found.to_common(0, ends[:, 0])).max() <= 4


def test_a_quarter_of_the_ends_may_be_wrong() -> None:
    drawn = np.random.default_rng(0)
    ahead = np.array([0, 5 * MS, -3 * MS, MS])
    ends = np.cumsum(drawn.integers(20 * MS, 60 * MS, 40))[:, None] + ahead
    ends[::5, 2] += drawn.integers(0, 10 * MS, 8)
    found = related(ends, np.ones(ends.shape, np.bool_))
    assert np.ptp(found.offset_ps - ahead) <= 4


def test_a_large_pod_compares_what_takes_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three collectives, room for one: the one in which the late host is waited for."""
    hosts = hosts_of(POD)
    monkeypatch.setattr(instances, "MAX_CELLS", 12 * 6)
    found = find_arrivals(hosts)
    assert {found.shared.instructions[it].name for it in found.instances.instruction} == {"all-reduce.1"}
    assert found.instances.share == pytest.approx(1 / 3)
    assert max(errors_us(found, POD)) < 0.5
