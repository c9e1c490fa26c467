"""The data model of a file that was decoded, and the hosts of a session on one time base."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from tb_xla_insights.catalog import Catalog
from tb_xla_insights.errors import Diagnostic
from tb_xla_insights.files.source import Source
from tb_xla_insights.host_order import natural_key
from tb_xla_insights.parallel import run_parallel
from tb_xla_insights.trace.annotations import find_annotations
from tb_xla_insights.trace.clock import FARTHEST_PS, host_shifts, line_starts_ps
from tb_xla_insights.trace.cpu_runs import cpu_devices
from tb_xla_insights.trace.devices import plane_devices
from tb_xla_insights.trace.flows import join_flows
from tb_xla_insights.trace.model import Int16, Int32, Int64, Line, Metadata, Plane, SessionTrace, Trace
from tb_xla_insights.trace.nesting import is_sorted_by_start, nest_events
from tb_xla_insights.trace.regions import LineRegions, find_line_regions
from tb_xla_insights.trace.threads import find_threads
from tb_xla_insights.trace.waits import join_waits
from tb_xla_insights.xplane.hlo import program_ranges
from tb_xla_insights.xplane.metadata import text_of
from tb_xla_insights.xplane.read import XSpace

METADATA_STATS = ("hlo_category", "tf_op", "source", "program_id", "deduplicated_name")
"""Stats that device planes record once per op, with its metadata, and that analyses need."""


def build_trace(space: XSpace, source: Source, catalog: Catalog, host: str) -> Trace:
    """The data model of a file decoded from `source`, whose columns it takes over."""
    diagnostics = [
        replace(d, host=host) for d in (*space.diagnostics, *_without_impossible_times(space, source))
    ]
    lines, start_ps, zero_ns, unrelated = _lines(space)
    if unrelated:
        diagnostics.append(
            Diagnostic(
                "clock_unknown",
                "warning",
                "Lines count time from different zeros; lanes may be shifted.",
                host,
            )
        )
    duration_ps = space.duration_ps
    meta = space.metadata
    order = _order(lines, start_ps, duration_ps)
    if order is not None:
        meta, start_ps, duration_ps = meta[order], start_ps[order], duration_ps[order]
        space.stats.move(order)
        space.event_offsets.move(order)
    if len(start_ps):
        first = int(start_ps.min())
        start_ps -= first
        zero_ns = zero_ns + first // 1000 if zero_ns else 0
    ranges = [(line.first, line.count) for line in lines]

    def without_flows() -> tuple[Int16, Int32, Metadata, LineRegions | None]:
        depth, parent = nest_events(start_ps, duration_ps, ranges)
        metadata = _metadata(space, catalog)
        names = space.strings.texts, metadata.name
        told = [space.strings.texts[text] for text in metadata.name.tolist()]
        join_waits(lines, told, catalog, meta, parent, start_ps, duration_ps, space.stats)
        return depth, parent, metadata, find_line_regions(lines, *names, meta, start_ps, duration_ps)

    flows, (depth, parent, metadata, stretches) = run_parallel(
        [partial(join_flows, space.stats, start_ps), without_flows]
    )
    for name in ("_pt", "_p", "_ct", "_c"):  # told by the flows now
        space.stats.pop(name, None)
    trace = Trace(
        host=host, path=space.path, file_bytes=space.size, fingerprint=space.fingerprint,
        strings=space.strings.texts,
        planes=[Plane(index, p.name, dict(p.stats), p.stat_names) for index, p in enumerate(space.planes)],
        lines=lines, catalog=catalog, metadata=metadata,
        meta=meta, start_ps=start_ps, duration_ps=duration_ps,
        depth=depth, parent=parent, stats=space.stats, event_offsets=space.event_offsets,
        flows=flows,
        threads=[], devices=[], annotations=np.empty(0, np.int32),
        programs=program_ranges(space), hostnames=space.hostnames,
        base_unix_ns=zero_ns, diagnostics=diagnostics,
    )  # fmt: skip
    trace.devices = plane_devices(trace)

    def find_users() -> None:
        trace.threads = find_threads(trace, catalog)
        trace.annotations = find_annotations(trace, catalog)

    if trace.devices:
        find_users()
    else:
        trace.devices, _ = run_parallel([partial(cpu_devices, trace, catalog, stretches), find_users])
    return trace


def join_hosts(name: str, path: str, traces: list[Trace], diagnostics: list[Diagnostic]) -> SessionTrace:
    """Puts the hosts of a session on one time base, whose 0 is the earliest event of any of them.

    Hosts are related by their clocks (epoch nanoseconds); one that records none starts with the session,
    and a diagnostic says so. Shifts the traces' columns in place.
    """
    traces = sorted(traces, key=lambda trace: (natural_key(trace.host), trace.path))
    diagnostics = list(diagnostics)
    for trace, shift_ps in zip(traces, host_shifts([it.base_unix_ns for it in traces]), strict=True):
        if shift_ps is not None:
            trace.shift(shift_ps)
        elif len(traces) > 1:
            diagnostics.append(clock_unknown(trace.host, trace.base_unix_ns))
    return SessionTrace(name, path, traces, diagnostics)


def clock_unknown(host: str, base_unix_ns: int) -> Diagnostic:
    """Says of a host that it starts with the session, as nothing relates its clock to the others'."""
    what = "records no clock" if not base_unix_ns else "is from another time"
    text = f"The file {what}; its lanes start with the session, other hosts' may be shifted."
    return Diagnostic("clock_unknown", "warning", text, host)


