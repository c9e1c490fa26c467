"""The finding about a host that reads from the device, or waits for it, in every step."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    Recurs,
    Window,
    enclosing_paths,
    longest_windows,
    lower_first,
    most_common,
    plural,
)
from tb_xla_insights.analysis.findings.round_trips import round_trips
from tb_xla_insights.analysis.host.blocking_waits import (
    blocking_intervals,
    blocking_waits_report,
    find_blocking_waits,
)
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_annotation
from tb_xla_insights.analysis.launches.early_executions import find_early_executions, last_steps, reads_report
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.replay.what_if import Fix, late_ps
from tb_xla_insights.analysis.steps.sources import step_rows
from tb_xla_insights.analysis.steps.step_times import steps_of
from tb_xla_insights.analysis.thresholds import EVERY_STEP_SHARE, WARNING_SHARE
from tb_xla_insights.analysis.time.class_times import class_times_inside
from tb_xla_insights.analysis.time.intervals import union, union_all
from tb_xla_insights.catalog.classes import FROM_DEVICE, WAIT
from tb_xla_insights.trace.model import Int64, Trace
from tb_xla_insights.units import brief_time, brief_times, share, time_text


def sync_every_step(facts: Facts) -> Finding | None:
    """Reads in at least half of the steps, or calls in which the program waits for the device. They cost the part of
    starved gaps in which the host reads or waits there; what follows an early execution counts there."""
    trace, ledger = facts.trace, facts.ledger
    reads, waits = reads_report(trace), blocking_waits_report(trace)
    if not reads["every_step"] and not waits["every_step"]:
        return None
    taken = np.zeros(len(ledger), np.int64)
    if reads["every_step"]:
        taken += ledger.take(("from_device",))
    if waits["every_step"]:
        taken += ledger.take_within(("wait",), blocking_intervals(trace))
    elsewhere, cost = _idle_in_them(facts, reads["every_step"], waits["every_step"]) - taken, int(taken.sum())
    # Reads of early executions go with those.
    early = find_early_executions(trace)
    others = bool(np.setdiff1d(early.reads, early.read).size)
    reads_too = reads["every_step"] and others
    trips = round_trips(facts) >= 0
    by = " and ".join(["early syncs"] * bool((~trips).any()) + ["operators on the CPU"] * bool(trips.any()))
    by = by or "other findings"
    part = max(_share(reads, "reads"), _share(waits, "waits"))
    both = [(report, what) for report, what in ((reads, "reads"), (waits, "waits")) if report["every_step"]]
    told = " and ".join(_counted(report, what) for report, what in both)
    recurs: Recurs = "every_step" if part >= EVERY_STEP_SHARE else "some_steps"
    kept_ps = sum(report["duration_ps"] for report, _ in both) // sum(report[what] for report, what in both)
    mean = facts.mean(taken, recurs)
    kept, idle = brief_times(kept_ps, mean.ps)
    fix = _fix(trace, reads_too, waits["every_step"]) if others or waits["every_step"] else None
    late = _late_ps(trace, fix) if fix else 0
    return Finding(
        "sync_every_step",
        _title(part, reads["every_step"], waits["every_step"]),
        _brief(part, reads["every_step"], late),
        f"{told} keep the host for {kept} each; "
        + _idle_text(
            lower_first(facts.core), f"{idle}{mean.each}" if mean.ps else "", bool(elsewhere.any()), by
        )
        + _late_text(late, reads_too),
        _advice(facts, reads_too, waits["every_step"], by),
        cost,
        {key: value for key, value in reads.items() if key != "every_step"}
        | {"waits": waits["waits"], "steps_with_waits": waits["steps_with_waits"]},
        longest_windows(
            Window(int(trace.start_ps[row]), int(trace.end_ps[row]))
            for row in _rows(trace, reads["every_step"], waits["every_step"])
        ),
        recurs,
        fix,
    )


def _idle_in_them(facts: Facts, reads: bool, waits: bool) -> Int64:
    """The part of each starved gap in which the host reads or waits, whatever other findings took of it."""
    trace, ledger, found = facts.trace, facts.ledger, np.zeros(len(facts.ledger), np.int64)
    if reads:
        found += ledger.shares[:, FROM_DEVICE]
    if waits:
        inside = class_times_inside(
            host_class_segments(trace), blocking_intervals(trace), ledger.start_ps, ledger.end_ps
        )
        found += inside[:, WAIT]
    return found


def _idle_text(core: str, idle: str, elsewhere: bool, by: str) -> str:
    """How long a core idles in them, and whether that counts as the cost of what cuts graphs."""
    if idle:
        more = f", the rest counts with the {by}" if elsewhere else ""
        return f"{core} idles in them for {idle}{more}."
    if elsewhere:
        return f"the idle time in them counts with the {by}."
    return "no device idles in them."


def _late_ps(trace: Trace, fix: Fix) -> int:
    """How long a step's reads and waits last beyond the runs that they wait for; 0 below a tenth of the step."""
    together, steps = late_ps(trace, fix), steps_of(trace)
    steps_ps = sum(step.duration_ps for step in steps)
    return together // len(steps) if together >= WARNING_SHARE * steps_ps else 0


