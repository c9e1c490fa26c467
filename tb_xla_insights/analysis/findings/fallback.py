"""The finding about operators that run on the CPU."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.early import Early, find_early
from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    Window,
    first_that_fits,
    longest_windows,
    most_common,
    paths,
    plural,
)
from tb_xla_insights.analysis.findings.graphs import one_graph
from tb_xla_insights.analysis.launches import find_launches
from tb_xla_insights.analysis.transfers import find_transfers
from tb_xla_insights.trace.model import Int64, Trace


def cpu_fallback(facts: Facts) -> Finding | None:
    """Operators that PyTorch/XLA runs on the CPU: what a metrics report counts, since the one from before the trace
    where there is one; without any, what looks like it, an early execution whose value is read and sent back within
    the same annotation. The cost is part of early_sync's. A report whose counters torch.compile cleared does not tell
    that there were none, and counts the least."""
    metrics = facts.counted
    operators = metrics.fallbacks() if metrics else {}
    whole = metrics is not None and not metrics.cleared
    cost = suspected = 0
    windows, fixes, steps = [], [], []
    places: list[str | None] = []
    for trace in facts.traces:
        early = find_early(trace)
        back = _sent_back(trace, early)
        its = np.flatnonzero(back >= 0)
        suspected += len(its)
        steps.append(set(early.step[its].tolist()) - {-1})
        cost += int(early.idle_ps[its].sum())
        places += paths(trace, early.annotation[its].tolist())
        syncs = find_launches(trace).sync[early.launch[its]]
        windows += [
            Window(int(trace.start_ps[sync]), int(trace.end_ps[end]))
            for sync, end in zip(syncs.tolist(), back[its].tolist(), strict=True)
        ]
        fixes.append(one_graph(trace, early, its, back[its]) if len(its) else None)
    if not operators and (whole or not suspected):
        return None
    path = most_common(places)
    inside = f" in {path}" if path else ""
    if operators:
        most = sorted(operators, key=lambda name: -operators[name])[:3]
        names = ", ".join(f"aten::{name}" for name in most)
        names += f" and {len(operators) - 3} more" if len(operators) > 3 else ""
        title = first_that_fits(
            f"{names} {'runs' if len(operators) == 1 else 'run'} on the CPU",
            f"{len(operators)} operators run on the CPU",
        )
        when = "since the script began" if metrics is facts.beside.metrics else "in the capture"
        detail = (
            f"The metrics report counts {'' if whole else 'at least '}{plural(sum(operators.values()), 'call')} {when} "
            f"of {names}, which "
        )
        detail += "PyTorch/XLA has no lowering for; " + (
            f"devices idle after the cuts that look like it for {facts.of_span(cost)}."
            if cost
            else "no idle time of the capture is known to be theirs."
        )
        brief = f"{names} on the CPU"
    else:
        title = "Suspected: an operator runs on the CPU"
        brief = "an operator seems to run on the CPU"
        detail = (
            f"{plural(suspected, 'time')} a value is read{inside} and one is sent back right after, as if "
        )
        detail += f"an operator ran on the CPU; devices idle meanwhile for {facts.of_span(cost)}."
    advice = f"Replace {names if operators else 'the operator'}{inside} by ones that PyTorch/XLA lowers"
    advice += "." if operators else "; the counters aten::… of torch_xla.debug.metrics name them."
    return Finding(
        "cpu_fallback", title, brief, detail, advice, cost,
        {
            "suspected": not operators,
            "operators": operators,
            "round_trips": suspected,
            "annotation": path,
            "idle_ps": cost,
        },
        longest_windows(windows), facts.recurs(steps) if suspected else None, fixes,
    )  # fmt: skip


def _sent_back(trace: Trace, early: Early) -> Int64:
    """Per early execution, the transfer to the device that follows its read in the same annotation; -1: none."""
    transfers = find_transfers(trace)
    lines = trace.driving_lines
    sent = transfers.row[transfers.direction == 0]
    found = np.full(len(early.launch), -1, np.int64)
    for number, (read, around) in enumerate(zip(early.read.tolist(), early.annotation.tolist(), strict=True)):
        if read < 0 or around < 0:
            continue
        line = trace.line_of(read)
        if line.index not in lines:
            continue
        mine = sent[(sent >= read) & (sent < line.rows.stop)]
        mine = mine[
            (trace.start_ps[mine] >= trace.end_ps[read]) & (trace.end_ps[mine] <= trace.end_ps[around])
        ]
        found[number] = mine[0] if mine.size else -1
    return found
