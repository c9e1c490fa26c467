"""Builds the data model of a decoded file, and puts the hosts of a session on one time base."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int16, Int32, Int64
from tb_xla_insights.catalog import Catalog
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.files.source import Source
from tb_xla_insights.system.parallel import run_parallel
from tb_xla_insights.text.host_order import natural_key
from tb_xla_insights.trace.annotations import find_annotations
from tb_xla_insights.trace.clock import MAX_DISTANCE_PS, find_time_base, host_shifts
from tb_xla_insights.trace.cpu_runs import cpu_devices
from tb_xla_insights.trace.device_clock import find_device_clock
from tb_xla_insights.trace.divided_threads import Recorded, find_divided_threads, join_lines
from tb_xla_insights.trace.flows import FLOW_STATS, pair_flows
from tb_xla_insights.trace.model import Line, Metadata, Plane, SessionTrace, Trace
from tb_xla_insights.trace.nesting import is_sorted_by_start, nest_events
from tb_xla_insights.trace.parts import has_parts, join_lines_of_parts, same_metadata
from tb_xla_insights.trace.plane_devices import plane_devices
from tb_xla_insights.trace.recorded_waits import extend_waits
from tb_xla_insights.trace.regions import LineRegions, find_line_regions
from tb_xla_insights.trace.threads import find_threads
from tb_xla_insights.xplane.hlo import program_ranges
from tb_xla_insights.xplane.metadata import text_of
from tb_xla_insights.xplane.open_capture import is_riegeli
from tb_xla_insights.xplane.read_xspace import XSpace

METADATA_STATS = ("hlo_category", "tf_op", "source", "program_id", "deduplicated_name")
"""Stats that device planes record with the event metadata of ops and that analyses need."""


def build_trace(space: XSpace, source: Source, catalog: Catalog, host: str) -> Trace:
    """Builds the data model of a file decoded from `source`; it takes over the columns of `space`."""
    diagnostics = [
        replace(diagnostic, host=host)
        for diagnostic in (*space.diagnostics, *_clear_impossible_times(space, source))
    ]
    time_base = find_time_base(space)
    base_unix_ns = time_base.base_unix_ns
    lines, start_ps = _place_lines(space, time_base.line_starts_ps)
    if time_base.has_unrelated_lines:
        diagnostics.append(
            Diagnostic(
                "clock_unknown",
                "warning",
                "The lines of a plane count time from different origins; its rows may be shifted.",
                host,
            )
        )
    duration_ps = space.duration_ps
    metadata_index = space.metadata
    if is_riegeli(space.path) and has_parts(space.planes):
        lines, parts_order = join_lines_of_parts(lines, space.planes)
        metadata_index = same_metadata(space.planes)[metadata_index[parts_order]]
        start_ps, duration_ps = start_ps[parts_order], duration_ps[parts_order]
        space.stats.move(parts_order)
        space.event_offsets.move(parts_order)
    recorded_names = [metadata.name for plane in space.planes for metadata in plane.event_metadata]
    divided_threads = find_divided_threads(
        Recorded(lines, recorded_names, metadata_index, start_ps, duration_ps), catalog
    )
    of_runtime = np.zeros(len(recorded_names), np.bool_)
    order: Int64 | None = None
    if divided_threads:
        for thread in divided_threads:
            of_runtime[metadata_index[lines[thread.runtime].rows]] = True
        lines, order = join_lines(lines, divided_threads)
    order = _order(lines, start_ps, duration_ps, order)
    if order is not None:
        metadata_index, start_ps, duration_ps = metadata_index[order], start_ps[order], duration_ps[order]
        space.stats.move(order)
        space.event_offsets.move(order)
    if len(start_ps):
        first = int(start_ps.min())
        start_ps -= first
        base_unix_ns = base_unix_ns + first // 1000 if base_unix_ns else 0
    ranges = [(line.first, line.count) for line in lines]

    def build_flow_independent_columns() -> tuple[Int16, Int32, Metadata, LineRegions | None]:
        """Returns the events' depths and parents, their metadata, and the lines' regions; extends waits in place."""
        depth, parent = nest_events(start_ps, duration_ps, ranges)
        metadata, strings = _metadata(space, catalog, of_runtime), space.strings.texts
        names = [strings[text_index] for text_index in metadata.name.tolist()]
        extend_waits(lines, names, catalog, metadata_index, parent, start_ps, duration_ps, space.stats)
        regions = find_line_regions(lines, strings, metadata.name, metadata_index, start_ps, duration_ps)
        return depth, parent, metadata, regions

    flows, (depth, parent, metadata, line_regions) = run_parallel(
        [partial(pair_flows, space.stats, start_ps), build_flow_independent_columns]
    )
    for name in FLOW_STATS:  # replaced by the flows
        space.stats.pop(name, None)
    trace = Trace(
        host=host, path=space.path, file_bytes=space.size, fingerprint=space.fingerprint,
        strings=space.strings.texts,
        planes=[
            Plane(index, plane.name, dict(plane.stats), plane.stat_names)
            for index, plane in enumerate(space.planes)
        ],
        lines=lines, catalog=catalog, metadata=metadata,
        metadata_index=metadata_index, start_ps=start_ps, duration_ps=duration_ps,
        depth=depth, parent=parent, stats=space.stats, event_offsets=space.event_offsets,
        flows=flows,
        threads=[], devices=[], annotations=np.empty(0, np.int32),
        programs=program_ranges(space), hostnames=space.hostnames,
        base_unix_ns=base_unix_ns, diagnostics=diagnostics, divided_threads=divided_threads,
    )  # fmt: skip
    trace.devices = plane_devices(trace)
    trace.device_clock = find_device_clock(trace)
    if trace.device_clock is not None:
        _shift_devices(trace, trace.device_clock.shift_ps)

    def find_threads_and_annotations() -> None:
        trace.threads = find_threads(trace, catalog)
        trace.annotations = find_annotations(trace, catalog)

    if trace.devices:
        find_threads_and_annotations()
    else:
        trace.devices, _ = run_parallel(
            [partial(cpu_devices, trace, catalog, line_regions), find_threads_and_annotations]
        )
    return trace


def _shift_devices(trace: Trace, by_ps: int) -> None:
    """Shifts the times of the devices' planes, and of their parts' (`/device:TPU:0 SparseCore 1`), in place."""
    planes = [trace.planes[device.plane].name for device in trace.devices if device.plane is not None]
    parts = tuple(f"{plane} " for plane in planes)
    for line in trace.lines:
        plane = trace.planes[line.plane].name
        if plane in planes or plane.startswith(parts):
            trace.start_ps[line.rows] += by_ps
    trace.devices = plane_devices(trace)
    trace.shift(max(0, -int(trace.start_ps.min())))


def build_session(name: str, path: str, traces: list[Trace], diagnostics: list[Diagnostic]) -> SessionTrace:
    """Puts the hosts of a session on one time base, whose 0 is the earliest event of any host; a host without events
    counts with its profile's start, if the file records it.

    Hosts are related by their clocks (epoch nanoseconds). A host whose clock is not recorded, or too far from the
    others, starts with the session, and a diagnostic reports it. Shifts the traces' columns in place.
    """
    traces = sorted(traces, key=lambda trace: (natural_key(trace.host), trace.path))
    diagnostics = list(diagnostics)
    for trace, shift_ps in zip(traces, host_shifts([trace.base_unix_ns for trace in traces]), strict=True):
        if shift_ps is not None:
            trace.shift(shift_ps)
        elif len(traces) > 1:
            diagnostics.append(clock_unknown(trace.host, trace.base_unix_ns))
    return SessionTrace(name, path, traces, diagnostics)


def clock_unknown(host: str, base_unix_ns: int) -> Diagnostic:
    """The diagnostic of a host that starts with the session, since its clock cannot be related to the others'."""
    problem = (
        "records no clock" if not base_unix_ns else "is from more than an hour before or after the others"
    )
    text = (
        f"The file {problem}; its events are placed at the session's start and may be shifted against those of other "
        "hosts."
    )
    return Diagnostic("clock_unknown", "warning", text, host)


