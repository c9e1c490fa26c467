"""The finding about a core that is launched later than the others of its launches, which wait for it in a barrier."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import (
    Finding,
    ShownWindow,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.idle.barriers import find_barriers
from tb_xla_insights.analysis.idle.idle_time import clock_error_ps
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.time.intervals import union
from tb_xla_insights.arrays import Int32
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.text.english import Phrase, Sentence, join_words, plural, sentences
from tb_xla_insights.text.name_limit import shorten_name
from tb_xla_insights.text.units import brief_times
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.threads import thread_labels

_MAX_NAMED_CORES = 2
"""More waiting cores are counted, not named."""


def late_core(facts: Facts) -> Finding | None:
    """Barriers in which cores wait for the core that they wait for most, if its run was enqueued after theirs had
    begun. A core that comes late because its earlier work takes longer is not meant. The fix launches it with the
    others. (docs/definitions.md, "Barrier")"""
    trace = facts.trace
    barriers, launches = find_barriers(trace), find_launches(trace)
    runs = launches.runs
    late_run = barriers.late_run
    is_late = late_run >= 0
    is_late[is_late] = runs.enqueue_ps[late_run[is_late]] > barriers.start_ps[is_late] + clock_error_ps(trace)
    if not is_late.any():
        return None
    late = Counter(barriers.late_device[is_late].tolist()).most_common(1)[0][0]
    chosen = np.flatnonzero(is_late & (barriers.late_device == late))
    late_run = late_run[chosen]
    own_ps = np.zeros(len(runs), np.int64)
    own_ps[barriers.run] = barriers.end_ps - barriers.start_ps
    wait_ps = own_ps[barriers.run[chosen]] - own_ps[late_run]
    device_ps, later_ps = np.zeros((2, len(runs)), np.int64)
    device_ps[barriers.run[chosen]] = wait_ps
    np.maximum.at(later_ps, late_run, wait_ps)
    windows = union(runs.enqueue_ps[late_run] - later_ps[late_run], runs.enqueue_ps[late_run])
    taken_ps = facts.ledger.take_within(CLASSES, windows)
    step = launches.step[runs.launch[late_run]]
    steps, late_runs = set(step.tolist()) - {-1}, np.unique(late_run)
    count = facts.step_count if steps else len(late_runs)
    unit = " a step" if steps else " a launch" if len(late_runs) > 1 else ""
    waiting = np.unique(barriers.device[chosen]).tolist()
    mean, later = brief_times(
        int(wait_ps[(step >= 0) | (not steps)].sum()) // count // len(waiting),
        int(later_ps.sum()) // len(late_runs),
    )
    name, names = trace.devices[late].name, [trace.devices[index].name for index in waiting]
    waiting_text = join_words(names) if len(names) <= _MAX_NAMED_CORES else plural(len(names), "core")
    verb = "waits" if len(names) == 1 else "wait"
    threads = _threads(trace, runs.enqueue_row[late_run])
    return Finding(
        "late_core",
        first_fitting_title(
            f"{waiting_text} {verb} for {name}, which is launched later", "A core is launched late"
        ),
        f"the late launch on {name}, for which {waiting_text} {verb}",
        sentences(
            Sentence(
                f"{waiting_text} {verb} {mean}{unit} for {name} at the start of a run (barrier-cores), because its "
                f"runs are enqueued {later} later{f', by the thread {threads[0]}' if len(threads) == 1 else ''}",
                begins_with_name=True,
            )
        ),
        f"Look in the timeline at what the thread that launches on {name} does before: if it works, let it launch "
        "first; if nothing of it is recorded, it probably waits for a processor: run fewer threads beside it, or "
        "give the process more processors.",
        int(wait_ps.sum() + taken_ps.sum()),
        {
            "late_device": trace.devices[late].id,
            "launches": len(late_runs),
            "barrier_ps": int(wait_ps.sum()),
            "enqueued_later_ps": int(later_ps.sum()),
        },
        longest_windows(
            ShownWindow(
                int(barriers.start_ps[row]), int(barriers.end_ps[row]), trace.devices[barriers.device[row]].id
            )
            for row in chosen.tolist()
        ),
        facts.frequency_of(steps),
        Fix(device_ps=device_ps, earlier_ps=later_ps),
        waits_for=Phrase(name, ", which is launched later"),
    )


def _threads(trace: Trace, rows: Int32) -> list[str]:
    """The names of the threads of some events."""
    labels = thread_labels(trace)
    return sorted({shorten_name(labels[line]) for line in trace.lines_of(rows[rows >= 0]).tolist()})
