"""The finding about a host that reads from the device, or waits for it, in most steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_xla_insights.analysis.delays.blocking_waits import (
    blocking_intervals,
    blocking_waits_report,
    find_blocking_waits,
)
from tb_xla_insights.analysis.delays.early_executions import (
    delaying_reads,
    find_early_executions,
    reads_report,
)
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import Finding, Frequency, ShownWindow, longest_windows
from tb_xla_insights.analysis.findings.logged_reasons import read_place
from tb_xla_insights.analysis.findings.read_advice import advise_reading_later
from tb_xla_insights.analysis.findings.round_trips import round_trips
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.host.servers import needs_its_reads
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.replay.what_if import Fix, return_delay_ps
from tb_xla_insights.analysis.thresholds import EVERY_STEP_SHARE, WARNING_SHARE
from tb_xla_insights.analysis.time.class_times import class_times_inside
from tb_xla_insights.analysis.time.intervals import Intervals, union, union_all
from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog.classes import FROM_DEVICE, WAIT
from tb_xla_insights.text.english import Phrase, plural, sentences
from tb_xla_insights.text.units import brief_time, brief_times, share
from tb_xla_insights.trace.model import Trace


def sync_every_step(facts: Facts) -> Finding | None:
    """Reads, or calls in which the program waits for the device, in at least half of the steps. They cost the part of
    starved gaps in which the host reads or waits in them. Gaps after an early execution count with the finding about
    it, whose fix removes its read. A server and a rollout must read their tokens; see `serial_iterations`."""
    trace, ledger = facts.trace, facts.ledger
    if needs_its_reads(trace):
        return None
    read_report, wait_report = reads_report(trace), blocking_waits_report(trace)
    reads, waits = read_report["most_steps"], wait_report["most_steps"]
    if not reads and not waits:
        return None
    taken_ps = np.zeros(len(ledger), np.int64)
    if reads:
        taken_ps += ledger.take_within(("from_device",), _waiting_reads(trace))
    if waits:
        taken_ps += ledger.take_within(("wait",), blocking_intervals(trace))
    idle_ps = _idle_in_reads_and_waits(facts, reads, waits)
    is_round_trip = round_trips(facts) >= 0
    causes = " and ".join(
        ["early syncs"] * bool((~is_round_trip).any()) + ["operators on the CPU"] * bool(is_round_trip.any())
    )
    causes = causes or "other findings"
    reports = [(read_report, "reads")] * reads + [(wait_report, "waits")] * waits
    read_share, wait_share = _share(read_report, "reads") * reads, _share(wait_report, "waits") * waits
    step_share = max(read_share, wait_share)
    counts = " and ".join(_count_text(report, key) for report, key in reports)
    frequency: Frequency = "every_step" if step_share >= EVERY_STEP_SHARE else "some_steps"
    count = sum(report[key] for report, key in reports)
    each_ps = sum(report["duration_ps"] for report, _ in reports) // count
    mean = facts.mean_per_core(taken_ps, frequency)
    duration, idle = brief_times(each_ps, mean.ps)
    # The fixes of early executions remove their reads.
    early = find_early_executions(trace)
    fixes_reads = reads and bool(early.other_reads.size)
    fix = _fix(trace, fixes_reads, waits) if fixes_reads or waits else None
    delay_ps = _return_delay_ps(trace, fix) if fix else 0
    steps = "every step" if step_share == 1 else "most steps"
    event = "a read from the device" if read_share == step_share else "a wait for the device"
    return Finding(
        "sync_every_step",
        _title(read_share, wait_share),
        f"{event} {'in every step' if step_share == 1 else f'in {share(step_share)} of the steps'}",
        sentences(
            f"{counts} {f'blocks the host for {duration}' if count == 1 else f'block the host for {duration} each'}; "
            + _idle_text(
                facts.core_subject,
                "it" if count == 1 else "them",
                f"{idle}{mean.unit}" if mean.ps else "",
                bool((idle_ps > taken_ps).any()),
                causes,
            ),
            _delay_text(delay_ps, fixes_reads, count),
            read_place(facts) if reads else "",
        ),
        advise_reading_later(facts, fixes_reads, waits)
        or f"First fix the {causes}, which these reads are part of.",
        int(taken_ps.sum()),
        {key: value for key, value in read_report.items() if key != "most_steps"}
        | {"waits": wait_report["waits"], "steps_with_waits": wait_report["steps_with_waits"]},
        longest_windows(
            ShownWindow(int(trace.start_ps[row]), int(trace.end_ps[row]))
            for row in _read_and_wait_rows(trace, reads, waits)
        ),
        frequency,
        fix,
        waits_for=Phrase(
            "the host",
            f", which reads from the device in {steps}"
            if read_share == step_share
            else f", which lets {steps} end before the next",
        ),
        best_if="the host then runs ahead",
    )


def _waiting_reads(trace: Trace) -> Intervals:
    """When the host is in the reads that count as delays. Idle time in the others, which are ready, is not theirs."""
    rows = delaying_reads(trace)
    return union(trace.start_ps[rows], trace.end_ps[rows])


def _idle_in_reads_and_waits(facts: Facts, reads: bool, waits: bool) -> Int64:
    """The part of each starved gap in which the host reads or waits, including what other findings took of it."""
    trace, ledger, idle_ps = facts.trace, facts.ledger, np.zeros(len(facts.ledger), np.int64)

    def times_inside(windows: Intervals, column: int) -> Int64:
        segments = host_class_segments(trace)
        times: Int64 = class_times_inside(segments, windows, ledger.start_ps, ledger.end_ps)[:, column]
        return times

    if reads:
        idle_ps += times_inside(_waiting_reads(trace), FROM_DEVICE)
    if waits:
        idle_ps += times_inside(blocking_intervals(trace), WAIT)
    return idle_ps


def _idle_text(core: str, events: str, idle: str, has_more: bool, causes: str) -> str:
    """How long a core idles in `events` (`it`, `them`), and whether part of it counts with the findings `causes`."""
    if idle:
        rest = f", the rest counts with the {causes}" if has_more else ""
        return f"{core} idles in {events} for {idle}{rest}"
    if has_more:
        return f"the idle time in {events} counts with the {causes}"
    return f"no device idles in {events}"


def _return_delay_ps(trace: Trace, fix: Fix) -> int:
    """How long after the end of their runs a step's reads and waits return, in ps; 0 below WARNING_SHARE of the
    step."""
    total_ps, steps = return_delay_ps(trace, fix), find_steps(trace)
    steps_ps = sum(step.duration_ps for step in steps)
    return total_ps // len(steps) if total_ps >= WARNING_SHARE * steps_ps else 0


def _delay_text(delay_ps: int, reads: bool, count: int) -> str:
    """Why the gain may be small at worst. `count`: the number of reads and waits."""
    if not delay_ps:
        return ""
    unless = ", unless it is a transfer" if reads else ""
    return_late = (
        f"it returns {brief_time(delay_ps)} a step after the end of the run that it waits for"
        if count == 1
        else f"they return {brief_time(delay_ps)} a step after the ends of the runs that they wait for"
    )
    return f"{return_late}; that delay may remain after the fix{unless}"


def _share(report: dict[str, Any], key: str) -> float:
    """The share of the steps that read or wait; 0 if fewer than half of them do."""
    return report[f"steps_with_{key}"] / report["steps"] if report["most_steps"] else 0.0


def _count_text(report: dict[str, Any], key: str) -> str:
    """`15 reads in 15 of 15 steps`; `15 of all 45 reads, in 15 of 15 steps,` if the others find their result ready."""
    number, steps = report[key], report[f"steps_with_{key}"]
    if key == "reads" and (ready := report["ready_reads"]):
        return f"{number} of all {number + ready} reads, in {steps} of {plural(report['steps'], 'step')},"
    nouns = ("read", "reads") if key == "reads" else ("wait for the device", "waits for the device")
    return f"{plural(number, *nouns)} in {steps} of {plural(report['steps'], 'step')}"


def _title(read_share: float, wait_share: float) -> str:
    """The title, from the shares of the steps that read and that wait; 0 for what is no habit. If the shares differ,
    the larger one comes first."""
    subjects = [
        ("Every step", "s") if step_share == 1 else (f"{share(step_share)} of the steps", "")
        for step_share in (read_share, wait_share)
    ]
    (read_subject, read_ending), (wait_subject, wait_ending) = subjects
    read, wait = f"{read_subject} read{read_ending} from", f"{wait_subject} wait{wait_ending} for"
    if not wait_share or not read_share:
        return f"{read if read_share else wait} the device"
    if read_share == wait_share:
        return f"{read} the device and wait{wait_ending} for it"
    first, second = (
        (read, f"{share(wait_share)} wait for")
        if read_share > wait_share
        else (wait, f"{share(read_share)} read from")
    )
    return f"{first} the device, {second} it"


def _read_and_wait_rows(trace: Trace, reads: bool, waits: bool) -> list[int]:
    return [
        *(delaying_reads(trace).tolist() if reads else []),
        *(find_blocking_waits(trace).tolist() if waits else []),
    ]


def _fix(trace: Trace, reads: bool, waits: bool) -> Fix:
    """Removes all reads, the calls in which the program waits, or both."""
    if not waits:
        return Fix(("from_device",), all_reads=True)
    rows = find_early_executions(trace).reads
    read_intervals = union(trace.start_ps[rows], trace.end_ps[rows])
    blocked = union_all([blocking_intervals(trace), read_intervals]) if reads else blocking_intervals(trace)
    classes = ("from_device", "wait") if reads else ("wait",)
    return Fix(classes, windows=blocked, all_reads=reads, blocking_waits=True)
