"""The ops of a host's devices with their scopes, computed once per distinct op.

Scopes come from the op's metadata (`tf_op`) and the program's HLO proto; files of 2020 store rows of name scopes
instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.columns import (
    OpTexts,
    ProgramNumbers,
    concatenate_columns,
    distinct_keys,
    property_columns,
    runs_of_ops,
    texts_of_ops,
)
from tb_xla_insights.analysis.propagation.hlo_scopes import NONE, STATES, Origin, origin_of_name, state_words
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.kernels import own_times, sum_by_part
from tb_xla_insights.analysis.propagation.programs import ProgramReader, ScopedMemory, module_names
from tb_xla_insights.analysis.propagation.source import Frames
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.frames import Frame
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.xplane.hlo_copies import ParameterCopy

_MAX_SHARES = 1024
"""The maximum number of equal shares into which an op's time is divided."""

OpSelection = list[tuple[int, NDArray[np.bool_] | slice]]
"""A selection of a host's ops: per device (index), a mask or slice of its ops."""


@dataclass(frozen=True)
class DeviceOps:
    """Per op of a device, in the order of its ops: the index of its distinct op, its own time, and its run (index into
    Launches.runs, -1: none)."""

    key: Int32
    own_ps: Int64
    run: Int32


class OpSums(NamedTuple):
    """Sums of ops: time per part, time per distinct op, and the number of ops per distinct op."""

    part_ps: Int64
    op_ps: Int64
    op_count: Int64


@dataclass(frozen=True)
class Ops:
    """The ops of one host. Columns per distinct op: `program` (its id, empty if unknown), `name`, `origin`, `state`,
    `caller` (the distinct op whose called computations contain it, -1: none), `in_program` (whether its program is
    known to have it), and `event`, its first op: an index into the ops of all devices, one device after the other. The
    parts of distinct op k are `first_part[k]` to `first_part[k + 1] - 1`, each with a `scope` (index into `scopes`, -1:
    none) and `cumulative_weights`, the sum of the weights from the op's first part up to this one. An op without a
    scope has one part of scope -1.

    `working_scopes`: the scopes of the instructions that do work in the programs that ran. `undonated_copies`: per
    program id, the ops that copy a parameter because the program may not overwrite it, by name.
    """

    devices: list[DeviceOps]
    program: list[str]
    name: list[str]
    origin: list[Origin]
    state: NDArray[np.int8]
    caller: Int32
    in_program: NDArray[np.bool_]
    event: Int32
    first_part: Int32
    scope: Int32
    cumulative_weights: Int64
    scopes: list[str]
    working_scopes: frozenset[str]
    frames: dict[str, Frames]
    undonated_copies: dict[str, dict[str, ParameterCopy]]
    memory: dict[str, ScopedMemory]
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @cached_property
    def all_ops(self) -> OpSelection:
        """The selection of all ops of all devices."""
        return [(device, slice(None)) for device in range(len(self.devices))]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What users read for each of STATES."""
        words = state_words({f"{name}_ps": (self.state == state).any() for state, name in enumerate(STATES)})
        return words["direct"], words["recovered"], words["bare"], words["none"]

    @cached_property
    def totals(self) -> OpSums:
        """The sums of all ops of all devices."""
        return self._sums(self.all_ops)

    def user_frame(self, op: int) -> Frame | None:
        """Where the user's code created a distinct op; None if not recorded."""
        origin, frames = self.origin[op], self.frames.get(self.program[op])
        return (frames.user_frame(origin.frame_id) if frames else None) or origin.source

    def sums(self, selection: OpSelection) -> OpSums:
        """The sums of selected ops; memoised for `all_ops`."""
        return self.totals if selection is self.all_ops else self._sums(selection)

    def _sums(self, selection: OpSelection) -> OpSums:
        time, count = np.zeros(len(self.scope), np.int64), np.zeros(len(self.name), np.int64)
        for device, rows in selection:
            ops = self.devices[device]
            key, own_ps = ops.key[rows], ops.own_ps[rows]
            sum_by_part(key, own_ps, self.first_part, self.cumulative_weights, time, count)
        op_ps = np.add.reduceat(time, self.first_part[:-1]) if len(self.name) else np.zeros(0, np.int64)
        return OpSums(time, op_ps, count)

    def of_runs(self, runs: NDArray[np.bool_], device: int | None = None) -> OpSelection:
        """The ops of the runs that a mask over Launches.runs selects, of one device or of all."""
        mask = np.append(runs, False)  # the last element: no run
        indices = range(len(self.devices)) if device is None else [device]
        return [(index, mask[self.devices[index].run]) for index in indices]


