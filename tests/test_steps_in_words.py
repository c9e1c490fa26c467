"""What is said of a range of steps of several hosts, and of one host in them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pods import LOADER, POD, compare_pod
from synthetic import pod
from synthetic.pod_schedule import Delay, Pod
from synthetic.times import MS

from tb_xla_insights.pod.comparison import HostComparison
from tb_xla_insights.pod.host_steps import COLUMNS
from tb_xla_insights.pod.hosts_verdict import best_case
from tb_xla_insights.pod.hosts_view import hosts_view
from tb_xla_insights.pod.steps_in_words import hosts_in_steps


def late() -> HostComparison:
    return compare_pod(replace(POD, delays=(LOADER,)))


def even() -> HostComparison:
    return compare_pod(replace(POD, delays=()))


def said(comparison: HostComparison, host: int, steps: range | None) -> dict[str, Any]:
    return {**hosts_in_steps(comparison, host, steps)}


def verdict(comparison: HostComparison, steps: range) -> str:
    return "".join(said(comparison, 0, steps)["text"]).replace("\u202f", " ")


def difference(comparison: HostComparison, host: int, steps: range | None) -> str:
    text: str = said(comparison, host, steps)["difference"].replace("\u202f", " ")
    return text


def test_a_range_of_steps_has_its_own_verdict() -> None:
    assert re.fullmatch(
        rf"In steps 1206 – 1209 {pod.name_of(5)} arrives last in 33\.3 % of the all-reduces: next_batch \(input\) "
        rf"takes 40\.0 ms, 2\.0\d ms on the median host {pod.name_of(4)}\. The others wait \d+ ms for it, [\d.]+ ms "
        r"each in a step\.",
        verdict(late(), range(2, 6)),
    )
    assert verdict(late(), range(3, 4)).startswith("In step 1207 ")
    assert said(late(), 0, None)["text"] is None
    two = compare_pod(replace(POD, hosts=2, delays=(Delay(1, "input", 38 * MS),)))
    assert re.search(
        rf"\. {pod.name_of(0)} waits [\d.]+ ms for it, [\d.]+ ms in a step\.$", verdict(two, range(2, 6))
    )


def test_a_range_without_late_host_or_collective_says_so() -> None:
    assert re.fullmatch(
        r"No host stands out in steps 1206 – 1209: each is last in [\d.]+ % – [\d.]+ % of the all-reduces\.",
        verdict(even(), range(2, 6)),
    )
    instances = late().arrivals.instances
    elsewhere = replace(instances, step=np.full_like(instances.step, 9))
    moved = replace(late(), arrivals=replace(late().arrivals, instances=elsewhere))
    assert verdict(moved, range(2, 6)) == "No collective was compared in steps 1206 – 1209."


def test_figures_of_all_steps_are_those_of_the_view() -> None:
    figures, of_view = said(late(), 0, range(12))["figures"], hosts_view(late())["figures"]
    assert figures["step_ps"] == pytest.approx(of_view["step_ps"], abs=2)
    assert figures["waits_ps"] == pytest.approx(of_view["waits_ps"], abs=2)
    assert figures["step_if_fixed_ps"] is None


def test_figures_are_means_over_the_steps_that_hosts_have() -> None:
    """Hosts whose clock is not known are not compared: their steps do not count among those that wait."""
    own_step = late().table.own_step.copy()
    own_step[3, 4:] = -1
    whole, part = (
        said(replace(late(), table=replace(late().table, own_step=steps)), 0, range(2, 6))["figures"][
            "waits_ps"
        ]
        for steps in (late().table.own_step, own_step)
    )
    assert part / whole == pytest.approx(32 / 30)
    is_known = late().arrivals.clocks.is_known.copy()
    is_known[3] = False
    clocks = replace(late().arrivals.clocks, is_known=is_known)
    unrelated = replace(late(), arrivals=replace(late().arrivals, clocks=clocks))
    assert said(unrelated, 0, range(2, 6))["figures"]["waits_ps"] / whole == pytest.approx(32 / 28)


def test_the_late_host_has_the_cause_of_the_verdict_in_all_steps() -> None:
    median = pod.name_of(4)
    assert re.fullmatch(
        rf"next_batch \(input\) takes 40\.0 ms in 12 of 12 steps, 2\.0\d ms on the median host {median}\. The host "
        r"arrives [\d.]+ ms late on average: the median host waits in the all-reduce meanwhile\.",
        difference(late(), 5, None),
    )
    assert re.fullmatch(
        rf"Input takes 38\.0 ms longer than on the median host {median}\. The host arrives [\d.]+ ms late: the median "
        r"host waits in the all-reduce meanwhile\.",
        difference(late(), 5, range(3, 4)),
    )
    assert difference(late(), 4, None).startswith("This is the median host")
    assert difference(late(), 0, None) == "No class takes clearly longer."


def with_times(**times_ms: int) -> HostComparison:
    """The pod without a late host, in which host 0 spends as much more time in some columns than the median host."""
    times_ps = even().table.times_ps.copy()
    times_ps[0] = times_ps[even().median_host]
    for name, ms in times_ms.items():
        times_ps[0, :, COLUMNS.index(name)] += ms * MS
    changed = replace(even(), table=replace(even().table, times_ps=times_ps))
    changed.__dict__["median_host"] = even().median_host
    return changed


def test_a_host_that_makes_up_for_a_longer_class_is_not_late() -> None:
    text = difference(with_times(input=8, wait=-8), 0, None)
    assert re.fullmatch(
        r"Input takes 8\.00 ms longer than on the median host \S+\. The host still does not arrive later: it waits "
        r"less for its device instead\.",
        text,
    )
    assert difference(with_times(input=8), 0, None).endswith(pod.name_of(even().median_host or 0) + ".")


def test_the_work_of_the_busiest_core_is_told_if_it_differs() -> None:
    assert re.fullmatch(
        r"No class takes clearly longer\. Its busiest core computes for [\d.]+ ms, that of the median host for [\d.]+ "
        r"ms\.",
        difference(with_times(device=3), 0, None),
    )


def test_nothing_is_said_of_steps_that_a_host_does_not_have() -> None:
    cut = compare_pod(Pod(hosts=6, cores=2, steps=10, ops=2, captured_steps={1: (3, 9)}))
    assert difference(cut, 1, range(1)) == ""
    assert difference(cut, 1, None)
    without = replace(cut.table, own_step=np.full_like(cut.table.own_step, -1))
    assert said(replace(cut, table=without), 1, None) == {
        "text": None,
        "figures": {"step_ps": None, "waits_ps": None, "step_if_fixed_ps": None},
        "difference": "",
    }


def test_the_step_at_best_is_without_the_late_hosts() -> None:
    several = compare_pod(replace(POD, delays=tuple(Delay(host, "device", 8 * MS) for host in (1, 2))))
    core = compare_pod(replace(POD, hosts=1, cores=4, delays=(Delay(0, "device", 5 * MS, core=1),)))
    changing = replace(even(), late_hosts=replace(even().late_hosts, kind="changing"))
    assert [best_case(comparison) for comparison in (late(), several, core, even(), changing)] == [
        f"if {pod.name_of(5)} were like the rest",
        "if 2 hosts were like the rest",
        "if TPU:1 were like the rest",
        "no host is late",
        "if no host were late",
    ]
