"""Findings about torch.compile: graphs that it extracts again, and graph breaks."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.compiles.repeated_extractions import find_repeated_extractions
from tb_xla_insights.analysis.compiles.torch_trace import breaks_in_capture, calls_by_compile_id
from tb_xla_insights.analysis.delays.early_executions import find_early_executions
from tb_xla_insights.analysis.findings.compile_costs import LATER_RUNS, slow_first_runs
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import (
    Finding,
    ShownWindow,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.findings.graphs import CUT_CLASSES
from tb_xla_insights.analysis.findings.locations import (
    enclosing_paths,
    step_numbers,
    steps_text,
)
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.sidecar_contents import Guard
from tb_xla_insights.analysis.thresholds import UNBROKEN_GRAPHS_PER_STEP
from tb_xla_insights.analysis.time.class_times import class_times
from tb_xla_insights.analysis.time.intervals import union, union_all
from tb_xla_insights.arrays import Int32
from tb_xla_insights.catalog.classes import CLASS_INDEX, DYNAMO
from tb_xla_insights.text.english import Phrase, Sentence, plural, sentences
from tb_xla_insights.text.units import brief_times
from tb_xla_insights.trace.model import Trace

_EXTRACTION_CLASSES = ("dynamo", "compile")
"""The classes of host work that extracts a graph and compiles it."""


@dataclass(frozen=True)
class ExtraLaunches:
    """Dynamo executions beyond one forward and one backward per step. These two are the graphs with most device time.

    `graphs`: the number of dynamo executions in a usual step (the median over steps with any); if a step repeats one
    sequence, as for micro-batches, those of one repetition. `launches`: the extra launches (indices); if one of the two
    graphs runs several times, as for equal layers, all its launches but the first are extra.
    """

    graphs: int
    launches: NDArray[np.intp]


def extra_launches(trace: Trace) -> ExtraLaunches:
    """The dynamo launches of one host beyond forward and backward in each step. Counts launches, not programs: after a
    graph break, equal layers share one program."""
    launches = find_launches(trace)
    device_ps = launches.sums(launches.runs.duration_ps)
    dynamo = np.flatnonzero((launches.kind == DYNAMO_KIND) & (launches.step >= 0) & (launches.program >= 0))
    dynamo = dynamo[np.argsort(launches.step[dynamo], kind="stable")]
    edges = np.flatnonzero(np.diff(launches.step[dynamo])) + 1
    counts, extra = [], [dynamo[:0]]
    for step_launches in np.split(dynamo, edges) if len(dynamo) else []:
        counts.append(_period(launches.program[step_launches]))
        for repetition in np.split(step_launches, range(counts[-1], len(step_launches), counts[-1])):
            programs, first, index = np.unique(
                launches.program[repetition], return_index=True, return_inverse=True
            )
            times = np.bincount(index, device_ps[repetition], len(programs))
            largest = np.argsort(-times, kind="stable")[:UNBROKEN_GRAPHS_PER_STEP]
            extra.append(np.delete(repetition, first[largest]))
    return ExtraLaunches(int(np.median(counts)) if counts else 0, np.concatenate(extra))


def _period(sequence: Int32) -> int:
    """The length of the shortest sequence whose repetition is this one."""
    length = len(sequence)
    periods = (n for n in range(1, length) if length % n == 0 and (sequence[n:] == sequence[:-n]).all())
    return next(periods, length)


_LONG_DECIMAL = re.compile(r"(\d\.\d\d)\d{2,}")
"""A number with four or more decimals: the first two are shown."""

_NUMBER_GUARD = re.compile(r"==\s*[-+]?\d*\.?\d+(e[-+]?\d+)?$")
"""The end of a guard that compares with a number."""


def dynamo_recompilation(facts: Facts) -> Finding | None:
    """Graphs that torch.compile extracts again because a guard failed: Dynamo traces the function again, AOTAutograd
    its backward pass, and XLA compiles new graphs. They cost the idle time during this work."""
    trace = facts.trace
    gave_up = any(guard.limit for guard in facts.guards)
    extractions, compilations = find_repeated_extractions(trace, gave_up), find_compilations(trace)
    count = len(extractions.step)
    if not count:
        return None
    compiling = union(compilations.start_ps, compilations.end_ps, extractions.has_caused)
    work = union_all((extractions.times, compiling))
    taken_ps = facts.ledger.take_within(_EXTRACTION_CLASSES, work)
    cost = int(taken_ps.sum())
    slow_first_ps, has_unknown_runs = slow_first_runs(trace, compilations.end_ps[extractions.has_caused])
    fix = Fix(
        _EXTRACTION_CLASSES,
        windows=work,
        device_ps=slow_first_ps,
    )
    times = class_times(host_class_segments(trace), work.start_ps, work.end_ps).sum(axis=0)
    dynamo_ps, compile_ps = int(times[DYNAMO]), int(times[CLASS_INDEX["compile"]])
    compiles = int(extractions.has_caused.sum())
    steps = set(extractions.step.tolist()) - {-1}
    numbers = step_numbers(trace, steps)
    where = steps_text(numbers, facts.step_count)
    guard = facts.guards[-1] if facts.guards else None
    dynamo_text, compile_text = brief_times(dynamo_ps, compile_ps)
    detail = f"extracting {plural(count, 'graph')} takes {dynamo_text}"
    detail += f" and {plural(compiles, 'compilation')} {compile_text}" if compiles else ""
    detail += (
        f"; {facts.core_subject} idles for {facts.mean_per_core(taken_ps)} of it"
        if cost
        else "; no device idles meanwhile within its span"
    )
    detail += LATER_RUNS if has_unknown_runs and len(numbers) > 1 else ""
    return Finding(
        "dynamo_recompilation",
        first_fitting_title(f"torch.compile compiles again {where}", "torch.compile compiles again"),
        f"another compilation by torch.compile {where}",
        sentences(detail, *([_failure(guard)] if guard else [])),
        _guard_advice(guard),
        cost,
        {
            "extractions": count,
            "dynamo_ps": dynamo_ps,
            "compiles": compiles,
            "compile_ps": compile_ps,
            "steps": numbers,
            "function": guard and guard.function,
            "place": guard and guard.place,
            "guard": guard and guard.guard,
            "source": guard and guard.source,
            "limit": next((guard.limit for guard in facts.guards if guard.limit), None),
            "idle_ps": cost,
        },
        longest_windows(map(ShownWindow, work.start_ps.tolist(), work.end_ps.tolist())),
        facts.frequency_of(steps),
        fix if len(work) else None,
        waits_for=Phrase("torch.compile", ", which compiles again"),
    )


def _failure(guard: Guard) -> Sentence:
    """The log's record of the guard that failed last."""
    condition = _LONG_DECIMAL.sub(r"\1…", guard.guard or "")
    text = f"{guard.file}: {f'the guard {condition} failed last' if condition else 'guards failed'}"
    text += f" at {guard.place}" if guard.place else f" in {guard.function}" if guard.function else ""
    if guard.limit:
        text += f"; after {guard.limit} variants torch.compile gave up"
    return Sentence(text, begins_with_name=True)