def _clear_impossible_times(space: XSpace, source: Source) -> list[Diagnostic]:
    """Sets impossible offsets and durations to 0, in place, and returns diagnostics about them."""
    diagnostics = []
    columns = (
        (space.offset_ps, -MAX_DISTANCE_PS, "start", "the line's start"),
        (space.duration_ps, 0, "duration", "0"),
    )
    for times, min_ps, quantity, substitute in columns:
        if times.size and (times.min() < min_ps or times.max() > MAX_DISTANCE_PS):
            invalid = (times < min_ps) | (times > MAX_DISTANCE_PS)
            count, byte = invalid.sum(), space.event_offsets.find(source, int(invalid.argmax()))
            events = (
                f"1 event has an impossible {quantity}, at byte {byte}"
                if count == 1
                else f"{count} events have impossible {quantity}s, the first at byte {byte}"
            )
            diagnostics.append(
                Diagnostic(
                    "corrupt_file",
                    "warning",
                    f"{events}; {substitute} is used instead.",
                    variant=f"impossible {quantity}",
                )
            )
            times[invalid] = 0
    return diagnostics


def _place_lines(space: XSpace, line_starts_ps: Int64) -> tuple[list[Line], Int64]:
    """The lines, and the starts of all events on the common time base, which replace `space.offset_ps` in place."""
    lines: list[Line] = []
    start_ps = space.offset_ps
    for plane_index, plane in enumerate(space.planes):
        for line in plane.lines:
            start_ps[line.first : line.first + line.count] += line_starts_ps[len(lines)]
            lines.append(Line(len(lines), plane_index, line.id, text_of(line.name), line.first, line.count))
    return lines, start_ps