@memoised
def find_ops(trace: Trace) -> Ops:
    """The ops of one host. Reads the HLO protos of the programs that ran from the file. If that fails, their ops have
    the scopes from their own metadata, and one diagnostic reports it."""
    devices = trace.devices
    bounds = np.cumsum([0, *(len(device.ops) for device in devices)])
    runs = [runs_of_ops(trace, index) for index in range(len(devices))]
    distinct = _distinct_ops(trace, runs)
    names = host_annotations(trace).paths.names
    reader = ProgramReader(trace, names, module_names(trace))
    origin, caller, in_program = _origins(distinct.texts, reader, names)
    parts = _Parts(origin)
    device_ops = []
    for index, device in enumerate(devices):
        keys = np.ascontiguousarray(distinct.key[bounds[index] : bounds[index + 1]])
        ops = device.ops
        own_ps = (
            own_times(ops.start_ps, ops.end_ps, ops.own_ps, keys, caller, in_program)
            if device.from_host_events
            else ops.own_ps
        )
        device_ops.append(DeviceOps(keys, own_ps, runs[index]))
    return Ops(
        devices=device_ops,
        program=distinct.texts.program,
        name=distinct.texts.name,
        origin=origin,
        state=np.array([scope_origin.state for scope_origin in origin], np.int8),
        caller=caller,
        in_program=in_program,
        event=distinct.first,
        first_part=parts.first_part,
        scope=parts.scope,
        cumulative_weights=parts.cumulative_weights,
        scopes=parts.scopes,
        working_scopes=frozenset(reader.working_scopes),
        frames=reader.frames,
        undonated_copies=reader.undonated_copies,
        memory=reader.memory,
        diagnostics=reader.diagnostics(),
    )


class _DistinctOps(NamedTuple):
    """The distinct ops of all devices: `key`, per op, the index of its distinct op; and per distinct op, the index of
    its `first` op, and its `texts`."""

    key: Int32
    first: Int32
    texts: OpTexts


def _distinct_ops(trace: Trace, runs: list[Int32]) -> _DistinctOps:
    """The distinct ops of all devices, one device after the other. `runs`: per device, the run of each op."""
    programs = ProgramNumbers()
    columns = concatenate_columns(
        [
            property_columns(trace, device, run, programs)
            for device, run in zip(trace.devices, runs, strict=True)
        ]
    )
    first, key = distinct_keys(columns)
    return _DistinctOps(key, first, texts_of_ops(trace, columns, first, programs))


def _origins(
    ops: OpTexts, reader: ProgramReader, names: frozenset[str]
) -> tuple[list[Origin], Int32, NDArray[np.bool_]]:
    """Per distinct op: its origin, the distinct op whose called computations contain it (-1: none), and whether its
    program is known to have it."""
    origin_of = {op_name: origin_of_name(op_name, names) for op_name in dict.fromkeys(ops.op_name)}
    origin = [replace(origin_of[op_name]) for op_name in ops.op_name]
    caller, in_program = np.full(len(origin), -1, np.int32), np.zeros(len(origin), np.bool_)
    ops_of_program: dict[str, list[int]] = {}
    for key, id_ in enumerate(ops.program):
        if id_:
            ops_of_program.setdefault(id_, []).append(key)
    with reader:
        for id_, keys in ops_of_program.items():
            hlo = reader.program(id_)
            if hlo is None:
                continue
            for key in keys:
                from_hlo = hlo.origin(ops.name[key])
                in_program[key] = from_hlo.in_program
                if from_hlo.in_program:
                    origin[key] = _combine(origin[key], from_hlo)
            key_of_name = {ops.name[key]: key for key in keys}
            for inner, container in hlo.containers(key_of_name).items():
                caller[key_of_name[inner]] = key_of_name[container]
            reader.collect(id_, hlo)
        for id_ in reader.programs_without(ops_of_program):
            if hlo := reader.program(id_):
                reader.collect_memory(id_, hlo)
    return origin, caller, in_program


def _combine(metadata: Origin, hlo: Origin) -> Origin:
    """The origin from the program, with the scope of the op's metadata unless the program has it as direct."""
    if metadata.parts and not (hlo.op_name and hlo.parts):
        hlo.state, hlo.parts, hlo.op_name = metadata.state, metadata.parts, metadata.op_name
    elif hlo.state == NONE:
        hlo.state, hlo.op_name = metadata.state, hlo.op_name or metadata.op_name
    return hlo


class _Parts:
    """The parts of origins as columns; see `Ops`."""

    def __init__(self, origins: list[Origin]) -> None:
        self.scopes: list[str] = []
        scope_index: dict[str, int] = {}
        first_part, scope, cumulative_weights = [0], [], []
        for origin in origins:
            total = sum(weight for _, weight in origin.parts)
            accumulated = 0
            for path, weight in origin.parts:
                if path not in scope_index:
                    scope_index[path] = len(self.scopes)
                    self.scopes.append(path)
                accumulated += weight
                scope.append(scope_index[path])
                is_limited = total > _MAX_SHARES
                cumulative_weights.append(accumulated * _MAX_SHARES // total if is_limited else accumulated)
            if not origin.parts:
                scope.append(-1)
                cumulative_weights.append(1)
            first_part.append(len(scope))
        self.first_part, self.scope = np.array(first_part, np.int32), np.array(scope, np.int32)
        self.cumulative_weights = np.array(cumulative_weights, np.int64)
