"""Every op of a host's devices with its scope: the work is done once per program and op name.

Metadata of the op (`tf_op`) and the program's HLO proto tell; files of 2020 store rows of name scopes instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.columns import (
    Programs,
    columns_of,
    keys,
    runs_of_ops,
    texts_of,
    together,
)
from tb_xla_insights.analysis.propagation.hlo_scopes import NONE, Origin, origin_of_name
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.kernels import own_times, tally
from tb_xla_insights.analysis.propagation.programs import Reading, modules_of
from tb_xla_insights.analysis.propagation.source import Frames
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.trace.model import Int32, Int64, Trace

_FINEST = 1024
"""Into how many shares an op's time is divided at most."""


Chosen = list[tuple[int, NDArray[np.bool_] | slice]]
"""Ops of a host: device (index), and which of its ops."""


@dataclass(frozen=True)
class DeviceOps:
    """Per op of a device, in the order of its ops: which distinct op it is, its own time, and its run (index into
    Launches.runs, -1: none)."""

    key: Int32
    own_ps: Int64
    run: Int32


@dataclass(frozen=True)
class Ops:
    """The ops of one host. Columns per distinct op: `program` (its id, empty where none is known), `name`, `origin`,
    `state`, `caller` (the one whose called computations hold it, -1: none) and `known`, whether its program tells so.
    `event` is its first one, counted through the ops of all devices, one device after the other.
    Parts of op k are `first[k]` to `first[k + 1] - 1`, each with a `scope` (index into `scopes`, -1: none)
    and `upto`, the weights added up from the op's first part on; an op without a scope has one part of scope -1.

    `mentioned` are the scopes that programs which ran name anywhere, `working` those of instructions that do work.
    """

    devices: list[DeviceOps]
    program: list[str]
    name: list[str]
    origin: list[Origin]
    state: NDArray[np.int8]
    caller: Int32
    known: NDArray[np.bool_]
    event: Int32
    first: Int32
    scope: Int32
    upto: Int64
    scopes: list[str]
    mentioned: frozenset[str]
    working: frozenset[str]
    frames: dict[str, Frames]
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @cached_property
    def whole(self) -> Chosen:
        """All ops of all devices."""
        return [(device, slice(None)) for device in range(len(self.devices))]

    @cached_property
    def totals(self) -> tuple[Int64, Int64, Int64]:
        """`sums` of all ops of all devices."""
        return self._sums(self.whole)

    def sums(self, chosen: Chosen) -> tuple[Int64, Int64, Int64]:
        """Of chosen ops, as (device, which of its ops): time per part, time per distinct op, ops per distinct op."""
        return self.totals if chosen is self.whole else self._sums(chosen)

    def _sums(self, chosen: Chosen) -> tuple[Int64, Int64, Int64]:
        time, count = np.zeros(len(self.scope), np.int64), np.zeros(len(self.name), np.int64)
        for device, which in chosen:
            ops = self.devices[device]
            tally(ops.key[which], ops.own_ps[which], self.first, self.upto, time, count)
        return time, np.add.reduceat(time, self.first[:-1]) if len(self.name) else count.copy(), count

    def of_runs(self, runs: NDArray[np.bool_], device: int | None = None) -> Chosen:
        """The ops of those runs that a mask over Launches.runs selects, of one device or of all."""
        mask = np.append(runs, False)  # the last one stands for no run
        some = range(len(self.devices)) if device is None else [device]
        return [(number, mask[self.devices[number].run]) for number in some]


@memoised
def find_ops(trace: Trace) -> Ops:
    """The ops of one host. Reads the HLO protos of the programs that ran from the file; where that fails, their ops
    have the scopes that their own metadata tells, and one diagnostic says so."""
    devices = trace.devices
    bounds = np.cumsum([0, *(len(device.ops) for device in devices)])
    runs = [runs_of_ops(trace, number) for number in range(len(devices))]
    key, event, program, name, told = _distinct(trace, runs)
    names = host_annotations(trace).paths.names
    reading = Reading(trace, names, modules_of(trace))
    origin, caller, known = _origins(program, name, told, reading, names)
    parts = _Parts(origin)
    found = []
    for number, device in enumerate(devices):
        mine = np.ascontiguousarray(key[bounds[number] : bounds[number + 1]])
        ops = device.ops
        own = (
            own_times(ops.start_ps, ops.end_ps, ops.self_ps, mine, caller, known)
            if device.from_host_events
            else ops.self_ps
        )
        found.append(DeviceOps(mine, own, runs[number]))
    return Ops(
        found, program, name, origin, np.array([it.state for it in origin], np.int8), caller, known, event,
        parts.first, parts.scope, parts.upto, parts.scopes, frozenset(reading.mentioned), frozenset(reading.working),
        reading.frames, reading.diagnostics(),
    )  # fmt: skip


def _distinct(trace: Trace, runs: list[Int32]) -> tuple[Int32, Int32, list[str], list[str], list[str]]:
    """Which distinct op each op of all devices is; first event, program, name and op name of these."""
    programs = Programs()
    each = [columns_of(trace, device, run, programs) for device, run in zip(trace.devices, runs, strict=True)]
    columns = [together(each, which) for which in range(4)]
    first, key = keys(columns)
    return key, first, *texts_of(trace, columns, first, programs)


def _origins(
    program: list[str], name: list[str], told: list[str], reading: Reading, names: frozenset[str]
) -> tuple[list[Origin], Int32, NDArray[np.bool_]]:
    """Origins of the distinct ops; which one's calls hold each (-1: none), and whether its program tells so."""
    once = {op_name: origin_of_name(op_name, names) for op_name in dict.fromkeys(told)}
    origin = [replace(once[op_name]) for op_name in told]
    caller, known = np.full(len(name), -1, np.int32), np.zeros(len(name), np.bool_)
    groups: dict[str, list[int]] = {}
    for number, id_ in enumerate(program):
        if id_:
            groups.setdefault(id_, []).append(number)
    with reading:
        for id_, mine in groups.items():
            its = reading.program(id_)
            if its is None:
                continue
            for k in mine:
                from_hlo = its.origin(name[k])
                known[k] = from_hlo.found
                if from_hlo.found:
                    origin[k] = _better(origin[k], from_hlo)
            place = {name[k]: k for k in mine}
            for part, holder in its.holders(place).items():
                caller[place[part]] = place[holder]
            reading.done(id_, its)
    return origin, caller, known


def _better(told: Origin, hlo: Origin) -> Origin:
    """The program knows more than the op's metadata, but the metadata may have a scope that the program lacks."""
    if told.parts and not (hlo.op_name and hlo.parts):
        hlo.state, hlo.parts, hlo.op_name = told.state, told.parts, told.op_name
    elif hlo.state == NONE:
        hlo.state, hlo.op_name = told.state, hlo.op_name or told.op_name
    return hlo


class _Parts:
    """The origins' parts as columns."""

    def __init__(self, origins: list[Origin]) -> None:
        self.scopes: list[str] = []
        number: dict[str, int] = {}
        first, scope, upto = [0], [], []
        for origin in origins:
            whole = sum(weight for _, weight in origin.parts)
            reached = 0
            for path, weight in origin.parts:
                if path not in number:
                    number[path] = len(self.scopes)
                    self.scopes.append(path)
                reached += weight
                scope.append(number[path])
                upto.append(reached * _FINEST // whole if whole > _FINEST else reached)
            if not origin.parts:
                scope.append(-1)
                upto.append(1)
            first.append(len(scope))
        self.first, self.scope = np.array(first, np.int32), np.array(scope, np.int32)
        self.upto = np.array(upto, np.int64)
