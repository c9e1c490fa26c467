"""Graphs that run before the step is over, because a value was asked for; and values read from the device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.codes import DYNAMO, MARKER, READ, SYNC
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_annotation, enclosing_path
from tb_xla_insights.analysis.host.extractions import find_extractions
from tb_xla_insights.analysis.idle.idle_time import STARVED, find_gaps
from tb_xla_insights.analysis.launches.causality import event_flags, rows_flagged
from tb_xla_insights.analysis.launches.launches import Launches, find_launches
from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.steps.sources import recorded_times, step_rows
from tb_xla_insights.analysis.steps.step_times import annotated_steps, steps_of, with_offsets
from tb_xla_insights.analysis.thresholds import EVERY_STEP_READS_SHARE
from tb_xla_insights.catalog.classes import CLASS_INDEX
from tb_xla_insights.trace.model import Int32, Int64, SessionTrace, Trace
from tb_xla_insights.trace.nesting import climb, outermost
from tb_xla_insights.trace.threads import thread_labels

if TYPE_CHECKING:
    from tb_xla_insights.schema.launches import EarlyLaunch

_FROM_DEVICE = CLASS_INDEX["from_device"]


@dataclass(frozen=True)
class EarlyExecutions:
    """What one host synchronised and read besides its step markers.

    Per early execution: `launch` (index into Launches), `read` (the event that fetched the value, -1: a step marker
    below the step did it), `annotation` (the innermost one around it, -1: none), `step` (index, -1: outside of steps),
    `device_ps` (time of its runs, over all cores: what later runs may repeat) and `idle_ps` (starved gaps right after
    them). `input_syncs` are launches that get a dynamo execution its inputs. `reads` are reads from the device on the
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

    def only(self, chosen: NDArray[np.bool_]) -> EarlyExecutions:
        """The same with some of the early executions (a mask)."""
        names = ("launch", "read", "annotation", "step", "device_ps", "idle_ps")
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def per_step(self, trace: Trace) -> tuple[Int64, Int64, Int64]:
        """Per step: early executions, input syncs, reads."""
        count = len(steps_of(trace))
        input_steps = find_launches(trace).step[self.input_syncs]
        reads = last_steps(trace, self.reads)
        return (_counts(self.step, count), _counts(input_steps, count), _counts(reads, count))


def last_steps(trace: Trace, rows: Int32) -> Int32:
    """The last step that began before each event, -1: none. What a step asked for is often read when it is over."""
    starts = recorded_times(trace)[0][: len(steps_of(trace))]
    return (np.searchsorted(starts, trace.start_ps[rows], "right") - 1).astype(np.int32)


def _counts(step: Int32, steps: int) -> Int64:
    return np.bincount(step[step >= 0], minlength=steps).astype(np.int64)


@memoised
def find_early_executions(trace: Trace) -> EarlyExecutions:
    """Early executions, input syncs and reads of one host. (docs/definitions.md, "Early execution")

    Outside of step markers, a synchronisation that launches something is an early execution where a read follows it on
    its thread, and an input sync where a dynamo execution does. A step marker that launches something is an early
    execution where an annotation below the step's root encloses it. A read after a step marker that launched nothing
    follows no launch, so it is none, and neither is what the bridge of torch.compile launches to extract a graph.
    """
    launches = find_launches(trace)
    rows = rows_flagged(trace, READ | DYNAMO | SYNC | MARKER)
    rows = rows[np.isin(trace.lines_of(rows), trace.driving_lines)]
    flags = event_flags(trace)[trace.meta[rows]]
    asked = np.flatnonzero((launches.sync >= 0) & (launches.marker < 0))
    asked = asked[event_flags(trace)[trace.meta[launches.sync[asked]]] & SYNC != 0]
    bridge = find_extractions(trace).recorded(trace)
    asked = asked[~bridge[launches.sync[asked]]]
    after = _following(trace, rows, launches.sync[asked])
    what = np.append(flags, 0)[after]
    fetched = what & READ != 0
    marked = _markers_below_steps(trace, launches)
    launch = np.concatenate((asked[fetched], marked)).astype(np.int32)
    read = np.concatenate((rows[after[fetched]], np.full(len(marked), -1))).astype(np.int32)
    order = np.argsort(launch)
    launch, read = launch[order], read[order]
    device, idle = _costs(trace, launches, launch)
    around = np.array([enclosing_annotation(trace, int(launches.sync[it])) for it in launch], np.int32)
    reads = rows[flags & READ != 0]
    return EarlyExecutions(
        launch, read, around, launches.step[launch], device, idle,
        asked[what & DYNAMO != 0].astype(np.int32), outermost(trace.parent, reads),
    )  # fmt: skip


