"""Findings about the device itself: ops that only wait, exposed collectives, and a device that is the bottleneck."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

import numpy as np

from tb_xla_insights.analysis.delays.callbacks import find_callbacks
from tb_xla_insights.analysis.delays.collectives import find_collectives
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import (
    MAX_WINDOWS,
    OWN_WORK,
    Finding,
    ShownWindow,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.idle.busy import busy, stall_ops, stalls
from tb_xla_insights.analysis.launches.enqueues import NONE
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_sources import recorded_times
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.opcodes import COLLECTIVE_KINDS, collective_kind, opcode
from tb_xla_insights.analysis.propagation.columns import runs_of_ops
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.steps.step_table import device_busy_ps
from tb_xla_insights.analysis.thresholds import DEVICE_BOUND_SHARE, INFO_SHARE
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import Intervals, union_all
from tb_xla_insights.arrays import Int64
from tb_xla_insights.text.english import Phrase, join_words, sentences
from tb_xla_insights.text.units import brief_times, share
from tb_xla_insights.trace.device import DeviceKind
from tb_xla_insights.trace.model import Trace


def device_stalls(facts: Facts) -> Finding | None:
    """Busy time in which ops only wait for asynchronous ones, without collectives, whose exposed time is another
    finding's."""
    trace = facts.trace
    stalls_by_device = [(device, _stalls(trace, index)) for index, device in enumerate(trace.devices)]
    cost = sum(intervals.total_ps for _, intervals in stalls_by_device)
    if not cost:
        return None
    busy_ps = sum(busy(trace, device).total_ps for device in trace.devices)
    ops = _stall_times(trace)
    total_ps = sum(time_ps for _, time_ps in ops)
    awaited = Counter[str]()
    for op, time_ps in ops:
        awaited[_awaited(op)] += time_ps
    main = max(_STALL_ADVICE, key=lambda kind: awaited[kind])
    # The longest of the ops to which the advice applies.
    candidates = [(op, ps) for op, ps in ops if _awaited(op) == main]
    long_ops = [op for op, ps in candidates if ps >= _MIN_NAMED_SHARE * total_ps]
    name = join_words(
        long_ops or [f"ops such as {candidates[0][0] if candidates else 'an asynchronous one'}"]
    )
    awaited_text = join_words([op.removesuffix("-done") for op in long_ops]) or name
    windows = (
        ShownWindow(start, end, device.id)
        for device, intervals in stalls_by_device
        for start, end in _longest_intervals(intervals.start_ps, intervals.end_ps)
    )
    times = [intervals for _, intervals in stalls_by_device]
    frequency = facts.frequency_of_times(times)
    return Finding(
        "device_stalls",
        first_fitting_title(f"The device is busy waiting in {name}", "The device is busy waiting"),
        f"waiting in {name}",
        sentences(
            f"{facts.core_subject} does nothing but wait for {facts.mean_of_times(times, frequency)}, "
            f"{share(cost / busy_ps)} of its busy time, mostly in {name}"
        ),
        _STALL_ADVICE[main],
        cost,
        {
            "stall_ps": cost,
            "busy_ps": busy_ps,
            "share_of_busy": cost / busy_ps,
            "ops": [{"op": op, "duration_ps": time_ps} for op, time_ps in ops[:5]],
        },
        longest_windows(windows),
        frequency,
        Fix(device_ps=_stall_ps_of_runs(trace)),
        waits_for=Phrase("copies between memories" if main == "copy" else awaited_text),
    )


_MIN_NAMED_SHARE = 0.25
"""The least share of the stalls of an op that is named, if any op has it: a SparseCore's gather and scatter may have
equal shares."""

_STALL_ADVICE = {
    "copy": "Move less between host and device memory, or earlier: offload fewer buffers, prefetch further ahead, keep "
    "on the device what is needed again soon.",
    "other": "Start the awaited ops earlier, or let work that needs none of them run between their start and end.",
}
"""By what a device waits for."""


def _awaited(op: str) -> str:
    """What an op with this opcode waits for: a copy between memories, or something else, such as a SparseCore."""
    return "copy" if op.startswith(("copy", "slice", "dynamic")) else "other"


def _stalls(trace: Trace, index: int) -> Intervals:
    """The stalls of a device (an index), without its exposed collectives."""
    return stalls(trace, trace.devices[index]).without(find_collectives(trace, index).exposed_intervals)


def _longest_intervals(start_ps: Int64, end_ps: Int64) -> Iterable[tuple[int, int]]:
    longest = np.argsort(start_ps - end_ps, kind="stable")[:MAX_WINDOWS]
    return zip(start_ps[longest].tolist(), end_ps[longest].tolist(), strict=True)


