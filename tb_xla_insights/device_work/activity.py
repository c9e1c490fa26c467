"""Kinds of the distinct ops of a capture (work, waiting, transfer, …), and which of their events begin an execution."""

from __future__ import annotations

import re
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.device.collectives import collective_kinds
from tb_xla_insights.analysis.device.opcodes import is_container, is_wait, opcode
from tb_xla_insights.analysis.host.callbacks import callback_primitive
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.ops import Ops, OpSelection, find_ops
from tb_xla_insights.trace.model import Int64, Trace

Kind = Literal["work", "wait", "start", "collective", "transfer", "callback", "container"]
"""`wait`: only waits for an asynchronous op (`copy-done`); `start`: only starts one (`copy-start`); `transfer`: data
between host and device; `container`: a loop or call, whose own time is the time between its parts."""

KINDS: tuple[Kind, ...] = get_args(Kind)

_TRANSFERS = frozenset(
    (
        "infeed", "outfeed", "send", "recv", "host send", "host recv", "host receive", "send done", "recv done",
        "host send done", "host recv done", "host receive done",
    )
)  # fmt: skip


@memoised
def first_events(trace: Trace) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For each distinct op, the device (index) of its first event and the event's place among that device's ops."""
    event = find_ops(trace).event
    first = np.cumsum([0, *(len(device.ops) for device in trace.devices)])
    device = np.searchsorted(first, event, "right") - 1
    return device.astype(np.int32), (event - first[device]).astype(np.int32)


@memoised
def metadata_of(trace: Trace) -> list[int]:
    """The metadata entry of each distinct op."""
    device, place = first_events(trace)
    found = np.zeros(len(device), np.int64)
    for number in range(len(trace.devices)):
        mine = device == number
        found[mine] = trace.meta[trace.devices[number].ops.row[place[mine]]]
    listed: list[int] = found.tolist()
    return listed


@memoised
def categories(trace: Trace) -> list[str]:
    """The compiler's category of each distinct op: the capture's, else the program's opcode, else the opcode in its
    name; `kernel` for a kernel without a program."""
    ops, told = find_ops(trace), trace.metadata.text.get("hlo_category")
    found = []
    for k, entry in enumerate(metadata_of(trace)):
        text = int(told[entry]) if told is not None else -1
        if text >= 0:
            found.append(trace.strings[text])
        elif ops.origin[k].opcode:
            found.append(ops.origin[k].opcode)
        else:
            found.append((ops.program[k] and opcode(ops.name[k])) or "kernel")
    return found


@memoised
def kinds(trace: Trace) -> list[Kind]:
    """The kind of each distinct op."""
    ops, (device, place) = find_ops(trace), first_events(trace)
    collective = np.full(len(ops.name), -1, np.int8)
    for number in range(len(trace.devices)):
        mine = device == number
        collective[mine] = collective_kinds(trace, number)[place[mine]]
    holders = frozenset(ops.caller.tolist())
    return [
        _kind(ops, k, category, collective[k] >= 0, k in holders)
        for k, category in enumerate(categories(trace))
    ]


def _kind(ops: Ops, k: int, category: str, collective: bool, holds: bool) -> Kind:
    name, code = ops.name[k], ops.origin[k].opcode
    if collective:
        return "collective"
    plain = re.sub(r"[-_ ]+", " ", category.lower())
    if plain in _TRANSFERS:
        return "transfer"
    if callback_primitive(ops, k) is not None:
        return "callback"
    if is_wait(name) or is_wait(code) or plain.endswith(" done"):
        return "wait"
    if code == "call" and not holds:  # without recorded parts all of its time is work
        return "work"
    if opcode(name).endswith("-start") or code.endswith("-start") or plain.endswith(" start"):
        return "start"
    return "container" if is_container(name) or is_container(code) or is_container(category) else "work"


@memoised
def begins(trace: Trace, device: int) -> NDArray[np.bool_]:
    """Per op of a device (index) whether an execution begins with it. On a GPU an op may be several kernels: those that
    follow each other on a stream, in the same run, are one execution. Elsewhere each event is one."""
    its, spans = find_ops(trace).devices[device], trace.devices[device].ops
    if trace.devices[device].kind != "gpu" or not len(spans):
        return np.ones(len(spans), np.bool_)
    line = trace.lines_of(spans.row)
    order = np.argsort(line, kind="stable")  # by start within a stream
    begin = np.ones(len(spans), np.bool_)
    same = np.ones(len(spans) - 1, np.bool_)
    for column in (line[order], its.key[order], its.run[order]):
        same &= column[1:] == column[:-1]
    begin[1:] = ~same
    found = np.empty(len(spans), np.bool_)
    found[order] = begin
    # A kernel without a run has no program, so nothing says that two kernels are one op.
    found |= its.run < 0
    return found


def executions(trace: Trace, chosen: OpSelection) -> Int64:
    """Per distinct op how often chosen ops ran it."""
    ops = find_ops(trace)
    if all(device.kind != "gpu" for device in trace.devices):
        return ops.sums(chosen)[2]
    count = np.zeros(len(ops.name), np.int64)
    for device, which in chosen:
        key = ops.devices[device].key[which]
        if trace.devices[device].kind == "gpu":
            key = key[begins(trace, device)[which]]
        count += np.bincount(key, minlength=len(count))
    return count
