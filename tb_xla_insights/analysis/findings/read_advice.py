"""Advice for a host that reads from the device, or waits for it, in most steps: by when it reads, and how often."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.delays.early_executions import (
    find_early_executions,
    last_steps_before,
)
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.locations import enclosing_paths, most_common
from tb_xla_insights.analysis.findings.waiting_calls import waiting_call
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_annotation
from tb_xla_insights.analysis.launches.launches import LAZY, find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.trace.annotations import step_annotation_rows
from tb_xla_insights.trace.device_clock import CLOCK_SLACK_PS
from tb_xla_insights.trace.model import Trace


def advise_reading_later(facts: Facts, reads: bool, waits: bool) -> str:
    """Advice on reads, on calls that wait for the device, or on both."""
    advice = []
    if waits:
        is_built_in_each_step = bool((find_launches(facts.trace).kind == LAZY).any())
        prepares = "builds and launches" if is_built_in_each_step else "launches"
        advice.append(
            f"Take {waiting_call(facts)} out of the step, so that the host {prepares} the next step meanwhile; to "
            "measure, wait every tenth step or once at the end."
        )
    if reads and (location := _location_of_reads_within_step(facts)):
        torch = facts.framework.startswith("torch")
        change = (
            f"take .item(), print or a comparison out of {location}"
            if torch
            else f"do not read it in {location}"
        )
        instead = "torch.where in place of if" if torch else "a choice on the device in place of if"
        advice.append(
            f"Keep the value on the device: {change} ({instead}), or decide by a value of an earlier step."
        )
    elif reads and _reads_are_ahead(facts.trace):
        advice.append(
            "Read in another thread, or each value one step later: the device has its next work already, but the read "
            "delays the launch after that."
        )
    elif reads:
        what, trips = "Read a result that each step needs", _round_trips_per_step(facts)
        if trips > 1:
            at_once = f" ({facts.words.one_read})" if facts.words.one_read else ""
            what = f"Fetch what a step reads in {trips} round trips at once{at_once},"
        advice.append(
            f"{what} after the next step's launch, so that the device works meanwhile{facts.words.or_closure}; read "
            "what is only logged every tenth step."
        )
    return " ".join(advice)


def _reads_are_ahead(trace: Trace) -> bool:
    """Whether the devices have more work when most reads that cut no graph end: the host launched the next step before
    it read."""
    early, runs = find_early_executions(trace), find_launches(trace).runs
    ends_ps = trace.end_ps[early.other_reads]
    enqueued_ps = np.where(runs.enqueue_row >= 0, runs.enqueue_ps, runs.start_ps)
    in_flight = union(enqueued_ps, runs.end_ps)
    last = np.searchsorted(in_flight.start_ps, ends_ps, side="right") - 1
    is_ahead = (last >= 0) & (np.append(in_flight.end_ps, 0)[last] > ends_ps + CLOCK_SLACK_PS)
    return bool(2 * is_ahead.sum() > len(ends_ps))


def _round_trips_per_step(facts: Facts) -> int:
    """How often a step usually waits for values: its reads that cut no graph, of which those count once between which
    nothing is launched."""
    trace, early = facts.trace, find_early_executions(facts.trace)
    reads = early.other_reads
    step = last_steps_before(trace, reads)
    launch_ps = np.sort(trace.start_ps[find_launches(trace).row])
    launches_before, launches_until = (
        np.searchsorted(launch_ps, times[reads]) for times in (trace.start_ps, trace.end_ps)
    )
    is_new = np.ones(len(reads), np.bool_)
    is_new[1:] = (step[1:] != step[:-1]) | (launches_before[1:] > launches_until[:-1])
    return facts.usual_count(step[is_new])


def _location_of_reads_within_step(facts: Facts) -> str | None:
    """The annotation below the step in which the program reads before the last launch of the step, if most of the reads
    that cut no graph do so; with the line that breaks a graph of torch.compile because of the read. Values for logging
    are read after all launches."""
    trace, early, launches = facts.trace, find_early_executions(facts.trace), find_launches(facts.trace)
    reads = early.other_reads
    origin_ps = np.where(launches.origin >= 0, trace.start_ps[launches.origin], -1)
    last_origin_ps = np.full(len(find_steps(trace)) + 1, -1, np.int64)  # the last element: outside of steps
    inside = (launches.step >= 0) & (launches.step < len(last_origin_ps) - 1)
    np.maximum.at(last_origin_ps, launches.step[inside], origin_ps[inside])
    rows = reads[last_origin_ps[last_steps_before(trace, reads)] > trace.end_ps[reads]]
    annotations = np.array([enclosing_annotation(trace, row) for row in rows.tolist()], np.int32)
    is_below_step = (annotations >= 0) & ~np.isin(annotations, step_annotation_rows(trace))
    paths = enclosing_paths(trace, annotations[is_below_step].tolist())
    if 2 * len(paths) <= len(reads) or (path := most_common(paths)) is None:
        return None
    breaks = facts.sidecars.breaks.explained if facts.sidecars.breaks else []
    frames = [row.frame for row in breaks if row.frame and ".item()" in (row.reason or "")]
    return f"{path} at {frames[0].place}" if frames else path
