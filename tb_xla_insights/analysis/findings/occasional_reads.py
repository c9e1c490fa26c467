"""The finding about a host that reads from the device, or waits for it, in a few steps: logging, a checkpoint."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.delays.blocking_waits import blocking_waits_report, find_blocking_waits
from tb_xla_insights.analysis.delays.early_executions import (
    delaying_reads,
    find_early_executions,
    last_steps_before,
    reads_report,
)
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import (
    Finding,
    ShownWindow,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.findings.ledger import Ledger
from tb_xla_insights.analysis.findings.locations import (
    enclosing_paths,
    most_common,
    step_numbers,
    step_paths,
    steps_text,
)
from tb_xla_insights.analysis.findings.waiting_calls import waiting_call
from tb_xla_insights.analysis.host.servers import needs_its_reads
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.text.english import Phrase, plural, sentences
from tb_xla_insights.text.units import brief_times
from tb_xla_insights.trace.model import Trace

_READ_NOUNS = "read", "reads"
_WAIT_NOUNS = "wait for the device", "waits for the device"
"""Singular and plural."""


def sync_some_steps(facts: Facts) -> Finding | None:
    """Reads, or calls in which the program waits for the device, in fewer than half of the steps, and before the last
    launch: later ones delay nothing. While the host waits it launches nothing, so the device idles until the next
    launch. Reads count only if there is no early execution (`early_sync`), and if the host is no server."""
    trace, ledger = facts.trace, facts.ledger
    if needs_its_reads(trace):
        return None
    reads, waits = (_delaying_rows(trace, rows) for rows in _occasional_rows(trace))
    has_reads, has_waits = len(reads) > 0, len(waits) > 0
    if not has_reads and not has_waits:
        return None
    all_rows = np.concatenate((reads, waits))
    intervals = union(trace.start_ps[all_rows], trace.end_ps[all_rows])
    steps = set(last_steps_before(trace, all_rows).tolist()) - {-1}
    classes = ("from_device",) * has_reads + ("wait",) * has_waits
    taken_ps = ledger.take_within(classes, intervals)
    frequency = facts.frequency_of(steps)
    mean = facts.mean_per_core(_gaps_around(ledger, intervals), frequency)
    duration, idle = brief_times(intervals.total_ps // len(all_rows), mean.ps)
    paths = enclosing_paths(trace, trace.parent[all_rows].tolist())
    main_path = most_common(path for path in paths if path not in step_paths(trace))
    numbers = step_numbers(trace, steps)
    where = steps_text(numbers, facts.step_count)
    most_are_ready = has_reads and reads_report(trace)["ready_reads"] > 0
    waits_in = "waits in reads", "a wait in a read"
    reads_word, read_word = waits_in if most_are_ready else ("reads", "a read")
    verbs = " and ".join([f"{reads_word} from"] * has_reads + ["waits for"] * has_waits)
    events = " and ".join([f"{read_word} from"] * has_reads + ["a wait for"] * has_waits)
    counts = [
        plural(len(rows), *nouns) for rows, nouns in ((reads, _READ_NOUNS), (waits, _WAIT_NOUNS)) if len(rows)
    ]
    if most_are_ready:
        counts[0] = f"{len(reads)} of all {plural(len(find_early_executions(trace).reads), *_READ_NOUNS)}"
    return Finding(
        "sync_some_steps",
        first_fitting_title(f"The host {verbs} the device {where}", f"The host {verbs} the device"),
        f"{events} the device {where}",
        sentences(
            f"{' and '.join(counts)} "
            + (
                f"blocks the host for {duration}"
                if len(all_rows) == 1
                else f"block the host for {duration} each,"
            )
            + f" {where}"
            + (f", {'mostly ' if len(all_rows) > 1 else ''}in {main_path}" if main_path else "")
            + ("; most find their result ready" if most_are_ready else ""),
            "the host launches nothing meanwhile: "
            + (
                f"{facts.core_subject} idles {idle}{mean.unit} until the next launch"
                if mean.ps
                else "that delays the next launch"
            ),
        ),
        _advice(facts, has_waits, most_are_ready),
        int(taken_ps.sum()),
        {
            "steps": numbers,
            "duration_ps": intervals.total_ps,
            "reads": len(reads),
            "waits": len(waits),
        },
        longest_windows(
            ShownWindow(int(trace.start_ps[row]), int(trace.end_ps[row])) for row in all_rows.tolist()
        ),
        frequency,
        Fix(
            classes,
            windows=intervals,
            all_reads=has_reads,
            blocking_waits=has_waits,
        ),
        waits_for=Phrase("the host", f", which {verbs} the device at times"),
        best_if="the host then runs ahead",
    )


def _gaps_around(ledger: Ledger, waits: Intervals) -> Int64:
    """Per starved gap, its time since the host began to wait in it or before it, else 0: a gap that begins while the
    host waits lasts until the host has launched again."""
    following = np.searchsorted(waits.end_ps, ledger.start_ps, side="right")
    start_ps = np.append(waits.start_ps, np.iinfo(np.int64).max)[following]
    since_ps: Int64 = np.clip(ledger.end_ps - np.maximum(ledger.start_ps, start_ps), 0, None)
    return since_ps


def _occasional_rows(trace: Trace) -> tuple[Int32, Int32]:
    """The reads, and the calls in which the program waits, if fewer than half of the steps have them."""
    early, no_rows = find_early_executions(trace), np.zeros(0, np.int32)
    reads = no_rows if reads_report(trace)["most_steps"] or len(early.launch) else delaying_reads(trace)
    waits = no_rows if blocking_waits_report(trace)["most_steps"] else find_blocking_waits(trace)
    return reads, waits


def _delaying_rows(trace: Trace, rows: Int32) -> Int32:
    """The rows that begin in or after a step and end before the last launch begins."""
    origins = find_launches(trace).origin
    last_ps = int(trace.start_ps[origins[origins >= 0]].max(initial=0))
    return rows[(trace.end_ps[rows] <= last_ps) & (last_steps_before(trace, rows) >= 0)]


def _advice(facts: Facts, has_waits: bool, most_are_ready: bool) -> str:
    measure = f", and take {waiting_call(facts)} out of the loop" if has_waits else ""
    if most_are_ready:
        return f"Read each value one step later{facts.words.or_closure}, or in another thread{measure}."
    return (
        f"Read the value of an earlier step, whose run has ended{facts.words.or_closure}; if this writes a file, "
        f"write it from another thread{measure}."
    )