def _guard_advice(guard: Guard | None) -> str:
    """What to change to make the guard hold."""
    location = f" at {guard.place}" if guard and guard.place else ""
    condition, source = (guard.guard or "", guard.source or "") if guard else ("", "")
    if "size mismatch" in condition or "stride mismatch" in condition or ".size()" in condition:
        return (
            f"Pad the shapes that reach torch.compile{location} to a few fixed ones and run each once before the loop; "
            "dynamic=True avoids only Dynamo's part, as XLA compiles each shape."
        )
    if ".item()" in source or "___stack" in condition:
        return (
            f"Take the .item(){location} out of compiled code: keep the number a tensor (torch.where or torch.clamp in "
            "place of if), or decide outside of what is compiled."
        )
    if _NUMBER_GUARD.search(condition):
        return (
            f"Pass the Python number that changes{location} as a tensor on the device: torch.compile makes it a "
            "constant and guards it."
        )
    if guard:
        return f"Keep the value that the guard{location} checks the same from step to step, or pass it as a tensor."
    return (
        "Find the guard that fails with TORCH_LOGS=recompiles; make a Python number that changes (.item(), a float "
        "attribute) a tensor, and pad a shape that changes."
    )


def graph_breaks(facts: Facts) -> Finding | None:
    """Graph breaks that dynamo's explanation lists, or a log of TORCH_TRACE in what the capture calls; without either,
    suspected breaks: more dynamo executions a step than forward and backward. They cost the starved gaps before the
    dynamo executions beyond these two."""
    trace, extra = facts.trace, extra_launches(facts.trace)
    graphs, launches = extra.graphs, find_launches(trace)
    calls = calls_by_compile_id(trace) if facts.torch_trace else None
    explanation = facts.sidecars.breaks
    if explanation is None and facts.torch_trace and (calls or graphs > UNBROKEN_GRAPHS_PER_STEP):
        explanation = breaks_in_capture(trace, facts.torch_trace)
    if (explanation.breaks if explanation else 0) == 0 and (
        explanation is not None or graphs <= UNBROKEN_GRAPHS_PER_STEP
    ):
        return None
    taken_ps = facts.ledger.take(CUT_CLASSES, np.isin(facts.ledger.after, extra.launches))
    cost = int(taken_ps.sum())
    steps = set(launches.step[extra.launches].tolist())
    # The first break whose reason and place are known; without one, the first of which either is.
    shown = max(
        explanation.explained if explanation else (),
        key=lambda row: bool(row.reason) + bool(row.frame),
        default=None,
    )
    reason, location = (shown.reason, shown.place) if shown else (None, None)
    if explanation:
        title = "torch.compile breaks the graph " + (
            "once" if explanation.breaks == 1 else f"{explanation.breaks} times"
        )
        brief = f"graph breaks of torch.compile{f' at {location}' if location else ''}"
        detail = (
            f"{explanation.file} counts {plural(explanation.breaks, 'break')} and "
            f"{plural(explanation.graphs, 'graph')}"
        )
        detail += f": {reason}" if reason else ""
        detail += f" at {location}" if location else ""
    else:
        title = f"Suspected graph breaks: {graphs} dynamo executions a step"
        brief = f"what seem to be graph breaks of torch.compile ({graphs} graphs a step)"
        detail = f"torch.compile runs {graphs} graphs a step, where one forward and one backward are usual"
    if extra_count := len(extra.launches):
        executions = "extra execution" if extra_count == 1 else plural(extra_count, "extra execution")
        idle = f"{facts.idle_text(taken_ps, facts.frequency_of(steps))} before the {executions}"
        idle = idle if cost else f"idle time before the {executions}, if any, counts with other findings"
        consequence = Sentence(f"{idle}{_reads_text(trace, extra)}")
    elif calls:
        consequence = Sentence(
            f"the capture has {plural(calls.total(), 'call')} of {plural(len(calls), 'compiled function')}"
        )
    else:
        graphs_text = "no more than two graphs" if graphs else "no graph"
        consequence = Sentence(
            f"torch.compile runs {graphs_text} in a step of the capture", begins_with_name=True
        )
    backend = "tpu" if facts.framework == "torch_tpu" else "openxla"
    advice = (
        f"remove what breaks the graph{f' at {location}' if location else ''}: no .item(), print or control flow "
        f"that depends on data in compiled code, and only ops that the {backend} backend supports"
    )
    if not explanation:
        advice += "; torch._dynamo.explain(model)(…) names each break"
    return Finding(
        "graph_breaks", title, brief,
        (Sentence(detail, begins_with_name=True), consequence),
        str(Sentence(advice)), cost,
        {
            "suspected": explanation is None,
            "breaks": explanation.breaks if explanation else None,
            "graphs": explanation.graphs if explanation else None,
            "graphs_per_step": graphs,
            "reasons": [row.as_json() for row in explanation.explained] if explanation else [],
            "idle_ps": cost,
        },
        facts.gap_windows(taken_ps),
        facts.frequency_of(steps),
        Fix(CUT_CLASSES, before_launches=extra.launches) if extra_count else None,
        waits_for=Phrase("the host", ", which works between the graphs of torch.compile"),
    )  # fmt: skip


def _reads_text(trace: Trace, extra: ExtraLaunches) -> str:
    """States how many extra executions follow an early read of a value, and in which annotation if that is the same for
    all; empty if none does."""
    executions = find_early_executions(trace)
    read_before = np.isin(executions.launch + 1, extra.launches) & (executions.read >= 0)
    paths = enclosing_paths(trace, executions.annotation[read_before].tolist())
    path = paths[0] if len(set(paths)) == 1 else None
    delayed = "it" if len(extra.launches) == 1 else f"{len(paths)} of them"
    return f"; a value is read before {delayed}{f' in {path}' if path else ''}" if paths else ""
