"""The report's `compiles`: each compilation with its place, its graph, and what is new in that."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.compiles.calls import CUTS
from tb_xla_insights.analysis.compiles.compilations import find_compilations, idle_time_per_compilation
from tb_xla_insights.analysis.compiles.graph_diff import GraphDiff, Nearest, find_graph_diffs
from tb_xla_insights.analysis.compiles.graph_words import difference_text
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_path
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.steps.step_times import steps_of, with_offsets
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.launches import Compile, GraphChange, NearestGraph

_MOST_DIFFERENCES = 20


def compiles_report(session: SessionTrace, causes: dict[str, dict[str, Any]] | None = None) -> list[Compile]:
    """The report's `compiles`, of all hosts in order of time.

    `step` is an index into the report's `steps`, `step_number` that step's number. `graph` is the graph's hash, else
    the module's name. `kin` lists the other graphs whose modules have the same name: graphs compiled in the capture by
    `graph`, graphs that only ran as `module(program id)`. `causes` holds what a PT_XLA_DEBUG log records by graph hash:
    `cause`, `frame` and `frames`, the Python stack. `idle_ps`: by device, its idle time during the compilation (see
    `idle_time_per_compilation`). `cut`: the edge of the capture that cut the compilation (see CUTS). `change`,
    `nearest`, `difference`: what is new in the graph (see GraphDiff), the last one as a sentence. `same_hlo`: whether
    the nearest graph's HLO is the same; None if there is no nearest graph.
    """
    rows: list[Compile] = []
    for host, (trace, offset) in enumerate(with_offsets(session)):
        compiles, launches, steps = find_compilations(trace), find_launches(trace), steps_of(trace)
        diffs, names = find_graph_diffs(trace), _names_by_id(trace)
        for number, row in enumerate(compiles.row.tolist()):
            step, program = int(compiles.step[number]), int(compiles.program[number])
            told = (causes or {}).get(compiles.graph_hash[number] or "", {})
            rows.append(
                {
                    "start_ps": int(compiles.start_ps[number]),
                    "duration_ps": int(compiles.duration_ps[number]),
                    "cut": CUTS[compiles.cut[number]],
                    "host": trace.host,
                    "step": step + offset if step >= 0 else None,
                    "step_number": steps[step].number if step >= 0 else None,
                    "module": compiles.module[number],
                    "graph_hash": compiles.graph_hash[number],
                    "graph": compiles.graph(number),
                    "program_id": (launches.programs[program][1] or None) if program >= 0 else None,
                    "warm_up": bool(compiles.warm_up[number]),
                    "annotation": enclosing_path(trace, int(compiles.annotation[number])),
                    "cause": told.get("cause"),
                    "frame": told.get("frame"),
                    "frames": told.get("frames", []),
                    **_difference(diffs[number], names),
                    "kin": [],
                    "event": f"{host}.{row}",
                    "idle_ps": {
                        device.id: time
                        for device, time in zip(
                            trace.devices, idle_time_per_compilation(trace)[number].tolist(), strict=True
                        )
                        if time
                    },
                }
            )
    for entry in rows:
        entry["kin"] = _kin(session, rows, entry)
    return sorted(rows, key=lambda entry: entry["start_ps"])


def _kin(session: SessionTrace, rows: list[Compile], entry: Compile) -> list[str]:
    module = entry["module"]
    if not module:
        return []
    compiled = {row["program_id"]: row["graph"] for row in rows if row["module"] == module}
    ran = {
        id_
        for trace in session.traces
        for name, id_ in find_launches(trace).programs
        if name == module and id_
    }
    kin = {row["graph"] for row in rows if row["module"] == module and row["graph"]}
    kin |= {f"{module}({id_})" for id_ in ran if id_ not in compiled}
    return sorted(kin - {entry["graph"]})


def graph_names(trace: Trace) -> list[str]:
    """What the graph of each program of Launches.programs is called: as where it was compiled, else by its module, with
    the program's id where several share that."""
    found, programs = find_compilations(trace), find_launches(trace).programs
    compiled = {int(program): found.graph(it) for it, program in enumerate(found.program) if program >= 0}
    times = Counter(name for name, _ in programs)
    return [
        compiled.get(program) or (f"{module}({id_})" if times[module] > 1 and id_ else module)
        for program, (module, id_) in enumerate(programs)
    ]


def _names_by_id(trace: Trace) -> dict[int, str]:
    programs = find_launches(trace).programs
    return {
        int(id_) % 2**64: name for (_, id_), name in zip(programs, graph_names(trace), strict=True) if id_
    }


def _difference(diff: GraphDiff, names: dict[int, str]) -> GraphChange:
    return {
        "change": diff.change,
        "difference": difference_text(diff),
        "nearest": _nearest(diff.nearest, names) if diff.nearest else None,
        "same_hlo": diff.change == "same_hlo" if diff.nearest else None,
    }


def _nearest(nearest: Nearest, names: dict[int, str]) -> NearestGraph:
    return {
        "graph": names.get(nearest.program_id, f"{nearest.module}({nearest.program_id})"),
        "module": nearest.module,
        "program_id": str(nearest.program_id),
        "parameters": [
            {"index": it.index, "before": it.before, "after": it.after}
            for it in nearest.differences[:_MOST_DIFFERENCES]
        ],
        "differ": len(nearest.differences),
        "same": nearest.same,
    }
