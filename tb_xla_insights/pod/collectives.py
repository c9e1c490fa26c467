"""Collects the collectives of one host, in a form small enough to send. (docs/definitions.md, "Pods")"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.delays.collectives import find_collectives
from tb_xla_insights.analysis.idle.busy import busy
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps, step_times
from tb_xla_insights.analysis.opcodes import COLLECTIVE_KINDS, instruction_name
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.errors import InputError
from tb_xla_insights.pod.collective_columns import (
    HostCollectives,
    Instruction,
    TimesOfSteps,
    occurrence_index,
)
from tb_xla_insights.pod.groups import Groups, groups_of, groups_of_text
from tb_xla_insights.pod.thinning import MAX_ROWS, limit_rows
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.run_keys import stat_at
from tb_xla_insights.xplane.hlo import read_module
from tb_xla_insights.xplane.open_capture import open_capture

__all__ = ["HostCollectives", "host_collectives"]

_GROUP_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-broadcast")
"""Kinds in which every core waits for every other core of its group. In the others a core waits for one other core."""

_POINT_TO_POINT_KINDS = ("send", "recv", "collective-permute")

_HALF_SUFFIX = re.compile(r"-(start|done)(?=[. ]|$)")
_OPERAND = re.compile(r"%([\w.-]+)")

_WHOLE, _START, _DONE = range(3)
"""The part of a collective that an op executes: all of it, or one half of an asynchronous one."""


def host_collectives(trace: Trace, max_rows: int = MAX_ROWS) -> HostCollectives:
    """Returns the collectives of one host in which all cores of a group wait for each other, without point-to-point
    collectives. `limit_rows` limits them to `max_rows` rows, with the same choice on every host."""
    runs, run_of_device_run = _shared_runs(trace)
    rows_of_devices = [_device_rows(trace, device, run_of_device_run) for device in range(len(trace.devices))]
    rows = {
        name: np.concatenate([columns[name] for columns in rows_of_devices] or [np.zeros(0, np.int64)])
        for name in ("key", "run", "core", "begin_ps", "end_ps", "exposed_ps", "point_to_point_ps")
    }
    instructions, groups, instruction_of_key, half_of_key = _find_instructions(trace, rows["key"])
    is_included = instruction_of_key[rows["key"]] >= 0
    rows = {name: column[is_included] for name, column in rows.items()}
    halves = half_of_key[rows["key"]]
    rows["instruction"] = instruction_of_key[rows.pop("key")]
    rows = _merge_halves(rows, halves)
    return limit_rows(
        HostCollectives(
            base_unix_ns=trace.base_unix_ns,
            cores=tuple(device.id for device in trace.devices),
            ordinals=_core_ordinals(trace),
            programs=runs.names,
            groups=groups,
            instructions=instructions,
            run_program=runs.program,
            run_id=runs.run_id,
            run_step=runs.step,
            run_start_ps=runs.start_ps,
            instruction=rows["instruction"].astype(np.int32),
            run=rows["run"].astype(np.int32),
            repetition=rows["repetition"].astype(np.int32),
            core=rows["core"].astype(np.int16),
            begin_ps=rows["begin_ps"],
            wait_start_ps=rows["wait_start_ps"],
            end_ps=rows["end_ps"],
            exposed_ps=rows["exposed_ps"],
            point_to_point_ps=rows["point_to_point_ps"],
            step_numbers=np.array(
                [-1 if step.number is None else step.number for step in find_steps(trace)], np.int64
            ),
            step_work_ps=_step_work(trace),
            annotation_times=_annotation_times(trace),
            recorded_count=len(rows["run"]),
        ),
        max_rows,
    )


@dataclass(frozen=True)
class _Runs:
    """Runs of programs that the cores execute together, in order of time; `program` is an index into `names`."""

    names: tuple[str, ...]
    program: Int32
    run_id: Int64
    step: Int32
    start_ps: Int64


def _shared_runs(trace: Trace) -> tuple[_Runs, Int32]:
    """Returns the runs of a host, and per device run (of `Launches.runs`) the index of its run. Device runs of one
    launch and program are one run; those without a known launch are matched by their order on each core."""
    launches = find_launches(trace)
    runs = launches.runs
    program_names = np.array([program.name for program in launches.programs] or [""])
    names, program = np.unique(program_names, return_inverse=True)
    program = program[runs.program] if len(runs) else np.zeros(0, np.intp)
    number = runs.launch.astype(np.int64)
    unjoined = np.flatnonzero(runs.launch < 0)
    unjoined = unjoined[np.lexsort((program[unjoined], runs.device[unjoined]))]
    index_on_core = occurrence_index(runs.device[unjoined], program[unjoined])
    number[unjoined] = -1 - (program[unjoined] + len(names) * index_on_core)
    # One launch may run several programs; each is a separate run.
    _, first, run_of_device_run = np.unique(
        np.stack((number, program)) if len(runs) else np.zeros((2, 0), np.int64), axis=1, return_index=True,
        return_inverse=True,
    )  # fmt: skip
    run_of_device_run = run_of_device_run.reshape(-1)
    start = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(start, run_of_device_run, runs.start_ps)
    order = np.argsort(start, kind="stable")
    position = np.empty(len(order), np.int32)
    position[order] = np.arange(len(order), dtype=np.int32)
    first = first[order]
    shared_runs = _Runs(
        tuple(names.tolist()) if len(runs) else (),
        program[first].astype(np.int32),
        _run_ids(trace)[first],
        launches.step_of_run[first],
        start[order],
    )
    return shared_runs, position[run_of_device_run].astype(np.int32)


def _run_ids(trace: Trace) -> Int64:
    """Returns, per device run, the id of its execute call; 0: not recorded."""
    ids_of_devices = [
        device.run_ids if device.run_ids is not None else stat_at(trace, "run_id", device.runs.row, 0)
        for device in trace.devices
    ]
    return np.concatenate([*ids_of_devices, np.zeros(0, np.int64)])


def _device_rows(trace: Trace, device: int, run_of_device_run: Int32) -> dict[str, Int64]:
    """Returns the columns of a device's collective ops that belong to a run. `key`: the distinct op of `find_ops`."""
    collectives, ops = find_collectives(trace, device), trace.devices[device].ops
    device_ops = find_ops(trace).devices[device]
    is_point_to_point = np.isin(
        collectives.kind, [COLLECTIVE_KINDS.index(kind) for kind in _POINT_TO_POINT_KINDS]
    )
    point_to_point = np.where(is_point_to_point, collectives.exposed_ps, 0)
    has_run = device_ops.run[collectives.op] >= 0
    op = collectives.op[has_run]
    return {
        "key": device_ops.key[op].astype(np.int64),
        "run": run_of_device_run[device_ops.run[op]].astype(np.int64),
        "core": np.full(len(op), device, np.int64),
        "begin_ps": ops.start_ps[op],
        "end_ps": ops.end_ps[op],
        "exposed_ps": collectives.exposed_ps[has_run],
        "point_to_point_ps": (np.cumsum(point_to_point) - point_to_point)[has_run],
    }


