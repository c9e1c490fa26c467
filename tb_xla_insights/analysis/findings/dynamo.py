"""Findings about dynamo: graphs that torch.compile could not keep whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.findings.base import Facts, Finding, mask, plural, total_ps
from tb_xla_insights.analysis.findings.graphs import CUT
from tb_xla_insights.analysis.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.thresholds import DYNAMO_GRAPHS
from tb_xla_insights.analysis.what_if import Fix
from tb_xla_insights.trace.model import Trace


@dataclass(frozen=True)
class ExtraLaunches:
    """`graphs`: dynamo graphs of a usual step (the median over steps that have any). `launch`: dynamo
    launches in steps with more graphs than forward and backward, but for those of the two graphs with most
    device time."""

    graphs: int
    launch: NDArray[np.intp]


def extra_launches(trace: Trace) -> ExtraLaunches:
    """The dynamo launches of one host beyond forward and backward, step by step."""
    launches = find_launches(trace)
    device = launches.sums(launches.runs.duration_ps)
    its = np.flatnonzero((launches.kind == DYNAMO_KIND) & (launches.step >= 0) & (launches.program >= 0))
    if not its.size:
        return ExtraLaunches(0, its)
    width = len(launches.programs) + 1
    key = launches.step[its].astype(np.int64) * width + launches.program[its]
    keys, place = np.unique(key, return_inverse=True)
    time = np.zeros(len(keys), np.int64)
    np.add.at(time, place, device[its])
    # Rank of each graph within its step, that with most device time first.
    order = np.lexsort((-time, keys // width))
    steps = (keys // width)[order]
    first = np.flatnonzero(np.append(True, steps[1:] != steps[:-1]))
    counts = np.diff(np.append(first, len(steps)))
    rank = np.empty(len(keys), np.int64)
    rank[order] = np.arange(len(keys)) - np.repeat(first, counts)
    return ExtraLaunches(int(np.median(counts)), its[rank[place] >= DYNAMO_GRAPHS])


def graph_breaks(facts: Facts) -> Finding | None:
    """Breaks that dynamo's explanation names; without one, more dynamo graphs a step than forward and
    backward. They cost the starved gaps before the dynamo executions beyond those two."""
    known = facts.beside.breaks
    extra = [extra_launches(trace) for trace in facts.traces]
    graphs = max((its.graphs for its in extra), default=0)
    if (known.breaks if known else 0) == 0 and (known is not None or graphs <= DYNAMO_GRAPHS):
        return None
    taken = [
        ledger.take(CUT, mask(len(find_launches(trace)) + 1, its.launch)[ledger.after])
        for trace, ledger, its in zip(facts.traces, facts.ledgers, extra, strict=True)
    ]
    cost = total_ps(taken)
    fixes = [Fix(CUT, its.launch, None, its.launch) if len(its.launch) else None for its in extra]
    reason = next((it["reason"] for it in known.reasons if it["reason"]), None) if known else None
    place = next((it["place"] for it in known.reasons if it["place"]), None) if known else None
    if known:
        title = "torch.compile breaks the graph " + ("once" if known.breaks == 1 else f"{known.breaks} times")
        brief = f"torch.compile breaks the graph{f' at {place}' if place else ''}"
        detail = f"{known.file} counts {plural(known.breaks, 'break')}, {known.graphs} graphs"
        detail += f"; the first reason is {reason}" if reason else ""
        detail += f" at {place}." if place else "."
    else:
        title = f"Suspected graph breaks: {graphs} dynamo graphs a step"
        brief = f"torch.compile seems to break the graph: {graphs} dynamo graphs a step"
        detail = f"{graphs} dynamo graphs run in a step, where one forward and one backward are usual."
    if more := sum(len(its.launch) for its in extra):
        detail += f" Devices idle before the {plural(more, 'extra execution')} for {facts.of_span(cost)}."
    else:
        detail += f" {'No more than two' if graphs else 'No'} dynamo graphs run in a step of the capture."
    advice = (
        f"Remove what breaks the graph{f' at {place}' if place else ''}: no .item(), print or control flow that "
        "depends on data in compiled code, and only ops that the openxla backend supports."
    )
    if not known:
        advice += " torch._dynamo.explain(model)(…) names each break's reason and place."
    return Finding(
        "graph_breaks", title, brief, detail, advice, cost,
        {
            "suspected": known is None,
            "breaks": known.breaks if known else None,
            "graphs": known.graphs if known else None,
            "graphs_per_step": graphs,
            "reasons": known.reasons if known else [],
            "idle_ps": cost,
        },
        facts.gap_windows(taken), facts.recurs(facts.steps_taken(taken)), fixes,
    )  # fmt: skip
