"""Findings about torch.compile: graphs that it compiles again and again, or could not keep whole."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.compiles.repeated_extractions import find_repeated_extractions
from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    Window,
    enclosing_paths,
    first_fitting_title,
    index_mask,
    longest_windows,
    lower_first,
    most_common,
    plural,
    step_names,
    steps_text,
)
from tb_xla_insights.analysis.findings.compile_costs import known_elsewhere, slow_first_runs
from tb_xla_insights.analysis.findings.graphs import CUT
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.launches.early_executions import find_early_executions
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.sidecars import Guard
from tb_xla_insights.analysis.thresholds import UNBROKEN_GRAPHS_PER_STEP
from tb_xla_insights.analysis.time.class_times import class_times
from tb_xla_insights.analysis.time.intervals import union, union_all
from tb_xla_insights.catalog.classes import CLASS_INDEX, DYNAMO
from tb_xla_insights.trace.model import Int32, Trace
from tb_xla_insights.units import brief_times

_EXTRACTING = ("dynamo", "compile")


@dataclass(frozen=True)
class ExtraLaunches:
    """Dynamo executions beyond one forward and one backward a step, which are the two graphs with most device time.

    `graphs`: those of a usual step (the median over steps that have any); of a step that runs the same sequence several
    times, as for micro-batches, those of one time. `launch`: the extra ones; of a graph that runs several times, as for
    equal layers, all but the first.
    """

    graphs: int
    launch: NDArray[np.intp]


def extra_launches(trace: Trace) -> ExtraLaunches:
    """The dynamo launches of one host beyond forward and backward, step by step. Launches count and not programs:
    what a break leaves of equal layers is one program."""
    launches = find_launches(trace)
    device = launches.sums(launches.runs.duration_ps)
    its = np.flatnonzero((launches.kind == DYNAMO_KIND) & (launches.step >= 0) & (launches.program >= 0))
    its = its[np.argsort(launches.step[its], kind="stable")]
    edges = np.flatnonzero(np.diff(launches.step[its])) + 1
    counts, launch = [], [its[:0]]
    for of_step in np.split(its, edges) if len(its) else []:
        counts.append(_unit(launches.program[of_step]))
        for once in np.split(of_step, range(counts[-1], len(of_step), counts[-1])):
            programs, first, which = np.unique(launches.program[once], return_index=True, return_inverse=True)
            most = np.argsort(-np.bincount(which, device[once], len(programs)), kind="stable")[
                :UNBROKEN_GRAPHS_PER_STEP
            ]
            launch.append(np.delete(once, first[most]))
    return ExtraLaunches(int(np.median(counts)) if counts else 0, np.concatenate(launch))


def _unit(sequence: Int32) -> int:
    """The length of the shortest sequence that yields this one when it is repeated."""
    length = len(sequence)
    whole = [n for n in range(1, length) if length % n == 0 and (sequence[n:] == sequence[:-n]).all()]
    return whole[0] if whole else length


_LONG = re.compile(r"(\d\.\d\d)\d{2,}")
"""A number with more decimals than say anything."""

_NUMBER = re.compile(r"==\s*[-+]?\d*\.?\d+(e[-+]?\d+)?$")


def dynamo_recompilation(facts: Facts) -> Finding | None:
    """Graphs that torch.compile extracts again, since a guard fails: Dynamo traces the function again, AOTAutograd its
    backward pass, and XLA compiles what is new. They cost the idle time in that."""
    trace = facts.trace
    gave_up = any(guard.limit for guard in facts.beside.guards)
    again, calls = find_repeated_extractions(trace, gave_up), find_compilations(trace)
    count = len(again.step)
    if not count:
        return None
    when = union_all((again.when, union(calls.start_ps, calls.end_ps, again.compiles)))
    taken = facts.ledger.take_within(_EXTRACTING, when)
    cost = int(taken.sum())
    slow, unknown = slow_first_runs(trace, calls.end_ps[again.compiles])
    fix = Fix(_EXTRACTING, windows=(when.start_ps, when.end_ps), device_ps=slow, unknown=unknown)
    spent = class_times(host_class_segments(trace), when.start_ps, when.end_ps).sum(axis=0)
    dynamo, compiling = int(spent[DYNAMO]), int(spent[CLASS_INDEX["compile"]])
    compiles = int(again.compiles.sum())
    steps = set(again.step.tolist()) - {-1}
    numbers = step_names(trace, steps)
    where = steps_text(numbers, facts.steps)
    fix = known_elsewhere(fix) if len(numbers) <= 1 else fix
    guard = facts.beside.guards[-1] if facts.beside.guards else None
    extracting, building = brief_times(dynamo, compiling)
    detail = f"Extracting {plural(count, 'graph')} takes {extracting}"
    detail += f" and {plural(compiles, 'compilation')} {building}" if compiles else ""
    detail += (
        f"; {lower_first(facts.core)} idles for {facts.mean(taken)} of it."
        if cost
        else "; no device waits for it in its span."
    )
    return Finding(
        "dynamo_recompilation",
        first_fitting_title(f"torch.compile compiles again {where}", "torch.compile compiles again"),
        f"torch.compile compiling again {where}",
        detail + (_failed(guard) if guard else ""),
        _keep_guards(guard),
        cost,
        {
            "extractions": count,
            "dynamo_ps": dynamo,
            "compiles": compiles,
            "compile_ps": compiling,
            "steps": numbers,
            "function": guard and guard.function,
            "place": guard and guard.place,
            "guard": guard and guard.guard,
            "source": guard and guard.source,
            "limit": next((it.limit for it in facts.beside.guards if it.limit), None),
            "idle_ps": cost,
        },
        longest_windows(map(Window, when.start_ps.tolist(), when.end_ps.tolist())),
        facts.recurs(steps),
        fix if len(when) else None,
    )


def _failed(guard: Guard) -> str:
    """What the log says of the guard that failed last."""
    told = _LONG.sub(r"\1…", guard.guard or "")
    text = f" {guard.file}: {f'the guard {told} failed last' if told else 'guards failed'}"
    text += f" at {guard.place}" if guard.place else f" in {guard.function}" if guard.function else ""
    if guard.limit:
        text += f"; after {guard.limit} variants torch.compile gave up"
    return f"{text}."


def _keep_guards(guard: Guard | None) -> str:
    """What to change so that the guard holds."""
    at = f" at {guard.place}" if guard and guard.place else ""
    told, source = (guard.guard or "", guard.source or "") if guard else ("", "")
    if "size mismatch" in told or "stride mismatch" in told or ".size()" in told:
        return (
            f"Pad the shapes that reach torch.compile{at} to a few fixed ones and run each once before training; "
            "dynamic=True spares Dynamo's part alone, as XLA compiles each shape."
        )
    if ".item()" in source or "___stack" in told:
        return (
            f"Take the .item(){at} out of compiled code: keep the number a tensor (torch.where or torch.clamp in "
            "place of if), or decide outside of what is compiled."
        )
    if _NUMBER.search(told):
        return (
            f"Pass the Python number that changes{at} as a tensor on the device: torch.compile makes it a constant "
            "and guards it."
        )
    if guard:
        return f"Keep what the guard{at} looks at the same from step to step, or pass it as a tensor."
    return (
        "Find the guard that fails with TORCH_LOGS=recompiles; make a Python number that changes (.item(), a float "
        "attribute) a tensor, and pad a shape that changes."
    )


def graph_breaks(facts: Facts) -> Finding | None:
    """Breaks that dynamo's explanation names; without one, more dynamo executions a step than forward and
    backward. They cost the starved gaps before the dynamo executions beyond those two."""
    known = facts.beside.breaks
    trace, extra = facts.trace, extra_launches(facts.trace)
    graphs, launches = extra.graphs, find_launches(trace)
    if (known.breaks if known else 0) == 0 and (known is not None or graphs <= UNBROKEN_GRAPHS_PER_STEP):
        return None
    taken = facts.ledger.take(CUT, index_mask(len(launches) + 1, extra.launch)[facts.ledger.after])
    cost = int(taken.sum())
    steps = set(launches.step[extra.launch].tolist())
    reason = next((it["reason"] for it in known.reasons if it["reason"]), None) if known else None
    place = next((it["place"] for it in known.reasons if it["place"]), None) if known else None
    if known:
        title = "torch.compile breaks the graph " + ("once" if known.breaks == 1 else f"{known.breaks} times")
        brief = f"torch.compile breaks the graph{f' at {place}' if place else ''}"
        detail = f"{known.file} counts {plural(known.breaks, 'break')} and {plural(known.graphs, 'graph')}"
        detail += f": {reason}" if reason else ""
        detail += f" at {place}." if place else "."
    else:
        title = f"Suspected graph breaks: {graphs} dynamo executions a step"
        brief = f"torch.compile seems to break the graph: {graphs} dynamo executions a step"
        detail = f"torch.compile runs {graphs} graphs a step, where one forward and one backward are usual."
    if more := len(extra.launch):
        executions = plural(more, "extra execution")
        idle = f"{facts.idles(taken, facts.recurs(steps))} before the {executions}"
        idle = idle if cost else f"Idle time before the {executions}, if any, counts with other findings"
        detail += f" {idle}{_behind_reads(trace, extra)}."
    else:
        detail += f" {'No more than two' if graphs else 'None'} of them run in a step of the capture."
    advice = (
        f"Remove what breaks the graph{f' at {place}' if place else ''}: no .item(), print or control flow that "
        "depends on data in compiled code, and only ops that the openxla backend supports."
    )
    if not known:
        advice = advice.removesuffix(".") + "; torch._dynamo.explain(model)(…) names each break."
    return Finding(
        "graph_breaks", title, brief, detail, advice, cost,
        {
            "suspected": known is None,
            "breaks": known.breaks if known else None,
            "graphs": known.graphs if known else None,
            "graphs_per_step": graphs,
            "reasons": known.reasons if known else [],
            "idle_ps": cost,
        },
        facts.gap_windows(taken), facts.recurs(steps), Fix(CUT, before=extra.launch) if more else None,
    )  # fmt: skip


def _behind_reads(trace: Trace, extra: ExtraLaunches) -> str:
    """How many of the extra executions follow a value that is read in the middle of a step, and where."""
    early = find_early_executions(trace)
    behind = np.isin(early.launch + 1, extra.launch) & (early.read >= 0)
    places = enclosing_paths(trace, early.annotation[behind].tolist())
    place = most_common(places)
    return (
        f"; a value is read before {len(places)} of them{f' in {place}' if place else ''}" if places else ""
    )
