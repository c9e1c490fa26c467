"""Annotations without device ops and device time without an annotation: the reasons, and advice."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.names import is_loading_annotation
from tb_xla_insights.analysis.propagation.hlo_scopes import BARE, NONE
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.ops import Ops, find_ops
from tb_xla_insights.analysis.propagation.path_names import own_name
from tb_xla_insights.analysis.propagation.tree import capture_rows
from tb_xla_insights.analysis.scope_names import operation_in_op_name, without_numbers
from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog.frames import Frame
from tb_xla_insights.trace.model import Trace
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
    "script starts, and capture again.",
    AUTOGRAD: "Scopes are per thread, and autograd runs the backward pass on a thread of its own, where ops have no "
    "scope. Annotate where that thread runs your code: in module backward hooks or an autograd.Function's backward.",
    DYNAMO: "Dynamo keeps only the outermost scope: put the annotation around the compiled call, or compile its parts "
    "one by one.",
    NO_OPS: "Nothing to do: no op was traced inside it; it works on the host only, or hands tensors over.",
    OPTIMISED: "Nothing to do: the compiler merged its ops with others or removed them.",
}

_BACKWARD = re.compile(r"backward|bwd|autograd|back_?prop", re.IGNORECASE)


@dataclass(frozen=True)
class UnannotatedTime:
    """Device time without an annotation, of one operation, source line (empty if not recorded) and state; and the
    number of ops."""

    operation: str
    source: str
    state: Literal["bare", "none"]
    device_ps: int
    count: int


def is_flag_off(trace: Trace) -> bool:
    """Whether ops ran, their programs could be read, and none of them has an op name or scope."""
    ops = find_ops(trace)
    return bool(ops.name) and not ops.diagnostics and not _has_scopes(ops)


def _has_scopes(ops: Ops) -> bool:
    return any(origin.op_name or origin.parts for origin in ops.origin)


def lost_annotations(trace: Trace) -> dict[str, Lost]:
    """Why annotations of one host without device ops are lost, by path. Left out are annotations on helper threads,
    which need not launch anything, and those whose ops a program that could not be read may have. Empty without
    recorded ops."""
    ops, host = find_ops(trace), host_annotations(trace)
    if not ops.name or (ops.diagnostics and not _has_scopes(ops)):
        return {}
    lost = [row.path for row in capture_rows(trace) if row.count and not row.device_ps and row.thread is None]
    if not lost:
        return {}
    if is_flag_off(trace):
        return dict.fromkeys(lost, FLAG_OFF)
    backward = _backward_paths(trace, lost, ops)
    dynamo_paths = _dynamo_paths(trace)
    working_paths = _with_enclosing(host.paths.path_of(scope) for scope in ops.working_scopes)
    reasons: dict[str, Lost] = {}
    for path in lost:
        if any(_contains(outer, path) for outer in backward):
            reasons[path] = AUTOGRAD
        elif any(
            _contains(path, dynamo_path) or _contains(dynamo_path, path) for dynamo_path in dynamo_paths
        ):
            reasons[path] = DYNAMO
        elif path in working_paths:
            reasons[path] = OPTIMISED
        elif not ops.diagnostics:  # otherwise, a program that could not be read may have its ops
            reasons[path] = NO_OPS
    return reasons


def _contains(outer: str, path: str) -> bool:
    """Whether a path is `outer` or nested in it."""
    return path == outer or path.startswith(f"{outer}/")


def _backward_paths(trace: Trace, lost: list[str], ops: Ops) -> list[str]:
    """Lost annotations around a backward pass: by their name, or else those during which an autograd thread works.
    Empty if no op is bare, as the ops of a backward pass on its own thread are."""
    if not (ops.state == BARE).any():
        return []
    host = host_annotations(trace)
    all_paths = frozenset(host.path_texts)
    backward = [path for path in lost if _BACKWARD.search(own_name(path, all_paths))]
    if backward:
        return backward
    rows = [trace.lines[line].rows for line in trace.lines_with("autograd")]
    starts = np.sort(
        np.concatenate([trace.start_ps[line_rows] for line_rows in rows] or [np.zeros(0, np.int64)])
    )
    first = np.searchsorted(starts, trace.start_ps[host.row])
    has_autograd_work = np.searchsorted(starts, trace.end_ps[host.row]) > first
    is_loading = is_loading_annotation(trace)[trace.metadata_index[host.row]]
    paths = {host.path_texts[path] for path in np.unique(host.path[has_autograd_work & ~is_loading]).tolist()}
    return [path for path in lost if path in paths]


def _dynamo_paths(trace: Trace) -> set[str]:
    """The innermost annotations in which dynamo's executions were launched."""
    launches, host = find_launches(trace), host_annotations(trace)
    origins = launches.origin[(launches.kind == DYNAMO_KIND) & (launches.origin >= 0)]
    annotations = nearest_enclosing(trace.parent, origins, host.row)
    indices = np.searchsorted(host.row, annotations[annotations >= 0])
    return {host.path_texts[path] for path in np.unique(host.path[indices]).tolist()}


def _with_enclosing(paths: Iterable[str]) -> set[str]:
    """The paths and all paths around them."""
    all_paths = set()
    for path in paths:
        segments = path.split("/")
        all_paths |= {"/".join(segments[:length]) for length in range(1, len(segments) + 1)}
    return all_paths


def group_unannotated(ops: Ops, time: Int64, count: Int64) -> list[UnannotatedTime]:
    """Device time of ops without a scope by operation, line and state, the longest first. `time`, `count`: per distinct
    op."""
    sums: dict[tuple[str, str, Literal["bare", "none"]], list[int]] = {}
    for key in np.flatnonzero((count > 0) & ((ops.state == BARE) | (ops.state == NONE))).tolist():
        state: Literal["bare", "none"] = "bare" if ops.state[key] == BARE else "none"
        total = sums.setdefault((operation_of(ops, key), op_source(ops, key), state), [0, 0])
        total[0] += int(time[key])
        total[1] += int(count[key])
    rows = [UnannotatedTime(*group, *total) for group, total in sums.items()]
    return sorted(rows, key=lambda row: (-row.device_ps, row.operation, row.source))


def operation_of(ops: Ops, op: int) -> str:
    """The operation of a distinct op: as in its op name, else its opcode, else its name without a number."""
    origin = ops.origin[op]
    if origin.op_name:
        return operation_in_op_name(origin.op_name)
    return origin.opcode or without_numbers(ops.name[op])


def op_stack(ops: Ops, op: int) -> list[Frame]:
    """The Python stack of a distinct op, the innermost frame first; empty if not recorded."""
    frames = ops.frames.get(ops.program[op])
    return frames.stack(ops.origin[op].frame_id) if frames else []


def op_source(ops: Ops, op: int) -> str:
    """`file:line` of the user's code that created a distinct op; empty if not recorded."""
    frame = ops.user_frame(op)
    return frame.place if frame else ""
