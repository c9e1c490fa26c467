"""In which order a device runs the phases of a step, against the host's.

Phases are the children of the step annotation. On the host they follow each other; on the device the compiler orders
ops by data flow, so that phases come in pieces. A piece is *inverted* when a later phase has begun in its run before.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.kernels import stretches
from tb_xla_insights.analysis.propagation.ops import Ops, find_ops
from tb_xla_insights.analysis.propagation.scopes import number_of
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.analysis.steps.step_times import annotated_steps
from tb_xla_insights.trace.model import Int32, Int64, Trace


@dataclass(frozen=True)
class Phases:
    """Phases in the order of the host: names, and which repetition within a step each is (from 0). `of_part` is the
    phase of each part of `Ops`, -1 for ops without a scope and those of the step itself."""

    name: list[str]
    repetition: list[int]
    of_part: Int32


@dataclass(frozen=True)
class Stretches:
    """Consecutive ops of one run and phase (-1: none): run (index into Launches.runs), phase, time of its ops, first
    begin and last end, ops, whether a later phase had begun before."""

    run: Int32
    phase: Int32
    time_ps: Int64
    start_ps: Int64
    end_ps: Int64
    ops: Int32
    inverted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.run)

    def where(self, keep: NDArray[np.bool_] | slice) -> Stretches:
        """Those that a mask selects, or a part of them."""
        return Stretches(
            self.run[keep], self.phase[keep], self.time_ps[keep], self.start_ps[keep], self.end_ps[keep],
            self.ops[keep], self.inverted[keep],
        )  # fmt: skip


@dataclass(frozen=True)
class ProgramOrder:
    """How the runs of one program order the phases: `runs`, the stretches of an execution, and `phases`, how many
    different ones they are of (medians; ops without a phase count as one), and the share of device time in inverted
    stretches. `sequence` is that of the execution of median time."""

    program: str
    program_id: str
    executions: int
    device_ps: int
    runs: int
    phases: int
    inversion_share: float
    sequence: list[tuple[str, int]]


@memoised
def find_phases(trace: Trace) -> Phases:
    """The phases of the host's steps and of the device's ops."""
    nodes, ops = find_nodes(trace), find_ops(trace)
    roots = {step.name.split("#", 1)[0] for step in annotated_steps(trace)}
    told: list[tuple[str, int] | None] = []  # per scope: the phase's name, and its position within the step
    for scope, node in zip(ops.scopes, _nodes_of_scopes(nodes.of_part, ops), strict=True):
        path = nodes.path[node].split("/")
        at = 1 if path[0] in roots else 0
        here = scope.split("/")
        recorded = at - (len(path) - len(here))
        usable = nodes.kind[node] == "annotation" and at < len(path)
        told.append((path[at], number_of(here[recorded]) if recorded >= 0 else 0) if usable else None)
    which = _repetitions(ops, told)
    order = _host_order(trace)
    extra = sorted({it for it in which if it is not None} - set(order), key=lambda it: (it[1], it[0]))
    number = {it: place for place, it in enumerate(dict.fromkeys([*order, *extra]))}
    of_part = np.array([-1 if it is None else number[it] for it in which], np.int32)
    return Phases([name for name, _ in number], [repetition for _, repetition in number], of_part)


def _nodes_of_scopes(of_part: Int32, ops: Ops) -> list[int]:
    found = np.full(len(ops.scopes), -1, np.int32)
    found[ops.scope[ops.scope >= 0]] = of_part[ops.scope >= 0]
    nodes: list[int] = found.tolist()
    return nodes


def _repetitions(ops: Ops, told: list[tuple[str, int] | None]) -> list[tuple[str, int] | None]:
    """Per part: its phase as (name, repetition). The positions that one program knows for a name are its repetitions,
    in their order: a graph that was traced in another step has other positions in it."""
    program = np.repeat(np.arange(len(ops.program)), np.diff(ops.first)).tolist()
    positions: dict[tuple[str, str], set[int]] = {}
    for scope, op in zip(ops.scope.tolist(), program, strict=True):
        if scope >= 0 and (it := told[scope]) is not None:
            positions.setdefault((ops.program[op], it[0]), set()).add(it[1])
    places = {key: {at: n for n, at in enumerate(sorted(its))} for key, its in positions.items()}
    found: list[tuple[str, int] | None] = []
    for scope, op in zip(ops.scope.tolist(), program, strict=True):
        it = told[scope] if scope >= 0 else None
        found.append(None if it is None else (it[0], places[ops.program[op], it[0]][it[1]]))
    return found


@dataclass(frozen=True)
class HostPhases:
    """Annotations right below steps, or the outermost ones where no annotation tells the steps, by step and start:
    index into the host's annotations, step, path, and which repetition of it within the step."""

    index: NDArray[np.intp]
    step: Int32
    path: Int32
    repetition: Int64


