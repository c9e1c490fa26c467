"""Which execution of a PT_XLA_DEBUG log each launch of the trace is.

Traces do not record an execution's graph hash. The log lists all executions of a process in order and the trace a part
of them, so the trace's sequence of programs must lie somewhere in the log's sequence of graphs, with one graph for each
program. A launch is told what all the places agree on where it can lie; nothing else.
(docs/definitions.md, "Metrics and debug logs")
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.launches.early_executions import find_early_executions
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, LAZY, find_launches
from tb_xla_insights.analysis.sidecars import DebugLogBlock
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.launches import Cause

_MOST_WORK = 25_000_000
"""Comparisons of one execution with another; a log that needs more is not joined."""

# The causes of all versions that tell what asked for an execution.
_CAUSES = {
    "dynamo": re.compile("dynamo is executing"),
    "read": re.compile("access tensor value"),
    "marker": re.compile("^user |StepTrace|parallel loader"),
}

_Ints = NDArray[np.int64]


def match_logged_executions(
    session: SessionTrace, blocks: Sequence[DebugLogBlock]
) -> dict[int, DebugLogBlock]:
    """By launch (see `find_launches`), the execution of the log that it is, or one with the same graph, cause and
    innermost frame; empty where the log does not fit the trace,
    and for sessions of several hosts, as the log does not say whose it is."""
    known = vars(session).get("_executed")
    if known is None or known[0] is not blocks:
        known = vars(session)["_executed"] = blocks, _executed(session, blocks)
    found: dict[int, DebugLogBlock] = known[1]
    return found


def _executed(session: SessionTrace, blocks: Sequence[DebugLogBlock]) -> dict[int, DebugLogBlock]:
    if len(session.traces) != 1 or not blocks or any(it.graph is None for it in blocks):
        return {}
    [trace] = session.traces
    launches = find_launches(trace)
    lazy = np.flatnonzero(launches.kind == LAZY)
    # Dynamo tells its executions in some versions only.
    return _among(trace, np.arange(len(launches)), blocks) or _among(trace, lazy, blocks)


def _among(
    trace: Trace, these: NDArray[np.intp], blocks: Sequence[DebugLogBlock]
) -> dict[int, DebugLogBlock]:
    launches = find_launches(trace)
    known = np.flatnonzero(launches.program[these] >= 0)
    if not known.size:
        return {}
    these = these[known[0] : known[-1] + 1]  # what the capture's edges cut has no run
    program = launches.program[these].astype(np.int64)
    if (program < 0).any() or len(these) > len(blocks) or len(these) * len(blocks) > _MOST_WORK:
        return {}
    graphs = _numbers([it.graph for it in blocks])
    said = _numbers([(it.graph, it.cause, it.frame) for it in blocks])
    fits = _fits(_expected(trace, program, blocks, graphs), program, graphs)
    fits = [it for it in fits if _may_be(_kinds(trace, these), blocks[it : it + len(these)])]
    if not fits:
        return {}
    first = said[fits[0] : fits[0] + len(these)]
    same = np.ones(len(these), np.bool_)
    for offset in fits[1:]:
        same &= said[offset : offset + len(these)] == first
    return {int(these[it]): blocks[fits[0] + it] for it in np.flatnonzero(same).tolist()}


def _expected(trace: Trace, program: _Ints, blocks: Sequence[DebugLogBlock], graphs: _Ints) -> _Ints:
    """Per launch, the number of its graph where the capture has its compilation, else -1; -2: not in the log."""
    number = {it.graph: int(graph) for it, graph in zip(blocks, graphs.tolist(), strict=True)}
    compiles = find_compilations(trace)
    expected = np.full(len(program), -1, np.int64)
    for its, graph in zip(compiles.program.tolist(), compiles.graph_hash, strict=True):
        if its >= 0 and graph is not None:
            expected[program == its] = number.get(graph, -2)
    return expected


def _fits(expected: _Ints, program: _Ints, graphs: _Ints) -> list[int]:
    """Where the sequence of programs can begin in that of graphs: equal programs at equal graphs, different ones at
    different graphs, and graphs that are known at theirs."""
    length = len(program)
    place = np.arange(length)
    back, back_in_log = _since_last(program), _since_last(graphs)
    found = []
    for offset in range(len(graphs) - length + 1):
        here = back_in_log[offset : offset + length]
        if not np.array_equal(np.where(here > place, 0, here), back):
            continue
        if bool(((expected == -1) | (expected == graphs[offset : offset + length])).all()):
            found.append(offset)
    return found


def _kinds(trace: Trace, these: NDArray[np.intp]) -> list[str]:
    """What asked for each launch: `dynamo`, a step `marker`, or a `read`, which has none; empty where nothing tells."""
    launches = find_launches(trace)
    marked = launches.marker[these] >= 0
    unmarked = "read" if marked.any() else ""  # at a low level of the host tracer no marker is recorded
    return [
        "dynamo" if kind == DYNAMO_KIND else "" if kind != LAZY else "marker" if marker else unmarked
        for kind, marker in zip(launches.kind[these].tolist(), marked.tolist(), strict=True)
    ]


def _may_be(kinds: Sequence[str], blocks: Sequence[DebugLogBlock]) -> bool:
    """Whether no cause contradicts what asked for the launch."""
    return all(
        not kind or (said := _said(block.cause or "")) is None or said == kind
        for kind, block in zip(kinds, blocks, strict=True)
    )


def _said(cause: str) -> str | None:
    return next((kind for kind, words in _CAUSES.items() if words.search(cause)), None)


def _since_last(values: _Ints) -> _Ints:
    """How many places before each value the same one stands last; 0 where it is new."""
    last: dict[int, int] = {}
    found = np.zeros(len(values), np.int64)
    for place, value in enumerate(values.tolist()):
        found[place] = place - last.get(value, place)
        last[value] = place
    return found


def _numbers(values: Sequence[Any]) -> _Ints:
    """A number per value, equal ones the same."""
    known: dict[Any, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], np.int64)


def causes_by_program(session: SessionTrace, blocks: Sequence[DebugLogBlock]) -> dict[str, list[Cause]]:
    """By program name, why it ran: `graph_hash`, `cause`, `frame` and the `count` of its launches, most first."""
    found: dict[str, Counter[tuple[str | None, str | None, str | None]]] = {}
    for launch, block in match_logged_executions(session, blocks).items():
        launches = find_launches(session.traces[0])
        name = launches.programs[int(launches.program[launch])][0]
        found.setdefault(name, Counter())[block.graph, block.cause, block.frame] += 1
    return {
        name: [
            {"graph_hash": graph, "cause": cause, "frame": frame, "count": count}
            for (graph, cause, frame), count in told.most_common()
        ]
        for name, told in found.items()
    }


def blocks_of_early_executions(
    session: SessionTrace, blocks: Sequence[DebugLogBlock]
) -> list[DebugLogBlock | None]:
    """The log's execution behind each of `early_executions`."""
    joined = match_logged_executions(session, blocks)
    return [
        joined.get(launch)
        for trace in session.traces
        for launch in find_early_executions(trace).launch.tolist()
    ]
