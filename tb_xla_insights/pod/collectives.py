"""The collectives that one host recorded, small enough to be sent to where all hosts are compared.

(docs/definitions.md, "Pods")
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.device.collectives import find_collectives
from tb_xla_insights.analysis.device.opcodes import COLLECTIVE_KINDS, instruction_name
from tb_xla_insights.analysis.idle.busy import busy
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.steps.step_times import steps_of
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.errors import InputError
from tb_xla_insights.files.source import open_source
from tb_xla_insights.pod.collective_columns import HostCollectives, Instruction, counted
from tb_xla_insights.pod.groups import Groups, groups_of, groups_of_text
from tb_xla_insights.pod.thinning import MOST_ROWS, thinned
from tb_xla_insights.trace.model import Int32, Int64, Trace
from tb_xla_insights.trace.run_keys import stat_at
from tb_xla_insights.xplane.hlo import read_module

__all__ = ["HostCollectives", "host_collectives"]

_TOGETHER = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-broadcast")
"""Kinds in which every core waits for every other one of its group. In the others one core waits for one."""

_FROM_ONE = ("send", "recv", "collective-permute")

_HALF = re.compile(r"-(start|done)(?=[. ]|$)")
_OPERAND = re.compile(r"-done\([^%]*%([\w.-]+)")
_WHOLE, _START, _DONE = range(3)


def host_collectives(trace: Trace, most_rows: int = MOST_ROWS) -> HostCollectives:
    """The collectives of one host in which all cores of a group wait for each other; point-to-point ones are left out.

    Of more than `most_rows` rows those of some instructions are left out, the same ones on every host: see `thinned`.
    """
    runs, run_of = _runs(trace)
    parts = [_of_device(trace, number, run_of) for number in range(len(trace.devices))]
    rows = {
        name: np.concatenate([part[name] for part in parts] or [np.zeros(0, np.int64)])
        for name in ("key", "run", "core", "begin_ps", "end_ps", "exposed_ps", "handed_ps")
    }
    instructions, groups, of_key, half = _instructions(trace, rows["key"])
    keep = of_key[rows["key"]] >= 0
    rows = {name: column[keep] for name, column in rows.items()}
    halves = half[rows["key"]]
    rows["instruction"] = of_key[rows.pop("key")]
    rows = _joined(rows, halves)
    return thinned(
        HostCollectives(
            trace.base_unix_ns,
            tuple(device.id for device in trace.devices),
            _ordinals(trace),
            runs.names,
            groups,
            instructions,
            runs.program,
            runs.run_id,
            runs.step,
            runs.start_ps,
            rows["instruction"].astype(np.int32),
            rows["run"].astype(np.int32),
            rows["repetition"].astype(np.int32),
            rows["core"].astype(np.int16),
            rows["begin_ps"],
            rows["wait_ps"],
            rows["end_ps"],
            rows["exposed_ps"],
            rows["handed_ps"],
            np.array([-1 if it.number is None else it.number for it in steps_of(trace)], np.int64),
            _step_work(trace),
            len(rows["run"]),
        ),
        most_rows,
    )


@dataclass(frozen=True)
class _Runs:
    """Runs of programs, which cores do together."""

    names: tuple[str, ...]
    program: Int32
    run_id: Int64
    step: Int32
    start_ps: Int64


def _runs(trace: Trace) -> tuple[_Runs, Int32]:
    """The runs of a host, in order of time, and which of them each device run (of Launches.runs) is a part of. Cores
    run together what one launch asked for; runs of which no launch is known, in the order in which each core did."""
    launches = find_launches(trace)
    runs = launches.runs
    name = np.array([it[0] for it in launches.programs] or [""])
    names, program = np.unique(name, return_inverse=True)
    program = program[runs.program] if len(runs) else np.zeros(0, np.intp)
    number = runs.launch.astype(np.int64)
    for core in range(len(trace.devices)):
        for which in range(len(names)):
            lost = np.flatnonzero((runs.device == core) & (program == which) & (runs.launch < 0))
            number[lost] = -1 - (which + len(names) * np.arange(len(lost)))
    # One launch may run several programs; each is a run of its own.
    _, first, run_of = np.unique(
        np.stack((number, program)) if len(runs) else np.zeros((2, 0), np.int64), axis=1, return_index=True,
        return_inverse=True,
    )  # fmt: skip
    run_of = run_of.reshape(-1)
    start = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(start, run_of, runs.start_ps)
    order = np.argsort(start, kind="stable")
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    first = first[order]
    made = _Runs(
        tuple(names.tolist()) if len(runs) else (),
        program[first].astype(np.int32),
        _run_ids(trace)[first],
        launches.step_of_run[first],
        start[order],
    )
    return made, place[run_of].astype(np.int32)


def _run_ids(trace: Trace) -> Int64:
    """Per device run the id of its execute call, 0: not recorded."""
    parts = [
        device.run_ids if device.run_ids is not None else stat_at(trace, "run_id", device.modules.row, 0)
        for device in trace.devices
    ]
    return np.concatenate([*parts, np.zeros(0, np.int64)])


def _of_device(trace: Trace, device: int, run_of: Int32) -> dict[str, Int64]:
    """The collective ops of a device that belong to a run. `key`: which distinct op of `find_ops`."""
    found, ops, told = (
        find_collectives(trace, device),
        trace.devices[device].ops,
        find_ops(trace).devices[device],
    )
    from_one = np.isin(found.kind, [COLLECTIVE_KINDS.index(kind) for kind in _FROM_ONE])
    handed = np.where(from_one, found.exposed_ps, 0)
    kept = told.run[found.op] >= 0
    op = found.op[kept]
    return {
        "key": told.key[op].astype(np.int64),
        "run": run_of[told.run[op]].astype(np.int64),
        "core": np.full(len(op), device, np.int64),
        "begin_ps": ops.start_ps[op],
        "end_ps": ops.end_ps[op],
        "exposed_ps": found.exposed_ps[kept],
        "handed_ps": (np.cumsum(handed) - handed)[kept],
    }


def _instructions(
    trace: Trace, keys: Int64
) -> tuple[tuple[Instruction, ...], tuple[Groups, ...], NDArray[np.int32], NDArray[np.int8]]:
    """The collectives among distinct ops, and all their groups; per distinct op which one it is (-1: none in which all
    wait for all), and whether it is the whole of it, its start, or its end."""
    ops, texts, kinds = find_ops(trace), _texts(trace), _kinds(trace)
    of_key = np.full(len(ops.name), -1, np.int32)
    half = np.zeros(len(ops.name), np.int8)
    numbers: dict[tuple[str, str], int] = {}
    found: list[Instruction] = []
    groups: dict[Groups, int] = {}
    wanted: list[tuple[int, int]] = []
    modules = {id_: name for name, id_ in find_launches(trace).programs}
    for key in np.unique(keys).tolist():
        if kinds[key] not in _TOGETHER:
            continue
        text = texts.get(key, "")
        name = instruction_name(ops.name[key])
        opcode = _HALF.search(name) or _HALF.search(ops.origin[key].opcode)
        half[key] = _WHOLE if opcode is None else _START if opcode[1] == "start" else _DONE
        if half[key] == _DONE:
            begun = _OPERAND.search(text)
            name = begun[1] if begun else name.replace("-done", "-start")
        program = modules.get(ops.program[key]) or modules.get(_signed(ops.program[key])) or ""
        place = numbers.setdefault((program, name), len(found))
        of_key[key] = place
        told = groups_of_text(text)
        if place == len(found):
            found.append(Instruction(program, name, kinds[key], None))
            wanted.append((place, key))
        if told is not None:
            found[place] = replace(found[place], groups=groups.setdefault(told, len(groups)))
    asked = [(place, key) for place, key in wanted if found[place].groups is None]
    for place, told in _read_groups(trace, asked).items():
        found[place] = replace(found[place], groups=groups.setdefault(told, len(groups)))
    return tuple(found), tuple(groups), of_key, half


def _signed(id_: str) -> str:
    """An id of 64 bits as a signed decimal, as some files name their modules."""
    return str(int(id_) - 2**64) if id_ and int(id_) >= 2**63 else id_


def _kinds(trace: Trace) -> dict[int, str]:
    """The kind of each distinct op that is a collective."""
    found: dict[int, str] = {}
    for device, ops in enumerate(find_ops(trace).devices):
        collectives = find_collectives(trace, device)
        keys, first = np.unique(ops.key[collectives.op], return_index=True)
        found |= {
            key: COLLECTIVE_KINDS[kind]
            for key, kind in zip(keys.tolist(), collectives.kind[first].tolist(), strict=True)
        }
    return found


def _texts(trace: Trace) -> dict[int, str]:
    """What the file has of each distinct collective op as HLO's text: the names of a TPU's events."""
    found: dict[int, str] = {}
    for device, ops in enumerate(find_ops(trace).devices):
        op = find_collectives(trace, device).op
        keys, first = np.unique(ops.key[op], return_index=True)
        rows = trace.devices[device].ops.row[op[first]].tolist()
        found |= {
            key: text
            for key, row in zip(keys.tolist(), rows, strict=True)
            if " = " in (text := trace.name(row))
        }
    return found


def _read_groups(trace: Trace, asked: list[tuple[int, int]]) -> dict[int, Groups]:
    """The groups of collectives (place, distinct op) from the programs in the file, as far as they can be read."""
    ops, found = find_ops(trace), {}
    by_program: dict[int, list[tuple[int, str]]] = {}
    for place, key in asked:
        if ops.program[key] and int(ops.program[key]) % 2**64 in trace.programs:
            by_program.setdefault(int(ops.program[key]) % 2**64, []).append(
                (place, instruction_name(ops.name[key]))
            )
    if not by_program:
        return {}
    try:
        with open_source(trace.path) as source:
            if source.fingerprint != trace.fingerprint:
                return {}
            for id_, some in by_program.items():
                wanted = {name: place for place, name in some}
                for computation in read_module(source, trace.programs[id_]).computations:
                    for it in computation.instructions:
                        if it.name in wanted:
                            found[wanted[it.name]] = groups_of(it)
    except InputError:
        pass  # `find_ops` has told so already
    return found


def _joined(rows: dict[str, Int64], half: NDArray[np.int8]) -> dict[str, Int64]:
    """Rows with their `repetition` and `wait_ps`; of asynchronous collectives both halves in one row, those of which a
    half is missing left out."""
    order = np.lexsort((rows["begin_ps"], half == _DONE, rows["core"], rows["run"], rows["instruction"]))
    rows = {name: column[order] for name, column in rows.items()}
    half = half[order]
    repetition = counted(rows["instruction"], rows["run"], rows["core"], half == _DONE)
    begun, done = np.flatnonzero(half != _DONE), np.flatnonzero(half == _DONE)
    start = begun[half[begun] == _START]
    keys = np.stack((rows["instruction"], rows["run"], rows["core"], repetition))
    pairs = dict(zip(map(tuple, keys[:, done].T.tolist()), done.tolist(), strict=True))
    ends = np.array([pairs.get(key, -1) for key in map(tuple, keys[:, start].T.tolist())], np.int64)
    end_of = np.arange(len(half))
    end_of[start] = ends
    kept = np.flatnonzero((half == _WHOLE) | ((half == _START) & (end_of >= 0)))
    until = end_of[kept]
    joined = {name: rows[name][kept] for name in ("instruction", "run", "core", "begin_ps", "handed_ps")}
    joined |= {
        "repetition": repetition[kept],
        "wait_ps": rows["begin_ps"][until],
        "end_ps": rows["end_ps"][until],
    }
    exposed = rows["exposed_ps"][kept] + np.where(until == kept, 0, rows["exposed_ps"][until])
    return joined | {"exposed_ps": exposed}


def _step_work(trace: Trace) -> Int64:
    """Per step and core, how long the core computed for the step's runs: it was busy, and not only in collectives."""
    launches, count = find_launches(trace), len(steps_of(trace))
    found = np.zeros((count, len(trace.devices)), np.int64)
    for number, device in enumerate(trace.devices):
        some, at_work = launches.runs.of_device(number), busy(trace, device)
        work = covered_times(
            at_work.start_ps, at_work.end_ps, launches.runs.own_start_ps[some], launches.runs.end_ps[some]
        )
        step = launches.step_of_run[some]
        np.add.at(found[:, number], step[step >= 0], work[step >= 0])
        collectives = find_collectives(trace, number)
        run = find_ops(trace).devices[number].run[collectives.op]
        of_op = np.append(launches.step_of_run, -1)[run]  # the last one: no run
        np.add.at(found[:, number], of_op[of_op >= 0], -collectives.exposed_ps[of_op >= 0])
    return np.maximum(found, 0)


def _ordinals(trace: Trace) -> tuple[int, ...]:
    """The numbers of the cores among those of all hosts, as the `device_ordinal` of a CPU's ops in JAX tells them."""
    if not all(device.made and device.run_ids is not None for device in trace.devices):
        return (-1,) * len(trace.devices)
    return tuple(device.ordinal for device in trace.devices)
