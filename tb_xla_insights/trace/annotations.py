"""The events that the user's own annotations recorded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.catalog import Catalog
from tb_xla_insights.catalog.classes import INPUT
from tb_xla_insights.trace import kernels
from tb_xla_insights.trace.codes import CANDIDATE, PASS, TRANSPARENT, YES
from tb_xla_insights.trace.model import Int8, Int32, Trace
from tb_xla_insights.trace.threads import host_planes


def find_annotations(trace: Trace, catalog: Catalog) -> Int32:
    """Rows of the user's annotations, ascending.

    These are the events that carry `_r`, and events on driving, autograd and loader threads with names that are not in
    the catalogue, if only annotations, Python frames and loaders enclose them: below a runtime event an unknown name is
    the runtime's, and on a helper thread the helper's. The name of a compiler pass is an annotation only inside another
    annotation: passes at the top of a thread belong to a compilation whose start was not recorded.
    """
    steps = trace.stats["_r"].rows if "_r" in trace.stats else np.zeros(0, np.int32)
    marked = np.zeros(len(trace), np.bool_)
    marked[steps] = True
    ops = np.zeros(len(trace), np.bool_)
    if "hlo_op" in trace.stats:
        ops[trace.stats["hlo_op"].rows] = True
    role_of_line = {thread.line: thread.role for thread in trace.threads}
    name_codes = _name_codes(trace, catalog)
    hosts = host_planes(trace)
    rows_of_lines = [np.zeros(0, np.int32)]
    for line in trace.lines:
        if line.plane not in hosts:
            continue
        with_annotations = (
            role_of_line.get(line.index) in ("driving", "autograd", "loader") or marked[line.rows].any()
        )
        if with_annotations:
            rows = line.rows
            codes_of_rows = name_codes[trace.metadata_index[rows]]
            verdict = np.zeros(line.count, np.int8)
            kernels.classify_annotations(
                codes_of_rows, marked[rows], ops[rows], trace.parent[rows], line.first, verdict
            )
            rows_of_lines.append(np.flatnonzero(verdict == YES).astype(np.int32) + np.int32(line.first))
    return np.sort(np.concatenate(rows_of_lines))


def _name_codes(trace: Trace, catalog: Catalog) -> Int8:
    """The code of each event metadata's name, for `classify_annotations`."""
    name_codes = np.zeros(len(trace.metadata.name), np.int8)
    hosts = host_planes(trace)
    for index, (plane, text) in enumerate(zip(trace.metadata.plane, trace.metadata.name, strict=True)):
        if plane not in hosts:
            continue
        name = trace.strings[text]
        tags = catalog.tags(name)
        if not catalog.knows(name):
            name_codes[index] = CANDIDATE
        elif "python_tracer" in tags or catalog.class_index(name) == INPUT:
            name_codes[index] = TRANSPARENT
        elif "pass" in tags:
            name_codes[index] = PASS
    return name_codes


def annotated(trace: Trace) -> NDArray[np.bool_]:
    """Whether each event is an annotation."""
    mask = np.zeros(len(trace), np.bool_)
    mask[trace.annotations] = True
    return mask
