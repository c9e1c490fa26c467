"""The finding about graphs that early executions cut in parts, and the fix that joins them."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.compiles.debug_log import blocks_of_early_executions
from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    Window,
    enclosing_paths,
    first_fitting_title,
    longest_windows,
    lower_first,
    most_common,
    plural,
    step_names,
    step_paths,
    steps_text,
)
from tb_xla_insights.analysis.findings.round_trips import round_trips
from tb_xla_insights.analysis.launches.early_executions import EarlyExecutions, find_early_executions
from tb_xla_insights.analysis.launches.launches import LAZY, find_launches
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.trace.model import Int32, Int64, Trace

CUT = ("tracing", "sync_prepare", "program_load", "to_device", "from_device", "dispatch", "wait", "python",
        "other", "unrecorded")  # fmt: skip
"""The classes of host work that an early execution causes in the gap after it: all but compiling and loading data."""


def early_sync(facts: Facts) -> Finding | None:
    """Early executions, except those of operators on the CPU. They cost the starved gaps after them: the host waited
    for the value, so it could not build the next graph."""
    trace, launches = facts.trace, find_launches(facts.trace)
    is_early_sync = round_trips(facts) < 0
    early = find_early_executions(trace).select(is_early_sync)
    count = len(early.launch)
    if not count:
        return None
    taken = facts.ledger.take(CUT, np.isin(facts.ledger.before, early.launch))
    cost = int(taken.sum())
    syncs = launches.sync[early.launch]
    last_row = np.where(early.read >= 0, early.read, syncs)
    steps = set(early.step.tolist()) - {-1}
    numbers = step_names(trace, steps)
    paths = enclosing_paths(trace, early.annotation.tolist())
    by_marker, marker_and_read = int((early.read < 0).sum()), _count_reads_after_markers(trace, early)
    on_autograd_thread = trace.is_on_lines(syncs, trace.lines_with("autograd"))
    on_backward_thread = int((on_autograd_thread & (early.read < 0)).sum())
    device = int(early.device_ps.sum())
    frequency = facts.frequency_of(steps)
    ends = np.maximum(trace.end_ps[syncs], trace.end_ps[last_row])
    where, path = steps_text(numbers, facts.steps), most_common(paths)
    subject, place = cut_parts(trace, paths)
    cause = "a StepMarker" if by_marker == count else "a read" if not by_marker else "syncs"
    if by_marker == count == marker_and_read:
        cause = "a StepMarker and a read"
    times = _cuts_text(count, numbers, facts)
    detail = "An execution runs" if count == 1 else f"{count} executions run"
    detail += " part of the graph early; "
    detail += f"{lower_first(facts.idle_text(taken, frequency))} after {'it' if count == 1 else 'them'}."
    blocks = blocks_of_early_executions(facts.session, facts.sidecars.executions)
    frame = most_common(
        block.frame for block, chosen in zip(blocks, is_early_sync, strict=True) if block and chosen
    )
    at = f" at {frame}" if frame else ""
    # If no cut is attributed to operators on the CPU, but some ran, they may have caused these.
    on_cpu = facts.metrics is not None and facts.metrics.fallbacks() and is_early_sync.all()
    read_advice = "Replace the operator that runs on the CPU, or keep" if on_cpu else "Keep"
    read_advice += f" the value on the device: take .item(), print or a comparison{at} out of {place}, "
    read_advice += "or read it after the step in xm.add_step_closure."
    marker_advice = (
        f"Remove mark_step() or torch_xla.sync(){at} from hooks and autograd functions: the backward pass's own thread "
        "syncs."
        if on_backward_thread == count
        else f"Remove the mark_step() or torch_xla.sync(){at} inside {place}: the one after the step is enough."
        if not marker_and_read
        else f"Read the value after the step in xm.add_step_closure, and remove the mark_step(){at} inside {place}: "
        "both cut the graph."
    )
    return Finding(
        "early_sync",
        first_fitting_title(f"{subject} cut {times}by {cause} {where}", f"{subject} cut by {cause} {where}",
                        f"Graphs are cut by {cause} {where}", "Graphs are cut in parts"),
        f"a cut {where}" if count == 1 else f"{subject.rpartition(' ')[0]} cut {times}by {cause} {where}",
        detail,
        marker_advice if by_marker == count else read_advice,
        cost,
        {
            "early_syncs": count,
            "by_step_marker": by_marker,
            "on_backward_thread": on_backward_thread,
            "steps": numbers,
            "annotation": path,
            "frame": frame,
            "device_ps": device,
            "idle_ps": cost,
        },
        longest_windows(map(Window, trace.start_ps[syncs].tolist(), ends.tolist())),
        frequency,
        one_graph(trace, early, np.arange(count), last_row),
    )  # fmt: skip


def _count_reads_after_markers(trace: Trace, early: EarlyExecutions) -> int:
    """Counts the step markers that cut a graph and are followed by a read in the same annotation."""
    launches, number = find_launches(trace), 0
    for launch, annotation in zip(
        early.launch[early.read < 0], early.annotation[early.read < 0], strict=True
    ):
        marker = launches.sync[launch]
        reads = early.reads[trace.lines_of(early.reads) == trace.line_of(int(marker)).index]
        inside = (
            trace.end_ps[reads] <= trace.end_ps[annotation]
            if annotation >= 0
            else np.zeros(len(reads), np.bool_)
        )
        number += bool((inside & (trace.start_ps[reads] >= trace.end_ps[marker])).any())
    return number


def _cuts_text(count: int, numbers: list[int], facts: Facts) -> str:
    """How often a graph is cut, before `by …`: `4 times ` in total, or per step if every step has cuts."""
    if count <= len(numbers):
        return ""
    if len(numbers) == facts.steps > 1:
        per_step = count / len(numbers)
        return "twice " if per_step == 2 else f"{per_step:.1f} times ".replace(".0 ", " ")
    return f"{count} times "


def cut_parts(trace: Trace, paths: list[str | None]) -> tuple[str, str]:
    """What is cut, from the enclosing paths of the cuts: the subject of a title (`forward is`), and the place for
    advice."""
    steps = step_paths(trace) | {None}
    cut = [
        name
        for name, _ in Counter("the step" if path in steps else str(path) for path in paths).most_common()
    ]
    if len(cut) > 2:
        return "Graphs are", f"{cut[0]} and {plural(len(cut) - 1, 'other place')}"
    names = list(dict.fromkeys(path.rsplit("/", 1)[-1] for path in cut))
    if names[0] == "the step":
        names[0] = "The step"
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}", " and ".join(cut)


def one_graph(trace: Trace, early: EarlyExecutions, chosen: NDArray[np.intp], until: Int32 | Int64) -> Fix:
    """The fix that merges the `chosen` early executions into the launches after them. It removes the host work from
    their synchronisation to the end of the events `until` (rows). A read of a lazy graph keeps only the value, so that
    the next launch computes everything else again. A step marker keeps all values, so that its graph is prepared once
    with or without the fix."""
    launches = early.launch[chosen].astype(np.intp)
    all_launches = find_launches(trace)
    cuts = union(trace.start_ps[all_launches.sync[launches]], trace.end_ps[until])
    repeated = launches[(early.read[chosen] >= 0) & (all_launches.kind[launches] == LAZY)]
    moved = () if len(repeated) == len(launches) else ("sync_prepare",)
    return Fix(CUT, windows=(cuts.start_ps, cuts.end_ps), merged=launches, repeated=repeated, moved=moved)
