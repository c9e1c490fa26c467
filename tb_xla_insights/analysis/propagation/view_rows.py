"""The rows of the propagation view's tree: the times of each annotation, and when its work took place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.propagation.hlo_scopes import BARE, NONE
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.ops import OpSelection, find_ops
from tb_xla_insights.analysis.propagation.path_names import name_and_depth
from tb_xla_insights.analysis.propagation.step_phases import phase_indices
from tb_xla_insights.analysis.propagation.tree import (
    AnnotationSums,
    annotation_rows,
    device_ps_in_steps,
    find_nodes,
)
from tb_xla_insights.arrays import Int64
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.annotations import Annotation
    from tb_xla_insights.schema.propagation_route import AnnotationNode, MeanCounts, UnannotatedWork

Interval = tuple[int, int]
"""Start and end in ps."""

_INT64 = np.iinfo(np.int64)


def tree_rows(
    session: SessionTrace,
    annotations: Sequence[Annotation],
    trace: Trace | None,
    step: int | None,
    device: int | None,
    selection: OpSelection,
) -> tuple[list[AnnotationNode], UnannotatedWork, MeanCounts]:
    """The rows, the row of work without an annotation, and the numbers of steps and devices of the means.
    `annotations`: the report's, of these hosts; `trace`, `step` and `device`: those shown; `selection`: the ops
    shown."""
    step_rows = {} if trace is None else {row.path: row for row in annotation_rows(trace, step, device)}
    step_count = device_count = core_steps = 0
    host_in_steps, device_in_steps = dict[str, int](), dict[str, int]()
    unannotated: UnannotatedWork = {
        "device_ps": 0,
        "device_ops": 0,
        "mean_device_ps": 0,
        "step_device_ps": 0,
        "step_device_ops": 0,
    }
    unannotated_in_steps = 0
    for host_trace in session.traces:
        ops = find_ops(host_trace)
        launches = find_launches(host_trace)
        in_step = launches.step_of_run >= 0
        steps_of_host = len(find_steps(host_trace))
        devices_of_host = len(np.unique(launches.runs.device))
        step_count += steps_of_host
        device_count += devices_of_host
        core_steps += steps_of_host * devices_of_host
        host = host_annotations(host_trace)
        for path, time in zip(
            host.path_texts, host.times(host_trace, in_steps=True)[0].tolist(), strict=True
        ):
            host_in_steps[path] = host_in_steps.get(path, 0) + time
        for path, time in device_ps_in_steps(host_trace).items():
            device_in_steps[path] = device_in_steps.get(path, 0) + time
        _, op_ps, op_count = ops.totals
        has_no_scope = (ops.state == BARE) | (ops.state == NONE)
        unannotated["device_ps"] += int(op_ps[has_no_scope].sum())
        unannotated["device_ops"] += int(op_count[has_no_scope].sum())
        unannotated_in_steps += int(ops.sums(ops.of_runs(in_step)).op_ps[has_no_scope].sum())
        if host_trace is trace and device is not None:
            _, op_ps, op_count = ops.sums(selection)
            unannotated["step_device_ps"] = int(op_ps[has_no_scope].sum())
            unannotated["step_device_ops"] = int(op_count[has_no_scope].sum())
    phases = {} if trace is None else phase_indices(trace)
    unannotated["mean_device_ps"] = unannotated_in_steps // max(core_steps, 1)
    intervals_on_host = {} if trace is None else host_intervals(trace, step)
    intervals_on_device = {} if trace is None else device_intervals(trace, selection)
    rows: list[AnnotationNode] = []
    paths = {row["path"] for row in annotations}
    for row in annotations:
        name, depth = name_and_depth(row["path"], paths)
        step_row = step_rows.get(row["path"], AnnotationSums(row["path"]))
        rows.append(
            {
                **row,
                "name": name,
                "depth": depth,
                "programs": len(row["programs"]),
                "mean_host_ps": host_in_steps.get(row["path"], 0) // max(step_count, 1),
                "mean_device_ps": device_in_steps.get(row["path"], 0) // max(core_steps, 1),
                "step_host_ps": step_row.host_ps,
                "step_device_ps": step_row.device_ps,
                "step_device_ops": step_row.device_ops,
                "host_interval": intervals_on_host.get(row["path"]),
                "device_interval": intervals_on_device.get(row["path"]),
                "phase": phases.get(row["path"]),
            }
        )
    return rows, unannotated, {"steps": step_count, "devices": device_count}


def host_intervals(trace: Trace, step: int | None) -> dict[str, Interval]:
    """Per path, from the first begin to the last end of its annotations in a step, or in the whole capture."""
    host = host_annotations(trace)
    selected = slice(None) if step is None else host.step == step
    row, path = host.row[selected], host.path[selected]
    intervals = _first_to_last(len(host.path_texts), path, trace.start_ps[row], trace.end_ps[row])
    return {host.path_texts[index]: interval for index, interval in intervals.items()}


def device_intervals(trace: Trace, selection: OpSelection) -> dict[str, Interval]:
    """Per path, from the first begin to the last end of its ops, including nested paths."""
    nodes, ops = find_nodes(trace), find_ops(trace)
    intervals: dict[int, Interval] = {}
    for device, rows in selection:
        device_ops = trace.devices[device].ops
        start, end = device_ops.start_ps[rows], device_ops.end_ps[rows]
        key_of_op = ops.devices[device].key[rows]
        for key, (begin, until) in _first_to_last(len(ops.name), key_of_op, start, end).items():
            innermost = set(nodes.of_part[ops.first_part[key] : ops.first_part[key + 1]].tolist()) - {-1}
            for node in {outer for inner in innermost for outer in nodes.with_enclosing(inner)}:
                first, last = intervals.get(node, (begin, until))
                intervals[node] = min(first, begin), max(last, until)
    return {nodes.path[node]: interval for node, interval in intervals.items()}


def _first_to_last(count: int, group: NDArray[np.int32], start: Int64, end: Int64) -> dict[int, Interval]:
    """Per nonempty group, the first begin and the last end."""
    first, last = np.full(count, _INT64.max), np.full(count, _INT64.min)
    np.minimum.at(first, group, start)
    np.maximum.at(last, group, end)
    return {index: (int(first[index]), int(last[index])) for index in np.unique(group).tolist()}
