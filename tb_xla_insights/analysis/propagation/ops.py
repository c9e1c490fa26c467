"""Every op of a host's devices with its scope: the work is done once per program and op name.

Metadata of the op (`tf_op`) and the program's HLO proto tell; files of 2020 store rows of name scopes instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.analysis.launches import find_launches
from tb_xla_insights.analysis.propagation.hlo_scopes import NONE, Origin, Program, origin_of_name
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.kernels import distinct, own_times, tally
from tb_xla_insights.analysis.propagation.scopes import op_name_of
from tb_xla_insights.analysis.propagation.source import Frames
from tb_xla_insights.analysis.propagation.stored import stored_scopes
from tb_xla_insights.errors import Diagnostic, InputError
from tb_xla_insights.trace.model import Device, Int32, Int64, Trace
from tb_xla_insights.xplane.hlo import read_module
from tb_xla_insights.xplane.source import Source, open_source

_NO_PROGRAM = -1
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
    `state`. Parts of op k are `first[k]` to `first[k + 1] - 1`, each with a `scope` (index into `scopes`, -1: none)
    and `upto`, the weights added up from the op's first part on; an op without a scope has one part of scope -1.

    `mentioned` are the scopes that programs which ran name anywhere, `working` those of instructions that do work.
    """

    devices: list[DeviceOps]
    program: list[str]
    name: list[str]
    origin: list[Origin]
    state: NDArray[np.int8]
    first: Int32
    scope: Int32
    upto: Int64
    scopes: list[str]
    mentioned: frozenset[str]
    working: frozenset[str]
    frames: dict[str, Frames]
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def sums(self, chosen: Chosen) -> tuple[Int64, Int64, Int64]:
        """Of chosen ops, as (device, which of its ops): time per part, time per distinct op, ops per distinct op."""
        time, count = np.zeros(len(self.scope), np.int64), np.zeros(len(self.name), np.int64)
        for device, which in chosen:
            ops = self.devices[device]
            tally(ops.key[which], ops.own_ps[which], self.first, self.upto, time, count)
        return time, np.add.reduceat(time, self.first[:-1]) if len(self.name) else count.copy(), count

    @cached_property
    def totals(self) -> tuple[Int64, Int64, Int64]:
        """The same of all ops of all devices."""
        return self.sums([(device, slice(None)) for device in range(len(self.devices))])

    def of_runs(self, runs: NDArray[np.bool_], device: int | None = None) -> Chosen:
        """The ops of those runs that a mask over Launches.runs selects, of one device or of all."""
        mask = np.append(runs, False)  # the last one stands for no run
        some = range(len(self.devices)) if device is None else [device]
        return [(number, mask[self.devices[number].run]) for number in some]


@kept
def find_ops(trace: Trace) -> Ops:
    """The ops of one host. Reads the HLO protos of the programs that ran from the file; where that fails, their ops
    have the scopes that their own metadata tells, and one diagnostic says so."""
    devices = trace.devices
    bounds = np.cumsum([0, *(len(device.ops) for device in devices)])
    runs = [_runs(trace, number) for number in range(len(devices))]
    each = [_columns(trace, device, run) for device, run in zip(devices, runs, strict=True)]
    columns = [_together(each, which) for which in range(4)]
    first, key = _keys(columns)
    program, name, told = _texts(trace, columns, first)
    names = host_annotations(trace).paths.names
    reading = _Reading(trace, names, _modules(trace))
    origin, caller, known = _origins(program, name, told, reading, names)
    parts = _Parts(origin)
    found = []
    for number, device in enumerate(devices):
        mine = np.ascontiguousarray(key[bounds[number] : bounds[number + 1]])
        ops = device.ops
        own = own_times(ops.start_ps, ops.end_ps, ops.self_ps, mine, caller, known) if device.made else ops.self_ps
        found.append(DeviceOps(mine, own, runs[number]))
    return Ops(
        found, program, name, origin, np.array([it.state for it in origin], np.int8), parts.first, parts.scope,
        parts.upto, parts.scopes, frozenset(reading.mentioned), frozenset(reading.working), reading.frames,
        reading.diagnostics(),
    )  # fmt: skip


