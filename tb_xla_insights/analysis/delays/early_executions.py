"""Graphs that run before their step ends, because a value was read or a step marker occurred, and reads from the
device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.codes import DYNAMO, MARKER, READ, SYNC
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_annotation, enclosing_path
from tb_xla_insights.analysis.host.extractions import find_extractions
from tb_xla_insights.analysis.idle.idle_time import STARVED, find_gaps
from tb_xla_insights.analysis.launches.causality import metadata_flags, rows_flagged
from tb_xla_insights.analysis.launches.launches import Launches, find_launches
from tb_xla_insights.analysis.launches.step_sources import recorded_times
from tb_xla_insights.analysis.launches.step_times import find_steps, rows_of_steps
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.thresholds import REGULAR_STEPS_SHARE
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.classes import CLASS_INDEX
from tb_xla_insights.trace.annotations import step_annotation_rows
from tb_xla_insights.trace.device_clock import CLOCK_SLACK_PS
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.nesting import nearest_enclosing, outermost_rows
from tb_xla_insights.trace.threads import thread_labels

if TYPE_CHECKING:
    from tb_xla_insights.schema.launches import EarlyLaunch

_FROM_DEVICE = CLASS_INDEX["from_device"]


class CountsPerStep(NamedTuple):
    """The number of early executions, input syncs and reads in each step."""

    early_executions: Int64
    input_syncs: Int64
    reads: Int64


@dataclass(frozen=True)
class EarlyExecutions:
    """The early executions, input syncs and reads of one host.

    Columns, one row per early execution: `launch` (index into Launches), `read` (the event that fetched the value, -1:
    a step marker inside the step caused it), `annotation` (the innermost one around it, -1: none), `step` (index, -1:
    outside of steps), `device_ps` (time of its runs, over all cores: what later runs may repeat) and `idle_ps` (starved
    gaps right after these runs).

    `input_syncs`: the launches that compute the inputs of a dynamo execution. `reads`: reads from the device on the
    driving thread and in its backward passes, the outermost events.
    """

    launch: Int32
    read: Int32
    annotation: Int32
    step: Int32
    device_ps: Int64
    idle_ps: Int64
    input_syncs: Int32
    reads: Int32

    @property
    def other_reads(self) -> Int32:
        """The reads that cut no graph."""
        return np.setdiff1d(self.reads, self.read)

    def select(self, is_selected: NDArray[np.bool_]) -> EarlyExecutions:
        """Returns the same with only the early executions of a mask."""
        names = ("launch", "read", "annotation", "step", "device_ps", "idle_ps")
        return replace(self, **{name: getattr(self, name)[is_selected] for name in names})

    def per_step(self, trace: Trace) -> CountsPerStep:
        count = len(find_steps(trace))
        input_steps = find_launches(trace).step[self.input_syncs]
        read_steps = last_steps_before(trace, self.reads)
        return CountsPerStep(
            _count_by_step(self.step, count),
            _count_by_step(input_steps, count),
            _count_by_step(read_steps, count),
        )


def last_steps_before(trace: Trace, rows: Int32) -> Int32:
    """Returns the last step that began before each event, -1: none. What a step computes is often read after the
    step."""
    starts = recorded_times(trace)[0][: len(find_steps(trace))]
    return (np.searchsorted(starts, trace.start_ps[rows], "right") - 1).astype(np.int32)


@memoised
def delaying_reads(trace: Trace) -> Int32:
    """Returns the reads that count as delays: all, or only those that wait if most reads do not. A read waits if a run
    ends in it; the others find their result ready, and only copy it. If no read waits, a copy is all that reads cost,
    or what they wait for is not recorded."""
    reads, ends_ps = find_early_executions(trace).reads, np.sort(find_launches(trace).runs.end_ps)
    ended_before, ended_until = (
        np.searchsorted(ends_ps, times_ps, "right")
        for times_ps in (trace.start_ps[reads], trace.end_ps[reads] + CLOCK_SLACK_PS)
    )
    waiting = reads[ended_until > ended_before]
    return waiting if 0 < 2 * len(waiting) < len(reads) else reads


def _count_by_step(step: Int32, count: int) -> Int64:
    return np.bincount(step[step >= 0], minlength=count).astype(np.int64)


@memoised
def find_early_executions(trace: Trace) -> EarlyExecutions:
    """Finds the early executions, input syncs and reads of one host. (docs/definitions.md, "Early execution")

    Outside of step markers, a synchronisation that launches something is an early execution if a read follows it on its
    thread, and an input sync if a dynamo execution does. A step marker that launches something is an early execution if
    an annotation below the step's root encloses it. A read after a step marker that launched nothing follows no launch,
    so it is no early execution; neither is what the bridge of torch.compile launches to extract a graph.
    """
    launches = find_launches(trace)
    rows = rows_flagged(trace, READ | DYNAMO | SYNC | MARKER)
    rows = rows[trace.is_on_lines(rows, trace.driving_lines)]
    flags = metadata_flags(trace)[trace.metadata_index[rows]]
    sync_launches = np.flatnonzero((launches.sync >= 0) & (launches.marker < 0))
    sync_launches = sync_launches[
        metadata_flags(trace)[trace.metadata_index[launches.sync[sync_launches]]] & SYNC != 0
    ]
    is_bridge = find_extractions(trace).is_bridge_event(trace)
    sync_launches = sync_launches[~is_bridge[launches.sync[sync_launches]]]
    following = _next_events(trace, rows, launches.sync[sync_launches])
    following_flags = np.append(flags, 0)[following]
    is_read = (following_flags & READ != 0) & _has_later_part(launches, sync_launches)
    marker_launches = _markers_below_steps(trace, launches)
    launch = np.concatenate((sync_launches[is_read], marker_launches)).astype(np.int32)
    read = np.concatenate((rows[following[is_read]], np.full(len(marker_launches), -1))).astype(np.int32)
    order = np.argsort(launch)
    launch, read = launch[order], read[order]
    device_ps, idle_ps = _costs(trace, launches, launch)
    annotation = np.array(
        [enclosing_annotation(trace, row) for row in launches.sync[launch].tolist()], np.int32
    )
    reads = rows[flags & READ != 0]
    return EarlyExecutions(
        launch, read, annotation, launches.step[launch], device_ps, idle_ps,
        sync_launches[following_flags & DYNAMO != 0].astype(np.int32), outermost_rows(trace.parent, reads),
    )  # fmt: skip


def _has_later_part(launches: Launches, indices: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether the graph of each launch (index) goes on after it: its step launches more; outside of steps, the next
    step marker that launches is also outside of them. A launch that ends its step cuts nothing, such as that of an
    inference step whose result is read."""
    last_in_step = np.full(int(launches.step.max(initial=-1)) + 2, -1, np.int64)
    np.maximum.at(
        last_in_step, launches.step, np.arange(len(launches))
    )  # -1, outside of steps, is the last element
    markers = np.flatnonzero(launches.marker >= 0)
    next_marker = np.append(markers, -1)[np.searchsorted(markers, indices, side="right")]
    is_marker_outside = (next_marker >= 0) & (launches.step[next_marker] < 0)
    is_cut: NDArray[np.bool_] = np.where(
        launches.step[indices] >= 0, indices < last_in_step[launches.step[indices]], is_marker_outside
    )
    return is_cut


