"""The finding about a host that reads from the device, or waits for it, in a few steps: logging, a checkpoint."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    Window,
    enclosing_paths,
    first_fitting_title,
    longest_windows,
    lower_first,
    most_common,
    step_names,
    step_paths,
    steps_text,
)
from tb_xla_insights.analysis.findings.ledger import Ledger
from tb_xla_insights.analysis.findings.reads import count_text, fix_of_reads_and_waits, read_and_wait_rows
from tb_xla_insights.analysis.host.blocking_waits import blocking_intervals, blocking_waits_report
from tb_xla_insights.analysis.launches.early_executions import (
    find_early_executions,
    last_steps_before,
    reads_report,
)
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.trace.model import Int64, Trace
from tb_xla_insights.units import brief_times


def sync_some_steps(facts: Facts) -> Finding | None:
    """Reads, or calls in which the program waits for the device, in fewer than half of the steps, and before the last
    launch: later ones delay nothing. While the host waits it launches nothing, so the device idles until the next
    launch. Reads count only if none cuts a graph (`early_sync`)."""
    trace, ledger = facts.trace, facts.ledger
    has_reads, has_waits = _is_occasional(trace)
    rows = np.array(read_and_wait_rows(trace, has_reads, has_waits), np.int32)
    origins = find_launches(trace).origin
    if not len(rows) or not len(origins) or trace.end_ps[rows].min() > trace.start_ps[origins].max():
        return None
    steps = set(last_steps_before(trace, rows).tolist()) - {-1}
    taken = np.zeros(len(ledger), np.int64)
    if has_reads:
        taken += ledger.take(("from_device",))
    if has_waits:
        taken += ledger.take_within(("wait",), blocking_intervals(trace))
    reports = [
        (report, key)
        for report, key, chosen in (
            (reads_report(trace), "reads", has_reads),
            (blocking_waits_report(trace), "waits", has_waits),
        )
        if chosen
    ]
    each_ps = sum(report["duration_ps"] for report, _ in reports) // max(1, len(rows))
    recurs = facts.recurrence(steps)
    mean = facts.mean_per_core(
        _gaps_around(facts.ledger, union(trace.start_ps[rows], trace.end_ps[rows])), recurs
    )
    each, idle = brief_times(each_ps, mean.ps)
    place = most_common(
        path for path in enclosing_paths(trace, trace.parent[rows].tolist()) if path not in step_paths(trace)
    )
    where = steps_text(step_names(trace, steps), facts.steps)
    verbs = " and ".join(["reads from"] * has_reads + ["waits for"] * has_waits)
    nouns = " and ".join(["a read from"] * has_reads + ["a wait for"] * has_waits)
    return Finding(
        "sync_some_steps",
        first_fitting_title(f"The host {verbs} the device {where}", f"The host {verbs} the device"),
        f"{nouns} the device {where}",
        f"{' and '.join(count_text(report, key) for report, key in reports)} "
        + (f"keeps the host for {each}" if len(rows) == 1 else f"keep the host for {each} each")
        + f"{f', mostly in {place}' if place else ''}. It launches nothing meanwhile: "
        f"{lower_first(facts.core_subject)} idles {idle}{mean.unit} until the next launch.",
        _advice(facts, has_reads, has_waits),
        int(taken.sum()),
        {"steps": sorted(steps), "reads": 0, "waits": 0} | {key: report[key] for report, key in reports},
        longest_windows(Window(int(trace.start_ps[row]), int(trace.end_ps[row])) for row in rows.tolist()),
        recurs,
        fix_of_reads_and_waits(trace, has_reads, has_waits),
    )


def _gaps_around(ledger: Ledger, waits: Intervals) -> Int64:
    """Per starved gap, its whole length if the host waits in it, else 0: a gap that begins while the host waits lasts
    until the host has launched again."""
    following = np.searchsorted(waits.end_ps, ledger.start_ps, side="right")
    start_ps = np.append(waits.start_ps, np.iinfo(np.int64).max)[following]
    return np.where(start_ps < ledger.end_ps, ledger.end_ps - ledger.start_ps, 0)


def _is_occasional(trace: Trace) -> tuple[bool, bool]:
    """Whether a few steps read from the device, and whether a few wait for it."""
    reads, waits, early = reads_report(trace), blocking_waits_report(trace), find_early_executions(trace)
    return (
        bool(reads["reads"]) and not reads["every_step"] and not len(early.launch),
        bool(waits["waits"]) and not waits["every_step"],
    )


def _advice(facts: Facts, reads: bool, waits: bool) -> str:
    advice = []
    if reads:
        later = "" if facts.words.later == "later" else f", or print it {facts.words.later}"
        advice.append(
            f"Read the value of an earlier step, whose run has ended{later}; save checkpoints from another thread."
        )
    if waits:
        call = facts.words.waits or "waits for the device"
        advice.append(f"Take {call} out of the loop: to measure, wait once at its end.")
    return " ".join(advice)
