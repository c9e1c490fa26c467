"""The order in which a device runs the phases of a step, compared with the host's order.

Phases are the children of the step annotation. On the host they follow each other. On the device, the compiler orders
ops by data flow, so that phases are split into segments. A segment is *inverted* if a later phase began before it in
its run.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import rows_of_steps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.kernels import phase_segments
from tb_xla_insights.analysis.propagation.ops import Ops, find_ops
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.analysis.scope_names import scope_position
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Trace

PhaseKey = tuple[str, int]
"""A phase: its name, and the repetition of the name within a step (from 0)."""

PhasePosition = tuple[str, int]
"""A phase's name, and the position of its scope within the step."""


@dataclass(frozen=True)
class Phases:
    """Phases in the order of the host: names, and the repetition of the name within a step (from 0). `of_part`: the
    phase of each part of `Ops`, -1 for parts that are in no annotation below the step."""

    name: list[str]
    repetition: list[int]
    of_part: Int32


@dataclass(frozen=True)
class PhaseSegments:
    """Segments of consecutive ops of one run and phase: run (index into Launches.runs), phase (-1: none), time of the
    ops, first begin and last end, number of ops, and whether a later phase began before."""

    run: Int32
    phase: Int32
    time_ps: Int64
    start_ps: Int64
    end_ps: Int64
    ops: Int32
    inverted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.run)

    def where(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> PhaseSegments:
        """The segments that a mask, indices or a slice select."""
        return PhaseSegments(
            self.run[rows], self.phase[rows], self.time_ps[rows], self.start_ps[rows], self.end_ps[rows],
            self.ops[rows], self.inverted[rows],
        )  # fmt: skip


@dataclass(frozen=True)
class ProgramOrder:
    """The order of phases in the executions of one program, each on one device: `runs`, the number of segments of an
    execution, and `phases`, the number of distinct phases among them (medians; ops without a phase count as one phase),
    and the share of device time in inverted segments. `sequence`: the segments of the execution with median time, as
    (phase, time in ps)."""

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
    """The phases of one host's steps and of its devices' ops."""
    nodes, ops, host = find_nodes(trace), find_ops(trace), host_annotations(trace)
    step_rows = rows_of_steps(trace)
    roots = {host.path_texts[path] for path in np.unique(host.path[np.isin(host.row, step_rows)]).tolist()}
    phase_names = {
        host.path_texts[path]: host.name_of(path)
        for path, outer in enumerate(host.parent_path)
        if outer >= 0 and host.path_texts[outer] in roots
    }
    position_of_scope: list[PhasePosition | None] = []
    for scope, node in zip(ops.scopes, _nodes_of_scopes(nodes.of_part, ops), strict=True):
        inside_step = [*takewhile(lambda outer: nodes.path[outer] not in roots, nodes.with_enclosing(node))]
        recorded_phases = (outer for outer in inside_step if nodes.path[outer] in phase_names)
        phase = next(recorded_phases, inside_step[-1] if inside_step else None)
        if phase is None or nodes.kind[node] != "annotation":
            position_of_scope.append(None)
            continue
        names = nodes.recorded_names(node, phase, scope)
        position = scope_position(names[-1]) if names else 0
        name = phase_names.get(nodes.path[phase]) or nodes.name_of(phase)
        position_of_scope.append((name, position))
    phase_of_part = _phases_of_parts(ops, position_of_scope)
    order = _host_order(trace)
    device_only = {phase for phase in phase_of_part if phase is not None} - set(order)
    phases = [*order, *sorted(device_only, key=lambda phase: (phase[1], phase[0]))]
    index_of_phase = {phase: index for index, phase in enumerate(dict.fromkeys(phases))}
    of_part = np.array([-1 if phase is None else index_of_phase[phase] for phase in phase_of_part], np.int32)
    return Phases(
        [name for name, _ in index_of_phase], [repetition for _, repetition in index_of_phase], of_part
    )


def _nodes_of_scopes(of_part: Int32, ops: Ops) -> list[int]:
    """Per scope, the index of its path in `Nodes`; `of_part`: that of each part."""
    node_of_scope = np.full(len(ops.scopes), -1, np.int32)
    node_of_scope[ops.scope[ops.scope >= 0]] = of_part[ops.scope >= 0]
    nodes: list[int] = node_of_scope.tolist()
    return nodes


def _phases_of_parts(ops: Ops, position_of_scope: list[PhasePosition | None]) -> list[PhaseKey | None]:
    """Per part, its phase. The sorted positions of a name within one program are numbered as repetitions, because
    positions differ between graphs that were traced in different steps."""
    op_of_part = np.repeat(np.arange(len(ops.name)), np.diff(ops.first_part)).tolist()
    positions: dict[tuple[str, str], set[int]] = {}
    for scope, op in zip(ops.scope.tolist(), op_of_part, strict=True):
        if scope >= 0 and (phase_position := position_of_scope[scope]) is not None:
            name, position = phase_position
            positions.setdefault((ops.program[op], name), set()).add(position)
    repetition = {
        key: {position: index for index, position in enumerate(sorted(positions_of_name))}
        for key, positions_of_name in positions.items()
    }
    phases: list[PhaseKey | None] = []
    for scope, op in zip(ops.scope.tolist(), op_of_part, strict=True):
        phase_position = position_of_scope[scope] if scope >= 0 else None
        if phase_position is None:
            phases.append(None)
        else:
            name, position = phase_position
            phases.append((name, repetition[ops.program[op], name][position]))
    return phases


@dataclass(frozen=True)
class HostPhases:
    """Annotations directly below steps, or the driving thread's outermost annotations if steps are not annotations,
    sorted by step and start: index into the host's annotations, step, path, and the repetition of the path within the
    step."""

    index: NDArray[np.intp]
    step: Int32
    path: Int32
    repetition: Int64


@memoised
def host_phases(trace: Trace) -> HostPhases:
    """The phases of all steps of one host. Incompletely recorded steps have none."""
    host = host_annotations(trace)
    rows = rows_of_steps(trace)
    is_below_step = np.append(np.isin(host.row, rows), not len(rows))[host.parent]
    if not len(rows):
        is_below_step &= trace.is_on_lines(host.row, trace.driving_lines)
    index = np.flatnonzero(is_below_step & (host.step >= 0) & ~host.is_cut)
    index = index[np.lexsort((trace.start_ps[host.row[index]], host.step[index]))]
    step, path = host.step[index], host.path[index]
    by_path = np.lexsort((path, step))  # stable: keeps the order within a step and path
    repeats = (np.diff(step[by_path]) == 0) & (np.diff(path[by_path]) == 0)
    position = np.arange(len(index))
    first = np.maximum.accumulate(np.where(np.append(False, repeats)[: len(index)], 0, position))
    repetition = np.empty(len(index), np.int64)
    repetition[by_path] = position - first
    return HostPhases(index, step, path, repetition)


def _host_order(trace: Trace) -> list[PhaseKey]:
    """The host's phases, sorted by their mean position within the steps."""
    host, phases = host_annotations(trace), host_phases(trace)
    position = np.arange(len(phases.step)) - np.searchsorted(phases.step, phases.step)
    width = int(phases.repetition.max(initial=0)) + 1
    keys, inverse, count = np.unique(
        phases.path * width + phases.repetition, return_inverse=True, return_counts=True
    )
    mean_position = np.bincount(inverse, position, len(keys)) / count
    ordered = sorted(
        (mean, (host.name_of(key // width), key % width))
        for mean, key in zip(mean_position, keys.tolist(), strict=True)
    )
    return [phase for _, phase in ordered]


def device_phase_segments(
    trace: Trace, device: int, runs: NDArray[np.bool_] | None = None, of_part: Int32 | None = None
) -> PhaseSegments:
    """The phase segments of one device in order of time, of all its runs or of those that a mask over Launches.runs
    selects. `of_part`: per part of ops what the segments are of, by default its phase."""
    ops, of_part = find_ops(trace), find_phases(trace).of_part if of_part is None else of_part
    intervals, device_ops = trace.devices[device].ops, ops.devices[device]
    selected = slice(None) if runs is None else np.append(runs, False)[device_ops.run]
    return PhaseSegments(
        *phase_segments(
            device_ops.key[selected], device_ops.own_ps[selected],
            intervals.start_ps[selected], intervals.end_ps[selected],
            device_ops.run[selected], ops.first_part, ops.cumulative_weights, of_part,
        )
    )  # fmt: skip


@memoised
def find_order(trace: Trace) -> list[ProgramOrder]:
    """The order of phases per program of one host, most device time first; empty without phases."""
    phases = find_phases(trace)
    if not (phases.of_part >= 0).any():
        return []
    launches = find_launches(trace)
    segments_of_devices = [device_phase_segments(trace, index) for index in range(len(trace.devices))]
    names = [field.name for field in fields(PhaseSegments)]
    segments = (
        segments_of_devices[0]
        if len(segments_of_devices) == 1
        else PhaseSegments(
            *(np.concatenate([getattr(segments, name) for segments in segments_of_devices]) for name in names)
        )
    )
    if not len(segments):
        return []
    # The segments of a run are adjacent: one group per execution.
    first = np.flatnonzero(np.append(True, segments.run[1:] != segments.run[:-1]))
    count = np.diff(np.append(first, len(segments)))
    time = np.add.reduceat(segments.time_ps, first)
    inverted = np.add.reduceat(np.where(segments.inverted, segments.time_ps, 0), first)
    has_phase = np.zeros((len(first), len(phases.name) + 1), np.bool_)
    has_phase[np.repeat(np.arange(len(first)), count), segments.phase] = True  # the last column: no phase
    phase_count = has_phase.sum(axis=1)
    program = launches.runs.program[segments.run[first]]
    orders = []
    for program_index in np.unique(program).tolist():
        executions = np.flatnonzero(program == program_index)
        name, id_ = launches.programs[program_index]
        device_ps = int(time[executions].sum())
        median = executions[np.argsort(time[executions], kind="stable")[len(executions) // 2]]
        rows = slice(int(first[median]), int(first[median] + count[median]))
        orders.append(
            ProgramOrder(
                program=name,
                program_id=id_,
                executions=len(executions),
                device_ps=device_ps,
                runs=int(np.median(count[executions])),
                phases=int(np.median(phase_count[executions])),
                inversion_share=int(inverted[executions].sum()) / device_ps if device_ps else 0.0,
                sequence=phase_sequence(phases, segments.where(rows)),
            )
        )
    return sorted(orders, key=lambda order: (-order.device_ps, order.program, order.program_id))


def phase_sequence(phases: Phases, run: PhaseSegments) -> list[tuple[str, int]]:
    """The segments of one run as (phase, time in ps); the phase is empty for ops without one."""
    names = [*phases.name, ""]
    return [
        (names[phase], time) for phase, time in zip(run.phase.tolist(), run.time_ps.tolist(), strict=True)
    ]
