"""Late hosts, their causes and the gain of a fix, in pods in which all are known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from build import trace_of
from captures import session
from pods import HALVES, HOSTS, LOADER, POD, STEPS, compare_pod, host_input, inputs, recorded
from synthetic import pod
from synthetic.pod_schedule import Cause, Clock, Delay, Pod
from synthetic.times import MS
from synthetic.writer import Space

from tb_xla_insights.analysis.findings.finding import MAX_TITLE_LENGTH, Findings
from tb_xla_insights.pod.advice import late_names
from tb_xla_insights.pod.arrivals import exposed_waits_ps
from tb_xla_insights.pod.comparison import HostComparison, compare_hosts
from tb_xla_insights.pod.host_rows import host_rows
from tb_xla_insights.pod.hosts_verdict import verdict_text
from tb_xla_insights.pod.straggler import (
    cause_text,
    exposed_without_waiting,
    straggler_finding,
)
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.merge.stragglers import with_host_comparison


@dataclass(frozen=True)
class Truth:
    """The expected result: the late hosts; the cause on the first of them, how often it recurs, and its annotation; the
    late core if it is a single one; and the number of steps in which a single host is late."""

    hosts: Sequence[int]
    cause: str | None
    frequency: str = "every_step"
    annotation: str | None = None
    core: int | None = None
    steps: int = STEPS


BATCH = "Training_Step/next_batch"
CASES: dict[str, tuple[Pod, Truth]] = {
    "a loader": (replace(POD, delays=(LOADER,)), Truth([5], "input", annotation=BATCH)),
    "Python": (replace(POD, delays=(Delay(3, "python", 38 * MS),)), Truth([3], "python")),
    "tracing": (
        replace(POD, delays=(Delay(3, "tracing", 38 * MS),)),
        Truth([3], "tracing", annotation="Training_Step/backward"),
    ),
    "devices": (replace(POD, delays=(Delay(3, "device", 8 * MS),)), Truth([3], "device")),
    "a core": (replace(POD, delays=(Delay(3, "device", 8 * MS, core=1),)), Truth([3], "device", core=1)),
    "one compilation": (
        replace(POD, delays=(Delay(3, "compile", 800 * MS, (7,)),)),
        Truth([3], "compile", "once", steps=1),
    ),
    "half of the steps": (
        replace(POD, delays=(Delay(3, "input", 38 * MS, (1, 3, 5, 7, 9, 11)),)),
        Truth([3], "input", "some_steps", BATCH, steps=6),
    ),
    "two with different causes": (
        replace(POD, delays=(Delay(3, "input", 38 * MS), Delay(6, "device", 10 * MS))),
        Truth([3, 6], "input", annotation=BATCH),
    ),
    "every other host": (
        replace(POD, delays=tuple(Delay(host, "input", 38 * MS) for host in (1, 3, 5, 7))),
        Truth([1, 3, 5, 7], "input", annotation=BATCH),
    ),
    "a stage that all others wait for": (
        replace(POD, groups=HALVES, delays=(LOADER,)),
        Truth([5], "input", annotation=BATCH),
    ),
    "a stage on its own": (
        replace(POD, groups=HALVES, exchanges_loss=False, delays=(LOADER,)),
        Truth([5], "input", annotation=BATCH),
    ),
    "a stage whose results the next one waits for": (
        replace(POD, groups=HALVES, is_pipeline=True, delays=(Delay(2, "input", 38 * MS),)),
        Truth([2], "input", annotation=BATCH),
    ),
    "stages of interleaved hosts": (
        replace(POD, groups=((0, 2, 4, 6), (1, 3, 5, 7)), delays=(LOADER,)),
        Truth([5], "input", annotation=BATCH),
    ),
    "an asynchronous collective": (
        replace(POD, is_asynchronous=True, delays=(LOADER,)),
        Truth([5], "input", annotation=BATCH),
    ),
    "captures of different ranges": (
        replace(
            POD,
            captured_steps={1: (2, 11), 4: (0, 7), 6: (3, 9)},
            has_run_ids=False,
            has_step_numbers=False,
            delays=(LOADER,),
        ),
        Truth([5], "input", annotation=BATCH),
    ),
    "two hosts": (
        replace(POD, hosts=2, delays=(Delay(1, "input", 38 * MS),)),
        Truth([1], "input", annotation=BATCH),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_late_hosts_are_found_with_their_cause(name: str) -> None:
    training, truth = CASES[name]
    comparison = compare_pod(training)
    finding = straggler_finding(comparison)
    assert finding is not None
    assert comparison.state == "compared"
    parties = comparison.late_hosts.parties
    assert sorted(parties) == list(truth.hosts)
    assert finding.evidence["hosts"] == [pod.name_of(host) for host in parties]
    assert finding.evidence["cause"] == truth.cause
    assert finding.evidence["annotation"] == truth.annotation
    core = None if truth.core is None else f"{pod.name_of(truth.hosts[0])}/TPU:{truth.core}"
    assert finding.evidence["core"] == core
    assert finding.recurs == truth.frequency
    if len(truth.hosts) == 1:
        assert len(comparison.late_hosts.steps[0]) == truth.steps
    check_texts(comparison)


def test_the_annotation_of_a_cause_has_its_whole_name() -> None:
    spaces = pod.files(CASES["a loader"][0])
    for metadata in (entry for space in spaces for plane in space.planes for entry in plane.metadata):
        metadata.name = metadata.name.replace("Training_Step", "train/step").replace(
            "next_batch", "get/batch"
        )
    comparison = compare_spaces(spaces)
    cause = comparison.causes[0]
    assert cause is not None
    assert (cause.annotation, cause_text(cause)) == ("train/step/get/batch", "get/batch (input)")


@pytest.mark.parametrize("delay", [LOADER, Delay(5, "python", 38 * MS)])
def test_an_annotation_outside_of_steps_is_no_cause(delay: Delay) -> None:
    """After its last step, the late host evaluates for 2 s."""
    spaces = pod.files(replace(POD, delays=(delay,)))
    [line] = (line for plane in spaces[5].planes for line in plane.lines if line.name == "python")
    end_ps = max(event.end_ps for event in line.events)
    line.event("evaluation", end_ps + MS, 2000 * MS)
    line.event("metrics", end_ps + 2 * MS, 1990 * MS)
    cause = compare_spaces(spaces).causes[0]
    assert cause is not None
    assert (cause.name, cause.annotation) == (delay.cause, BATCH if delay is LOADER else None)


def compare_spaces(spaces: Sequence[Space]) -> HostComparison:
    return compare_hosts(
        [host_input(trace_of(space.to_bytes(), pod.name_of(host))) for host, space in enumerate(spaces)]
    )


def check_texts(comparison: HostComparison) -> None:
    finding = straggler_finding(comparison)
    assert finding is not None
    assert len(finding.title) <= MAX_TITLE_LENGTH
    assert finding.detail.count(". ") == (0 if comparison.late_hosts.kind == "changing" else 1)
    assert finding.detail.startswith(("A host waits", "A core waits", *late_names(comparison)))
    for text in (finding.title, finding.detail, finding.advice, finding.brief):
        assert not any(word in text for word in ("straggler", "skew", "slow node", "None", "null"))
    assert finding.kind == "mistake"


@pytest.mark.parametrize(
    "name", ["a loader", "devices", "a core", "one compilation", "half of the steps", "every other host",
             "a stage that all others wait for", "a stage whose results the next one waits for",
             "an asynchronous collective", "two hosts"],
)  # fmt: skip
def test_the_fixed_step_is_that_of_a_pod_without_late_hosts(name: str) -> None:
    """Within 10 %: the first step of a capture is shorter, as no device works yet."""
    training, _ = CASES[name]
    fixed = compare_pod(training).step_if_fixed_ps
    truth = compare_pod(replace(training, delays=())).table
    assert fixed is not None
    assert truth.mean_step_ps is not None
    assert fixed == pytest.approx(truth.mean_step_ps, rel=0.1)


def test_a_capture_that_begins_later_gains_from_its_own_steps_only() -> None:
    """Three hosts miss the first nine steps; what the others gained in these is no gain of theirs."""
    late_start = dict.fromkeys((1, 2, 3), (9, STEPS - 1))
    training = replace(POD, captured_steps=late_start)
    late, on_time = (compare_pod(replace(training, delays=delays)) for delays in ((LOADER,), ()))
    assert late.table.mean_step_ps is not None
    assert on_time.table.mean_step_ps is not None
    saved_ps = late.table.mean_step_ps - on_time.table.mean_step_ps
    assert late.late_hosts.saved_ps == pytest.approx(saved_ps, rel=0.1)


def test_the_fixed_step_is_not_shorter_than_the_work_of_the_other_hosts() -> None:
    """Their host work is longer than their device work, but hidden by the late host."""
    training = replace(POD, hosts=6, tracing_ps=40 * MS, delays=(LOADER,))
    comparison = compare_pod(training)
    assert comparison.late_hosts.parties == [5]
    assert comparison.step_if_fixed_ps == pytest.approx(
        compare_pod(replace(training, delays=())).table.mean_step_ps, rel=0.05
    )


@pytest.mark.parametrize("cause", ["input", "tracing"])
def test_a_late_host_hidden_by_a_later_one_is_found(cause: Cause) -> None:
    """Both are reported: fixing only the first gains little."""
    comparison = compare_pod(replace(POD, hosts=6, delays=(LOADER, Delay(2, cause, 30 * MS))))
    assert comparison.late_hosts.parties == [5, 2]
    assert [late_cause.name for late_cause in comparison.causes if late_cause] == ["input", cause]
    truth = compare_pod(replace(POD, hosts=6)).table.mean_step_ps
    assert comparison.step_if_fixed_ps == pytest.approx(truth, rel=0.05)


def test_lateness_is_relative_to_the_hosts_that_are_not_late() -> None:
    """Six of eight hosts are late: the median host of all is one of them."""
    late_hosts = tuple(Delay(host, "device", 8 * MS) for host in range(6))
    comparison = compare_pod(replace(POD, delays=late_hosts))
    assert sorted(comparison.late_hosts.parties) == [0, 1, 2, 3, 4, 5]
    assert comparison.late_ps(0) == pytest.approx(8 * MS, rel=0.05)


def test_a_slightly_late_host_costs_little() -> None:
    comparison = compare_pod(replace(POD, delays=(Delay(3, "device", MS),)))
    step = comparison.table.mean_step_ps
    assert step is not None
    assert comparison.step_if_fixed_ps == pytest.approx(step - MS, abs=MS // 5)


def test_unrelated_jobs_do_not_limit_the_gain() -> None:
    """The hosts of another program do not wait for the late one, so only half of the hosts gain from its fix."""
    module_names = dict.fromkeys(range(4), "SyncTensorsGraph.9")
    comparison = compare_pod(replace(POD, module_names=module_names, delays=(LOADER,)))
    assert comparison.late_hosts.parties == [5]
    step = comparison.table.mean_step_ps
    assert step is not None
    gain_of_job = 0.4
    assert comparison.step_if_fixed_ps == pytest.approx(step * (1 - gain_of_job / 2), rel=0.05)


def test_a_different_late_host_in_each_step() -> None:
    late_hosts = tuple(Delay(step * 5 % HOSTS, "input", 40 * MS, (step,)) for step in range(STEPS))
    comparison = compare_pod(replace(POD, delays=late_hosts))
    finding = straggler_finding(comparison)
    assert finding is not None
    assert (comparison.late_hosts.kind, comparison.late_hosts.parties) == ("changing", [])
    assert finding.evidence["cause"] == "input"
    assert finding.title == "In each step another host holds up the others"
    check_texts(comparison)


def test_one_late_host_hides_another() -> None:
    """Without the first, the second one is last: only fixing both gains everything."""
    comparison = compare_pod(CASES["two with different causes"][0])
    finding = straggler_finding(comparison)
    assert finding is not None
    for part in (f"Feed {pod.name_of(3)} as", "; look at the device", f"or take {pod.name_of(6)} out"):
        assert part in finding.advice
    without_first = compare_pod(replace(POD, delays=(Delay(6, "device", 10 * MS),)))
    assert comparison.late_hosts.parties == [3, 6]
    assert [cause.name for cause in comparison.causes if cause] == ["input", "device"]
    assert without_first.step_if_fixed_ps == pytest.approx(comparison.step_if_fixed_ps, rel=0.02)


def test_the_usual_step_has_no_host_that_was_late_once() -> None:
    """A mistake in every step costs the same share of the usual step as before."""
    late_once = replace(POD, delays=CASES["one compilation"][0].delays)
    files = enumerate(pod.files(late_once))
    traces = [trace_of(space.to_bytes(), pod.name_of(host)) for host, space in files]
    document: Any = session_report(session(*traces))
    before = document["mistakes"]
    before |= {"usual_step_ps": before["step_ps"], "step_if_fixed_ps": before["step_ps"] * 9 // 10}
    [straggler] = (row for row in document["findings"] if row["id"] == "straggler")
    result, _ = with_host_comparison(document, Findings([], before), compare_pod(late_once))
    mistakes = result["mistakes"]
    fixed = straggler["step_if_fixed_ps"]
    assert mistakes["usual_step_ps"] == fixed
    assert mistakes["step_if_fixed_ps"] == pytest.approx(0.9 * fixed)


def test_missing_files() -> None:
    comparison = compare_pod(replace(POD, delays=(LOADER,)), missing={1, 2})
    assert [comparison.hosts[host].name for host in comparison.late_hosts.parties] == [pod.name_of(5)]
    assert comparison.note is None


@pytest.mark.parametrize("late_ps", [5 * MS, 0])
def test_cores_of_one_host(late_ps: int) -> None:
    late_cores = (Delay(0, "device", late_ps, core=2),) if late_ps else ()
    comparison = compare_pod(replace(POD, hosts=1, cores=4, delays=late_cores))
    assert comparison.state == "one_host"
    finding = straggler_finding(comparison)
    if not late_ps:
        assert finding is None
        return
    assert finding is not None
    assert finding.title == "TPU:2 holds up the other cores"
    assert finding.evidence["cause"] == "device"
    truth = compare_pod(replace(POD, hosts=1, cores=4)).table.mean_step_ps
    assert finding.step_if_fixed_ps == pytest.approx(truth, rel=0.1)
    check_texts(comparison)


@pytest.mark.parametrize("cause", ["input", "python", "tracing"])
def test_the_median_host_is_not_late(cause: Cause) -> None:
    comparison = compare_pod(replace(POD, delays=tuple(Delay(host, cause, 38 * MS) for host in range(5))))
    assert sorted(comparison.late_hosts.parties) == [0, 1, 2, 3, 4]
    assert comparison.median_host in (5, 6, 7)


def test_exposed_time_without_waiting() -> None:
    """The exposed time without waiting equals that of the same pod without the late host."""
    with_late_host, even = compare_pod(replace(POD, delays=(LOADER,))), compare_pod(POD)
    rows, truth = exposed_without_waiting(with_late_host), exposed_without_waiting(even)
    for host in range(HOSTS):
        assert rows[host]["left_ps"] == rows[host]["exposed_ps"] - rows[host]["waiting_ps"]
        assert rows[host]["left_ps"] == pytest.approx(truth[host]["left_ps"], rel=0.02)
    assert rows[0]["waiting_ps"] > 0.7 * rows[0]["exposed_ps"]
    assert (exposed_waits_ps(with_late_host.arrivals) >= 0).all()


def test_a_cut_file_has_no_cause_and_is_not_the_median_host() -> None:
    """The missing part of the file may be of any class."""
    hosts = inputs(replace(POD, hosts=4, delays=(Delay(3, "input", 38 * MS),)))
    whole = compare_hosts(hosts)
    for cut_host in (whole.median_host, 3):
        assert cut_host is not None
        cut = replace(
            hosts[cut_host], document={**hosts[cut_host].document, "diagnostics": [{"id": "truncated_file"}]}
        )
        comparison = compare_hosts([cut if number == cut_host else host for number, host in enumerate(hosts)])
        assert comparison.late_hosts.parties == [3]
        assert comparison.median_host != cut_host
        assert host_rows(comparison)[cut_host]["difference"] == {"class": "unrecorded", "longer_ps": 0}
        assert (comparison.causes == (None,)) == (cut_host == 3)


def test_the_wait_of_each_other_host_is_its_mean_over_the_steps() -> None:
    """Four of eight hosts are late, the other four wait equally long for them."""
    comparison = compare_pod(CASES["every other host"][0])
    mean_ms = re.search(r"for them, ([\d.]+)\s?ms each in a step\.$", verdict_text(comparison))
    assert mean_ms is not None
    for host in (0, 2, 4, 6):
        waits_ps = int(comparison.arrivals.waits_ps[:, host].sum())
        assert float(mean_ms[1]) == pytest.approx(waits_ps / STEPS / MS, abs=0.1)


def test_waits_are_means_over_the_steps_that_hosts_have() -> None:
    """Not over the steps of all captures together, if these begin and end at different steps."""
    training = Pod(hosts=4, cores=1, steps=20, ops=1, delays=(Delay(2, "input", 38 * MS),))
    ranges = {0: (0, 12), 1: (7, 19), 2: (2, 15), 3: (4, 18)}
    comparison = compare_pod(replace(training, captured_steps=ranges))
    assert comparison.arrivals.step_count == 20
    rows = host_rows(comparison)
    steps, waits_ps = (sum(row[key] or 0 for row in rows) for key in ("steps", "waits_ps"))
    assert steps == 13 + 13 + 14 + 15
    assert comparison.late_hosts.waits_ps == pytest.approx(waits_ps / steps, rel=0.01)
    others_ps = sum(rows[host]["waits_ps"] or 0 for host in (0, 1, 3))
    mean_ms = re.search(r"for it, ([\d.]+)\s?ms each in a step\.$", verdict_text(comparison))
    assert mean_ms is not None
    assert float(mean_ms[1]) == pytest.approx(others_ps / (13 + 13 + 15) / MS, rel=0.01)


def test_windows_end_with_an_arrival_as_the_file_of_a_drifting_clock_has_it() -> None:
    drifting = Clock(3 * MS, drift_ppm=50.0)
    comparison = compare_pod(
        replace(POD, hosts=4, steps=40, clocks={2: drifting}, delays=(Delay(2, "input", 38 * MS),))
    )
    assert comparison.arrivals.clocks.drift[2]
    finding = straggler_finding(comparison)
    assert finding is not None
    begins = set(comparison.hosts[2].collectives.begin_ps.tolist())
    shifts = [{window.end_ps - begin for begin in begins} for window in finding.windows]
    assert len(shifts) > 1
    assert set.intersection(*shifts)  # one shift of the whole file


def test_recorded_trainings_with_and_without_a_late_loader() -> None:
    """In one recording, one of four processes takes 30 ms more for its batch. Its predicted step without that lateness
    is the step of the other recording."""
    late_loader, steady = compare_hosts(recorded("late_loader")), compare_hosts(recorded("steady"))
    finding = straggler_finding(late_loader)
    assert finding is not None
    assert finding.evidence["hosts"] == ["demo-w-2"]
    assert finding.evidence["last_count"] == [12]
    assert finding.evidence["cause"] == "input"
    assert finding.evidence["annotation"] == "train/next_batch"
    assert finding.evidence["late_ps"][0] == pytest.approx(30 * MS, rel=0.05)
    assert finding.step_if_fixed_ps == pytest.approx(steady.table.mean_step_ps, rel=0.03)
    assert straggler_finding(steady) is None
    assert steady.late_hosts.kind == "none"


def test_equally_late_hosts_are_late_in_the_steps_of_any() -> None:
    """Another one of them is last each time."""
    comparison = compare_pod(CASES["every other host"][0])
    steps = [np.arange(first, STEPS, 4) for first in range(4)]
    comparison = replace(comparison, late_hosts=replace(comparison.late_hosts, steps=steps))
    finding = straggler_finding(comparison)
    assert finding is not None
    assert " in 12 of 12 steps" in finding.detail
    assert " in 12 of 12 steps" in verdict_text(comparison)
    assert " its " not in finding.advice