def _next_events(trace: Trace, rows: Int32, syncs: Int32) -> NDArray[np.intp]:
    """Returns, for each synchronisation, the index in `rows` of the first event on its thread that starts after it; -1:
    none."""
    lines = trace.lines_of(rows)
    next_index = np.full(len(syncs), -1, np.intp)
    indices = np.searchsorted(rows, syncs).tolist()
    for number, (sync, index) in enumerate(zip(syncs.tolist(), indices, strict=True)):
        line, end_ps = lines[index], trace.end_ps[sync]
        index += 1
        while index < len(rows) and lines[index] == line and trace.start_ps[rows[index]] < end_ps:
            index += 1
        if index < len(rows) and lines[index] == line:
            next_index[number] = index
    return next_index


def _markers_below_steps(trace: Trace, launches: Launches) -> NDArray[np.intp]:
    """Returns the launches whose step marker is inside an annotation that is below a step's annotation and is no step
    itself. For a marker on a backward pass's thread, the annotations open on the driving thread count."""
    roots = rows_of_steps(trace)
    marker_launches = np.flatnonzero(launches.marker >= 0)
    marker_launches = marker_launches[
        ~find_extractions(trace).is_bridge_event(trace)[launches.marker[marker_launches]]
    ]
    marker = launches.marker[marker_launches]
    enclosing = trace.parent[marker]
    in_autograd = np.flatnonzero(trace.is_on_lines(marker, trace.lines_with("autograd")))
    enclosing[in_autograd] = [enclosing_annotation(trace, row) for row in marker[in_autograd].tolist()]
    root = nearest_enclosing(trace.parent, enclosing, roots)
    annotation = nearest_enclosing(
        trace.parent, enclosing, np.setdiff1d(trace.annotations, step_annotation_rows(trace))
    )
    return marker_launches[(root >= 0) & (annotation > root)]  # an inner event has a higher row


