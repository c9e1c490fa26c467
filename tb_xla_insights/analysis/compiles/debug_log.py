"""Matching of the trace's launches with the executions of a PT_XLA_DEBUG log.

Traces do not record an execution's graph hash. The log lists all executions of a process in order, and the trace covers
a part of them: the trace's sequence of programs occurs in the log's sequence of graphs, with one graph per program. A
launch is matched with an execution if all possible positions of the trace in the log agree on its graph, cause and
innermost frame. (docs/definitions.md, "Metrics and debug logs")
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.delays.early_executions import find_early_executions
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, LAZY, find_launches
from tb_xla_insights.analysis.names import number_distinct
from tb_xla_insights.analysis.sidecar_contents import DebugLogBlock
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.launches import Cause

_MAX_COMPARISONS = 25_000_000
"""Comparisons of two executions; a log that needs more is not matched."""

# What the causes say in all versions that record what requested an execution.
_REQUESTS_IN_CAUSES = {
    "dynamo": re.compile("dynamo is executing"),
    "read": re.compile("access tensor value"),
    "marker": re.compile("^user |StepTrace|parallel loader"),
}


def match_logged_executions(trace: Trace, blocks: Sequence[DebugLogBlock]) -> dict[int, DebugLogBlock]:
    """Returns, by launch (see `find_launches`), the log's execution, or one with the same graph, cause and innermost
    frame. Empty if the log does not fit the trace."""
    cached = vars(trace).get("_logged_executions")
    if cached is None or cached[0] is not blocks:
        cached = vars(trace)["_logged_executions"] = blocks, _match_executions(trace, blocks)
    executions: dict[int, DebugLogBlock] = cached[1]
    return executions


def _match_executions(trace: Trace, blocks: Sequence[DebugLogBlock]) -> dict[int, DebugLogBlock]:
    if not blocks or any(block.graph is None for block in blocks):
        return {}
    launches = find_launches(trace)
    lazy = np.flatnonzero(launches.kind == LAZY)
    # Only some versions log dynamo's executions.
    return _match_launches(trace, np.arange(len(launches)), blocks) or _match_launches(trace, lazy, blocks)


def _match_launches(
    trace: Trace, launch: NDArray[np.intp], blocks: Sequence[DebugLogBlock]
) -> dict[int, DebugLogBlock]:
    """Returns the log's executions of some launches, given as indices in order of time; empty if the log does not
    fit."""
    launches = find_launches(trace)
    has_program = np.flatnonzero(launches.program[launch] >= 0)
    if not has_program.size:
        return {}
    launch = launch[has_program[0] : has_program[-1] + 1]  # the runs of the others are outside the capture
    count = len(launch)
    program = launches.program[launch]
    if (program < 0).any() or count > len(blocks) or count * len(blocks) > _MAX_COMPARISONS:
        return {}
    graphs = number_distinct(block.graph for block in blocks)
    contents = number_distinct((block.graph, block.cause, block.frame) for block in blocks)
    requests = _requests(trace, launch)
    offsets = [
        offset
        for offset in _possible_offsets(_recorded_graphs(trace, program, blocks, graphs), program, graphs)
        if _causes_agree(requests, blocks[offset : offset + count])
    ]
    if not offsets:
        return {}
    first = contents[offsets[0] : offsets[0] + count]
    is_certain = np.ones(count, np.bool_)
    for offset in offsets[1:]:
        is_certain &= contents[offset : offset + count] == first
    return {int(launch[index]): blocks[offsets[0] + index] for index in np.flatnonzero(is_certain).tolist()}


def _recorded_graphs(trace: Trace, program: Int32, blocks: Sequence[DebugLogBlock], graphs: Int32) -> Int32:
    """Returns, per launch, the number of its graph if the capture has its compilation, else -1; -2: not in the log."""
    number_of_graph = {block.graph: number for block, number in zip(blocks, graphs.tolist(), strict=True)}
    compilations = find_compilations(trace)
    recorded = np.full(len(program), -1, np.int32)
    for compiled, graph in zip(compilations.program.tolist(), compilations.graph_hash, strict=True):
        if compiled >= 0 and graph is not None:
            recorded[program == compiled] = number_of_graph.get(graph, -2)
    return recorded


def _possible_offsets(recorded: Int32, program: Int32, graphs: Int32) -> list[int]:
    """Returns the positions at which the sequence of programs can begin in that of graphs: equal programs must meet
    equal graphs, different programs different graphs, and recorded graphs themselves."""
    count = len(program)
    index = np.arange(count)
    distances, graph_distances = _distance_to_last(program), _distance_to_last(graphs)
    offsets = []
    for offset in range(len(graphs) - count + 1):
        window = graph_distances[offset : offset + count]
        if not np.array_equal(np.where(window > index, 0, window), distances):
            continue
        if bool(((recorded == -1) | (recorded == graphs[offset : offset + count])).all()):
            offsets.append(offset)
    return offsets


def _requests(trace: Trace, launch: NDArray[np.intp]) -> list[str]:
    """Returns what requested each launch: `dynamo`, a step `marker`, or a `read` if it has no marker; empty if
    unknown."""
    launches = find_launches(trace)
    has_marker = launches.marker[launch] >= 0
    without_marker = "read" if has_marker.any() else ""  # low host levels record no markers
    return [
        "dynamo" if kind == DYNAMO_KIND else "" if kind != LAZY else "marker" if marker else without_marker
        for kind, marker in zip(launches.kind[launch].tolist(), has_marker.tolist(), strict=True)
    ]


def _causes_agree(requests: Sequence[str], blocks: Sequence[DebugLogBlock]) -> bool:
    """Whether no logged cause contradicts what requested the launch."""
    return all(
        not request or _request_in_cause(block.cause or "") in (None, request)
        for request, block in zip(requests, blocks, strict=True)
    )


def _request_in_cause(cause: str) -> str | None:
    return next((request for request, words in _REQUESTS_IN_CAUSES.items() if words.search(cause)), None)


def _distance_to_last(values: Int32) -> Int64:
    """Returns how many positions before each value the same value occurs last; 0 for its first occurrence."""
    last: dict[int, int] = {}
    distances = np.zeros(len(values), np.int64)
    for index, value in enumerate(values.tolist()):
        distances[index] = index - last.get(value, index)
        last[value] = index
    return distances


def causes_by_program(trace: Trace, blocks: Sequence[DebugLogBlock]) -> dict[str, list[Cause]]:
    """Returns, by program name, why it ran: `graph_hash`, `cause`, `frame` and the `count` of its launches, the most
    frequent cause first."""
    counts: dict[str, Counter[tuple[str | None, str | None, str | None]]] = {}
    launches = find_launches(trace)
    for launch, block in match_logged_executions(trace, blocks).items():
        name = launches.programs[int(launches.program[launch])].name
        counts.setdefault(name, Counter())[block.graph, block.cause, block.frame] += 1
    return {
        name: [
            {"graph_hash": graph, "cause": cause, "frame": frame, "count": count}
            for (graph, cause, frame), count in counter.most_common()
        ]
        for name, counter in counts.items()
    }


def blocks_of_early_executions(trace: Trace, blocks: Sequence[DebugLogBlock]) -> list[DebugLogBlock | None]:
    """Returns the log's execution of each early execution, in the order of `early_executions_report`; None if
    unknown."""
    executions = match_logged_executions(trace, blocks)
    return [executions.get(launch) for launch in find_early_executions(trace).launch.tolist()]