def _find_instructions(
    trace: Trace, keys: Int64
) -> tuple[tuple[Instruction, ...], tuple[Groups, ...], NDArray[np.int32], NDArray[np.int8]]:
    """Returns the collectives of _GROUP_KINDS among distinct ops, and the groups that they refer to; per distinct op,
    the index of its instruction (-1: none) and which part of the collective it is (_WHOLE, _START or _DONE)."""
    ops, texts, kinds = find_ops(trace), _hlo_texts(trace), _collective_kinds(trace)
    instruction_of_key = np.full(len(ops.name), -1, np.int32)
    half_of_key = np.zeros(len(ops.name), np.int8)
    indices: dict[tuple[str, str], int] = {}
    instructions: list[Instruction] = []
    groups: dict[Groups, int] = {}
    key_of_instruction: dict[int, int] = {}
    # A GPU has no kernel for the end of an asynchronous collective: that of its start is all of it.
    has_halves = any(device.kind != "gpu" for device in trace.devices)
    modules = {id_: name for name, id_ in find_launches(trace).programs}
    for key in np.unique(keys).tolist():
        if kinds[key] not in _GROUP_KINDS:
            continue
        text = texts.get(key, "")
        name = instruction_name(ops.name[key])
        suffix = _HALF_SUFFIX.search(name) or _HALF_SUFFIX.search(ops.origin[key].opcode)
        if suffix is not None and (has_halves or suffix[1] == "done"):
            half_of_key[key] = _START if suffix[1] == "start" else _DONE
        if half_of_key[key] == _DONE:
            operand = _OPERAND.search(text.partition("-done(")[2])
            name = operand[1] if operand else name.replace("-done", "-start")
        program = modules.get(ops.program[key]) or modules.get(_signed_id(ops.program[key])) or ""
        index = indices.setdefault((program, name), len(instructions))
        instruction_of_key[key] = index
        text_groups = groups_of_text(text)
        if index == len(instructions):
            instructions.append(Instruction(program, name, kinds[key], None))
        if half_of_key[key] != _DONE:  # only the start has the groups
            key_of_instruction.setdefault(index, key)
        if text_groups is not None:
            instructions[index] = replace(
                instructions[index], groups=groups.setdefault(text_groups, len(groups))
            )
    missing = [
        (index, key) for index, key in key_of_instruction.items() if instructions[index].groups is None
    ]
    for index, hlo_groups in _read_groups(trace, missing).items():
        instructions[index] = replace(instructions[index], groups=groups.setdefault(hlo_groups, len(groups)))
    return tuple(instructions), tuple(groups), instruction_of_key, half_of_key


