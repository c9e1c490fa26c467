"""Matching of a capture with logs of TORCH_TRACE: the log of its process, its programs by their names, calls of
compiled functions by their compile ids, and graphs of deferred operators by the time.

What cannot be matched is unknown (None), never guessed. (docs/definitions.md, "Logs of TORCH_TRACE")
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from tb_xla_insights.analysis.graph_break import GraphBreak
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.sidecar_contents import GraphBreaks, Guard, Sidecars
from tb_xla_insights.analysis.torch_trace import LoggedCompilation, LoggedGraph, TorchTraceLog
from tb_xla_insights.schema.torch_trace import (
    MaterializationReason,
    TorchTrace,
    TracedBreak,
    TracedCompilation,
    TracedProgram,
)
from tb_xla_insights.trace.model import Trace

_T = TypeVar("_T")

REASONS = {
    ".cpu()": "a tensor is copied to the host",
    "item()": "a value is read",
    "synchronize()": "the program waits for the device",
    "autograd_post_backward": "the backward pass has ended",
    "repeated_op_heuristic": "the same operators repeat, as in a loop",
    "debug_mode": "each operator runs at once, as in Strict Eager",
    "distributed_op": "a collective needs it",
    "compile_mode_execution": "a graph of torch.compile needs it",
    "unknown": "",
}
"""What asked for the values of deferred operators, by TorchTPU's names (torch_tpu 0.2.0)."""

_COMPILED_CALL = re.compile(r"Torch-Compiled Region: (!?[\d/]{1,80})")
_RANK_OF_HOST = re.compile(r"_(\d{1,9})$")
_MAX_ROWS = 500
"""The most rows of a table: a log may be longer than anyone can read."""


def is_later(trace: Trace, log: TorchTraceLog) -> bool:
    """Whether a log begins after the capture's end, so that it is of another run."""
    return bool(trace.base_unix_ns) and log.start_us > _unix_us(trace, trace.span_ps[1])


def _unix_us(trace: Trace, time_ps: int) -> int:
    """Microseconds since the epoch at a time of a trace whose clock is recorded."""
    return trace.base_unix_ns // 1000 + time_ps // 1_000_000


def _rank(trace: Trace) -> int | None:
    """The rank that a capture's name ends with, `vm_3`; the number may be a port instead."""
    number = _RANK_OF_HOST.search(trace.host)
    return int(number[1]) if number else None


def candidate_logs(trace: Trace, logs: Sequence[TorchTraceLog]) -> list[TorchTraceLog]:
    """The logs that may be of the capture's process: those of its rank, or all if none has this rank; but none of a
    later run."""
    rank = _rank(trace)
    begun = [log for log in logs if not is_later(trace, log)]
    return [log for log in begun if log.rank is not None and log.rank == rank] or begun


def matched_log(trace: Trace, logs: Sequence[TorchTraceLog]) -> TorchTraceLog | None:
    """The log of the capture's process; None if several may be, or if the only one is of another rank than the
    capture's name says."""
    candidates, rank = candidate_logs(trace, logs), _rank(trace)
    if len(candidates) != 1 or (None not in (rank, candidates[0].rank) and candidates[0].rank != rank):
        return None
    return candidates[0]


def calls_by_compile_id(trace: Trace) -> Counter[str] | None:
    """How often the capture calls each compiled function, as `Torch-Compiled Region: 0/1` says; None without any such
    event."""
    calls: Counter[str] = Counter()
    names, counts = trace.metadata.name.tolist(), trace.metadata_counts.tolist()
    for name, count in zip(names, counts, strict=True):
        if count and name >= 0 and (match := _COMPILED_CALL.fullmatch(trace.strings[name])):
            calls[match[1]] += count
    return calls or None


def graphs_by_program(log: TorchTraceLog) -> dict[str, list[LoggedGraph]]:
    """The graphs that were compiled, by the names of their programs: graphs of several shapes share one."""
    graphs: dict[str, list[LoggedGraph]] = {}
    for graph in log.graphs:
        graphs.setdefault(graph.program, []).append(graph)
    return graphs