def _late_text(late: int, reads: bool) -> str:
    """Why little may be gained at worst."""
    if not late:
        return ""
    unless = ", unless it is a transfer" if reads else ""
    return f" They return {brief_time(late)} a step after the runs that they wait for; that delay may stay{unless}."


def _share(report: dict[str, Any], what: str) -> float:
    """Of the steps, how many read or wait; 0 where that is no habit."""
    return report[f"steps_with_{what}"] / report["steps"] if report["every_step"] else 0.0


def _counted(report: dict[str, Any], what: str) -> str:
    """`15 reads in 15 of 15 steps`."""
    number, steps = report[what], report[f"steps_with_{what}"]
    one, many = ("read", "reads") if what == "reads" else ("wait for the device", "waits for the device")
    return f"{plural(number, one, many)} in {steps} of {plural(report['steps'], 'step')}"


def _title(part: float, reads: bool, waits: bool) -> str:
    who, many = ("Every step", False) if part == 1 else (f"{share(part)} of the steps", True)
    does = ["read" if many else "reads"] * reads + ["wait" if many else "waits"] * waits
    prepositions = {"read": "from", "reads": "from", "wait": "for", "waits": "for"}
    if len(does) == 2:
        return f"{who} {does[0]} from the device and {does[1]} for it"
    return f"{who} {does[0]} {prepositions[does[0]]} the device"


def _brief(part: float, reads: bool, late: int) -> str:
    what = "a read from the device" if reads else "a wait for the device"
    returns = (
        f" (returns {time_text(late, 1)} late)" if late and not reads else ""
    )  # a read may have to fetch much
    return f"{what} {'in every step' if part == 1 else f'in {share(part)} of the steps'}{returns}"


def _advice(facts: Facts, reads: bool, waits: bool, by: str) -> str:
    """`by`: what makes the reads that cut graphs."""
    if not reads and not waits:
        first = ["take the reads that cut the graph out of the step"] * ("syncs" in by)
        first += ["replace the operators that run on the CPU, which make reads"] * ("CPU" in by)
        return f"First {' and '.join(first)}."
    advice = []
    if waits:
        call = facts.words.waits
        advice.append(
            f"{f'Take {call} out of the step' if call else 'Do not wait for the device in every step'}, so that the "
            "host launches the next step meanwhile; to measure, wait every tenth step or once at the end."
        )
    if reads and (middle := _in_the_middle(facts)):
        torch = facts.framework.startswith("torch")
        out = (
            f"take .item(), print or a comparison out of {middle}" if torch else f"do not read it in {middle}"
        )
        where = "torch.where in place of if" if torch else "a choice on the device in place of if"
        advice.append(
            f"Keep the value on the device: {out} ({where}), or decide by a value of an earlier step."
        )
    elif reads:
        advice.append(
            "Read less often: log every tenth step or later, add up the loss on the device, and print it "
            f"{facts.words.later}."
        )
    return " ".join(advice)


def _in_the_middle(facts: Facts) -> str | None:
    """Where the program reads inside an annotation below the step, with launches of the same step to come, if most
    reads that cut no graph are such; with the line that breaks a graph of torch.compile because of it. What is logged
    is read behind them."""
    trace, early, launches = facts.trace, find_early_executions(facts.trace), find_launches(facts.trace)
    others = np.setdiff1d(early.reads, early.read)
    asked = np.where(launches.origin >= 0, trace.start_ps[launches.origin], -1)
    last = np.full(len(steps_of(trace)) + 1, -1, np.int64)  # the last one: of no step
    inside = (launches.step >= 0) & (launches.step < len(last) - 1)
    np.maximum.at(last, launches.step[inside], asked[inside])
    rows = others[last[last_steps(trace, others)] > trace.end_ps[others]]
    around = np.array([enclosing_annotation(trace, row) for row in rows.tolist()], np.int32)
    places = enclosing_paths(trace, around[~np.isin(around, step_rows(trace)) & (around >= 0)].tolist())
    if 2 * len(places) <= len(others) or (path := most_common(places)) is None:
        return None
    breaks = facts.beside.breaks.reasons if facts.beside.breaks else []
    lines = [it["place"] for it in breaks if ".item()" in (it["reason"] or "") and it["place"]]
    return f"{path} at {lines[0].partition(' in ')[0]}" if lines else path


def _rows(trace: Trace, reads: bool, waits: bool) -> list[int]:
    return [
        *(find_early_executions(trace).reads.tolist() if reads else []),
        *(find_blocking_waits(trace).tolist() if waits else []),
    ]


def _fix(trace: Trace, reads: bool, waits: bool) -> Fix:
    """All reads, and the calls in which the program waits."""
    if not waits:
        return Fix(("from_device",), reads=True)
    rows = find_early_executions(trace).reads
    of_reads = union(trace.start_ps[rows], trace.end_ps[rows])
    where = union_all([blocking_intervals(trace), of_reads]) if reads else blocking_intervals(trace)
    classes = ("from_device", "wait") if reads else ("wait",)
    return Fix(classes, windows=(where.start_ps, where.end_ps), reads=reads, blocks=True)
