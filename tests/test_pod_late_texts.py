"""What is said of late hosts and cores: names, advice, verdict."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from build import trace_of
from captures import session
from pods import LOADER, POD, compare_pod
from synthetic import pod
from synthetic.pod_schedule import Delay, Pod
from synthetic.times import MS

from tb_xla_insights.pod.advice import advice_text
from tb_xla_insights.pod.hosts_verdict import verdict_text
from tb_xla_insights.pod.straggler import (
    straggler_finding,
    waiting_hosts_text,
)
from tb_xla_insights.report.document import session_report
from tb_xla_insights.report.finding_text import gain_of

LOADER_OF_2 = Delay(2, "input", 38 * MS)
COMPILES_ONCE = Delay(1, "compile", 900 * MS, (5,))


def report_of_pod(training: Pod) -> Any:
    traces = [trace_of(space.to_bytes(), pod.name_of(host)) for host, space in enumerate(pod.files(training))]
    return session_report(session(*traces))


def test_the_title_names_only_hosts_that_wait() -> None:
    """Hosts exchange in pairs: the other six share no collective with the late one."""
    pairs = tuple((host, host + 4) for host in range(4))
    finding = straggler_finding(
        compare_pod(replace(POD, groups=pairs, exchanges_loss=False, delays=(LOADER,)))
    )
    assert finding is not None
    assert finding.title == f"{pod.name_of(5)} holds up {pod.name_of(1)}"


def test_advice_names_hosts_or_cores() -> None:
    cores = compare_pod(replace(POD, hosts=1, cores=4, delays=(Delay(0, "device", 5 * MS, core=2),)))
    changing = replace(cores.late_hosts, kind="changing", parties=[], steps=[])
    assert "of all cores more even" in advice_text(replace(cores, late_hosts=changing, causes=(None,)))
    host = cores.hosts[0].name
    assert advice_text(replace(cores, causes=(None,))).startswith(f"Capture {host} again")

    hosts = compare_pod(replace(POD, delays=tuple(Delay(host, "device", 8 * MS) for host in range(6))))
    assert "check these hosts for a hot or faulty chip" in advice_text(hosts)

    late = compare_pod(replace(POD, hosts=2, delays=(Delay(1, "input", 38 * MS),)))
    without_steps = replace(late.table, own_step=np.full_like(late.table.own_step, -1))
    advice = advice_text(replace(late, table=without_steps, causes=(None,)))
    assert advice.startswith(f"Capture {pod.name_of(1)} and another host again")


def test_the_verdict_says_who_waits_and_at_which_collectives() -> None:
    """Of two hosts, or in a pair of eight, one waits; collectives of several kinds have no common name."""
    two_hosts = compare_pod(replace(POD, hosts=2, delays=(Delay(1, "input", 38 * MS),)))
    pairs = tuple((host, host + 4) for host in range(4))
    in_pairs = compare_pod(replace(POD, groups=pairs, exchanges_loss=False, delays=(LOADER,)))
    for comparison, waiting in ((two_hosts, 0), (in_pairs, 1)):
        text = verdict_text(comparison).replace("\u202f", " ")
        assert re.search(rf" {pod.name_of(waiting)} waits [\d.]+ m?s for it, [\d.]+ ms in a step\.$", text)
        assert " of the all-reduces: " in text
    shared = two_hosts.arrivals.shared
    first, *rest = shared.instructions
    mixed = replace(shared, instructions=[replace(first, kind="all-gather"), *rest])
    comparison = replace(two_hosts, arrivals=replace(two_hosts.arrivals, shared=mixed))
    assert " of the collectives: " in verdict_text(comparison)


def test_cores_that_wait_are_counted_as_cores() -> None:
    two, four = (
        compare_pod(replace(POD, hosts=1, cores=cores, delays=(Delay(0, "device", 5 * MS, core=1),)))
        for cores in (2, 4)
    )
    assert waiting_hosts_text(two) == "TPU:0"
    assert waiting_hosts_text(four) == "the other cores"
    assert "The other cores wait " in verdict_text(four)


@pytest.mark.parametrize(("late_steps", "in_steps"), [((5,), "in that step"), ((1, 3, 5), "in such a step")])
def test_the_time_of_a_late_core_is_that_of_the_steps_in_which_it_is_late(
    late_steps: tuple[int, ...], in_steps: str
) -> None:
    """A core computes for 26.1 ms a step, and in these steps for 80 ms more."""
    late_core = Delay(0, "device", 80 * MS, late_steps, core=2)
    comparison = compare_pod(replace(POD, hosts=1, cores=4, delays=(late_core,)))
    finding = straggler_finding(comparison)
    assert finding is not None
    detail, verdict = (text.replace("\u202f", " ") for text in (finding.detail, verdict_text(comparison)))
    assert f" Device work takes 106 ms {in_steps} on TPU:2, 26.1 ms on its neighbours." in detail
    assert f": device work takes 106 ms in {len(late_steps)} of 12 steps, 26.1 ms on its " in verdict


@pytest.mark.parametrize(("late_steps", "in_steps"), [(12, "in 12 of 12 steps"), (11, "a step")])
def test_the_verdict_has_the_mean_over_all_steps_of_a_host_that_is_late_in_nearly_all(
    late_steps: int, in_steps: str
) -> None:
    loader = replace(LOADER_OF_2, steps=tuple(range(late_steps)))
    comparison = compare_pod(replace(POD, hosts=4, delays=(loader,)))
    assert comparison.late_step_count == late_steps
    assert f" ms {in_steps}, 2.03 ms on the median host " in verdict_text(comparison).replace("\u202f", " ")


def test_each_reason_of_late_hosts_is_given_for_the_steps_in_which_they_are_late() -> None:
    """A host loads slowly in every step, another one compiles once: the time of compiling is no time of every step, and
    the advice is about both hosts."""
    training = replace(POD, hosts=4, delays=(LOADER_OF_2, COMPILES_ONCE))
    report = report_of_pod(training)
    finding = next(row for row in report["findings"] if row["id"] == "straggler")
    loads, compiles = pod.name_of(2), pod.name_of(1)
    detail, advice = finding["detail"].replace("\u202f", " "), finding["advice"]
    assert f" compile takes 900 ms in 1 of 12 steps on {compiles}, nothing on " in detail
    assert f"; next_batch (input) takes 40.0 ms a step on {loads}, " in detail
    assert f". On {compiles}, compiling takes 900 ms; " in detail
    assert f"Find out what {compiles} must compile" in advice
    assert f"; feed {loads} as fast as the rest" in advice


def test_what_delayed_the_others_once_is_no_cost_of_every_step() -> None:
    """A host loads slowly in every step, another one compiles once: without the compilation, the step is as long as in
    a pod in which no host compiles, up to 5 %."""
    report, without_compilation = (
        report_of_pod(replace(POD, hosts=4, delays=delays))
        for delays in ((LOADER_OF_2, COMPILES_ONCE), (LOADER_OF_2,))
    )
    mistakes, truth = report["mistakes"], without_compilation["mistakes"]
    assert mistakes["usual_step_ps"] == pytest.approx(truth["usual_step_ps"], rel=0.05)
    assert mistakes["step_if_fixed_ps"] == pytest.approx(truth["step_if_fixed_ps"], rel=0.05)
    [finding] = (row for row in report["findings"] if row["id"] == "straggler")
    assert finding["gain"] == pytest.approx(1 - mistakes["step_if_fixed_ps"] / mistakes["usual_step_ps"])
    gain = gain_of(finding, report).text.replace("\u202f", " ")
    assert gain == "−41.3 % of a step, 51.7 → 30.4 ms"
    fix = "Fix first: the late arrival of 2 hosts (compile); that brings a step from 51.7 to 30.4 ms."
    assert report["verdict"]["details"].replace("\u202f", " ").startswith(fix)


def test_the_usual_step_is_the_mean_step_if_little_more_than_one_delay_costs_the_others() -> None:
    comparison = compare_pod(replace(POD, hosts=4, delays=(LOADER_OF_2, COMPILES_ONCE)))
    late_hosts = comparison.late_hosts
    assert 0 < late_hosts.saved_once_ps < late_hosts.saved_ps
    mean_ps = comparison.table.mean_step_ps
    assert mean_ps is not None
    assert comparison.usual_step_ps == mean_ps - late_hosts.saved_once_ps
    almost_all_once = replace(comparison, late_hosts=replace(late_hosts, saved_once_ps=late_hosts.saved_ps))
    assert almost_all_once.usual_step_ps == mean_ps


def test_the_wait_for_a_host_that_was_late_once_is_no_mean_of_the_steps() -> None:
    text = verdict_text(compare_pod(replace(POD, hosts=4, delays=(COMPILES_ONCE,)))).replace("\u202f", " ")
    assert text.endswith("The others wait 2.65 s for it, 884 ms each.")
