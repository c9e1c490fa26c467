"""Findings about the device itself: it waits while it looks busy, exchanges data that nothing hides, or is
what limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

import numpy as np

from tb_xla_insights.analysis.device.collectives import find_collectives
from tb_xla_insights.analysis.device.opcodes import COLLECTIVES, opcode
from tb_xla_insights.analysis.findings.base import (
    MAX_WINDOWS,
    Facts,
    Finding,
    Recurs,
    Window,
    first_fitting_title,
    join_words,
    longest_windows,
)
from tb_xla_insights.analysis.host.callbacks import find_callbacks
from tb_xla_insights.analysis.idle.busy import busy, stall_ops, stalls
from tb_xla_insights.analysis.launches.enqueues import NONE
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.columns import runs_of_ops
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.steps.sources import recorded_times
from tb_xla_insights.analysis.steps.step_times import steps_of
from tb_xla_insights.analysis.steps.table import device_busy_ps
from tb_xla_insights.analysis.thresholds import DEVICE_BOUND_SHARE, EXPOSED_SHARE, INFO_SHARE
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.trace.model import DeviceKind, Int64, Trace
from tb_xla_insights.units import brief_times, share


def device_stalls(facts: Facts) -> Finding | None:
    """Busy time in which ops only wait for asynchronous ones."""
    trace = facts.trace
    parts = [(device, stalls(trace, device)) for device in trace.devices]
    cost = sum(part.total_ps for _, part in parts)
    if not cost:
        return None
    at_work = sum(busy(trace, device).total_ps for device in trace.devices)
    ops = _waiting_ops(trace)
    name = ops[0][0] if ops else "an asynchronous op"
    windows = (
        Window(start, end, device.id)
        for device, part in parts
        for start, end in _longest(part.start_ps, part.end_ps)
    )
    stalled, recurs = _stalled(trace), _recurs(facts)
    copies = name.startswith(("copy", "slice", "dynamic"))
    return Finding(
        "device_stalls",
        first_fitting_title(f"The device is busy waiting in {name}", "The device is busy waiting"),
        f"the device is busy waiting in {name}",
        f"{facts.core} does nothing but wait for {facts.mean_of_runs(stalled, recurs)}, {share(cost / at_work)} of its "
        f"busy time, mostly in {name}. Without that the duty cycle is {share((at_work - cost) / facts.span_ps)}.",
        "Move less between host and device memory, or earlier: offload fewer buffers, prefetch further ahead, keep "
        "what is used at once on the device."
        if copies
        else "Overlap collectives with computation (latency-hiding scheduler), and make them fewer and larger.",
        cost,
        {
            "stall_ps": cost,
            "busy_ps": at_work,
            "share_of_busy": cost / at_work,
            "ops": [{"op": op, "duration_ps": time} for op, time in ops[:5]],
        },
        longest_windows(windows),
        recurs,
        Fix(device_ps=stalled),
    )


def _recurs(facts: Facts) -> Recurs | None:
    return "every_step" if facts.steps else None


def _longest(start_ps: Int64, end_ps: Int64) -> Iterable[tuple[int, int]]:
    its = np.argsort(start_ps - end_ps, kind="stable")[:MAX_WINDOWS]
    return zip(start_ps[its].tolist(), end_ps[its].tolist(), strict=True)


def _waiting_ops(trace: Trace) -> list[tuple[str, int]]:
    """What devices stall in, by kind of op, the longest first."""
    found: Counter[str] = Counter()
    for device in trace.devices:
        for row in stall_ops(trace, device):
            found[opcode(row["op"])] += row["duration_ps"]
    return found.most_common()


def _stalled(trace: Trace) -> Int64:
    runs = find_launches(trace).runs
    found = np.zeros(len(runs), np.int64)
    for number, device in enumerate(trace.devices):
        its, part = runs.of_device(number), stalls(trace, device)
        found[its] = covered_times(part.start_ps, part.end_ps, runs.start_ps[its], runs.end_ps[its])
    return found


def exposed_collectives(facts: Facts) -> Finding | None:
    """Time in collectives that no computation on the same core hides."""
    trace = facts.trace
    cost = int(exposed_ps(trace).sum())
    if not cost:
        return None
    total, by_kind, whole = 0, Counter[str](), Counter[str]()
    windows = []
    for index, device in enumerate(trace.devices):
        found = find_collectives(trace, index)
        total += int(found.duration_ps.sum())
        for kind in np.unique(found.kind).tolist():
            of_kind = found.kind == kind
            by_kind[COLLECTIVES[kind]] += int(found.exposed_ps[of_kind].sum())
            whole[COLLECTIVES[kind]] += int(found.duration_ps[of_kind].sum())
        most = found.op[np.argsort(-found.exposed_ps, kind="stable")[:MAX_WINDOWS]].tolist()
        windows += [
            Window(int(device.ops.start_ps[it]), int(device.ops.end_ps[it]), device.id) for it in most
        ]
    kinds = [kind for kind, time in by_kind.most_common() if time >= INFO_SHARE * cost]
    names = [join_words(kinds), "collectives"]
    unhidden = sum(by_kind[it] for it in kinds) >= EXPOSED_SHARE * sum(whole[it] for it in kinds)
    exposed, recurs = _exposed(trace), _recurs(facts)
    of_them = "" if cost == total else f", {share(cost / total)} of all their time"
    titles = (
        f"Nothing hides the time in {it}" if unhidden else f"The time in {it} is hidden only in part"
        for it in names
    )
    title = first_fitting_title(*titles)
    name = names[0] if names[0] in title else names[1]
    return Finding(
        "exposed_collectives",
        title,
        f"nothing hides the time in {name}",
        f"{facts.core} spends {facts.mean_of_runs(exposed, recurs)} in collectives that nothing hides{of_them}.",
        _hide(name, {device.kind for device in trace.devices}),
        cost,
        {"duration_ps": total, "exposed_ps": cost, "kinds": dict(by_kind.most_common())},
        longest_windows(windows),
        recurs,
        Fix(device_ps=exposed),
    )


def _hide(name: str, kinds: Collection[DeviceKind]) -> str:
    """What hides collectives on devices of some kinds."""
    if kinds == {"cpu"}:
        return (
            f"Judge {name} on an accelerator: CPU devices share the machine's processors, and each waits in it for the "
            "last one."
        )
    flags = _FLAGS.get(join_words(sorted(kinds)), "")
    return (
        f"Overlap {name} with computation (latency-hiding scheduler{flags}, gradients "
        "reduced in buckets during backward), or send less (bfloat16, sharding)."
    )


_FLAGS = {"tpu": " by --xla_tpu_… flags", "gpu": " by --xla_gpu_… flags"}
"""What turns it on, by kind of device."""


@memoised
def exposed_ps(trace: Trace) -> Int64:
    """Per device, the exposed time of its collectives."""
    return np.array(
        [int(find_collectives(trace, it).exposed_ps.sum()) for it in range(len(trace.devices))], np.int64
    )


def _exposed(trace: Trace) -> Int64:
    runs = find_launches(trace).runs
    found = np.zeros(len(runs), np.int64)
    for number in range(len(trace.devices)):
        part = find_collectives(trace, number)
        run = runs_of_ops(trace, number)[part.op]
        np.add.at(found, run[run >= 0], part.exposed_ps[run >= 0])
    return found


def device_bound(facts: Facts) -> Finding | None:
    """Cores that compute for nearly all of their spans, and of the steps: nothing on the host is worth a
    change. A core that ran once has no gaps to show, so its span alone says nothing; where no run has a known call,
    nothing tells whether the host keeps up; and without ops, whether the runs compute or wait for a callback, another
    core or memory."""
    trace = facts.trace
    known = bool((find_launches(trace).runs.join != NONE).any())
    several = any(len(device.modules) > 1 for device in trace.devices)
    unseen = any(not len(device.ops) for device in trace.devices)
    useful = sum(busy(trace, device).total_ps for device in trace.devices)
    waited = sum(stalls(trace, device).total_ps for device in trace.devices) + int(exposed_ps(trace).sum())
    waited += sum(find_callbacks(trace, index).alone.total_ps for index in range(len(trace.devices)))
    part = (useful - waited) / facts.span_ps if facts.span_ps else 0.0
    of_step = _share_of_steps(trace)
    if (
        not several
        or not known
        or unseen
        or part < DEVICE_BOUND_SHARE
        or (of_step is not None and of_step < DEVICE_BOUND_SHARE)
    ):
        return None
    duty = useful / facts.span_ps
    return Finding(
        "device_bound",
        f"The device is the bottleneck: {share(duty)} busy",
        "the device is the bottleneck",
        f"{facts.core} computes {share(part)} of the time, and the host "
        + (f"runs ahead: {_ahead(trace)}." if find_launches(trace).handed_over is not None else "keeps up."),
        "Make the device's work cheaper: larger or lower-precision matrix products, fewer ops that only move data, "
        "more cores.",
        0,
        {"duty_cycle": duty, "computing_share": part, "share_of_steps": of_step},
    )


def _ahead(trace: Trace) -> str:
    """`a step takes the device 28.5 ms, the host 20.8 ms`."""
    steps = len(steps_of(trace))
    work = int(device_busy_ps(trace).sum())
    host = int(np.subtract(*recorded_times(trace)[::-1])[:steps].sum())
    work_text, host_text = brief_times(work // steps, host // steps)
    return f"a step takes the device {work_text}, the host {host_text}"


def _share_of_steps(trace: Trace) -> float | None:
    """The device's work in the steps, of the busiest core, as a share of their time; None without steps."""
    total = sum(step.duration_ps for step in steps_of(trace))
    return int(device_busy_ps(trace).sum()) / total if total else None