def _signed_id(id_: str) -> str:
    """Converts a 64-bit id to a signed decimal, as some files name their modules."""
    return str(int(id_) - 2**64) if id_ and int(id_) >= 2**63 else id_


def _collective_kinds(trace: Trace) -> dict[int, str]:
    """Returns the kind of each distinct op that is a collective."""
    kinds: dict[int, str] = {}
    for device, ops in enumerate(find_ops(trace).devices):
        collectives = find_collectives(trace, device)
        keys, first = np.unique(ops.key[collectives.op], return_index=True)
        kinds |= {
            key: COLLECTIVE_KINDS[kind]
            for key, kind in zip(keys.tolist(), collectives.kind[first].tolist(), strict=True)
        }
    return kinds


def _hlo_texts(trace: Trace) -> dict[int, str]:
    """Returns the HLO text of each distinct collective op where the capture has it: as the event name on a TPU."""
    texts: dict[int, str] = {}
    for device, ops in enumerate(find_ops(trace).devices):
        op = find_collectives(trace, device).op
        keys, first = np.unique(ops.key[op], return_index=True)
        rows = trace.devices[device].ops.row[op[first]].tolist()
        texts |= {
            key: text
            for key, row in zip(keys.tolist(), rows, strict=True)
            if " = " in (text := trace.name(row))
        }
    return texts


def _read_groups(trace: Trace, requested: list[tuple[int, int]]) -> dict[int, Groups]:
    """Reads the groups of collectives, given as pairs of instruction index and distinct op, from the programs in the
    file. Those that cannot be read are left out."""
    ops = find_ops(trace)
    groups: dict[int, Groups] = {}
    by_program: dict[int, dict[str, int]] = {}
    for index, key in requested:
        if ops.program[key] and int(ops.program[key]) % 2**64 in trace.programs:
            index_of_name = by_program.setdefault(int(ops.program[key]) % 2**64, {})
            index_of_name[instruction_name(ops.name[key])] = index
    if not by_program:
        return {}
    try:
        with open_capture(trace.path) as source:
            if source.fingerprint != trace.fingerprint:
                return {}
            for id_, index_of_name in by_program.items():
                for computation in read_module(source, trace.programs[id_]).computations:
                    for hlo_instruction in computation.instructions:
                        if hlo_instruction.name in index_of_name:
                            groups[index_of_name[hlo_instruction.name]] = groups_of(hlo_instruction)
    except InputError:
        pass  # `find_ops` has already reported it
    return groups


