"""What the engine's thread does at each instant of an iteration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.environment import framework_of
from tb_xla_insights.analysis.host.classes import host_class_segments, thread_segments
from tb_xla_insights.analysis.host.servers import engine_line, iteration_marks
from tb_xla_insights.analysis.idle.no_requests import no_requests
from tb_xla_insights.analysis.iterations.sending import many_sends
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.time.intervals import Intervals
from tb_xla_insights.analysis.time.segments import Segments, overlay_first
from tb_xla_insights.arrays import Int8, Int32
from tb_xla_insights.catalog.classes import (
    CLASSES,
    COMPILE,
    DISPATCH,
    FROM_DEVICE,
    TO_DEVICE,
    UNRECORDED,
    WAIT,
)
from tb_xla_insights.schema.iterations import Part
from tb_xla_insights.trace.metadata_events import values_of_events
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_enclosing

PARTS: tuple[Part, ...] = get_args(Part)

_NAMES: tuple[tuple[Part, str], ...] = (
    ("schedule", r"schedule|get_next_batch_to_run|recv_requests"),
    (
        "build",
        r"_?prepare_inputs|update_states|get_worker_batch|execute_model|run_batch|forward_batch_generation_overlap",
    ),
    ("to_device", r"host_to_device|device_array"),
    ("launch", r"launch|_forward_raw|forward_batch_generation|sample_tokens|generate|prefill"),
    ("wait", r"wait_for_tokens|resolve_last_batch_result"),
    ("results", r"update_from_output|process_batch_result|detokeni[sz]e|convert_to_numpy_and_emit"),
)
"""Annotations of servers, and functions of theirs, in the order of the loop."""

_BEGINNING = [PARTS.index(part) for part in ("schedule", "build")]
_WHOLE = [PARTS.index(part) for part in ("to_device", "launch", "wait")]
"""Parts that an annotation decides whatever the host does in it, except compiling, and sending before a launch."""

_OF_CLASS: Mapping[str, Part] = {
    CLASSES[TO_DEVICE]: "to_device",
    CLASSES[DISPATCH]: "launch",
    CLASSES[FROM_DEVICE]: "wait",
    CLASSES[WAIT]: "wait",
    CLASSES[COMPILE]: "compile",
    "program_load": "compile",
    CLASSES[UNRECORDED]: "unrecorded",
}


def _part_of_name(name: str) -> int:
    """The index of the part that an annotation or a Python frame (`$scheduler.py:227 schedule`) is, -1: none."""
    own_name = re.split(r"[ :{#(]", re.sub(r"^\$\S+ ", "", name))[0]
    for part, pattern in _NAMES:
        if re.match(pattern, own_name):
            return PARTS.index(part)
    return -1


@memoised
def _named(trace: Trace) -> Int8:
    """Per event, the part that its own name says, -1: none."""
    return values_of_events(trace.map_texts(trace.metadata.name, _part_of_name), trace.metadata_index)


def begins_iteration(trace: Trace, rows: Int32) -> NDArray[np.bool_]:
    """Whether each annotation is a part that comes before an iteration's mark."""
    begins: NDArray[np.bool_] = np.isin(_named(trace)[rows], _BEGINNING)
    return begins


def longest_annotation(trace: Trace, part: Part) -> int | None:
    """The first of the annotations of a part whose name has most time; None without any."""
    rows = trace.annotations[_named(trace)[trace.annotations] == PARTS.index(part)]
    if not len(rows):
        return None
    metadata = trace.metadata_index[rows]
    longest = np.bincount(metadata, trace.duration_ps[rows]).argmax()
    return int(rows[metadata == longest][0])


@memoised
def part_segments(trace: Trace) -> Segments:
    """The part (`class_index`: index into PARTS) at every instant of the trace's span."""
    segments = _engine_segments(trace)
    tracing: Part = "compile" if framework_of(trace) == "jax" else "other"  # JAX traces only what it compiles
    of_class = {**_OF_CLASS, "tracing": tracing}
    part_of_class = np.array([PARTS.index(of_class.get(name, "other")) for name in CLASSES], np.int8)
    part = part_of_class[segments.class_index]
    named = _named(trace)
    rows = np.flatnonzero(named >= 0).astype(np.int32)
    enclosing = nearest_enclosing(trace.parent, segments.row, rows)
    of_name = np.where(enclosing >= 0, named[enclosing], np.int8(-1))
    is_own = (part == PARTS.index("compile")) | (
        (of_name == PARTS.index("launch")) & (part == PARTS.index("to_device"))
    )
    is_whole = np.isin(of_name, _WHOLE) & ~is_own
    is_other = (of_name >= 0) & (part == PARTS.index("other")) & ~_is_after_launch(trace, segments, enclosing)
    part = np.where(is_whole | is_other, of_name, part).astype(np.int8)
    segments = Segments(segments.start_ps, segments.end_ps, part, segments.row)
    is_compiling = segments.class_index == PARTS.index("compile")
    sending = overlay_first(segments.select(is_compiling), _of_part("to_device", many_sends(trace).times))
    return overlay_first(_of_part("no_requests", no_requests(trace)), overlay_first(sending, segments))


def _is_after_launch(trace: Trace, segments: Segments, enclosing: Int32) -> NDArray[np.bool_]:
    """Whether each segment is an iteration's mark's own (`enclosing`: the named event around it), after the first
    launch in it: the inputs are built by then."""
    is_mark, launch_ps = (
        np.isin(enclosing, iteration_marks(trace)),
        np.sort(trace.start_ps[find_launches(trace).row]),
    )
    first_ps = np.append(launch_ps, np.iinfo(np.int64).max)[
        np.searchsorted(launch_ps, trace.start_ps[np.maximum(enclosing, 0)])
    ]
    after: NDArray[np.bool_] = is_mark & (segments.start_ps >= first_ps)
    return after


def _of_part(part: Part, times: Intervals) -> Segments:
    count = len(times)
    codes, rows = np.full(count, PARTS.index(part), np.int8), np.full(count, -1, np.int32)
    return Segments(times.start_ps, times.end_ps, codes, rows)


def _engine_segments(trace: Trace) -> Segments:
    """The host's class at every instant as its engine's thread shows it: another thread may launch for it, and then
    decides while that thread waits."""
    segments, line = host_class_segments(trace), engine_line(trace)
    if line is None:
        return segments
    engine = thread_segments(trace, line, with_unclassified=False)
    waits = np.isin(engine.class_index, (WAIT, FROM_DEVICE))
    works = ~np.isin(segments.class_index, (WAIT, UNRECORDED))
    merged = overlay_first(engine.select(~waits), segments.select(works))
    return overlay_first(overlay_first(merged, engine.select(waits)), segments)