@memoised
def host_phases(trace: Trace) -> HostPhases:
    """The phases of all steps of one host; a step that was not recorded whole has none."""
    host = host_annotations(trace)
    rows = [step.row for step in annotated_steps(trace)]
    below = np.append(np.isin(host.row, rows), not rows)[host.up]
    index = np.flatnonzero(below & (host.step >= 0) & ~host.cut)
    index = index[np.lexsort((trace.start_ps[host.row[index]], host.step[index]))]
    step, path = host.step[index], host.path[index]
    alike = np.lexsort((path, step))  # keeps the order of those that are alike
    again = (np.diff(step[alike]) == 0) & (np.diff(path[alike]) == 0)
    place = np.arange(len(index))
    first = np.maximum.accumulate(np.where(np.append(False, again)[: len(index)], 0, place))
    repetition = np.empty(len(index), np.int64)
    repetition[alike] = place - first
    return HostPhases(index, step, path, repetition)


def _host_order(trace: Trace) -> list[tuple[str, int]]:
    """Phases as (name, repetition) by their mean place within the steps."""
    host, phases = host_annotations(trace), host_phases(trace)
    place = np.arange(len(phases.step)) - np.searchsorted(phases.step, phases.step)
    width = int(phases.repetition.max(initial=0)) + 1
    keys, inverse, count = np.unique(
        phases.path * width + phases.repetition, return_inverse=True, return_counts=True
    )
    mean = np.bincount(inverse, place, len(keys)) / count
    found = [
        (at, (_leaf(host.names[key // width]), key % width))
        for at, key in zip(mean, keys.tolist(), strict=True)
    ]
    return [phase for _, phase in sorted(found)]


def _leaf(path: str) -> str:
    return path.rpartition("/")[2]


def device_stretches(trace: Trace, device: int, runs: NDArray[np.bool_] | None = None) -> Stretches:
    """The stretches of one device in order of time, of all its runs or of those a mask over Launches.runs selects."""
    ops, phases = find_ops(trace), find_phases(trace)
    spans, mine = trace.devices[device].ops, ops.devices[device]
    which = slice(None) if runs is None else np.append(runs, False)[mine.run]
    return Stretches(
        *stretches(
            mine.key[which], mine.own_ps[which], spans.start_ps[which], spans.end_ps[which], mine.run[which],
            ops.first, ops.upto, phases.of_part,
        )
    )  # fmt: skip


@memoised
def find_order(trace: Trace) -> list[ProgramOrder]:
    """One entry per program of one host, the one with most device time first. Without phases there is no order."""
    phases = find_phases(trace)
    if not (phases.of_part >= 0).any():
        return []
    launches = find_launches(trace)
    every = [device_stretches(trace, number) for number in range(len(trace.devices))]
    names = [it.name for it in fields(Stretches)]
    all_ = (
        every[0]
        if len(every) == 1
        else Stretches(*(np.concatenate([getattr(one, name) for one in every]) for name in names))
    )
    if not len(all_):
        return []
    # The stretches of a run follow each other.
    first = np.flatnonzero(np.append(True, all_.run[1:] != all_.run[:-1]))
    count = np.diff(np.append(first, len(all_)))
    time = np.add.reduceat(all_.time_ps, first)
    inverted = np.add.reduceat(np.where(all_.inverted, all_.time_ps, 0), first)
    seen = np.zeros((len(first), len(phases.name) + 1), np.bool_)
    seen[np.repeat(np.arange(len(first)), count), all_.phase] = True  # the last one: no phase
    kinds = seen.sum(axis=1)
    program = launches.runs.program[all_.run[first]]
    found = []
    for number in np.unique(program).tolist():
        mine = np.flatnonzero(program == number)
        name, id_ = launches.programs[number]
        whole = int(time[mine].sum())
        usual = mine[np.argsort(time[mine], kind="stable")[len(mine) // 2]]
        its = slice(int(first[usual]), int(first[usual] + count[usual]))
        found.append(
            ProgramOrder(
                name, id_, len(mine), whole, int(np.median(count[mine])), int(np.median(kinds[mine])),
                int(inverted[mine].sum()) / whole if whole else 0.0, sequence(phases, all_.where(its)),
            )
        )  # fmt: skip
    return sorted(found, key=lambda it: (-it.device_ps, it.program, it.program_id))


def sequence(phases: Phases, run: Stretches) -> list[tuple[str, int]]:
    """The stretches of one run as (phase, time); the phase is empty for ops without one."""
    names = [*phases.name, ""]
    return [
        (names[phase], time) for phase, time in zip(run.phase.tolist(), run.time_ps.tolist(), strict=True)
    ]
