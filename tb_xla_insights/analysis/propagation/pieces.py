"""Where on the devices the ops run that were traced inside one annotation of the host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.hlo_scopes import DIRECT
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.analysis.propagation.order import PhaseSegments, device_phase_segments
from tb_xla_insights.analysis.propagation.tree import find_nodes
from tb_xla_insights.analysis.scope_names import scope_position
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Trace

MAX_PIECES = 24
"""Of more pieces on a device, those closest to each other are told as one."""


@dataclass(frozen=True)
class Traced:
    """The runs (a mask over Launches.runs) of an annotation's work, and which of the `count` annotations of its path in
    their graph it is."""

    runs: NDArray[np.bool_]
    index: int = 0
    count: int = 1


@dataclass(frozen=True)
class WorkPiece:
    """Ops of an annotation that no other op interrupts, or several such `count` pieces: their run (index into
    Launches.runs), first start and last end, own time and the part of it in ops that are named directly, number of ops,
    and the longest one (index into the device's ops)."""

    run: int
    start_ps: int
    end_ps: int
    device_ps: int
    direct_ps: int
    ops: int
    longest: int
    count: int


def runs_of(trace: Trace, annotation: int) -> Traced:
    """The runs of the work of an annotation, an index into the host's annotations.

    Its ops are in the graph of the first launch that the host requested after its start. Further ones of the same step
    may run them again, until the next annotation of its path begins.
    """
    host, launches = host_annotations(trace), find_launches(trace)
    of_path = np.flatnonzero(host.path == host.path[annotation])
    of_path = of_path[np.argsort(trace.start_ps[host.row[of_path]], kind="stable")]
    start = trace.start_ps[host.row[of_path]]
    own = int(np.flatnonzero(of_path == annotation)[0])
    request = np.where(launches.sync >= 0, launches.sync, launches.origin)
    requested_ps = trace.start_ps[np.where(request >= 0, request, launches.row)]
    instants = np.unique(requested_ps)
    first = int(np.searchsorted(instants, start[own], "right"))
    if first == len(instants):
        return Traced(np.zeros(len(launches.runs), np.bool_))
    previous, instant = int(instants[first - 1]) if first else -1, int(instants[first])
    in_graph = np.flatnonzero((start >= previous) & (start < instant)).tolist()
    later = start[start >= instant]
    is_of_work = (requested_ps >= instant) & (requested_ps < (later[0] if len(later) else np.inf))
    is_of_work &= launches.step == launches.step[requested_ps == instant][0]
    return Traced(np.append(is_of_work, False)[launches.runs.launch], in_graph.index(own), len(in_graph))


@dataclass(frozen=True)
class PartsOfPath:
    """Per part of the host's ops, the state of its op if it is of a path, else -1; and the number of annotations of the
    path that the parts are of."""

    state: Int32
    annotations: int = 1


def parts_of(trace: Trace, path: str, work: Traced) -> PartsOfPath:
    """The parts of ops of one annotation. If several of its path are in one graph, the positions of scopes tell them
    apart, provided that a program has as many positions of the path."""
    nodes, ops = find_nodes(trace), find_ops(trace)
    state = np.full(len(ops.scope), -1, np.int32)
    if path not in nodes.path:
        return PartsOfPath(state)
    target = nodes.path.index(path)
    is_inside = np.array([target in nodes.with_enclosing(node) for node in range(len(nodes.path))] + [False])
    op_of_part = np.repeat(np.arange(len(ops.name), dtype=np.int32), np.diff(ops.first_part))
    parts, annotations = np.flatnonzero(is_inside[nodes.of_part]), 1
    if work.count > 1:
        positions_of_program: dict[str, dict[tuple[int, ...], list[int]]] = {}
        for part in parts.tolist():
            recorded = nodes.recorded_names(nodes.of_part[part], target, ops.scopes[ops.scope[part]])
            positions = positions_of_program.setdefault(ops.program[op_of_part[part]], {})
            positions.setdefault(tuple(map(scope_position, recorded)), []).append(part)
        own_parts: list[int] = []
        for positions in positions_of_program.values():
            if len(positions) == work.count:
                own_parts += positions[sorted(positions)[work.index]]
            else:
                annotations = work.count
                own_parts += [part for of_position in positions.values() for part in of_position]
        parts = np.array(own_parts, np.int64)
    state[parts] = ops.state[op_of_part[parts]]
    return PartsOfPath(state, annotations)


def find_pieces(trace: Trace, device: int, work: Traced, parts: PartsOfPath) -> list[WorkPiece]:
    """The pieces of an annotation's work on one device, in order of time."""
    ops, device_ops = find_ops(trace), find_ops(trace).devices[device]
    rows = np.flatnonzero(np.append(work.runs, False)[device_ops.run])
    if not len(rows):
        return []
    segments = device_phase_segments(trace, device, work.runs, parts.state)
    is_of_path = np.logical_or.reduceat(parts.state >= 0, ops.first_part[:-1])
    rows = rows[is_of_path[device_ops.key[rows]]]
    return _pieces(segments, rows, trace.devices[device].ops.start_ps[rows], device_ops.own_ps[rows])


def _pieces(segments: PhaseSegments, op: NDArray[np.intp], op_start: Int64, own_ps: Int64) -> list[WorkPiece]:
    """The pieces of segments of ops with a state, separated by segments without. `op`, `op_start`, `own_ps`: the ops of
    the annotation."""
    is_inside = segments.phase >= 0
    follows = np.append(False, is_inside[:-1] & (segments.run[1:] == segments.run[:-1]))[: len(segments)]
    first = np.flatnonzero(is_inside & ~follows)
    inside = segments.where(is_inside)
    if not len(inside):
        return []
    begin = np.searchsorted(np.flatnonzero(is_inside), first)
    order = np.argsort(inside.start_ps[begin], kind="stable")
    start = inside.start_ps[begin][order]
    end = np.maximum.reduceat(inside.end_ps, begin)[order]
    time = np.add.reduceat(inside.time_ps, begin)[order]
    direct = np.add.reduceat(np.where(inside.phase == DIRECT, inside.time_ps, 0), begin)[order]
    # Ops are of the piece that they start in, or that begins with a later part of them.
    piece_of_op = np.searchsorted(start, op_start, "right") - 1
    piece_of_op += (piece_of_op < 0) | (end[piece_of_op] <= op_start)
    piece_of_op = np.minimum(piece_of_op, len(start) - 1)
    has_op = np.bincount(piece_of_op, minlength=len(start)) > 0
    bundle_of_piece = _bundles(start, end, has_op)
    bundle_of_op = bundle_of_piece[piece_of_op]
    by_time = np.lexsort((own_ps, bundle_of_op))
    longest = np.zeros(int(bundle_of_piece[-1]) + 1, np.int64)
    longest[bundle_of_op[by_time]] = op[by_time]  # the last one of a bundle remains
    bounds = np.flatnonzero(np.diff(bundle_of_piece, prepend=-1))
    columns = (
        inside.run[begin][order][bounds],
        start[bounds],
        np.maximum.reduceat(end, bounds),
        np.add.reduceat(time, bounds),
        np.add.reduceat(direct, bounds),
        np.bincount(bundle_of_op, minlength=len(bounds)),
        longest,
        np.diff(np.append(bounds, len(start))),
    )
    return [WorkPiece(*values) for values in zip(*(column.tolist() for column in columns), strict=True)]


def _bundles(start: Int64, end: Int64, has_op: NDArray[np.bool_]) -> Int64:
    """Per piece, its bundle: of more than MAX_PIECES, only the largest distances separate; a piece that only goes on
    with an op of the one before is not separate."""
    distance = start[1:] - end[:-1]
    separates = np.ones(len(distance), np.int64)
    separates[np.argsort(-distance, kind="stable")[MAX_PIECES - 1 :]] = 0
    separates[~has_op[1:]] = 0
    return np.append(np.int64(0), np.cumsum(separates))
