"""Findings about graphs that are cut in parts, and about reads."""

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
"""What the host does in a gap after an early execution because of it: all but compiling and loading data."""


def early_sync(facts: Facts) -> Finding | None:
    """Early executions, but for those of operators on the CPU. They cost the starved gaps after them: the host had to
    wait for the value, so it had not built what comes next."""
    trace, launches = facts.trace, find_launches(facts.trace)
    others = round_trips(facts) < 0
    early = find_early_executions(trace).only(others)
    count = len(early.launch)
    if not count:
        return None
    taken = facts.ledger.take(CUT, np.isin(facts.ledger.before, early.launch))
    cost = int(taken.sum())
    syncs = launches.sync[early.launch]
    until = np.where(early.read >= 0, early.read, syncs)
    steps = set(early.step.tolist()) - {-1}
    numbers = step_names(trace, steps)
    places = enclosing_paths(trace, early.annotation.tolist())
    marked, read_behind = int((early.read < 0).sum()), _read_behind(trace, early)
    of_backward = np.isin(trace.lines_of(syncs), trace.lines_with("autograd"))
    behind = int((of_backward & (early.read < 0)).sum())
    device = int(early.device_ps.sum())
    recurs = facts.recurs(steps)
    ends = np.maximum(trace.end_ps[syncs], trace.end_ps[until])
    where, path = steps_text(numbers, facts.steps), most_common(places)
    who, inside = cut_parts(trace, places)
    by = "a StepMarker" if marked == count else "a read" if not marked else "syncs"
    if marked == count == read_behind:
        by = "a StepMarker and a read"
    times = _times(count, numbers, facts)
    detail = "An execution runs" if count == 1 else f"{count} executions run"
    detail += " part of the graph early; "
    detail += f"{lower_first(facts.idles(taken, recurs))} after {'it' if count == 1 else 'them'}."
    blocks = blocks_of_early_executions(facts.session, facts.beside.executions)
    frame = most_common(it.frame for it, own in zip(blocks, others, strict=True) if it and own)
    at = f" at {frame}" if frame else ""
    # Operators on the CPU without a cut that is known to be theirs may have made these.
    on_cpu = facts.counted is not None and facts.counted.fallbacks() and others.all()
    fetch = "Replace the operator that runs on the CPU, or keep" if on_cpu else "Keep"
    fetch += f" the value on the device: take .item(), print or a comparison{at} out of {inside}, "
    fetch += "or read it after the step in xm.add_step_closure."
    marker = (
        f"Remove mark_step() or torch_xla.sync(){at} from hooks and autograd functions: the backward pass's own thread "
        "syncs."
        if behind == count
        else f"Remove the mark_step() or torch_xla.sync(){at} inside {inside}: the one after the step is enough."
        if not read_behind
        else f"Read the value after the step in xm.add_step_closure, and remove the mark_step(){at} inside {inside}: "
        "both cut the graph."
    )
    return Finding(
        "early_sync",
        first_fitting_title(f"{who} cut {times}by {by} {where}", f"{who} cut by {by} {where}",
                        f"Graphs are cut by {by} {where}", "Graphs are cut in parts"),
        f"a cut {where}" if count == 1 else f"{who.rpartition(' ')[0]} cut {times}by {by} {where}",
        detail,
        marker if marked == count else fetch,
        cost,
        {
            "early_syncs": count,
            "by_step_marker": marked,
            "on_backward_thread": behind,
            "steps": numbers,
            "annotation": path,
            "frame": frame,
            "device_ps": device,
            "idle_ps": cost,
        },
        longest_windows(map(Window, trace.start_ps[syncs].tolist(), ends.tolist())),
        recurs,
        one_graph(trace, early, np.arange(count), until),
    )  # fmt: skip


def _read_behind(trace: Trace, early: EarlyExecutions) -> int:
    """Of the step markers that cut a graph, how many have a read behind them in the same annotation."""
    launches, found = find_launches(trace), 0
    for launch, around in zip(early.launch[early.read < 0], early.annotation[early.read < 0], strict=True):
        marker = launches.sync[launch]
        behind = early.reads[trace.lines_of(early.reads) == trace.line_of(int(marker)).index]
        inside = (
            trace.end_ps[behind] <= trace.end_ps[around] if around >= 0 else np.zeros(len(behind), np.bool_)
        )
        found += bool((inside & (trace.start_ps[behind] >= trace.end_ps[marker])).any())
    return found


def _times(count: int, numbers: list[int], facts: Facts) -> str:
    """How often a graph is cut, before `by …`: `4 times ` in all, or in each step where every step has as many."""
    if count <= len(numbers):
        return ""
    if len(numbers) == facts.steps > 1:
        each = count / len(numbers)
        return "twice " if each == 2 else f"{each:.1f} times ".replace(".0 ", " ")
    return f"{count} times "


def cut_parts(trace: Trace, places: list[str | None]) -> tuple[str, str]:
    """Who is cut, for a title (`forward is`), and where, for advice, from the paths of what is cut."""
    steps = step_paths(trace) | {None}
    cut = [it for it, _ in Counter("the step" if it in steps else str(it) for it in places).most_common()]
    if len(cut) > 2:
        return "Graphs are", f"{cut[0]} and {plural(len(cut) - 1, 'other place')}"
    names = list(dict.fromkeys(path.rsplit("/", 1)[-1] for path in cut))
    if names[0] == "the step":
        names[0] = "The step"
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}", " and ".join(cut)


def one_graph(trace: Trace, early: EarlyExecutions, chosen: NDArray[np.intp], until: Int32 | Int64) -> Fix:
    """The `chosen` early executions become part of what is launched behind them: what the host does from their
    synchronisation to the end of the events `until` goes. A read of a lazy graph keeps the value alone, so what is
    launched behind computes all else again; a step marker keeps all, so that its graph is prepared once in any case."""
    launches = early.launch[chosen].astype(np.intp)
    known = find_launches(trace)
    cut = union(trace.start_ps[known.sync[launches]], trace.end_ps[until])
    read = launches[(early.read[chosen] >= 0) & (known.kind[launches] == LAZY)]
    moved = () if len(read) == len(launches) else ("sync_prepare",)
    return Fix(CUT, windows=(cut.start_ps, cut.end_ps), merged=launches, repeated=read, moved=moved)