def _runs(trace: Trace, number: int) -> Int32:
    """The run each op of a device begins in."""
    device, runs = trace.devices[number], find_launches(trace).runs
    mine = runs.of_device(number)
    starts, ends = runs.start_ps[mine], runs.end_ps[mine]
    found = np.full(len(device.ops), -1, np.int32)
    if not len(starts):
        return found
    first = np.searchsorted(device.ops.start_ps, starts, "left")
    count = np.diff(np.append(first, len(found)))
    which = np.repeat(np.arange(len(starts), dtype=np.int32), count)
    inside = device.ops.start_ps[first[0] :] <= ends[which]
    found[first[0] :] = np.where(inside, which + np.int32(mine.start), -1)
    return found


_Columns = tuple[Int64, Int64, "Int64 | None", "Int64 | None"]


def _columns(trace: Trace, device: Device, run: Int32) -> _Columns:
    """Per op: its program's id (by its bits), its name, its `tf_op`, and its stored scope (texts, -1: none). None where
    no op has the last ones."""
    rows = device.ops.row
    program = _event_stat(trace, "program_id", rows)
    if program is None or (program == _NO_PROGRAM).any():
        lookup = np.full(len(trace.metadata.name), _NO_PROGRAM, np.int64)
        for entry, text in enumerate(trace.metadata.text.get("program_id", ())):
            if text >= 0:
                lookup[entry] = _bits(trace.strings[text])
        program = _instead(program, lookup[trace.meta[rows]])
    if (program == _NO_PROGRAM).any() and len(find_launches(trace).runs):
        launches = find_launches(trace)
        ids = np.array([_bits(id_) for _, id_ in launches.programs], np.int64)
        program = _instead(program, np.where(run >= 0, ids[launches.runs.program[run]], _NO_PROGRAM))
    name = _event_stat(trace, "hlo_op", rows)
    if name is None or (name == -1).any():
        name = _instead(name, device.ops.name.astype(np.int64))
    told, texts = _event_stat(trace, "tf_op", rows), trace.metadata.text.get("tf_op")
    if texts is not None and (texts >= 0).any():
        told = _instead(told, texts[trace.meta[rows]].astype(np.int64))
    return program, name, told, stored_scopes(trace, device)


def _event_stat(trace: Trace, name: str, rows: Int32) -> Int64 | None:
    """A stat of the ops' own, -1 where they have none; None where no event has it."""
    stat = trace.stats.get(name)
    if stat is None or not stat.rows.size:
        return None
    place = _places(trace, name)[rows]
    return np.where(place >= 0, stat.values[place], -1)


@kept
def _places(trace: Trace, name: str) -> Int32:
    """Per event, where its value lies in a stat's column; -1 where it has none. A search per op would take longer."""
    rows = trace.stats[name].rows
    if name != "hlo_op" and "hlo_op" in trace.stats and np.array_equal(rows, trace.stats["hlo_op"].rows):
        return _places(trace, "hlo_op")
    places = np.full(len(trace), -1, np.int32)
    places[rows] = np.arange(len(rows), dtype=np.int32)
    return places


def _instead(values: Int64 | None, others: Int64) -> Int64:
    return others if values is None else np.where(values == -1, others, values)


def _bits(id_: str) -> int:
    """A program id as a signed number; ids are unsigned or signed decimals."""
    try:
        number = int(id_) % 2**64
    except ValueError:
        return _NO_PROGRAM
    return number - 2**64 if number >= 2**63 else number


def _together(columns: list[_Columns], which: int) -> Int64 | None:
    """One column of all devices."""
    parts = [column[which] for column in columns]
    if all(part is None for part in parts):
        return None
    lengths = [len(column[0]) for column in columns]
    whole = [np.full(n, -1, np.int64) if part is None else part for n, part in zip(lengths, parts, strict=True)]
    return whole[0] if len(whole) == 1 else np.concatenate(whole)


def _keys(columns: list[Int64 | None]) -> tuple[Int32, Int32]:
    """The first op of each kind, and the number of each op's kind; ops that agree in all columns are of one kind."""
    first, number = np.zeros(0, np.int32), np.zeros(0, np.int32)
    for column in columns:
        if column is None or not len(column):
            continue
        if len(first) > 1:
            column = number.astype(np.int64) * (int(column.max()) + 2) + column + 1
        first, number = distinct(np.ascontiguousarray(column))
    return first, number


