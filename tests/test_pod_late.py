"""Who holds up the others, and why: pods of which the truth is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from build import trace_of
from helpers import small_space
from pods import compared, host_input, inputs, recorded
from synthetic import pod
from synthetic.pod_schedule import Cause, Clock, Late, Pod
from synthetic.times import MS, US, jitter
from synthetic.writer import Space

from tb_xla_insights.analysis.findings.base import MAX_TITLE_LENGTH
from tb_xla_insights.pod.advice import late_names
from tb_xla_insights.pod.arrivals import Arrivals, charge_waits, exposed_waits_ps
from tb_xla_insights.pod.clocks import Clocks
from tb_xla_insights.pod.collectives import host_collectives
from tb_xla_insights.pod.comparison import HostComparison, compare_hosts
from tb_xla_insights.pod.host_rows import host_rows
from tb_xla_insights.pod.instances import Instances
from tb_xla_insights.pod.late_hosts import find_late_hosts
from tb_xla_insights.pod.shared_instructions import SharedInstructions
from tb_xla_insights.pod.straggler import exposed_without_waiting, straggler_finding, straggler_row
from tb_xla_insights.pod.view import hosts_view

HOSTS, STEPS = 8, 12
POD = Pod(
    hosts=HOSTS,
    cores=2,
    steps=STEPS,
    ops=2,
    clocks={host: Clock(jitter(f"clock {host}", 4 * MS)) for host in range(HOSTS)},
)
HALVES = ((0, 1, 2, 3), (4, 5, 6, 7))
LOADER = Late(5, "input", 38 * MS)


@dataclass(frozen=True)
class Truth:
    """What must be said: who is late, why on the first of them, how often."""

    hosts: Sequence[int]
    cause: str | None
    recurs: str = "every_step"
    annotation: str | None = None
    core: int | None = None
    steps: int = STEPS


BATCH = "Training_Step/next_batch"
CASES: dict[str, tuple[Pod, Truth]] = {
    "a loader": (replace(POD, late=(LOADER,)), Truth([5], "input", annotation=BATCH)),
    "Python": (replace(POD, late=(Late(3, "python", 38 * MS),)), Truth([3], "python")),
    "tracing": (
        replace(POD, late=(Late(3, "tracing", 38 * MS),)),
        Truth([3], "tracing", annotation="Training_Step/backward"),
    ),
    "devices": (replace(POD, late=(Late(3, "device", 8 * MS),)), Truth([3], "device")),
    "a core": (replace(POD, late=(Late(3, "device", 8 * MS, core=1),)), Truth([3], "device", core=1)),
    "one compilation": (
        replace(POD, late=(Late(3, "compile", 800 * MS, (7,)),)),
        Truth([3], "compile", "once", steps=1),
    ),
    "half of the steps": (
        replace(POD, late=(Late(3, "input", 38 * MS, (1, 3, 5, 7, 9, 11)),)),
        Truth([3], "input", "some_steps", BATCH, steps=6),
    ),
    "two, for reasons of their own": (
        replace(POD, late=(Late(3, "input", 38 * MS), Late(6, "device", 10 * MS))),
        Truth([3, 6], "input", annotation=BATCH),
    ),
    "a class of hosts": (
        replace(POD, late=tuple(Late(host, "input", 38 * MS) for host in (1, 3, 5, 7))),
        Truth([1, 3, 5, 7], "input", annotation=BATCH),
    ),
    "a stage that all wait for": (
        replace(POD, groups=HALVES, late=(LOADER,)),
        Truth([5], "input", annotation=BATCH),
    ),
    "a stage on its own": (
        replace(POD, groups=HALVES, joined=False, late=(LOADER,)),
        Truth([5], "input", annotation=BATCH),
    ),
    "a stage for whose results the next one waits": (
        replace(POD, groups=HALVES, staged=True, late=(Late(2, "input", 38 * MS),)),
        Truth([2], "input", annotation=BATCH),
    ),
    "hosts of both stages side by side": (
        replace(POD, groups=((0, 2, 4, 6), (1, 3, 5, 7)), late=(LOADER,)),
        Truth([5], "input", annotation=BATCH),
    ),
    "an asynchronous collective": (
        replace(POD, overlapped=True, late=(LOADER,)),
        Truth([5], "input", annotation=BATCH),
    ),
    "captures of other ranges": (
        replace(
            POD, captured={1: (2, 11), 4: (0, 7), 6: (3, 9)}, run_ids=False, numbered=False, late=(LOADER,)
        ),
        Truth([5], "input", annotation=BATCH),
    ),
    "two hosts": (
        replace(POD, hosts=2, late=(Late(1, "input", 38 * MS),)),
        Truth([1], "input", annotation=BATCH),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_late_ones_are_found_with_their_reason(name: str) -> None:
    made, truth = CASES[name]
    found = compared(made)
    finding = straggler_finding(found)
    assert finding is not None
    assert found.state == "compared"
    late = found.late_hosts.parties
    assert sorted(late) == list(truth.hosts)
    assert finding.evidence["hosts"] == [pod.name_of(host) for host in late]
    assert finding.evidence["cause"] == truth.cause
    assert finding.evidence["annotation"] == truth.annotation
    core = None if truth.core is None else f"{pod.name_of(truth.hosts[0])}/TPU:{truth.core}"
    assert finding.evidence["core"] == core
    assert finding.recurs == truth.recurs
    if len(truth.hosts) == 1:
        assert len(found.late_hosts.steps[0]) == truth.steps
    text_is_sound(found)


def text_is_sound(found: HostComparison) -> None:
    finding = straggler_finding(found)
    assert finding is not None
    assert len(finding.title) <= MAX_TITLE_LENGTH
    assert finding.detail.count(". ") == (0 if found.late_hosts.kind == "changing" else 1)
    assert finding.detail.startswith(("A host waits", "A core waits", *late_names(found)))
    for text in (finding.title, finding.detail, finding.advice, finding.brief):
        assert not any(word in text for word in ("straggler", "skew", "slow node", "None", "null"))
    row = straggler_row(found)
    assert row is not None
    assert row["kind"] == "mistake"


@pytest.mark.parametrize(
    "name", ["a loader", "devices", "a core", "one compilation", "half of the steps", "a class of hosts",
             "a stage that all wait for", "a stage for whose results the next one waits",
             "an asynchronous collective", "two hosts"],
)  # fmt: skip
def test_the_step_without_them_is_the_one_that_is_written_without_them(name: str) -> None:
    """To a tenth: the file has the true answer. Its first step is shorter, as no device works yet."""
    made, _ = CASES[name]
    fixed = compared(made).step_if_fixed_ps
    truth = compared(replace(made, late=())).table
    assert fixed is not None
    assert truth.mean_step_ps is not None
    assert fixed == pytest.approx(truth.mean_step_ps, rel=0.1)


def test_without_the_late_host_the_others_still_do_their_own_work() -> None:
    """Their hosts work longer than their devices, behind which they are not seen to be late."""
    made = replace(POD, hosts=6, tracing_ps=40 * MS, late=(LOADER,))
    found = compared(made)
    assert found.late_hosts.parties == [5]
    assert found.step_if_fixed_ps == pytest.approx(
        compared(replace(made, late=())).table.mean_step_ps, rel=0.05
    )


@pytest.mark.parametrize("cause", ["input", "tracing"])
def test_a_host_that_waits_for_a_later_one_is_late_without_that(cause: Cause) -> None:
    """Both are told: without the first alone, little is gained."""
    found = compared(replace(POD, hosts=6, late=(LOADER, Late(2, cause, 30 * MS))))
    assert found.late_hosts.parties == [5, 2]
    assert [it.name for it in found.causes if it] == ["input", cause]
    truth = compared(replace(POD, hosts=6)).table.mean_step_ps
    assert found.step_if_fixed_ps == pytest.approx(truth, rel=0.05)


def test_a_class_of_hosts_is_late_after_the_others() -> None:
    """Six of eight: the host in the middle of all is one of them."""
    late = tuple(Late(host, "device", 8 * MS) for host in range(6))
    found = compared(replace(POD, late=late))
    assert sorted(found.late_hosts.parties) == [0, 1, 2, 3, 4, 5]
    assert found.late_ps(0) == pytest.approx(8 * MS, rel=0.05)


def test_a_host_that_is_a_little_late_costs_a_little() -> None:
    found = compared(replace(POD, late=(Late(3, "device", MS),)))
    step = found.table.mean_step_ps
    assert step is not None
    assert found.step_if_fixed_ps == pytest.approx(step - MS, abs=MS // 5)


def test_other_jobs_beside_are_no_bound() -> None:
    """Hosts of another script take 50 ms a step, whatever the late one does."""
    other = dict.fromkeys(range(4), "SyncTensorsGraph.9")
    found = compared(replace(POD, scripts=other, late=(LOADER,)))
    assert found.late_hosts.parties == [5]
    step = found.table.mean_step_ps
    assert step is not None
    assert found.step_if_fixed_ps == pytest.approx(step - 0.4 * step / 2, rel=0.05)


def test_nobody_is_late() -> None:
    found = compared(POD)
    assert found.late_hosts.kind == "none"
    assert straggler_finding(found) is None
    assert found.late_hosts.waits_ps < 100 * US


def test_a_later_stage_of_a_pipeline_is_not_late() -> None:
    """It comes 18 ms after the first one to what all do, as long as it waited for what that one sends."""
    found = compared(replace(POD, groups=HALVES, staged=True))
    assert found.arrivals.waits_ps.sum() > STEPS * HOSTS // 2 * 18 * MS
    assert found.late_hosts.kind == "none"
    assert straggler_finding(found) is None


def test_what_clocks_cannot_tell_is_not_told() -> None:
    """40 us of noise, and a host that is later by 200 us in a step of 30 ms."""
    assert straggler_finding(compared(replace(POD, late=(Late(3, "device", 200 * US),)))) is None


def test_another_host_each_time() -> None:
    late = tuple(Late(step * 5 % HOSTS, "input", 40 * MS, (step,)) for step in range(STEPS))
    found = compared(replace(POD, late=late))
    finding = straggler_finding(found)
    assert finding is not None
    assert (found.late_hosts.kind, found.late_hosts.parties) == ("changing", [])
    assert finding.evidence["cause"] == "input"
    assert finding.title == "In each step another host holds up the others"
    text_is_sound(found)


def test_only_those_who_wait_are_held_up() -> None:
    """Hosts exchange in pairs: the other six have nothing to do with the late one."""
    pairs = tuple((host, host + 4) for host in range(4))
    finding = straggler_finding(compared(replace(POD, groups=pairs, joined=False, late=(LOADER,))))
    assert finding is not None
    assert finding.title == f"{pod.name_of(5)} holds up {pod.name_of(1)}"


def test_one_of_two_that_are_late_hides_the_other() -> None:
    """Without the first, the second one is last: only both together gain all."""
    found = compared(CASES["two, for reasons of their own"][0])
    told = straggler_finding(found)
    assert told is not None
    for part in (f"Feed {pod.name_of(3)} as", "; look at the device", f"or take {pod.name_of(6)} out"):
        assert part in told.advice
    alone = compared(replace(POD, late=(Late(6, "device", 10 * MS),)))
    assert found.late_hosts.parties == [3, 6]
    assert [cause.name for cause in found.causes if cause] == ["input", "device"]
    assert alone.step_if_fixed_ps == pytest.approx(found.step_if_fixed_ps, rel=0.02)


def test_a_missing_file_is_no_host() -> None:
    found = compared(replace(POD, late=(LOADER,)), missing={1, 2})
    assert [found.hosts[host].name for host in found.late_hosts.parties] == [pod.name_of(5)]
    assert found.note is None


def test_another_script_is_not_compared() -> None:
    found = compared(replace(POD, scripts={2: "SyncTensorsGraph.7"}, late=(LOADER,)))
    assert found.note == (
        "The clock of 1 host is not related to the others': when it came to a collective is not compared."
    )
    assert found.late_hosts.parties == [5]


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"scripts": {host: f"SyncTensorsGraph.{host}" for host in range(HOSTS)}}, "no_collectives"),
        ({"groups": HALVES, "tells_groups": False, "late": (LOADER,)}, "clocks_apart"),
    ],
)
def test_hosts_that_cannot_be_compared(changes: dict[str, object], state: str) -> None:
    found = compared(replace(POD, **changes))  # type: ignore[arg-type]
    assert found.state == state
    assert found.late_hosts.kind == "unknown"
    assert straggler_finding(found) is None


@pytest.mark.parametrize("extra", [5 * MS, 0])
def test_cores_of_one_host(extra: int) -> None:
    late = (Late(0, "device", extra, core=2),) if extra else ()
    found = compared(replace(POD, hosts=1, cores=4, late=late))
    assert found.state == "one_host"
    finding = straggler_finding(found)
    if not extra:
        assert finding is None
        return
    assert finding is not None
    assert finding.title == "TPU:2 holds up the other cores"
    assert finding.evidence["cause"] == "device"
    truth = compared(replace(POD, hosts=1, cores=4)).table.mean_step_ps
    assert finding.step_if_fixed_ps == pytest.approx(truth, rel=0.1)
    text_is_sound(found)


@pytest.mark.parametrize("cause", ["input", "python", "tracing"])
def test_the_median_host_is_one_that_is_not_late(cause: Cause) -> None:
    found = compared(replace(POD, late=tuple(Late(host, cause, 38 * MS) for host in range(5))))
    assert sorted(found.late_hosts.parties) == [0, 1, 2, 3, 4]
    assert found.median_host in (5, 6, 7)


def test_waiting_is_no_fault_of_the_collectives() -> None:
    """What is left of exposed time is what the same pod has without the late host."""
    late, even = compared(replace(POD, late=(LOADER,))), compared(POD)
    rows, truth = exposed_without_waiting(late), exposed_without_waiting(even)
    for host in range(HOSTS):
        assert rows[host]["left_ps"] == rows[host]["exposed_ps"] - rows[host]["waiting_ps"]
        assert rows[host]["left_ps"] == pytest.approx(truth[host]["left_ps"], rel=0.02)
    assert rows[0]["waiting_ps"] > 0.7 * rows[0]["exposed_ps"]
    assert (exposed_waits_ps(late.arrivals) >= 0).all()


def test_what_a_cut_file_lacks_is_no_class_of_its_host() -> None:
    """Its host seems to do less; nor is it the one that others are held against."""
    hosts = inputs(replace(POD, hosts=4, late=(Late(3, "input", 38 * MS),)))
    whole = compare_hosts(hosts)
    for which in (whole.median_host, 3):
        assert which is not None
        cut = replace(
            hosts[which], document={**hosts[which].document, "diagnostics": [{"id": "truncated_file"}]}
        )
        found = compare_hosts([cut if number == which else host for number, host in enumerate(hosts)])
        assert found.late_hosts.parties == [3]
        assert found.median_host != which
        assert host_rows(found)[which]["differs"] == {"class": "unrecorded", "longer_ps": 0}
        assert (found.causes == (None,)) == (which == 3)


def test_hosts_without_anything_are_compared_all_the_same() -> None:
    """No device, no collective, no step."""
    hosts = inputs(replace(POD, hosts=2))
    idle, empty = Space(), Space()
    idle.plane("/host:CPU").line("python").event("Training_Step", 0, 10, _r=1, step_num=2)
    empty.plane("/host:CPU").line("python")
    bare = [host_input(trace_of(space.to_bytes(), "bare")) for space in (idle, empty, small_space())]
    for some in ([*hosts, *bare], bare, *([host] for host in bare)):
        found = compare_hosts(some)
        assert straggler_finding(found) is None
        assert len(host_rows(found)) == len(exposed_without_waiting(found)) == len(some)
        assert json.loads(json.dumps(hosts_view(found)))["state"] == found.state


def test_a_real_late_loader_and_the_same_without() -> None:
    """Four processes, one of which takes 30 ms more for its batch: the step without it is that of the other capture."""
    late, steady = compare_hosts(recorded("late_loader")), compare_hosts(recorded("steady"))
    finding = straggler_finding(late)
    assert finding is not None
    assert finding.evidence["hosts"] == ["demo-w-2"]
    assert finding.evidence["last"] == [12]
    assert finding.evidence["cause"] == "input"
    assert finding.evidence["annotation"] == "train/next_batch"
    assert finding.evidence["late_ps"][0] == pytest.approx(30 * MS, rel=0.05)
    assert finding.step_if_fixed_ps == pytest.approx(steady.table.mean_step_ps, rel=0.03)
    assert straggler_finding(steady) is None
    assert steady.late_hosts.kind == "none"


@pytest.mark.parametrize(("hosts", "steps"), [(2, 12), (4, 5), (4, 40), (16, 12)])
def test_hosts_that_come_at_random_are_not_late(hosts: int, steps: int) -> None:
    """A tenth of a step of noise, 50 sessions each: a host is blamed by chance in one of a hundred."""
    kinds = [find_late_hosts(at_random(hosts, steps, seed), 100 * MS).kind for seed in range(50)]
    assert kinds.count("late") <= 1
    assert kinds.count("changing") > 40


ONE_HOST = host_collectives(trace_of(pod.files(replace(POD, hosts=1, steps=1))[0].to_bytes()))


def at_random(hosts: int, steps: int, seed: int) -> Arrivals:
    """A session with one collective a step to which hosts come at random."""
    drawn = np.random.default_rng(seed).normal(0, 10 * MS, (steps, hosts))
    begin = (np.arange(steps)[:, None] * 100 * MS + drawn).astype(np.int64)
    end = np.broadcast_to(begin.max(axis=1, keepdims=True) + MS, begin.shape)
    place, there = np.arange(steps, dtype=np.int32), np.ones(begin.shape, np.bool_)
    its = Instances(np.zeros(steps, np.int32), place, there, begin, begin, end, [])
    zero, number = np.zeros(hosts, np.int64), np.full(hosts, steps, np.int32)
    clocks = Clocks(zero, zero, np.zeros(hosts), zero + US, zero, number, np.ones(hosts, np.bool_))
    parties, shared = (ONE_HOST,) * hosts, SharedInstructions([], [], [], [])
    related = np.zeros(hosts, np.int32)
    return Arrivals(parties, shared, its, clocks, related, *charge_waits(its), [place] * hosts, steps)