def _without_impossible_times(space: XSpace, source: Source) -> list[Diagnostic]:
    """Puts 0 for offsets and durations that no capture has, in place, and says which."""
    found = []
    for times, low, what in ((space.offset_ps, -FARTHEST_PS, "begin"), (space.duration_ps, 0, "end")):
        if times.size and (times.min() < low or times.max() > FARTHEST_PS):
            wrong = (times < low) | (times > FARTHEST_PS)
            place = f"the first at byte {space.event_offsets.find(source, int(wrong.argmax()))}"
            text = f"{wrong.sum()} events {what} where they cannot, {place}; that time counts as 0."
            found.append(Diagnostic("corrupt_file", "warning", text))
            times[wrong] = 0
    return found


def _lines(space: XSpace) -> tuple[list[Line], Int64, int, bool]:
    starts, zero_ns, unrelated = line_starts_ps(space)
    lines: list[Line] = []
    start_ps = space.offset_ps
    for plane_index, plane in enumerate(space.planes):
        for line in plane.lines:
            start_ps[line.first : line.first + line.count] += starts[len(lines)]
            lines.append(Line(len(lines), plane_index, line.id, text_of(line.name), line.first, line.count))
    return lines, start_ps, zero_ns, unrelated


def _order(lines: list[Line], start_ps: Int64, duration_ps: Int64) -> Int64 | None:
    """The order that sorts every line by start, the longer event first; None where all are sorted already."""
    order = None
    for line in lines:
        start, duration = start_ps[line.rows], duration_ps[line.rows]
        if not is_sorted_by_start(start, duration):
            order = np.arange(len(start_ps)) if order is None else order
            order[line.rows] = line.first + np.lexsort((-duration, start))
    return order


def _metadata(space: XSpace, catalog: Catalog) -> Metadata:
    intern = space.strings.intern
    kinds = [(p, kind) for p, plane in enumerate(space.planes) for kind in plane.event_metadata]
    texts = {name: np.full(len(kinds), -1, np.int32) for name in METADATA_STATS}
    for number, (_, kind) in enumerate(kinds):
        for name in METADATA_STATS:
            if name in kind.stats:
                texts[name][number] = intern(str(kind.stats[name]))
    return Metadata(
        plane=np.array([p for p, _ in kinds], np.int32),
        id=np.array([kind.id for _, kind in kinds], np.int64),
        name=np.array([intern(kind.name) for _, kind in kinds], np.int32),
        display_name=np.array(
            [intern(kind.display_name) if kind.display_name else -1 for _, kind in kinds], np.int32
        ),
        class_index=np.array([catalog.class_index(kind.name) for _, kind in kinds], np.int8),
        text=texts,
        stats=[kind.stats for _, kind in kinds],
    )