def _texts(
    trace: Trace, columns: list[Int64 | None], first: Int32
) -> tuple[list[str], list[str], list[str]]:
    """Of the distinct ops: program ids as decimal strings, names as programs know them, and op names that the ops
    themselves or stored rows tell."""
    chosen = [[-1] * len(first) if column is None else column[first].tolist() for column in columns]
    program = ["" if it == _NO_PROGRAM else str(it % 2**64) for it in chosen[0]]
    name = [_instruction(trace.strings[it]) for it in chosen[1]]
    own = [op_name_of(trace.strings[it]) if it >= 0 else "" for it in chosen[2]]
    stored = [f"{trace.strings[it]}/" if it >= 0 else "" for it in chosen[3]]
    # A stored row holds the scope alone: the op's name makes an op name of it.
    told = [op_name or (f"{scope}{op}" if scope else "") for op_name, scope, op in zip(own, stored, name, strict=True)]
    return program, name, told


def _instruction(name: str) -> str:
    """The name of an instruction, of its name or its whole text."""
    return name.split(" ", 1)[0].lstrip("%") if name.startswith("%") else name


def _modules(trace: Trace) -> dict[str, str]:
    """The name of the module that each program id stands for, where runs or ops tell."""
    found = {id_: name for name, id_ in find_launches(trace).programs if id_}
    return {str(int(id_) % 2**64): name for id_, name in found.items()}


def _origins(
    program: list[str], name: list[str], told: list[str], reading: _Reading, names: frozenset[str]
) -> tuple[list[Origin], Int32, NDArray[np.bool_]]:
    """Origins of the distinct ops; which one's calls hold each (-1: none), and whether its program tells so."""
    origin = [origin_of_name(op_name, names) for op_name in told]
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
            number = {name[k]: k for k in mine}
            for part, holder in its.holders(number).items():
                caller[number[part]] = number[holder]
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


class _Reading:
    """Reads the programs that ran, and keeps what outlives them."""

    def __init__(self, trace: Trace, names: frozenset[str], modules: dict[str, str]) -> None:
        self.mentioned: set[str] = set()
        self.working: set[str] = set()
        self.frames: dict[str, Frames] = {}
        self._trace, self._names, self._modules = trace, names, modules
        self._source: Source | None = None
        self._failed = ""
        self._problems: dict[str, list[str]] = {}

    def __enter__(self) -> _Reading:
        try:
            if self._trace.programs:
                self._source = open_source(self._trace.path)
                if self._source.fingerprint != self._trace.fingerprint:
                    self._failed = "the file has changed since it was read; reload the session"
        except InputError as error:
            self._failed = str(error)
        return self

    def __exit__(self, *_: object) -> None:
        if self._source is not None:
            self._source.close()

    def program(self, id_: str) -> Program | None:
        place = self._trace.programs.get(int(id_))
        if place is None:
            return self._problem("are not in the file", id_)
        if self._failed or self._source is None:
            return self._problem(f"could not be read ({self._failed})", id_)
        try:
            module = read_module(self._source, place)
        except InputError:
            return self._problem("are cut short or damaged", id_)
        if id_ in self._modules and module.name and module.name != self._modules[id_]:
            return self._problem("belong to other programs", id_)
        return Program(module, self._names)

    def done(self, id_: str, program: Program) -> None:
        working, mentioned = program.scopes()
        self.working |= working
        self.mentioned |= mentioned
        self.frames[id_] = Frames(program.module.stack_frame_index)
        if program.damaged:
            self._problem("have computations that call themselves or ones that do not exist", id_)

    def _problem(self, what: str, id_: str) -> None:
        self._problems.setdefault(what, []).append(self._modules.get(id_, f"program {id_}"))

    def diagnostics(self) -> list[Diagnostic]:
        """One for all programs that did not tell what they should."""
        if not self._problems or not (self._trace.programs or self._failed):
            return []
        texts = []
        for what, programs in self._problems.items():
            some = ", ".join(programs[:3]) + (", …" if len(programs) > 3 else "")
            texts.append(f"HLO protos of {len(programs)} of the programs that ran {what}: {some}")
        return [
            Diagnostic(
                "no_hlo_scopes", "warning", "; ".join(texts) + ". Scopes of their ops may be missing.", self._trace.host
            )
        ]
