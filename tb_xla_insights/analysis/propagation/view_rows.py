"""The rows of the propagation view's tree: what each annotation cost, and where its work lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.ops import Chosen, find_ops
from tb_xla_insights.analysis.propagation.report import row_document, session_rows
from tb_xla_insights.analysis.propagation.step_phases import phase_places
from tb_xla_insights.analysis.propagation.tree import (
    Row,
    annotation_rows,
    device_ps_in_steps,
    find_nodes,
)
from tb_xla_insights.trace.model import Int64, SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Lost

Place = tuple[int, int]
"""Begin and end, in picoseconds of the session."""

_NEVER = np.iinfo(np.int64)


def tree_rows(
    session: SessionTrace,
    trace: Trace | None,
    step: int | None,
    device: int | None,
    chosen: Chosen,
    lost: dict[str, Lost],
) -> tuple[list[dict[str, Any]], dict[str, int], dict[str, int]]:
    """Rows, the row of what has no annotation, and the numbers of steps and devices behind the means."""
    ones = {} if trace is None else {row.path: row for row in annotation_rows(trace, step, device)}
    steps, cores = 0, 0
    host_in, device_in, bare_in = dict[str, int](), dict[str, int](), 0
    bare = [0, 0, 0, 0]  # time and ops, of the session and of the step
    for it in session.traces:
        ops = find_ops(it)
        launched = find_launches(it)
        with_step = launched.step_of_run >= 0
        steps += len(np.unique(launched.step[launched.step >= 0]))
        cores += len(np.unique(launched.runs.device))
        host = host_annotations(it)
        for path, time in zip(host.names, host.times(it, in_steps=True)[0].tolist(), strict=True):
            host_in[path] = host_in.get(path, 0) + time
        for path, time in device_ps_in_steps(it).items():
            device_in[path] = device_in.get(path, 0) + time
        _, time, count = ops.totals
        without = ops.state >= 2
        bare[0] += int(time[without].sum())
        bare[1] += int(count[without].sum())
        bare_in += int(ops.sums(ops.of_runs(with_step))[1][without].sum())
        if it is trace and device is not None:
            _, time, count = ops.sums(chosen)
            bare[2:] = int(time[without].sum()), int(count[without].sum())
    per_step, per_core = max(steps, 1), max(steps * cores // max(len(session.traces), 1), 1)
    phases = {} if trace is None else phase_places(trace)
    on_host = {} if trace is None else host_places(trace, step)
    on_device = {} if trace is None else device_places(trace, chosen)
    rows = []
    for row in session_rows(session):
        one = ones.get(row.path, Row(row.path))
        rows.append(
            {
                **row_document(row, lost.get(row.path)),
                "name": row.path.rpartition("/")[2],
                "depth": row.path.count("/"),
                "programs": len(row.programs),
                "mean_host_ps": host_in.get(row.path, 0) // per_step,
                "mean_device_ps": device_in.get(row.path, 0) // per_core,
                "step_host_ps": one.host_ps,
                "step_device_ps": one.device_ps,
                "step_device_ops": one.device_ops,
                "host_place": on_host.get(row.path),
                "device_place": on_device.get(row.path),
                "phase": phases.get(row.path),
            }
        )
    unannotated = {
        "device_ps": bare[0],
        "device_ops": bare[1],
        "mean_device_ps": bare_in // per_core,
        "step_device_ps": bare[2],
        "step_device_ops": bare[3],
    }
    return rows, unannotated, {"steps": steps, "devices": cores}


def host_places(trace: Trace, step: int | None) -> dict[str, Place]:
    """From the first begin to the last end of each path's annotations in a step, or in the whole capture."""
    host = host_annotations(trace)
    mine = slice(None) if step is None else host.step == step
    row, path = host.row[mine], host.path[mine]
    places = _spans(len(host.names), path, trace.start_ps[row], trace.end_ps[row])
    return {host.names[at]: place for at, place in places.items()}


def device_places(trace: Trace, chosen: Chosen) -> dict[str, Place]:
    """From the first begin to the last end of each path's ops, those of the paths inside included."""
    nodes, ops = find_nodes(trace), find_ops(trace)
    found: dict[int, Place] = {}
    for device, which in chosen:
        spans = trace.devices[device].ops
        start, end = spans.start_ps[which], spans.end_ps[which]
        for k, (begin, until) in _spans(len(ops.name), ops.devices[device].key[which], start, end).items():
            parts = set(nodes.of_part[ops.first[k] : ops.first[k + 1]].tolist()) - {-1}
            for node in {around for part in parts for around in nodes.with_enclosing(part)}:
                known = found.get(node, (begin, until))
                found[node] = min(known[0], begin), max(known[1], until)
    return {nodes.path[node]: place for node, place in found.items()}


def _spans(count: int, group: NDArray[np.int32], start: Int64, end: Int64) -> dict[int, Place]:
    """From the first begin to the last end of each group that has any."""
    first, last = np.full(count, _NEVER.max), np.full(count, _NEVER.min)
    np.minimum.at(first, group, start)
    np.maximum.at(last, group, end)
    return {k: (int(first[k]), int(last[k])) for k in np.unique(group).tolist()}
