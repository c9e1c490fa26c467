"""Annotations that no device op carries, and device time that no annotation explains: why, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.names import is_loading_annotation
from tb_xla_insights.analysis.propagation.hlo_scopes import BARE, NONE, STATES
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.ops import Ops, find_ops
from tb_xla_insights.analysis.propagation.scopes import without_numbers
from tb_xla_insights.analysis.propagation.source import Frame
from tb_xla_insights.analysis.propagation.tree import whole_rows
from tb_xla_insights.trace.model import Int64, Trace
from tb_xla_insights.trace.nesting import nearest_enclosing

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Lost

FLAG_OFF: Final = "flag off"
AUTOGRAD: Final = "autograd thread"
DYNAMO: Final = "dynamo"
NO_OPS: Final = "no ops of its own"
OPTIMISED: Final = "optimised away"

ADVICE = {
    FLAG_OFF: "Ops were traced without scopes: set XLA_HLO_DEBUG=1 (or XLA_IR_DEBUG=1) in the environment before the "
    "training script starts, and capture again.",
    AUTOGRAD: "Scopes are per thread, and autograd runs the backward pass on its own: its ops are the bare ones. "
    "Annotate where that thread runs your code: in module backward hooks or an autograd.Function's backward.",
    DYNAMO: "Dynamo keeps only the outermost scope: put the annotation around the compiled call, or compile its parts "
    "one by one.",
    NO_OPS: "Nothing to do: no op was traced inside of it; it works on the host only, or hands tensors over.",
    OPTIMISED: "Nothing to do: the compiler merged its ops with others or removed them.",
}

_BACKWARD = re.compile(r"backward|bwd|autograd|back_?prop", re.IGNORECASE)


@dataclass(frozen=True)
class Unexplained:
    """Device time without an annotation: what kind of op, from which line (empty where none is recorded), in which
    state, for how long, how often."""

    op: str
    source: str
    state: str
    device_ps: int
    count: int


def flag_off(trace: Trace) -> bool:
    """Whether ops ran, their programs could be read, and none of them has a name to trace it by."""
    ops = find_ops(trace)
    return bool(ops.name) and not ops.diagnostics and not any(it.op_name or it.parts for it in ops.origin)


def lost_annotations(trace: Trace) -> dict[str, Lost]:
    """Why each annotation of one host that no device op carries is lost, by path. Without recorded ops nothing is
    known to be lost, and what loader threads annotate never makes ops."""
    ops, host = find_ops(trace), host_annotations(trace)
    if not ops.name or (ops.diagnostics and not any(it.op_name or it.parts for it in ops.origin)):
        return {}
    loads = np.isin(trace.lines_of(host.row), trace.lines_with("loader"))
    known = {host.names[path] for path in np.unique(host.path[~loads]).tolist()}
    lost = [row.path for row in whole_rows(trace) if row.count and not row.device_ps and row.path in known]
    if not lost:
        return {}
    if flag_off(trace):
        return dict.fromkeys(lost, FLAG_OFF)
    backward = _backward(trace, lost, ops)
    dynamo = _dynamo_paths(trace)
    made = _with_enclosing(host.paths.path_of(scope) for scope in ops.working)
    found: dict[str, Lost] = {}
    for path in lost:
        if any(path == it or path.startswith(f"{it}/") for it in backward):
            found[path] = AUTOGRAD
        elif any(it == path or it.startswith(f"{path}/") or path.startswith(f"{it}/") for it in dynamo):
            found[path] = DYNAMO
        elif path in made:
            found[path] = OPTIMISED
        elif not ops.diagnostics:  # else a program that could not be read may have its ops
            found[path] = NO_OPS
    return found


def _backward(trace: Trace, lost: list[str], ops: Ops) -> list[str]:
    """Lost annotations around a backward pass: by their name, else those that last while an autograd thread works.
    There must be ops without a scope, which are what it left."""
    if not (ops.state == BARE).any():
        return []
    named = [path for path in lost if _BACKWARD.search(path.rpartition("/")[2])]
    if named:
        return named
    host = host_annotations(trace)
    rows = [trace.lines[line].rows for line in trace.lines_with("autograd")]
    starts = np.sort(np.concatenate([trace.start_ps[it] for it in rows] or [np.zeros(0, np.int64)]))
    begin = np.searchsorted(starts, trace.start_ps[host.row])
    holds = np.searchsorted(starts, trace.end_ps[host.row]) > begin
    inputs = is_loading_annotation(trace)[trace.meta[host.row]]
    with_work = {host.names[path] for path in np.unique(host.path[holds & ~inputs]).tolist()}
    return [path for path in lost if path in with_work]


def _dynamo_paths(trace: Trace) -> set[str]:
    """The innermost annotations in which dynamo's executions were launched."""
    launches, host = find_launches(trace), host_annotations(trace)
    at = launches.origin[(launches.kind == DYNAMO_KIND) & (launches.origin >= 0)]
    at = nearest_enclosing(trace.parent, at, host.row)
    inside = np.searchsorted(host.row, at[at >= 0])
    return {host.names[path] for path in np.unique(host.path[inside]).tolist()}


def _with_enclosing(paths: Iterable[str]) -> set[str]:
    found = set()
    for path in paths:
        segments = path.split("/")
        found |= {"/".join(segments[:length]) for length in range(1, len(segments) + 1)}
    return found


def group_unexplained(ops: Ops, time: Int64, count: Int64) -> list[Unexplained]:
    """Device time of ops without a scope by kind of op and line, the longest first, of times and counts per distinct
    op."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    for k in np.flatnonzero((count > 0) & ((ops.state == BARE) | (ops.state == NONE))).tolist():
        total = sums.setdefault((op_kind(ops, k), op_source(ops, k), STATES[ops.state[k]]), [0, 0])
        total[0] += int(time[k])
        total[1] += int(count[k])
    rows = [Unexplained(*key, *total) for key, total in sums.items()]
    return sorted(rows, key=lambda row: (-row.device_ps, row.op, row.source))


def op_kind(ops: Ops, op: int) -> str:
    """What a distinct op is: the operation of its op name, else its opcode, else its name without a number."""
    origin = ops.origin[op]
    if origin.op_name:
        return origin.op_name.rpartition("/")[2]
    return origin.opcode or without_numbers(ops.name[op])


def op_stack(ops: Ops, op: int) -> list[Frame]:
    """The Python stack of a distinct op, the innermost frame first; empty where none is recorded."""
    frames = ops.frames.get(ops.program[op])
    return frames.stack(ops.origin[op].frame) if frames else []


def op_source(ops: Ops, op: int) -> str:
    """`file:line` of the user's own code that made a distinct op; empty where none is recorded."""
    frames = ops.frames.get(ops.program[op])
    own = frames.own(ops.origin[op].frame) if frames else None
    return str(own) if own else ops.origin[op].source