def _costs(trace: Trace, launches: Launches, early_launches: Int32) -> tuple[Int64, Int64]:
    """Returns, per early launch, the time of its runs and the starved gaps right after them."""
    runs, gaps = launches.runs, find_gaps(trace)
    starved = (gaps.kind == STARVED) & ~gaps.inside
    idle = np.zeros(len(runs) + 1, np.int64)  # the last value: gaps before the first run
    np.add.at(idle, gaps.before_run[starved], gaps.duration_ps[starved])
    return launches.sums(runs.duration_ps)[early_launches], launches.sums(idle[:-1])[early_launches]


def early_executions_report(trace: Trace) -> list[EarlyLaunch]:
    """Returns one row per early execution, in order of time.

    `step` is an index into the report's `steps`. `trigger` is `read` (a value was fetched) or `step_marker`.
    `annotation` is the path of annotations around it, `thread` the thread that requested it. `device_ps`: the time of
    its runs, an upper bound of what the step's later runs repeat. `idle_ps`: the starved gaps after them.
    """
    rows: list[EarlyLaunch] = []
    early, launches, labels = find_early_executions(trace), find_launches(trace), thread_labels(trace)
    for i, launch in enumerate(early.launch.tolist()):
        sync, step, program = (
            int(launches.sync[launch]),
            int(early.step[i]),
            int(launches.program[launch]),
        )
        rows.append(
            {
                "host": trace.host,
                "step": step if step >= 0 else None,
                "annotation": enclosing_path(trace, int(early.annotation[i])),
                "thread": labels[trace.line_of(sync).index],
                "trigger": "read" if early.read[i] >= 0 else "step_marker",
                "program": launches.programs[program].name if program >= 0 else None,
                "start_ps": int(trace.start_ps[sync]),
                "duration_ps": int(trace.end_ps[max(sync, early.read[i])] - trace.start_ps[sync]),
                "device_ps": int(early.device_ps[i]),
                "idle_ps": int(early.idle_ps[i]),
            }
        )
    return rows


def reads_report(trace: Trace) -> dict[str, Any]:
    """Whether reads from the device delay most steps: `steps`, `steps_with_reads`, `most_steps` (at least half of the
    steps), `reads` and `duration_ps`, all of `delaying_reads`, `ready_reads`, the number of the other reads (all
    without reads before the first step), and `idle_ps`, the part of starved gaps in which the host read."""
    gaps, reads = find_gaps(trace), delaying_reads(trace)
    all_reads = find_early_executions(trace).per_step(trace).reads
    step = last_steps_before(trace, reads)
    per_step = _count_by_step(step, len(all_reads))
    with_reads = int(np.count_nonzero(per_step))
    return {
        "steps": len(per_step),
        "steps_with_reads": with_reads,
        "reads": int(per_step.sum()),
        "ready_reads": int((all_reads - per_step).sum()),
        "duration_ps": int(trace.duration_ps[reads[step >= 0]].sum()),
        "idle_ps": int(gaps.by_class_ps[gaps.kind == STARVED, _FROM_DEVICE].sum()),
        "most_steps": with_reads > 0 and with_reads >= REGULAR_STEPS_SHARE * len(per_step),
    }
