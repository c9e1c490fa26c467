"""The finding about a device that is the bottleneck."""

from __future__ import annotations

from tb_xla_insights.analysis.delays.callbacks import find_callbacks
from tb_xla_insights.analysis.delays.collectives import find_collectives
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import (
    OWN_WORK,
    Finding,
)
from tb_xla_insights.analysis.idle.busy import busy, stalls
from tb_xla_insights.analysis.launches.enqueues import NONE
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_sources import recorded_times
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.steps.step_table import device_busy_ps
from tb_xla_insights.analysis.thresholds import DEVICE_BOUND_SHARE
from tb_xla_insights.analysis.time.intervals import union_all
from tb_xla_insights.text.english import sentences
from tb_xla_insights.text.units import brief_times, share
from tb_xla_insights.trace.model import Trace


def device_bound(facts: Facts) -> Finding | None:
    """Cores that compute for nearly all of their spans, the busiest of them busy for nearly all of the steps, so that
    no change on the host is worthwhile. None if the capture cannot show that: with one run per core there are no gaps
    between runs; without a run that was joined to its launch it is unknown whether the host keeps up; and without ops
    it is unknown whether runs compute or wait for a callback, another core or memory."""
    trace = facts.trace
    has_joined_runs = bool((find_launches(trace).runs.join != NONE).any())
    has_gaps_between_runs = any(len(device.runs) > 1 for device in trace.devices)
    lacks_ops = any(not len(device.ops) for device in trace.devices)
    busy_ps = sum(busy(trace, device).total_ps for device in trace.devices)
    computing_share = _computing_ps(trace) / facts.span_ps if facts.span_ps else 0.0
    share_of_steps = _share_of_steps(trace)
    if (
        not has_gaps_between_runs
        or not has_joined_runs
        or lacks_ops
        or computing_share < DEVICE_BOUND_SHARE
        or (share_of_steps is not None and share_of_steps < DEVICE_BOUND_SHARE)
    ):
        return None
    duty = busy_ps / facts.span_ps
    return Finding(
        "device_bound",
        f"The device is the bottleneck: {share(duty)} busy",
        OWN_WORK,
        sentences(
            f"{facts.core_subject} computes {share(computing_share)} of the time, and the host {_lead_text(trace)}"
        ),
        "Make the device's work cheaper: larger or lower-precision matrix products, fewer ops that only move data, "
        "more cores.",
        0,
        {"duty_cycle": duty, "computing_share": computing_share, "share_of_steps": share_of_steps},
    )


def _computing_ps(trace: Trace) -> int:
    """The busy time of all devices without stalls, exposed collectives and callbacks, which may overlap: an exposed
    `all-reduce-done` is also a stall."""
    total = 0
    for index, device in enumerate(trace.devices):
        waits = (
            stalls(trace, device),
            find_collectives(trace, index).exposed_intervals,
            find_callbacks(trace, index).waits,
        )
        total += busy(trace, device).without(union_all(waits)).total_ps
    return total


def _lead_text(trace: Trace) -> str:
    """`runs ahead: a step takes the device 28.5 ms, the host 20.8 ms`; `keeps up` if the host is not known to be
    faster. The host's steps include its waits."""
    if find_launches(trace).handed_over_times is None:
        return "keeps up"
    steps = len(find_steps(trace))
    work = int(device_busy_ps(trace).sum())
    start, end = recorded_times(trace)
    host = int((end - start)[:steps].sum())
    work_text, host_text = brief_times(work // steps, host // steps)
    return (
        f"runs ahead: a step takes the device {work_text}, the host {host_text}"
        if host < work
        else "keeps up"
    )


def _share_of_steps(trace: Trace) -> float | None:
    """The busy time of the busiest core in the steps, as a share of their time; None without steps."""
    total = sum(step.duration_ps for step in find_steps(trace))
    return int(device_busy_ps(trace).sum()) / total if total else None