def _order(lines: list[Line], start_ps: Int64, duration_ps: Int64, order: Int64 | None) -> Int64 | None:
    """The order that sorts every line by start, the longer event first; None if all are already sorted. `order` is that
    in which the events make up the lines, None for that of the columns."""
    for line in lines:
        rows = line.rows if order is None else order[line.rows]
        start, duration = start_ps[rows], duration_ps[rows]
        if not is_sorted_by_start(start, duration):
            order = np.arange(len(start_ps)) if order is None else order
            order[line.rows] = order[line.rows][np.lexsort((-duration, start))]
    return order


def _metadata(space: XSpace, catalog: Catalog, of_runtime: NDArray[np.bool_]) -> Metadata:
    intern = space.strings.intern
    metadata_list = [
        (plane_index, metadata)
        for plane_index, plane in enumerate(space.planes)
        for metadata in plane.event_metadata
    ]
    texts = {name: np.full(len(metadata_list), -1, np.int32) for name in METADATA_STATS}
    for number, (_, metadata) in enumerate(metadata_list):
        for name in METADATA_STATS:
            if name in metadata.stats:
                texts[name][number] = intern(str(metadata.stats[name]))
    return Metadata(
        plane=np.array([plane_index for plane_index, _ in metadata_list], np.int32),
        id=np.array([metadata.id for _, metadata in metadata_list], np.int64),
        name=np.array([intern(metadata.name) for _, metadata in metadata_list], np.int32),
        display_name=np.array(
            [intern(metadata.display_name) if metadata.display_name else -1 for _, metadata in metadata_list],
            np.int32,
        ),
        class_index=np.array([catalog.class_index(metadata.name) for _, metadata in metadata_list], np.int8),
        text=texts,
        stats=[metadata.stats for _, metadata in metadata_list],
        of_runtime=of_runtime,
    )
