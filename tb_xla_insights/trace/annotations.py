"""The events that the user's own annotations recorded."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.arrays import Int8, Int32
from tb_xla_insights.catalog import Catalog
from tb_xla_insights.catalog.classes import INPUT
from tb_xla_insights.trace import kernels
from tb_xla_insights.trace.codes import ANNOTATION, CANDIDATE, PASS, TRANSPARENT
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.threads import OPERATOR_ID, host_planes, may_run_python

_PROFILER_STEP = "ProfilerStep"


def find_annotations(trace: Trace, catalog: Catalog) -> Int32:
    """Rows of the user's annotations, ascending.

    These are the events that carry `_r`, and events other than ops with names that are not in the catalogue, if only
    annotations, Python frames and loaders enclose them: below a runtime event an unknown name is the runtime's, as is
    one that the runtime's own recorder wrote. They are on threads that may run Python, on driving, autograd and loader
    threads, or on threads with an event that carries `_r`; on other threads an unknown name is the framework's or the
    runtime's. The name of a compiler pass is an annotation only directly inside another annotation: passes at the top
    of a thread belong to a compilation whose start was not recorded.
    """
    is_root, is_op = np.zeros(len(trace), np.bool_), np.zeros(len(trace), np.bool_)
    if "_r" in trace.stats:
        is_root[trace.stats["_r"].rows] = True
    if "hlo_op" in trace.stats:
        is_op[trace.stats["hlo_op"].rows] = True
    lines_of_user = trace.lines_with("driving", "autograd", "loader")
    name_codes = _name_codes(trace, catalog)
    hosts = host_planes(trace)
    rows_of_lines = [np.zeros(0, np.int32)]
    for line in trace.lines:
        if line.plane not in hosts:
            continue
        rows = line.rows
        if line.index in lines_of_user or may_run_python(line.name) or is_root[rows].any():
            codes_of_rows = name_codes[trace.metadata_index[rows]]
            result = np.zeros(line.count, np.int8)
            kernels.classify_annotations(
                codes_of_rows, is_root[rows], is_op[rows], trace.parent[rows], line.first, result
            )
            annotations = np.flatnonzero(result == ANNOTATION).astype(np.int32)
            rows_of_lines.append(annotations + np.int32(line.first))
    return np.sort(np.concatenate(rows_of_lines))


def step_annotation_rows(trace: Trace) -> Int32:
    """Returns the events of step annotations in row order, including those inside others. PyTorch's profiler has steps
    without a number: the recorder cuts `ProfilerStep#3` before the `#`."""
    rows = [trace.stats[name].rows for name in ("_r", "step_num") if name in trace.stats]
    if OPERATOR_ID in trace.stats:
        names = [trace.strings[name] == _PROFILER_STEP for name in trace.metadata.name.tolist()]
        rows.append(trace.rows_with_metadata(np.array(names, np.bool_)))
    return np.unique(np.concatenate(rows)) if rows else np.zeros(0, np.int32)


def _name_codes(trace: Trace, catalog: Catalog) -> Int8:
    """The code of each event metadata entry's name, for `classify_annotations`."""
    name_codes = np.zeros(len(trace.metadata.name), np.int8)
    hosts = host_planes(trace)
    for index, (plane, text_index) in enumerate(zip(trace.metadata.plane, trace.metadata.name, strict=True)):
        if plane not in hosts:
            continue
        name = trace.strings[text_index]
        tags = catalog.tags(name)
        if not catalog.knows(name) and not trace.metadata.of_runtime[index]:
            name_codes[index] = CANDIDATE
        elif "python_tracer" in tags or catalog.class_index(name) == INPUT:
            name_codes[index] = TRANSPARENT
        elif "pass" in tags:
            name_codes[index] = PASS
    return name_codes