def reasons_in_capture(trace: Trace, log: TorchTraceLog) -> Counter[str]:
    """The graphs of deferred operators during the capture, by their reasons; if their times are not known, the launches
    of programs that were compiled for one reason."""
    first_us, last_us = (_unix_us(trace, time_ps) for time_ps in trace.span_ps)
    if trace.base_unix_ns and all(row.start_us for row in log.materializations):
        return Counter(row.reason for row in log.materializations if first_us <= row.start_us <= last_us)
    reasons: Counter[str] = Counter()
    for program in traced_programs(trace, log):
        if (reason := program["reason"]) in REASONS:
            reasons[reason] += program["launches"]
    return reasons


def main_place(trace: Trace, log: TorchTraceLog, *reasons: str) -> str | None:
    """The line of Python at which most launches in the capture are of programs that were compiled for one of the
    reasons; None if it is not known."""
    places: Counter[str] = Counter()
    for row in traced_programs(trace, log):
        if row["reason"] in reasons and row["place"]:
            places[row["place"]] += row["launches"]
    return places.most_common(1)[0][0] if places else None


def guards_in_capture(trace: Trace, log: TorchTraceLog) -> list[Guard]:
    """The guards that failed during the capture, or in all the log if either records no time."""
    first_us, last_us = (_unix_us(trace, time_ps) for time_ps in trace.span_ps)
    return [
        Guard(row.function, row.place, row.guard, row.source, None, log.file)
        for row in log.compilations.values()
        if row.guard
        and (
            not trace.base_unix_ns
            or row.start_us is None
            or (row.start_us <= last_us and row.start_us + (row.duration_us or 0) >= first_us)
        )
    ]


def causes_by_module(log: TorchTraceLog) -> dict[str, dict[str, Any]]:
    """`cause`, `frame` and `frames` of compilations, as in `Sidecars.causes`, and the log's `file`, by the names of
    modules whose graphs have one cause: the reason for which TorchTPU made the graph, or the guard whose failure made
    torch.compile do so."""
    causes = {}
    for name, graphs in graphs_by_program(log).items():
        found = {_cause(log, graph) for graph in graphs}
        if len(found) == 1:
            cause, frame = found.pop()
            frames = [frame] if frame else []
            causes[name] = {"cause": cause, "frame": frame, "frames": frames, "file": log.file}
    return causes


def causes_of(trace: Trace, sidecars: Sidecars) -> dict[str, dict[str, Any]]:
    """What logs beside the capture record of compilations: by the graph's hash, as PyTorch/XLA logs it, and by the
    module's name."""
    log = matched_log(trace, sidecars.torch_traces)
    return {**(causes_by_module(log) if log else {}), **sidecars.causes}


def _cause(log: TorchTraceLog, graph: LoggedGraph) -> tuple[str | None, str | None]:
    """The cause of a compilation, and the line of Python."""
    compilation = log.compilations.get(graph.compile_id or "")
    if compilation is not None:
        guard = f"the guard {compilation.guard} failed" if compilation.guard else None
        return guard, compilation.place
    return graph.reason, GraphBreak(frame=graph.frame).place


def breaks_in_capture(trace: Trace, log: TorchTraceLog) -> GraphBreaks | None:
    """The graph breaks in compiled functions that the capture calls, each line once, with the number of these
    functions; of the whole log if the capture does not record such calls; None without breaks."""
    calls = calls_by_compile_id(trace)
    found = {
        (row.graph_break.reason, row.graph_break.place): row.graph_break
        for row in log.breaks
        if calls is None or row.compile_id in calls
    }
    graphs = log.compilations if calls is None else calls
    return GraphBreaks(log.file, len(graphs), len(found), [*found.values()]) if found else None


def torch_trace_document(trace: Trace, logs: Sequence[TorchTraceLog]) -> TorchTrace | None:
    """The report's `metrics.torch_trace`; None without logs."""
    candidates, matched = candidate_logs(trace, logs), matched_log(trace, logs)
    if not candidates:
        return None
    calls = calls_by_compile_id(trace) if matched else None
    return {
        "files": [log.file for log in candidates],
        "matched": matched.file if matched else None,
        "materializations": _materializations(trace, candidates, matched),
        "programs": traced_programs(trace, matched)[:_MAX_ROWS] if matched else [],
        "graph_breaks": _graph_breaks(candidates, calls),
        "compilations": _compilations(candidates, calls),
    }