def _merge_halves(rows: dict[str, Int64], half: NDArray[np.int8]) -> dict[str, Int64]:
    """Returns the rows with `repetition` and `wait_start_ps`. The two halves of an asynchronous collective become one
    row; a half without its counterpart is left out."""
    order = np.lexsort((rows["begin_ps"], half == _DONE, rows["core"], rows["run"], rows["instruction"]))
    rows = {name: column[order] for name, column in rows.items()}
    half = half[order]
    repetition = occurrence_index(rows["instruction"], rows["run"], rows["core"], half == _DONE)
    start, done = np.flatnonzero(half == _START), np.flatnonzero(half == _DONE)
    keys = np.stack((rows["instruction"], rows["run"], rows["core"], repetition))
    done_of_key = dict(zip(map(tuple, keys[:, done].T.tolist()), done.tolist(), strict=True))
    done_of_start = [done_of_key.get(key, -1) for key in map(tuple, keys[:, start].T.tolist())]
    end_row = np.arange(len(half))
    end_row[start] = np.array(done_of_start, np.int64)
    first = np.flatnonzero((half == _WHOLE) | ((half == _START) & (end_row >= 0)))
    last = end_row[first]
    merged = {
        name: rows[name][first] for name in ("instruction", "run", "core", "begin_ps", "point_to_point_ps")
    }
    merged |= {
        "repetition": repetition[first],
        "wait_start_ps": rows["begin_ps"][last],
        "end_ps": rows["end_ps"][last],
    }
    exposed = rows["exposed_ps"][first] + np.where(last == first, 0, rows["exposed_ps"][last])
    return merged | {"exposed_ps": exposed}


def _step_work(trace: Trace) -> Int64:
    """Returns, per step and core, how long the core computed for the step's runs: its busy time without exposed
    collectives."""
    launches, step_count = find_launches(trace), len(find_steps(trace))
    work_ps = np.zeros((step_count, len(trace.devices)), np.int64)
    for number, device in enumerate(trace.devices):
        runs, busy_intervals = launches.runs.of_device(number), busy(trace, device)
        busy_ps = covered_times(
            busy_intervals.start_ps,
            busy_intervals.end_ps,
            launches.runs.own_start_ps[runs],
            launches.runs.end_ps[runs],
        )
        step = launches.step_of_run[runs]
        np.add.at(work_ps[:, number], step[step >= 0], busy_ps[step >= 0])
        collectives = find_collectives(trace, number)
        run = find_ops(trace).devices[number].run[collectives.op]
        step_of_op = np.append(launches.step_of_run, -1)[run]  # the last element is for ops without a run
        in_step = step_of_op >= 0
        np.add.at(work_ps[:, number], step_of_op[in_step], -collectives.exposed_ps[in_step])
    return np.maximum(work_ps, 0)


def _annotation_times(trace: Trace) -> dict[str, TimesOfSteps]:
    """Returns, by the path of annotations, their time in each step, without the parts outside of it. An annotation that
    few steps have, such as one with the step's number in its name, has an entry for these steps only."""
    annotations, (step_start_ps, step_end_ps) = host_annotations(trace), step_times(trace)
    order = np.argsort(annotations.path, kind="stable")
    bounds = np.searchsorted(annotations.path[order], np.arange(1, len(annotations.path_texts)))
    times = {}
    for text, index in zip(annotations.path_texts, np.split(order, bounds), strict=False):
        rows = annotations.row[index]
        intervals = union(trace.start_ps[rows], trace.end_ps[rows])
        start_ps, end_ps = intervals.start_ps, intervals.end_ps
        if not len(start_ps):  # events without duration
            continue
        touched = np.flatnonzero((step_start_ps < end_ps[-1]) & (step_end_ps > start_ps[0]))
        if len(touched):
            steps = slice(touched[0], touched[-1] + 1)
            covered_ps = covered_times(start_ps, end_ps, step_start_ps[steps], step_end_ps[steps])
            times[text] = TimesOfSteps(int(touched[0]), covered_ps)
    return times


def _core_ordinals(trace: Trace) -> tuple[int, ...]:
    """Returns the numbers of the cores among those of all hosts: the `device_ordinal` of a CPU's ops in JAX."""
    if not all(device.from_host_events and device.run_ids is not None for device in trace.devices):
        return (-1,) * len(trace.devices)
    return tuple(device.ordinal for device in trace.devices)
