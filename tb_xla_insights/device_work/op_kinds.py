"""The kind (work, wait, transfer, …), category and number of executions of each distinct op of a capture."""

from __future__ import annotations

import re
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.delays.callbacks import callback_primitive
from tb_xla_insights.analysis.delays.collectives import collective_kinds
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.opcodes import is_container, is_wait, opcode
from tb_xla_insights.analysis.propagation.ops import Ops, OpSelection, find_ops
from tb_xla_insights.arrays import Int64
from tb_xla_insights.trace.model import Trace

Kind = Literal["work", "wait", "start", "collective", "transfer", "callback", "container"]
"""`wait`: only waits for an asynchronous op (`copy-done`); `start`: only starts one (`copy-start`); `transfer`: moves
data between host and device; `container`: a loop or call, whose own time is the time between its inner ops."""

KINDS: tuple[Kind, ...] = get_args(Kind)

_TRANSFER_CATEGORIES = frozenset(
    (
        "infeed", "outfeed", "host send", "host recv", "host receive", "host send done", "host recv done",
        "host receive done",
    )
)  # fmt: skip


@memoised
def first_events(trace: Trace) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Returns, per distinct op, the index of the device of its first event, and the event's index among that device's
    ops."""
    event = find_ops(trace).event
    first = np.cumsum([0, *(len(device.ops) for device in trace.devices)])
    device = np.searchsorted(first, event, "right") - 1
    return device.astype(np.int32), (event - first[device]).astype(np.int32)


@memoised
def op_metadata(trace: Trace) -> list[int]:
    """Returns the index of the event metadata of each distinct op."""
    device, position = first_events(trace)
    metadata = np.zeros(len(device), np.int64)
    for index in range(len(trace.devices)):
        on_device = device == index
        metadata[on_device] = trace.metadata_index[trace.devices[index].ops.row[position[on_device]]]
    indices: list[int] = metadata.tolist()
    return indices


@memoised
def op_categories(trace: Trace) -> list[str]:
    """Returns the category of each distinct op: the compiler's, as the capture records it, else the opcode in the
    program, else that in the op's name; `kernel` for a kernel without a program, or with a name without an opcode."""
    ops, category_of_metadata = find_ops(trace), trace.metadata.text.get("hlo_category")
    categories = []
    for op, metadata in enumerate(op_metadata(trace)):
        text_index = int(category_of_metadata[metadata]) if category_of_metadata is not None else -1
        if text_index >= 0:
            categories.append(trace.strings[text_index])
        elif ops.origin[op].opcode:
            categories.append(ops.origin[op].opcode)
        else:
            categories.append((ops.program[op] and opcode(ops.name[op])) or "kernel")
    return categories


@memoised
def op_kinds(trace: Trace) -> list[Kind]:
    """Returns the kind of each distinct op."""
    ops, (device, position) = find_ops(trace), first_events(trace)
    collective_kind = np.full(len(ops.name), -1, np.int8)
    for index in range(len(trace.devices)):
        on_device = device == index
        collective_kind[on_device] = collective_kinds(trace, index)[position[on_device]]
    callers = frozenset(ops.caller.tolist())
    return [
        _kind(ops, op, category, collective_kind[op] >= 0, op in callers)
        for op, category in enumerate(op_categories(trace))
    ]


def _kind(ops: Ops, op: int, category: str, is_collective: bool, has_inner_ops: bool) -> Kind:
    name, code = ops.name[op], ops.origin[op].opcode
    if is_collective:
        return "collective"
    words = re.sub(r"[-_ ]+", " ", category.lower())
    if callback_primitive(ops, op) is not None:  # its sends and receives are not transfers of their own
        return "callback"
    if words in _TRANSFER_CATEGORIES:
        return "transfer"
    if is_wait(name) or is_wait(code) or words.endswith(" done"):
        return "wait"
    if code == "call" and not has_inner_ops:  # without recorded inner ops, all of its time is work
        return "work"
    if opcode(name).endswith("-start") or code.endswith("-start") or words.endswith(" start"):
        return "start"
    return "container" if is_container(name) or is_container(code) or is_container(category) else "work"


@memoised
def starts_execution(trace: Trace, device: int) -> NDArray[np.bool_]:
    """Returns, per op of a device (an index), whether an execution starts with it. On a GPU an op may be several
    kernels: adjacent ones on a stream, in the same run, are one execution. Elsewhere each event is an execution."""
    ops, intervals = find_ops(trace).devices[device], trace.devices[device].ops
    if trace.devices[device].kind != "gpu" or not len(intervals):
        return np.ones(len(intervals), np.bool_)
    stream = trace.lines_of(intervals.row)
    order = np.argsort(stream, kind="stable")  # by start within a stream
    is_same_op = np.ones(len(intervals) - 1, np.bool_)
    for column in (stream[order], ops.key[order], ops.run[order]):
        is_same_op &= column[1:] == column[:-1]
    starts = np.empty(len(intervals), np.bool_)
    starts[order] = np.append(True, ~is_same_op)
    # A kernel without a run has no program, so it is not known whether two kernels are one op.
    starts |= ops.run < 0
    return starts


def execution_counts(trace: Trace, selection: OpSelection) -> Int64:
    """Returns, per distinct op, the number of its executions among selected ops."""
    ops = find_ops(trace)
    if all(device.kind != "gpu" for device in trace.devices):
        return ops.sums(selection).op_count
    counts = np.zeros(len(ops.name), np.int64)
    for device, rows in selection:
        key = ops.devices[device].key[rows]
        if trace.devices[device].kind == "gpu":
            key = key[starts_execution(trace, device)[rows]]
        counts += np.bincount(key, minlength=len(counts))
    return counts
