"""The finding about graphs that early executions cut into parts, and the fix that merges them."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.compiles.debug_log import blocks_of_early_executions
from tb_xla_insights.analysis.delays.early_executions import EarlyExecutions, find_early_executions
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import (
    Finding,
    ShownWindow,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.findings.locations import (
    enclosing_paths,
    most_common,
    step_numbers,
    step_paths,
    steps_text,
)
from tb_xla_insights.analysis.findings.round_trips import is_read_by_call, round_trips
from tb_xla_insights.analysis.launches.launches import LAZY, find_launches
from tb_xla_insights.analysis.propagation.host import host_annotations
from tb_xla_insights.analysis.propagation.path_names import short_names
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.text.english import Phrase, mean_text, plural, sentences, upper_first
from tb_xla_insights.trace.model import Trace

CUT_CLASSES = ("tracing", "sync_prepare", "program_load", "to_device", "from_device", "dispatch", "wait", "python",
        "other", "unrecorded")  # fmt: skip
"""The classes of host work that an early execution causes in the gap after it: all but torch.compile,
compiling and loading data."""


_STEP = "the step"
"""What is cut where no annotation inside the step is."""


def early_sync(facts: Facts) -> Finding | None:
    """Early executions, except those of operators on the CPU. They cost the starved gaps after them: the host builds
    the next graph only when it has the value, or has launched this part."""
    trace, launches = facts.trace, find_launches(facts.trace)
    is_early_sync = round_trips(facts) < 0
    early = find_early_executions(trace).select(is_early_sync)
    count = len(early.launch)
    if not count:
        return None
    taken_ps = facts.ledger.take(CUT_CLASSES, np.isin(facts.ledger.before, early.launch))
    cost = int(taken_ps.sum())
    syncs = launches.sync[early.launch]
    last_row = np.where(early.read >= 0, early.read, syncs)
    steps = set(early.step.tolist()) - {-1}
    numbers = step_numbers(trace, steps)
    paths = enclosing_paths(trace, early.annotation.tolist())
    by_marker, marker_and_read = int((early.read < 0).sum()), _count_reads_after_markers(trace, early)
    on_autograd_thread = trace.is_on_lines(syncs, trace.lines_with("autograd"))
    on_backward_thread = int((on_autograd_thread & (early.read < 0)).sum())
    frequency = facts.frequency_of(steps)
    ends = np.maximum(trace.end_ps[syncs], trace.end_ps[last_row])
    where, path = steps_text(numbers, facts.step_count), most_common(paths)
    is_every_step = len(numbers) == facts.step_count > 1
    subject, cut_location = describe_cuts(trace, paths)
    location_known = bool(numbers) or any(paths)
    cause = "a StepMarker" if by_marker == count else "a read" if not by_marker else "syncs"
    if by_marker == count == marker_and_read:
        cause = "a StepMarker and a read"
    brief = f"{cause} {_inside_text(cut_location, where, is_every_step) if location_known else where}"
    noun = "StepMarker" if by_marker == count else "sync" if by_marker else "read"
    number = _number_of_cuts(int((early.step >= 0).sum()) or count, len(numbers), is_every_step)
    cuts = cause if marker_and_read == count else f"{number} {noun}s" if number else f"a {noun}"
    detail = (
        f"{'an execution runs' if count == 1 else f'{count} executions run'} part of the graph early; "
        f"{facts.idle_text(taken_ps, frequency)} after {'it' if count == 1 else 'them'}"
    )
    blocks = blocks_of_early_executions(facts.trace, facts.sidecars.executions)
    frame = most_common(
        block.frame for block, is_included in zip(blocks, is_early_sync, strict=True) if block and is_included
    )
    location = f" at {frame}" if frame else ""
    # If no cut is attributed to operators on the CPU, but some ran, they may have caused these.
    on_cpu = facts.metrics is not None and facts.metrics.fallbacks() and is_early_sync.all()
    read_advice = (
        f"{'Replace the operator that runs on the CPU, or keep' if on_cpu else 'Keep'} the value on the device: take "
        f"{_reading_calls(trace, early)}{location} out of {cut_location}, or read it after the step in "
        "xm.add_step_closure."
    )
    marker_advice = (
        f"Remove mark_step() or torch_xla.sync(){location} from hooks and autograd functions: it runs on the thread of "
        "the backward pass."
        if on_backward_thread == count
        else f"Remove the mark_step() or torch_xla.sync(){location} inside {cut_location}: the one after the step is "
        "enough."
        if not marker_and_read
        else f"Read the value after the step in xm.add_step_closure, and remove the mark_step(){location} inside "
        f"{cut_location}: both cut the graph."
    )
    return Finding(
        "early_sync",
        _title(
            cuts,
            "split" if number or marker_and_read == count else "splits",
            subject if location_known else "",
            where,
            is_every_step,
        ),
        brief,
        sentences(detail),
        marker_advice if by_marker == count else read_advice,
        cost,
        {
            "early_syncs": count,
            "by_step_marker": by_marker,
            "on_backward_thread": on_backward_thread,
            "steps": numbers,
            "annotation": path,
            "frame": frame,
            "device_ps": int(early.device_ps.sum()),
            "idle_ps": cost,
        },
        longest_windows(map(ShownWindow, trace.start_ps[syncs].tolist(), ends.tolist())),
        frequency,
        merging_fix(trace, early, np.arange(count), last_row),
        waits_for=Phrase(
            "the host", ", which marks a step inside the step" if by_marker == count
            else f", which reads a value inside {subject}" if location_known else ", which reads a value",
        ),
    )  # fmt: skip


def _reading_calls(trace: Trace, early: EarlyExecutions) -> str:
    """The calls that may have read the values (see `is_read_by_call`)."""
    by_call = is_read_by_call(trace, early.launch[early.read >= 0])
    direct, through_call = ".item() or a comparison", "print or .cpu()"
    return through_call if by_call.all() else f"{direct}, {through_call}" if by_call.any() else direct


def _count_reads_after_markers(trace: Trace, early: EarlyExecutions) -> int:
    """Counts the step markers that cut a graph and are followed by a read in the same annotation."""
    cuts = (early.read < 0) & (early.annotation >= 0)
    markers, annotation_end_ps = (
        find_launches(trace).sync[early.launch[cuts]],
        trace.end_ps[early.annotation[cuts]],
    )
    count = 0
    for line in trace.driving_lines:
        rows = trace.lines[line].rows
        reads = early.reads[slice(*np.searchsorted(early.reads, (rows.start, rows.stop)))]
        on_line = (markers >= rows.start) & (markers < rows.stop)
        # Reads of one thread are disjoint and ascend: if any after the marker ends in the annotation, the first does.
        following = np.searchsorted(trace.start_ps[reads], trace.end_ps[markers[on_line]])
        end_ps = np.append(trace.end_ps[reads], np.iinfo(np.int64).max)[following]
        count += int((end_ps <= annotation_end_ps[on_line]).sum())
    return count


def _number_of_cuts(count: int, steps: int, is_every_step: bool) -> str:
    """The number of cuts, as text, in total, or per step if every step has cuts; empty for one. `count`: the cuts in
    the `steps` that have any; if none has, all cuts."""
    if count <= max(1, steps):
        return ""
    return mean_text(count / steps if is_every_step else count)


def _inside_text(place: str, where: str, is_every_step: bool) -> str:
    """`inside forward in step 6`, `inside the step in step 6`, `inside every step`. `place`: what is cut; `where`: see
    `steps_text`."""
    return "inside every step" if place == _STEP and is_every_step else f"inside {place} {where}"


def _title(cuts: str, verb: str, subject: str, where: str, is_every_step: bool) -> str:
    """`A read inside forward in step 6 splits the step`. `cuts`: what cuts; `subject`: what is cut, empty if not
    known."""
    start = upper_first(cuts)
    if not subject:
        return f"{start} {where} {verb} graphs"
    if subject == _STEP:
        return f"{start} {_inside_text(subject, where, is_every_step)} {verb} it"
    return first_fitting_title(
        f"{start} inside {subject} {where} {verb} the step",
        f"{start} inside {subject} {verb} the step",
        f"{start} {where} {verb} the step",
    )


class CutText(NamedTuple):
    """What is cut: the subject of a sentence (`forward`, `the step`, `4 places`), and the location for advice."""

    subject: str
    location: str


def describe_cuts(trace: Trace, paths: list[str | None]) -> CutText:
    """Describes cuts by their enclosing paths."""
    steps = step_paths(trace) | {None}
    cut_paths = [
        name for name, _ in Counter(_STEP if path in steps else str(path) for path in paths).most_common()
    ]
    if len(cut_paths) > 2:
        others = plural(len(cut_paths) - 1, "other place")
        return CutText(f"{len(cut_paths)} places", f"{cut_paths[0]} and {others}")
    short = short_names(host_annotations(trace).path_texts)
    names = dict.fromkeys(short.get(path, path) for path in cut_paths)
    return CutText(" and ".join(names), " and ".join(cut_paths))


def merging_fix(
    trace: Trace, early: EarlyExecutions, indices: NDArray[np.intp], last_rows: Int32 | Int64
) -> Fix:
    """The fix that merges some early executions (indices) into the launches after them. It removes the host work from
    their synchronisation to the end of the events `last_rows`. A read of a lazy graph keeps only the value, so that the
    next launch computes everything else again. A step marker keeps all values, so that its graph is prepared once with
    or without the fix."""
    launches = early.launch[indices].astype(np.intp)
    all_launches = find_launches(trace)
    cuts = union(trace.start_ps[all_launches.sync[launches]], trace.end_ps[last_rows])
    repeated = launches[(early.read[indices] >= 0) & (all_launches.kind[launches] == LAZY)]
    return Fix(
        CUT_CLASSES,
        windows=cuts,
        merged_launches=launches,
        repeated_launches=repeated,
        moved_classes=() if len(repeated) == len(launches) else ("sync_prepare",),
    )
