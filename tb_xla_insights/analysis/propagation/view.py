"""What the page's propagation view shows: coverage, the tree, and one step's phases on host and device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.lost import ADVICE, FLAG_OFF
from tb_xla_insights.analysis.propagation.ops import Chosen, find_ops
from tb_xla_insights.analysis.propagation.report import propagation_report, session_lost
from tb_xla_insights.analysis.propagation.step_phases import strips_of
from tb_xla_insights.analysis.propagation.tree import chosen_runs, coverage
from tb_xla_insights.analysis.propagation.view_ops import mixed_ops, source_lines, unexplained_ops
from tb_xla_insights.analysis.propagation.view_rows import tree_rows
from tb_xla_insights.analysis.steps.step_times import steps_of, traces_with_step_offsets
from tb_xla_insights.errors import InputError
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Coverage

_MOST_ROWS = 500
_MOST_OPS = 30
_MOST_LINES = 200
_MOST_STEPS = 2000


def propagation_view(
    session: SessionTrace,
    step: int | None = None,
    device: str | None = None,
    named: str | None = None,
    usual: int | None = None,
) -> dict[str, Any]:
    """The propagation view of one step and device; `step` is an index into the report's `steps`, `device` an id (None:
    the step's first). Without an index it is the step whose number is `named` (or index, where steps have no numbers),
    or else the `usual` one, an index as well (see `_step`). Raises InputError where the session has no such step or
    device.

        state       "shown" | "no_ops" (no device ops were recorded) | "flag_off" (ops carry no scopes)
        hint        what to do about the state, else None
        step        {index, number, name, start_ps, duration_ps} | None
        steps       {first, numbers}: the numbers (None: it has none) of the host's steps from index `first` on, at
                    most 2,000 around the one shown
        device      {id, name} | None
        coverage    {device_ps, direct_ps, recovered_ps, bare_ps, none_ps} of the step on the device
        total       the report's `propagation`: the same of the whole session, and the order per program
        means       {steps, devices}: the numbers behind the tree's means
        tree        [{path, name, depth, kind, count, host_ps, device_ps, device_ops, executions, programs, lost,
                    mean_host_ps, mean_device_ps, step_host_ps, step_device_ps, step_device_ops, host_place,
                    device_place, phase}]: each path before those inside of it. Means are per step, and per device for
                    those of the device; `step_…` are of the step and device, and so are the places, [begin, end] from
                    the first to the last of its annotations or ops (None: it has none); `phase` indexes `phases` where
                    the path is a phase, else None
        unannotated {device_ps, device_ops, mean_device_ps, step_device_ps, step_device_ops}: bare and none
        phases      [{name, repetition, lost}] in the order of the host
        strips      {host: [{phase|null, name, start_ps, end_ps}],
                    device: [{phase|null, start_ps, end_ps, device_ps, ops, run, inverted, merged}],
                    runs: [{program, program_id, start_ps, end_ps}]}. `phase` is None for step markers and for ops
                    without a phase; `run` indexes `runs`; `merged` counts short stretches that were joined into one
                    of no phase (1: none were)
        ribbons     [{host, device, inverted}]: from an entry of the host's strip to the device's stretches of its phase
        order       {runs, phases, inversion_share} of the step on the device, and `by_phase`: [{phase|null, runs,
                    device_ps, start_ps, end_ps, inverted_ps}], from the first begin to the last end
        lost        [{path, reason, advice}]
        unexplained [{op, source, state, device_ps, count}]: its device time without annotation, the longest first
        mixed       [{op, name, source, device_ps, parts: [{path, share}], unscoped_share}]: its ops made of several
                    scopes, whose time is divided by their parts' share; `unscoped_share` is the share of parts that
                    have none
        lines       [{source, path|null, device_ps, ops}]: its device time by line of Python and annotation
        left_off    {tree, unexplained, mixed, lines}: how many rows each list would have more
    """
    found = propagation_report(session)
    lost = session_lost(session)
    host, at = _step(session, step, device, named, usual)
    trace = session.traces[host] if session.traces else None
    number = None if trace is None else _device(session, trace, at, device)
    recorded = any(len(it.ops) for it in session.devices)
    flag_off = FLAG_OFF in lost.values()
    chosen = [] if trace is None or number is None else _chosen(trace, at, number)
    tree, unannotated, means = tree_rows(session, trace, at, number, chosen, lost)
    left, mixed, lines = (
        ([], [], [])
        if trace is None
        else (unexplained_ops(trace, chosen), mixed_ops(trace, chosen), source_lines(trace, chosen))
    )
    return {
        "state": "no_ops" if not recorded else "flag_off" if flag_off else "shown",
        "hint": _hint(recorded, flag_off),
        "step": None if trace is None or at is None else _step_document(session, host, at),
        "device": None if trace is None or number is None
        else {"id": trace.devices[number].id, "name": trace.devices[number].name},
        "steps": _steps(session, host, at),
        "coverage": _coverage(trace, chosen),
        "total": found["propagation"],
        "means": means,
        "tree": _largest(tree),
        "unannotated": unannotated,
        **strips_of(trace, at, number, lost),
        "lost": [{"path": path, "reason": why, "advice": ADVICE[why]} for path, why in lost.items()],
        "unexplained": left[:_MOST_OPS],
        "mixed": mixed[:_MOST_OPS],
        "lines": lines[:_MOST_LINES],
        "left_off": {
            "tree": max(0, len(tree) - _MOST_ROWS),
            "unexplained": max(0, len(left) - _MOST_OPS),
            "mixed": max(0, len(mixed) - _MOST_OPS),
            "lines": max(0, len(lines) - _MOST_LINES),
        },
    }  # fmt: skip


def _hint(recorded: bool, flag_off: bool) -> str | None:
    if not recorded:
        return "No device ops were recorded: capture with host level 2 (on a CPU) or with device tracing."
    return ADVICE[FLAG_OFF] if flag_off else None


def _step(
    session: SessionTrace, step: int | None, device: str | None, named: str | None, usual: int | None
) -> tuple[int, int | None]:
    """Host and step of an index over all hosts' steps. Without one the `usual` step, if the devices recorded its work;
    else of the first host with such steps the one of median duration (the shorter one of two); none where no step's
    work is known."""
    every = [(host, *its) for host, its in enumerate(traces_with_step_offsets(session))]
    if step is not None:
        for host, trace, offset in every:
            if 0 <= step - offset < len(steps_of(trace)):
                return host, step - offset
        count = sum(len(steps_of(trace)) for trace in session.traces)
        raise InputError(f"{session.path}: no step {step}; it has {count}, counted from 0")
    hosts = [it for it in every if device is None or any(core.id == device for core in it[1].devices)]
    for host, trace, offset in hosts:
        for at, it in enumerate(steps_of(trace)):
            if named == str(offset + at if it.number is None else it.number):
                return host, at
    for host, trace, offset in hosts:
        at = -1 if usual is None else usual - offset
        if 0 <= at < len(steps_of(trace)) and (find_launches(trace).step == at).any():
            return host, at
    for host, trace, _ in hosts:
        steps = steps_of(trace)
        worked = np.unique(find_launches(trace).step)
        by_duration = sorted(worked[worked >= 0].tolist(), key=lambda at: (steps[at].duration_ps, at))
        if by_duration:
            return host, by_duration[(len(by_duration) - 1) // 2]
    return hosts[0][0] if hosts else 0, None


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
    trace, offset = list(traces_with_step_offsets(session))[host]
    step = steps_of(trace)[at]
    return {
        "index": offset + at,
        "number": step.number,
        "name": step.name,
        "start_ps": step.start_ps,
        "duration_ps": step.duration_ps,
    }


def _steps(session: SessionTrace, host: int, at: int | None) -> dict[str, Any]:
    if not session.traces:
        return {"first": 0, "numbers": []}
    trace, offset = list(traces_with_step_offsets(session))[host]
    its = steps_of(trace)
    first = max(0, min((at or 0) - _MOST_STEPS // 2, len(its) - _MOST_STEPS))
    return {"first": offset + first, "numbers": [step.number for step in its[first : first + _MOST_STEPS]]}


def _coverage(trace: Trace | None, chosen: Chosen) -> Coverage:
    if trace is None:
        return {"device_ps": 0, "direct_ps": 0, "recovered_ps": 0, "bare_ps": 0, "none_ps": 0}
    ops = find_ops(trace)
    return coverage(ops, ops.sums(chosen)[1])


def _chosen(trace: Trace, step: int | None, device: int) -> Chosen:
    """The ops of one device, of one step or all."""
    if step is None:
        return [(device, slice(None))]
    return find_ops(trace).of_runs(chosen_runs(trace, step, device), device)


def _largest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that take most time, in their order; a path takes no less than those inside of it."""
    order = sorted(range(len(rows)), key=lambda it: (-rows[it]["device_ps"] - rows[it]["host_ps"], it))
    return [rows[it] for it in sorted(order[:_MOST_ROWS])]