def _following(trace: Trace, rows: Int32, syncs: Int32) -> NDArray[np.intp]:
    """For each synchronisation, the first of `rows` on its thread that starts after it; -1: none."""
    lines = trace.lines_of(rows)
    place = np.searchsorted(rows, syncs)
    found = np.full(len(syncs), -1, np.intp)
    for number, (sync, at) in enumerate(zip(syncs.tolist(), place.tolist(), strict=True)):
        line, end = lines[at], trace.end_ps[sync]
        at += 1
        while at < len(rows) and lines[at] == line and trace.start_ps[rows[at]] < end:
            at += 1
        if at < len(rows) and lines[at] == line:
            found[number] = at
    return found


def _markers_below_steps(trace: Trace, launches: Launches) -> NDArray[np.intp]:
    """Launches whose step marker lies inside an annotation that lies inside a step's and is no step itself; one of the
    backward pass's thread inside those that are open on the driving thread."""
    roots = np.array([step.row for step in annotated_steps(trace)], np.int32)
    marked = np.flatnonzero(launches.marker >= 0)
    marked = marked[~find_extractions(trace).recorded(trace)[launches.marker[marked]]]
    marker = launches.marker[marked]
    around = trace.parent[marker]
    elsewhere = np.flatnonzero(np.isin(trace.lines_of(marker), trace.lines_with("autograd")))
    around[elsewhere] = [enclosing_annotation(trace, row) for row in marker[elsewhere].tolist()]
    root = climb(trace.parent, around, roots)
    annotation = climb(trace.parent, around, np.setdiff1d(trace.annotations, step_rows(trace)))
    return marked[(root >= 0) & (annotation > root)]  # what lies inside comes later


def _costs(trace: Trace, launches: Launches, early: Int32) -> tuple[Int64, Int64]:
    """Per early launch, the time of its runs and the starved gaps that follow them."""
    runs, gaps = launches.runs, find_gaps(trace)
    starved = (gaps.kind == STARVED) & ~gaps.inside
    idle = np.zeros(len(runs) + 1, np.int64)  # the last one: before the first run
    np.add.at(idle, gaps.before_run[starved], gaps.duration_ps[starved])
    return launches.sums(runs.duration_ps)[early], launches.sums(idle[:-1])[early]


def early_executions_report(session: SessionTrace) -> list[EarlyLaunch]:
    """One entry per early execution, in order of hosts and time.

    `how` is `read` (a value was fetched) or `step_marker`; `annotation` the path of annotations around it; `thread` the
    one that asked; `device_ps`
    the time of its runs, an upper bound of what the step's later runs repeat; `idle_ps` the starved gaps after them.
    `step` is an index into the report's `steps`.
    """
    found: list[EarlyLaunch] = []
    for trace, offset in with_offsets(session):
        early, launches, labels = find_early_executions(trace), find_launches(trace), thread_labels(trace)
        for i, launch in enumerate(early.launch.tolist()):
            sync, step, program = (
                int(launches.sync[launch]),
                int(early.step[i]),
                int(launches.program[launch]),
            )
            found.append(
                {
                    "host": trace.host,
                    "step": step + offset if step >= 0 else None,
                    "annotation": enclosing_path(trace, int(early.annotation[i])),
                    "thread": labels[trace.line_of(sync).index],
                    "how": "read" if early.read[i] >= 0 else "step_marker",
                    "program": launches.programs[program][0] if program >= 0 else None,
                    "start_ps": int(trace.start_ps[sync]),
                    "duration_ps": int(trace.end_ps[max(sync, early.read[i])] - trace.start_ps[sync]),
                    "device_ps": int(early.device_ps[i]),
                    "idle_ps": int(early.idle_ps[i]),
                }
            )
    return found


def reads_report(trace: Trace) -> dict[str, Any]:
    """Whether the host reads from the device in every step: `steps`, `steps_with_reads`, `every_step` (at least half
    of them), `reads` and `duration_ps` (without those before the first step), and `idle_ps`, the part of starved gaps
    in which the host read."""
    early, gaps = find_early_executions(trace), find_gaps(trace)
    per_step = early.per_step(trace)[2]
    inside = last_steps(trace, early.reads) >= 0
    with_reads = int(np.count_nonzero(per_step))
    return {
        "steps": len(per_step),
        "steps_with_reads": with_reads,
        "reads": int(per_step.sum()),
        "duration_ps": int(trace.duration_ps[early.reads[inside]].sum()),
        "idle_ps": int(gaps.shares[gaps.kind == STARVED, _FROM_DEVICE].sum()),
        "every_step": with_reads > 0 and with_reads >= EVERY_STEP_READS_SHARE * len(per_step),
    }
