"""Findings about graphs: compiled again, cut in parts, run on the CPU."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tb_xla_insights.analysis.compiles import find_compiles
from tb_xla_insights.analysis.debug_log import early_blocks
from tb_xla_insights.analysis.early import Early, find_early, reads_report
from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    Window,
    first_that_fits,
    longest_windows,
    most_common,
    paths,
    plural,
    step_names,
    steps_text,
    total_ps,
)
from tb_xla_insights.analysis.intervals import union
from tb_xla_insights.analysis.launches import find_launches
from tb_xla_insights.analysis.thresholds import EVERY_SHARE
from tb_xla_insights.analysis.what_if import Fix
from tb_xla_insights.units import share, time_text

CUT = ("tracing", "sync_prepare", "program_load", "to_device", "from_device", "dispatch", "wait", "python",
        "other", "unrecorded")  # fmt: skip
"""What the host does in a gap after an early execution because of it: all but compiling and loading data."""


def recompilation(facts: Facts) -> Finding | None:
    """Compilations other than warm-up. They cost the time in which devices idle meanwhile."""
    taken, fixes, windows, numbers, steps = [], [], [], [], []
    total = count = 0
    modules: list[str | None] = []
    graphs: list[str | None] = []
    places: list[str | None] = []
    told: dict[str, str] = {}
    for trace, ledger in zip(facts.traces, facts.ledgers, strict=True):
        compiles = find_compiles(trace)
        again = np.flatnonzero(~compiles.warm_up)
        times = compiles.start_ps[again], compiles.end_ps[again]
        when = union(*times)
        taken.append(ledger.take_within("compile", trace, when))
        fixes.append(Fix(("compile",), windows=(when.start_ps, when.end_ps)) if len(again) else None)
        windows += [Window(*its) for its in np.stack(times, axis=1).tolist()]
        steps.append(set(compiles.step[again].tolist()) - {-1})
        numbers += step_names(trace, compiles.step[again].tolist())
        total += when.total_ps
        count += len(again)
        modules += [compiles.module[it] for it in again.tolist()]
        graphs += [compiles.graph(it) for it in again.tolist()]
        places += paths(trace, compiles.annotation[again].tolist())
        for it in again.tolist():
            told = told or facts.beside.causes.get(compiles.graph_hash[it] or "", {})
    if not count:
        return None
    cost = total_ps(taken)
    numbers = sorted(set(numbers))  # hosts of one training compile in the same steps
    where = steps_text(numbers, facts.steps)
    variants = _variants(facts, modules)
    name = modules[0] or "A graph"
    title = (
        first_that_fits(f"{name} is compiled {where}", f"A graph is compiled {where}")
        if count == 1
        else first_that_fits(
            f"{count} compilations after warm-up {where}", f"{count} compilations after warm-up"
        )
    )
    detail = (
        f"{plural(count, 'compilation')} {where} {'takes' if count == 1 else 'take'} {time_text(total)}; "
    )
    detail += (
        f"devices idle meanwhile for {facts.of_span(cost)}."
        if cost
        else "no device waits for it in its span."
    )
    if variants > 1:
        detail += f" {most_common(modules)} comes in {variants} variants, so its shapes or its code differ."
    return Finding(
        "recompilation",
        title,
        f"a compile {where}" if count == 1 else f"{count} compiles {where}",
        detail,
        _compile_advice(variants, numbers, most_common(places), told),
        cost,
        {
            "compiles": count,
            "compile_ps": total,
            "idle_ps": cost,
            "steps": numbers,
            "graphs": sorted({graph for graph in graphs if graph}),
            "modules": sorted({module for module in modules if module}),
            "variants": variants,
            "annotation": most_common(places),
            "cause": told.get("cause"),
            "frame": told.get("frame"),
        },
        longest_windows(windows),
        "once" if len(numbers) <= 1 else facts.recurs(steps),
        fixes,
    )


def _variants(facts: Facts, modules: list[str | None]) -> int:
    """Of the module that was compiled most often, the programs and graphs that have its name."""
    name = most_common(modules)
    if name is None:
        return 0
    programs = {
        id_ for trace in facts.traces for n, id_ in find_launches(trace).programs if n == name and id_
    }
    compiled = {
        compiles.graph(it)
        for compiles in map(find_compiles, facts.traces)
        for it in range(len(compiles))
        if compiles.module[it] == name
    }
    return max(len(programs), len(compiled))


def _compile_advice(variants: int, numbers: list[int], place: str | None, told: dict[str, str]) -> str:
    at = f" at {told['frame']}" if told.get("frame") else f" in {place}" if place else ""
    if variants > 1:
        return (
            f"Keep the graph{at} static: pad or bucket the sequence lengths and warm up each bucket before training; "
            "no control flow that depends on data."
        )
    step = f" of step {numbers[0]}" if len(numbers) == 1 else ""
    return (
        f"Find what is new{at} in the graph{step}: a last batch of another size, an evaluation, a branch. Train and "
        "evaluate in separate phases, and warm up every variant before."
    )


def early_sync(facts: Facts) -> Finding | None:
    """Early executions. They cost the starved gaps after them: the host had to wait for the value, so it had
    not built what comes next."""
    taken, fixes, windows, numbers, steps = [], [], [], [], []
    places: list[str | None] = []
    count = marked = behind = device = runs = 0
    for trace, ledger in zip(facts.traces, facts.ledgers, strict=True):
        early, launches = find_early(trace), find_launches(trace)
        cut = np.isin(ledger.before, early.launch) & (ledger.before >= 0)
        taken.append(ledger.take(CUT, cut))
        fixes.append(_one_graph(early) if len(early.launch) else None)
        numbers += step_names(trace, early.step.tolist())
        steps.append(set(early.step.tolist()) - {-1})
        places += paths(trace, early.annotation.tolist())
        count += len(early.launch)
        marked += int((early.read < 0).sum())
        of_backward = np.isin(trace.lines_of(launches.sync[early.launch]), trace.lines_with("autograd"))
        behind += int((of_backward & (early.read < 0)).sum())
        device += int(early.device_ps.sum())
        runs += int(np.isin(launches.runs.launch, early.launch).sum())
        for launch, read in zip(early.launch.tolist(), early.read.tolist(), strict=True):
            sync = int(launches.sync[launch])
            end = int(max(trace.end_ps[sync], trace.end_ps[read] if read >= 0 else 0))
            windows.append(Window(int(trace.start_ps[sync]), end))
    if not count:
        return None
    cost = total_ps(taken)
    numbers = sorted(set(numbers))
    where, path = steps_text(numbers, facts.steps), most_common(places)
    who, inside = _cut_parts(places)
    by = "a StepMarker" if marked == count else "a read" if not marked else "syncs"
    many = count > len(numbers)
    times = f"{count} times " if many else ""
    does = "runs" if count == 1 else "run"
    cores = f" in {runs} runs on {len(facts.session.devices)} cores" if runs > count else ""
    detail = f"{plural(count, 'execution')} before the step is over, {where}, {does} the graph so far "
    detail += f"for {time_text(device)}{cores}; devices idle after that for {facts.of_span(cost)}."
    frame = most_common(it.frame for it in early_blocks(facts.session, facts.beside.executions) if it)
    at = f" at {frame}" if frame else ""
    on_cpu = facts.counted.fallbacks() if facts.counted else {}
    fetch = "Replace the operator that runs on the CPU, or keep" if on_cpu else "Keep"
    fetch += f" the value on the device: take .item(), print or a comparison{at} out of {inside}, "
    fetch += "or read it after the step in xm.add_step_closure."
    marker = (
        "Keep what torch.compile runs on the backward pass's own thread whole, and hooks there without mark_step() or "
        f"torch_xla.sync(){at}: the training loop has no code on it."
        if behind == count
        else f"Remove the mark_step() or torch_xla.sync(){at} inside {inside}; the step's own is enough."
    )
    return Finding(
        "early_sync",
        first_that_fits(f"{who} cut {times}by {by} {where}", f"{who} cut by {by} {where}",
                        f"Graphs are cut by {by} {where}", "Graphs are cut in parts"),
        f"{who.removesuffix(' is').removesuffix(' are')} cut {times}by {by} {where}",
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
        longest_windows(windows),
        facts.recurs(steps),
        fixes,
    )  # fmt: skip


def _cut_parts(places: list[str | None]) -> tuple[str, str]:
    """Who is cut, for a title (`forward is`), and where, for advice, from the paths of what is cut."""
    cut = [path for path, _ in Counter(place or "the step" for place in places).most_common()]
    if len(cut) > 2:
        return "Graphs are", f"{cut[0]} and {plural(len(cut) - 1, 'other place')}"
    names = list(dict.fromkeys(path.rsplit("/", 1)[-1] for path in cut))
    if names[0] == "the step":
        names[0] = "The step"
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}", " and ".join(cut)


def _one_graph(early: Early) -> Fix:
    """The early launches become part of what is launched after them."""
    its = early.launch.astype(np.intp)
    return Fix(("sync_prepare", "dispatch", "program_load", "from_device", "wait"), its, its, its)


def sync_every_step(facts: Facts) -> Finding | None:
    """Reads in at least half of the steps. They cost the part of starved gaps in which the host reads; what
    follows an early execution counts there."""
    reads = reads_report(facts.session)
    if not reads["every_step"]:
        return None
    taken = [ledger.take(("from_device",)) for ledger in facts.ledgers]
    cost = total_ps(taken)
    early = [find_early(trace) for trace in facts.traces]
    others = any(np.setdiff1d(found.reads, found.read).size for found in early)
    rows = [
        (trace, row) for trace, found in zip(facts.traces, early, strict=True) for row in found.reads.tolist()
    ]
    windows = (Window(int(trace.start_ps[row]), int(trace.end_ps[row])) for trace, row in rows)
    part = reads["steps_with_reads"] / reads["steps"]
    each = reads["reads"] / reads["steps_with_reads"]
    return Finding(
        "sync_every_step",
        "Every step reads from the device"
        if part == 1
        else f"{share(part)} of the steps read from the device",
        f"a read from the device {'in every step' if part == 1 else f'in {share(part)} of the steps'}",
        f"{plural(reads['reads'], 'read')} in {reads['steps_with_reads']} of {plural(reads['steps'], 'step')} "
        f"({each:.1f} each) keep the host for {time_text(reads['duration_ps'])}{facts.of_hosts}; "
        + (f"devices idle in them for {facts.of_span(cost)}, " if cost else "no device idles in them, ")
        + "not counting early syncs.",
        "Read less often: log every tenth step or later, add up the loss on the device, and print it "
        + ("in xm.add_step_closure(…, run_async=True)." if facts.framework == "torch_xla" else "later."),
        cost,
        {key: value for key, value in reads.items() if key != "every_step"},
        longest_windows(windows),
        "every_step" if part >= EVERY_SHARE else "some_steps",
        # Reads of early executions go with those.
        [Fix(("from_device",), reads=True) for _ in facts.traces] if others else None,
    )
