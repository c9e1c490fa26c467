"""What the page's propagation view shows: coverage, the tree, and one step's phases on host and device."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_xla_insights.analysis.launches import find_launches
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.lost import (
    ADVICE,
    FLAG_OFF,
    Unexplained,
    op_kind,
    op_source,
    unexplained,
)
from tb_xla_insights.analysis.propagation.ops import Chosen, find_ops
from tb_xla_insights.analysis.propagation.report import (
    propagation_report,
    session_lost,
    session_rows,
)
from tb_xla_insights.analysis.propagation.strips import phase_places, strips_of
from tb_xla_insights.analysis.propagation.tree import (
    Row,
    annotation_rows,
    chosen_runs,
    coverage,
    device_ps_in_steps,
)
from tb_xla_insights.analysis.reach import steps_of
from tb_xla_insights.errors import InputError
from tb_xla_insights.trace.model import SessionTrace, Trace

_MOST_ROWS = 500
_MOST_OPS = 30


def propagation_view(
    session: SessionTrace, step: int | None = None, device: str | None = None
) -> dict[str, Any]:
    """The propagation view of one step and device; `step` is an index into the report's `steps` (None: a usual one),
    `device` an id (None: the step's first). Raises InputError where the session has no such step or device.

        state       "shown" | "no_ops" (no device ops were recorded) | "flag_off" (ops carry no scopes)
        hint        what to do about the state, else None
        step        {index, number, name, start_ps, duration_ps} | None
        device      {id, name} | None
        coverage    {device_ps, direct_ps, recovered_ps, bare_ps, none_ps} of the step on the device
        total       the report's `propagation`: the same of the whole session, and the order per program
        means       {steps, devices}: the numbers behind the tree's means
        tree        [{path, name, depth, kind, count, host_ps, device_ps, device_ops, executions, programs, lost,
                    mean_host_ps, mean_device_ps, step_host_ps, step_device_ps, step_device_ops, phase}]: each path
                    before those inside of it. Means are per step, and per device for those of the device; `step_…`
                    are of the step and device; `phase` indexes `phases` where the path is a phase, else None
        unannotated {device_ps, device_ops, mean_device_ps, step_device_ps, step_device_ops}: bare and none
        phases      [{name, repetition, lost}] in the order of the host
        strips      {host: [{phase|null, name, start_ps, end_ps}],
                    device: [{phase|null, start_ps, end_ps, device_ps, ops, run, inverted, merged}],
                    runs: [{program, program_id, start_ps, end_ps}]}. `phase` is None for step markers and for ops
                    without a phase; `run` indexes `runs`; `merged` counts short stretches that were joined into one
                    of no phase (1: none were)
        ribbons     [{host, device, inverted}]: from an entry of the host's strip to the device's stretches of its phase
        order       {runs, phases, inversion_share} of the step on the device
        lost        [{path, reason, advice}]
        unexplained [{op, source, state, device_ps, count}]: device time without annotation, the longest first
        mixed       [{op, name, source, device_ps, parts: [{path, share}], unscoped_share}]: ops made of several
                    scopes, whose time is divided by their parts' share; `unscoped_share` is the share of parts that
                    have none
        left_off    {tree, unexplained, mixed}: how many rows each list would have more
    """
    found = propagation_report(session)
    lost = session_lost(session)
    host, at = _step(session, step, device)
    trace = session.traces[host] if session.traces else None
    number = None if trace is None else _device(session, trace, at, device)
    recorded = any(len(it.ops) for it in session.devices)
    flag_off = FLAG_OFF in lost.values()
    tree, unannotated, means = _tree(session, trace, at, number, lost)
    left = unexplained_of(session)
    mixed = _mixed(session)
    return {
        "state": "no_ops" if not recorded else "flag_off" if flag_off else "shown",
        "hint": _hint(recorded, flag_off),
        "step": None if trace is None or at is None else _step_document(session, host, at),
        "device": None if trace is None or number is None
        else {"id": trace.devices[number].id, "name": trace.devices[number].name},
        "coverage": _coverage(trace, at, number),
        "total": found["propagation"],
        "means": means,
        "tree": _largest(tree),
        "unannotated": unannotated,
        **strips_of(trace, at, number, lost),
        "lost": [{"path": path, "reason": why, "advice": ADVICE[why]} for path, why in lost.items()],
        "unexplained": [vars(it) for it in left[:_MOST_OPS]],
        "mixed": mixed[:_MOST_OPS],
        "left_off": {
            "tree": max(0, len(tree) - _MOST_ROWS),
            "unexplained": max(0, len(left) - _MOST_OPS),
            "mixed": max(0, len(mixed) - _MOST_OPS),
        },
    }  # fmt: skip


def _hint(recorded: bool, flag_off: bool) -> str | None:
    if not recorded:
        return "No device ops were recorded: capture with host level 2 (on a CPU) or with device tracing."
    return ADVICE[FLAG_OFF] if flag_off else None


def _step(session: SessionTrace, step: int | None, device: str | None) -> tuple[int, int | None]:
    """Host and step of an index over all hosts' steps. Without one, a usual step: of those whose work the devices
    recorded, the one of median duration; none where no step's work is known."""
    counts = [len(steps_of(trace)) for trace in session.traces]
    if step is not None:
        rest = step
        for host, count in enumerate(counts):
            if 0 <= rest < count:
                return host, rest
            rest -= count
        raise InputError(f"{session.path}: no step {step}; it has {sum(counts)}, counted from 0")
    hosts = [
        host
        for host, trace in enumerate(session.traces)
        if device is None or any(it.id == device for it in trace.devices)
    ]
    for host in hosts:
        steps = steps_of(session.traces[host])
        worked = np.unique(find_launches(session.traces[host]).step)
        usual = sorted(worked[worked >= 0].tolist(), key=lambda it: (steps[it].duration_ps, it))
        if usual:
            return host, usual[len(usual) // 2]
    return hosts[0] if hosts else 0, None


def _device(session: SessionTrace, trace: Trace, step: int | None, device: str | None) -> int | None:
    """The index of a device on the step's host; without an id, the first one with work of the step."""
    if device is not None:
        for number, it in enumerate(trace.devices):
            if it.id == device:
                return number
        raise InputError(
            f"{session.path}: no device {device} on {trace.host}; see the report for its devices"
        )
    worked = find_launches(trace).runs.device[chosen_runs(trace, step, None)]
    return int(worked.min()) if worked.size else 0 if trace.devices else None


def _step_document(session: SessionTrace, host: int, at: int) -> dict[str, Any]:
    before = sum(len(steps_of(trace)) for trace in session.traces[:host])
    step = steps_of(session.traces[host])[at]
    return {
        "index": before + at,
        "number": step.number,
        "name": step.name,
        "start_ps": step.start_ps,
        "duration_ps": step.duration_ps,
    }


def _coverage(trace: Trace | None, step: int | None, device: int | None) -> dict[str, int]:
    if trace is None or device is None:
        return dict.fromkeys(("device_ps", "direct_ps", "recovered_ps", "bare_ps", "none_ps"), 0)
    ops = find_ops(trace)
    return coverage(ops, ops.sums(_chosen(trace, step, device))[1])


def _chosen(trace: Trace, step: int | None, device: int) -> Chosen:
    """The ops of one device, of one step or all."""
    if step is None:
        return [(device, slice(None))]
    return find_ops(trace).of_runs(chosen_runs(trace, step, device), device)


def _tree(
    session: SessionTrace, trace: Trace | None, step: int | None, device: int | None, lost: dict[str, str]
) -> tuple[list[dict[str, Any]], dict[str, int], dict[str, int]]:
    """Rows, the row of what has no annotation, and the numbers of steps and devices behind the means."""
    everything = session_rows(session)
    ones = {} if trace is None else {row.path: row for row in annotation_rows(trace, step, device)}
    steps, cores = 0, 0
    host_in, device_in, bare_in = dict[str, int](), dict[str, int](), 0
    bare = [0, 0, 0, 0]  # time and ops, of the session and of the step
    for it in session.traces:
        ops = find_ops(it)
        launched = find_launches(it)
        with_step = np.append(launched.step, np.int32(-1))[launched.runs.launch] >= 0
        steps += len(np.unique(launched.step[launched.step >= 0]))
        cores += len(np.unique(launched.runs.device))
        host = host_annotations(it)
        for path, time in zip(host.names, host.times(it, in_steps=True)[0].tolist(), strict=True):
            host_in[path] = host_in.get(path, 0) + time
        for path, time in device_ps_in_steps(it).items():
            device_in[path] = device_in.get(path, 0) + time
        _, time, count = ops.totals
        without = ops.state >= 2
        bare[0] += int(time[without].sum())
        bare[1] += int(count[without].sum())
        bare_in += int(ops.sums(ops.of_runs(with_step))[1][without].sum())
        if it is trace and device is not None:
            _, time, count = ops.sums(_chosen(it, step, device))
            bare[2:] = int(time[without].sum()), int(count[without].sum())
    per_step, per_core = max(steps, 1), max(steps * cores // max(len(session.traces), 1), 1)
    places = {} if trace is None else phase_places(trace)
    rows = []
    for row in everything:
        one = ones.get(row.path, Row(row.path))
        rows.append(
            {
                "path": row.path,
                "name": row.path.rpartition("/")[2],
                "depth": row.path.count("/"),
                "kind": row.kind,
                "count": row.count,
                "host_ps": row.host_ps,
                "device_ps": row.device_ps,
                "device_ops": row.device_ops,
                "executions": row.executions,
                "programs": len(row.programs),
                "lost": lost.get(row.path),
                "mean_host_ps": host_in.get(row.path, 0) // per_step,
                "mean_device_ps": device_in.get(row.path, 0) // per_core,
                "step_host_ps": one.host_ps,
                "step_device_ps": one.device_ps,
                "step_device_ops": one.device_ops,
                "phase": places.get(row.path),
            }
        )
    unannotated = {
        "device_ps": bare[0],
        "device_ops": bare[1],
        "mean_device_ps": bare_in // per_core,
        "step_device_ps": bare[2],
        "step_device_ops": bare[3],
    }
    return rows, unannotated, {"steps": steps, "devices": cores}


def _largest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that take most time, in their order; a path takes no less than those inside of it."""
    order = sorted(range(len(rows)), key=lambda it: (-rows[it]["device_ps"] - rows[it]["host_ps"], it))
    return [rows[it] for it in sorted(order[:_MOST_ROWS])]


def unexplained_of(session: SessionTrace) -> list[Unexplained]:
    """Device time without an annotation, of all hosts."""
    merged: dict[tuple[str, str, str], Unexplained] = {}
    for trace in session.traces:
        for it in unexplained(trace):
            key = it.op, it.source, it.state
            known = merged.get(key)
            total = (known.device_ps, known.count) if known else (0, 0)
            merged[key] = Unexplained(*key, it.device_ps + total[0], it.count + total[1])
    return sorted(merged.values(), key=lambda it: (-it.device_ps, it.op, it.source))


def _mixed(session: SessionTrace) -> list[dict[str, Any]]:
    """Ops whose parts have several scopes, the longest first."""
    found = []
    for trace in session.traces:
        ops, paths = find_ops(trace), host_annotations(trace).paths
        _, time, count = ops.totals
        for k in np.flatnonzero((np.diff(ops.first) > 1) & (count > 0)).tolist():
            origin = ops.origin[k]
            whole = sum(weight for _, weight in origin.parts)
            shares: dict[str, float] = {}
            for scope, weight in origin.parts:
                path = paths.path_of(scope)
                shares[path] = shares.get(path, 0.0) + weight / whole
            if len(shares) > 1:
                parts = [{"path": path, "share": it} for path, it in shares.items()]
                found.append(
                    {
                        "op": op_kind(ops, k),
                        "name": ops.name[k],
                        "source": op_source(ops, k),
                        "device_ps": int(time[k]),
                        "parts": parts,
                        "unscoped_share": origin.unscoped,
                    }
                )
    return sorted(found, key=lambda it: (-it["device_ps"], it["name"]))