def _stall_times(trace: Trace) -> list[tuple[str, int]]:
    """The opcodes that devices stall in, without collectives, with their time in ps, the longest first."""
    times: Counter[str] = Counter()
    for device in trace.devices:
        for row in stall_ops(trace, device):
            if not collective_kind(row["op"]):
                times[opcode(row["op"])] += row["duration_ps"]
    return times.most_common()


def _stall_ps_of_runs(trace: Trace) -> Int64:
    """Per run of Launches.runs, how long its device stalls."""
    runs = find_launches(trace).runs
    stall_ps = np.zeros(len(runs), np.int64)
    for index in range(len(trace.devices)):
        rows, stalled = runs.of_device(index), _stalls(trace, index)
        stall_ps[rows] = covered_times(
            stalled.start_ps, stalled.end_ps, runs.start_ps[rows], runs.end_ps[rows]
        )
    return stall_ps


def exposed_collectives(facts: Facts) -> Finding | None:
    """Time in collectives in which the core computes nothing. Of an asynchronous collective that is the time of the op
    that waits for its end; nothing is said about the time before, which computation may hide."""
    trace = facts.trace
    cost = int(exposed_ps(trace).sum())
    if not cost:
        return None
    total, exposed_by_kind = 0, Counter[str]()
    windows = []
    for index, device in enumerate(trace.devices):
        collectives = find_collectives(trace, index)
        total += int(collectives.duration_ps.sum())
        for kind in np.unique(collectives.kind).tolist():
            is_kind = collectives.kind == kind
            exposed_by_kind[COLLECTIVE_KINDS[kind]] += int(collectives.exposed_ps[is_kind].sum())
        most_exposed = np.argsort(-collectives.exposed_ps, kind="stable")[:MAX_WINDOWS]
        windows += [
            ShownWindow(int(device.ops.start_ps[op]), int(device.ops.end_ps[op]), device.id)
            for op in collectives.op[most_exposed].tolist()
        ]
    kinds = [kind for kind, time in exposed_by_kind.most_common() if time >= INFO_SHARE * cost]
    names = [join_words(kinds), "collectives"]
    exposed = [find_collectives(trace, index).exposed_intervals for index in range(len(trace.devices))]
    frequency = facts.frequency_of_times(exposed)
    share_of_total = "" if cost == total else f", {share(cost / total)} of their ops' time"
    title = first_fitting_title(*(f"Time in {name} without computing" for name in names))
    name = names[0] if names[0] in title else names[1]
    return Finding(
        "exposed_collectives",
        title,
        f"time in {name} without computing",
        sentences(
            f"{facts.core_subject} spends {facts.mean_of_times(exposed, frequency)} in collectives while it computes "
            f"nothing{share_of_total}"
        ),
        _advise_hiding(name, {device.kind for device in trace.devices}),
        cost,
        {"duration_ps": total, "exposed_ps": cost, "kinds": dict(exposed_by_kind.most_common())},
        longest_windows(windows),
        frequency,
        Fix(device_ps=_exposed_ps_of_runs(trace)),
        waits_for=Phrase(name),
    )


def _advise_hiding(name: str, kinds: Collection[DeviceKind]) -> str:
    """Advice to hide collectives on devices of some kinds."""
    if kinds == {"cpu"}:
        return (
            f"Measure {name} on an accelerator: CPU devices share the machine's processors, and in a collective "
            "each waits for the last one."
        )
    flags = _SCHEDULER_FLAGS.get(join_words(sorted(kinds)), "")
    return (
        f"Overlap {name} with computation (latency-hiding scheduler{flags}, gradients "
        "reduced in buckets during backward), or send less (bfloat16, sharding)."
    )


_SCHEDULER_FLAGS = {"tpu": " by --xla_tpu_… flags", "gpu": " by --xla_gpu_… flags"}
"""The flags that enable the latency-hiding scheduler, by kind of device."""


@memoised
def exposed_ps(trace: Trace) -> Int64:
    """Per device, the exposed time of its collectives in ps."""
    return np.array(
        [int(find_collectives(trace, index).exposed_ps.sum()) for index in range(len(trace.devices))],
        np.int64,
    )


def _exposed_ps_of_runs(trace: Trace) -> Int64:
    """Per run of Launches.runs, the exposed time of its collectives."""
    runs = find_launches(trace).runs
    run_exposed_ps = np.zeros(len(runs), np.int64)
    for index in range(len(trace.devices)):
        collectives = find_collectives(trace, index)
        run = runs_of_ops(trace, index)[collectives.op]
        np.add.at(run_exposed_ps, run[run >= 0], collectives.exposed_ps[run >= 0])
    return run_exposed_ps


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
