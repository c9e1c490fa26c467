"""Findings about the iterations of a server that decodes."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.delays.early_executions import delaying_reads
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import Finding, ShownWindow, longest_windows
from tb_xla_insights.analysis.host.servers import is_server
from tb_xla_insights.analysis.host.templates import spoken_name
from tb_xla_insights.analysis.idle.no_requests import no_requests
from tb_xla_insights.analysis.iterations.parts import longest_annotation
from tb_xla_insights.analysis.iterations.report import iterations_report
from tb_xla_insights.analysis.iterations.sending import many_sends
from tb_xla_insights.analysis.iterations.stalls import find_prefill_stalls
from tb_xla_insights.analysis.iterations.texts import (
    ITS_WORK,
    Row,
    longest_activity,
    main_kind,
    serial_text,
    serial_time_ps,
)
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.text.english import Phrase, sentences
from tb_xla_insights.text.units import brief_time, share
from tb_xla_insights.trace.model import Trace

_NOT_COMPILING = tuple(name for name in CLASSES if name not in ("compile", "program_load"))
"""The classes of host time of a server's own work."""

_OFTEN = {1: "once", 2: "twice"}

_MIN_SHARE = 0.05
"""Of an iteration: for how much of it the device must wait for what could be done while it works."""


def serial_iterations(facts: Facts) -> Finding | None:
    """A server that schedules an iteration only when the device has finished the one before. It costs the starved gaps,
    as a server that schedules ahead works while the device computes; only the part in which the host reads tokens, if
    one part of its work takes longer than that would hide."""
    trace, report = facts.trace, iterations_report(facts.trace)
    if not report or not report["scheduling"] or report["scheduling"]["kind"] == "ahead":
        return None
    row = main_kind(report["kinds"])
    if serial_time_ps(row) < _MIN_SHARE * row["wall_ps"]["mean"]:
        return None
    reads = delaying_reads(trace)
    if _hides_most(row):
        taken_ps = facts.ledger.take(_NOT_COMPILING)
    else:
        taken_ps = facts.ledger.take_within(
            ("from_device",), union(trace.start_ps[reads], trace.end_ps[reads])
        )
    scheduling, activity = report["scheduling"], longest_activity(row)
    is_sync, trips = scheduling["kind"] == "sync", row["round_trips"]
    results = longest_annotation(trace, "results") if activity == ITS_WORK["results"] else None
    name = "" if results is None else f" ({spoken_name(trace, results)})"
    reads_often = f"reading {trips} times in an iteration and " if trips > 1 else ""
    return Finding(
        "serial_iterations",
        "The iterations are serial" if is_sync else "The device often runs out of work between iterations",
        f"{reads_often}scheduling, which could run one iteration ahead"
        if is_sync
        else f"{activity}{name}, before which the device often runs out of work",
        sentences(
            serial_text(f"{facts.core_subject} waits", row),
            "each iteration reads its tokens before the next one is scheduled"
            if is_sync
            else f"{share(scheduling['share'])} of the iterations begin when the device has finished all before them",
        ),
        _serial_advice(is_sync, trips, activity, name),
        int(taken_ps.sum()),
        {
            "share": scheduling["share"],
            "kind": row["kind"],
            "iteration_ps": row["wall_ps"]["mean"],
            "bubble_ps": row["bubble_ps"],
            "bubble_by_part_ps": row["bubble_by_part_ps"],
        },
        longest_windows(
            ShownWindow(int(trace.start_ps[read]), int(trace.end_ps[read])) for read in reads.tolist()
        ),
        "every_step" if is_sync else "some_steps",
        _fix(trace),
        waits_for=Phrase("the host", ", which schedules no iteration ahead"),
        best_if="the host then runs ahead",
    )


def _serial_advice(is_sync: bool, trips: int, activity: str, name: str) -> str:
    """What helps, from what the device waits for longest (`activity`). `trips`: the round trips of an iteration;
    `name`: of the annotation of its results, in brackets, if these are it."""
    advice = [f"Fetch what an iteration reads in {trips} round trips at once."] if trips > 1 else []
    if is_sync:
        advice.append(
            "Schedule and launch the next iteration before this one's tokens are read (async scheduling, overlap): the "
            "device puts them in itself."
        )
    if activity == ITS_WORK["results"]:
        advice.append(f"Let another thread or process handle results{name}.")
    elif not is_sync:
        advice.append(f"Shorten {activity}: at its start, the device often has nothing left to do.")
    return " ".join(advice)


def many_sends_one_by_one(facts: Facts) -> Finding | None:
    """Many arrays that a server sends one by one in an iteration. They cost the starved gaps meanwhile, but for the
    first array of each time: one with all of them would remain."""
    sends = many_sends(facts.trace)
    if not is_server(facts.trace) or not len(sends.count):
        return None
    taken_ps = facts.ledger.take_within(_NOT_COMPILING, sends.times_after_first)
    count = int(np.median(sends.count))
    frequency = facts.frequency_of(facts.affected_steps(taken_ps))
    return Finding(
        "many_sends",
        f"{count} arrays are sent one by one",
        f"{count} arrays that are sent one by one",
        sentences(f"{facts.idle_text(taken_ps, frequency)} while {count} arrays are sent one by one"),
        f"Pack the {count} arrays into a few: put them into one array on the host, send that, and take it apart on the "
        "device.",
        int(taken_ps.sum()),
        {"arrays": count},
        longest_windows(map(ShownWindow, sends.start_ps.tolist(), sends.end_ps.tolist())),
        frequency,
        Fix(_NOT_COMPILING, windows=sends.times_after_first),
        waits_for=Phrase("the host", f", which sends {count} arrays one by one"),
    )


def prefill_stall(facts: Facts) -> Finding | None:
    """Requests that decode wait for the prompts of others. The device works meanwhile: it costs no device time."""
    stalls = find_prefill_stalls(facts.trace)
    if stalls is None:
        return None
    longest_ps, count = int((stalls.end_ps - stalls.start_ps).max()), len(stalls.start_ps)
    longest = brief_time(longest_ps)
    return Finding(
        "prefill_stall",
        f"Decoding waits up to {longest} for the prompts of others",
        "prompts for which decoding waits",
        sentences(
            f"running requests wait up to {longest} for their next token instead of {brief_time(stalls.usual_ps)}, "
            f"{_OFTEN.get(count) or f'{count} times'}: prompts alone come first"
        ),
        "Split prompts into chunks that run beside decoding (chunked prefill). That evens out the time between "
        "tokens; the device has the same work.",
        0,
        {"count": count, "longest_ps": longest_ps, "usual_ps": stalls.usual_ps},
        longest_windows(map(ShownWindow, stalls.start_ps.tolist(), stalls.end_ps.tolist())),
        "some_steps",
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
    return bool(max(work_ps, default=0) <= min(row["device_ps"], sum(work_ps)))