def _materializations(
    trace: Trace, logs: Iterable[TorchTraceLog], matched: TorchTraceLog | None
) -> list[MaterializationReason]:
    start_us, end_us = (_unix_us(trace, time_ps) for time_ps in trace.span_ps)
    rows: dict[str, MaterializationReason] = {}
    for log in logs:
        has_times = log is matched and bool(trace.base_unix_ns)
        for graph in log.materializations:
            row = rows.setdefault(
                graph.reason,
                {
                    "reason": graph.reason,
                    "meaning": REASONS.get(graph.reason, ""),
                    "logged": 0,
                    "compiled": 0,
                    "failed": 0,
                    "duration_ps": 0,
                    "in_capture": 0 if has_times else None,
                },
            )
            row["logged"] += 1
            row["compiled"] += graph.is_new
            row["failed"] += graph.has_failed
            row["duration_ps"] += 1_000_000 * graph.duration_us
            if not graph.start_us:
                row["in_capture"] = None
            elif row["in_capture"] is not None:
                row["in_capture"] += start_us <= graph.start_us <= end_us
    return sorted(rows.values(), key=lambda row: -row["logged"])[:_MAX_ROWS]


def traced_programs(trace: Trace, log: TorchTraceLog) -> list[TracedProgram]:
    """The programs of the capture that a log compiles; most launches first."""
    launches, graphs = find_launches(trace), graphs_by_program(log)
    counts = Counter(launches.programs[program].name for program in launches.program.tolist() if program >= 0)
    rows: list[TracedProgram] = []
    for name, count in counts.most_common():
        if not (known := graphs.get(name)):
            continue
        compile_id = _only(graph.compile_id for graph in known)
        compilation = log.compilations.get(compile_id or "") or LoggedCompilation("")
        frame = _only(graph.frame for graph in known)
        rows.append(
            {
                "program": name,
                "reason": ", ".join(dict.fromkeys(graph.reason for graph in known if graph.reason)) or None,
                "operator": _only(graph.operator for graph in known),
                "place": GraphBreak(frame=frame).place if frame else compilation.place,
                "compile_id": compile_id,
                "launches": count,
            }
        )
    return rows


def _only(values: Iterable[_T]) -> _T | None:
    """The value if all are equal."""
    distinct = {*values}
    return distinct.pop() if len(distinct) == 1 else None


def _graph_breaks(logs: Iterable[TorchTraceLog], calls: Counter[str] | None) -> list[TracedBreak]:
    rows: dict[tuple[str | None, str | None], TracedBreak] = {}
    for log in logs:
        for logged in log.breaks:
            found = logged.graph_break
            row = rows.setdefault(
                (found.reason, found.place),
                {
                    "reason": found.reason,
                    "place": found.place,
                    "explanation": found.explanation,
                    "hint": found.hint,
                    "logged": 0,
                    "calls": None if calls is None else 0,
                },
            )
            row["logged"] += 1
            if calls is not None:
                row["calls"] = (row["calls"] or 0) + calls[logged.compile_id or ""]
    return [*rows.values()][:_MAX_ROWS]


def _compilations(logs: Iterable[TorchTraceLog], calls: Counter[str] | None) -> list[TracedCompilation]:
    rows: list[TracedCompilation] = [
        {
            "compile_id": compilation.compile_id,
            "function": compilation.function,
            "place": compilation.place,
            "guard": compilation.guard,
            "source": compilation.source,
            "duration_ps": None if compilation.duration_us is None else 1_000_000 * compilation.duration_us,
            "calls": None if calls is None else calls[compilation.compile_id],
        }
        for log in logs
        for compilation in log.compilations.values()
    ]
    return sorted(rows, key=lambda row: (-(row["calls"] or 0), row["guard"] is None))[:_MAX_ROWS]
