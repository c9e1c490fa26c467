"""Findings about the iterations of a server that decodes."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.delays.early_executions import delaying_reads
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import Finding, ShownWindow, longest_windows
from tb_xla_insights.analysis.idle.no_requests import no_requests
from tb_xla_insights.analysis.iterations.report import iterations_report
from tb_xla_insights.analysis.iterations.texts import (
    ITS_WORK,
    Row,
    host_time_ps,
    main_kind,
    serial_text,
)
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.text.english import Phrase, sentences
from tb_xla_insights.text.units import share
from tb_xla_insights.trace.model import Trace

_MIN_SHARE = 0.05
"""Of an iteration: for how much of it the device must wait for the server's own work."""


def serial_iterations(facts: Facts) -> Finding | None:
    """A server that schedules an iteration only when the device has finished the one before. It costs the starved gaps,
    as a server that schedules ahead works while the device computes; only the part in which the host reads tokens, if
    one part of its work takes longer than that would hide."""
    trace, report = facts.trace, iterations_report(facts.trace)
    if not report or not report["scheduling"] or report["scheduling"]["kind"] == "ahead":
        return None
    row = main_kind(report["kinds"])
    if host_time_ps(row) < _MIN_SHARE * row["count"] * row["wall_ps"]["mean"]:
        return None
    reads = delaying_reads(trace)
    if _hides_most(row):
        taken_ps = facts.ledger.take(tuple(set(CLASSES) - {"compile", "program_load"}))
    else:
        taken_ps = facts.ledger.take_within(
            ("from_device",), union(trace.start_ps[reads], trace.end_ps[reads])
        )
    often = report["scheduling"]["kind"] == "sync"
    trips = row["round_trips"]
    at_once = f"Fetch what an iteration reads in {trips} round trips at once. " if trips > 1 else ""
    return Finding(
        "serial_iterations",
        "The iterations are serial" if often else "Scheduling ahead often drains",
        "scheduling, which could run one iteration ahead"
        if often
        else "scheduling ahead, which often drains",
        sentences(
            serial_text(f"{facts.core_subject} waits", row),
            "each iteration reads its tokens before the next one is scheduled"
            if often
            else f"{share(report['scheduling']['share'])} of the iterations begin when the device has finished all "
            "before them",
        ),
        f"{at_once}Schedule and launch the next iteration before this one's tokens are read (async scheduling, "
        "overlap): the device fills them in.",
        int(taken_ps.sum()),
        {
            "share": report["scheduling"]["share"],
            "kind": row["kind"],
            "iteration_ps": row["wall_ps"]["mean"],
            "bubble_ps": row["bubble_ps"],
            "bubble_by_part_ps": row["bubble_by_part_ps"],
        },
        longest_windows(
            ShownWindow(int(trace.start_ps[read]), int(trace.end_ps[read])) for read in reads.tolist()
        ),
        "every_step" if often else "some_steps",
        _fix(trace),
        waits_for=Phrase("the host", ", which schedules no iteration ahead"),
        best_if="the host then runs ahead",
    )


def _fix(trace: Trace) -> Fix | None:
    """All reads; None if the server has no request at times: the next one does not come earlier."""
    if len(no_requests(trace)):
        return None
    return Fix(("from_device",), all_reads=True, own_launches=np.arange(len(find_launches(trace))))


def _hides_most(row: Row) -> bool:
    """Whether work of the server and of the device at the same time saves more than any part of the server's work
    costs."""
    work_ps = [ps for part, ps in row["bubble_by_part_ps"].items() if part in ITS_WORK]
    return bool(max(work_ps) <= min(row["device_ps"], sum(work_ps)))
