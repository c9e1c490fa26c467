"""The report's `compiles`: each compilation with its place in the program, its graph, and what is new in the graph."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.compiles.calls import CUTS
from tb_xla_insights.analysis.compiles.compilations import find_compilations, idle_time_per_compilation
from tb_xla_insights.analysis.compiles.graph_diff import GraphDiff, Nearest, find_graph_diffs
from tb_xla_insights.analysis.compiles.graph_words import difference_text
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_path
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.row_ids import EventId

if TYPE_CHECKING:
    from tb_xla_insights.schema.launches import Compile, GraphChange, NearestGraph

_MAX_LISTED_DIFFERENCES = 20


def compiles_report(trace: Trace, causes: dict[str, dict[str, Any]] | None = None) -> list[Compile]:
    """The report's `compiles`, in order of time.

    `step` is an index into the report's `steps`, `step_number` that step's number. `graph` is the graph's hash, else
    the module's name. `graphs_of_same_name` lists the other graphs whose modules have the same name: graphs compiled
    in the capture by `graph`, graphs that only ran as `module(program id)`. `causes` holds what logs record by graph
    hash, or else by module: `cause`, `frame` and `frames`, the Python stack. `idle_ps`: by device, its idle time
    during the compilation (see `idle_time_per_compilation`). `cut`: the edge of the capture that cut the compilation
    (see CUTS). `change`, `nearest`, `difference`: what is new in the graph (see GraphDiff), the last one as a
    sentence. `same_hlo`: whether the nearest graph's HLO is the same; None if there is no nearest graph."""
    rows: list[Compile] = []
    compilations, launches, steps = find_compilations(trace), find_launches(trace), find_steps(trace)
    diffs, names = find_graph_diffs(trace), _names_by_id(trace)
    for index, event in enumerate(compilations.row.tolist()):
        step, program = int(compilations.step[index]), int(compilations.program[index])
        logged = (causes or {}).get(compilations.graph_hash[index] or compilations.module[index] or "", {})
        rows.append(
            {
                "start_ps": int(compilations.start_ps[index]),
                "duration_ps": int(compilations.duration_ps[index]),
                "cut": CUTS[compilations.cut[index]],
                "host": trace.host,
                "step": step if step >= 0 else None,
                "step_number": steps[step].number if step >= 0 else None,
                "module": compilations.module[index],
                "graph_hash": compilations.graph_hash[index],
                "graph": compilations.graph(index),
                "program_id": (launches.programs[program].id or None) if program >= 0 else None,
                "warm_up": bool(compilations.warm_up[index]),
                "annotation": enclosing_path(trace, int(compilations.annotation[index])),
                "cause": logged.get("cause"),
                "frame": logged.get("frame"),
                "frames": logged.get("frames", []),
                **_difference(diffs[index], names),
                "graphs_of_same_name": [],
                "event": str(EventId(0, event)),
                "idle_ps": {
                    device.id: time
                    for device, time in zip(
                        trace.devices, idle_time_per_compilation(trace)[index].tolist(), strict=True
                    )
                    if time
                },
            }
        )
    graphs_by_module = _graphs_by_module(trace, rows)
    for row in rows:
        row["graphs_of_same_name"] = sorted(graphs_by_module.get(row["module"] or "", set()) - {row["graph"]})
    return sorted(rows, key=lambda row: row["start_ps"])


def _graphs_by_module(trace: Trace, rows: list[Compile]) -> dict[str, set[str]]:
    """Returns, by module name, the graphs that were compiled (`rows`), and those that only ran."""
    graphs: dict[str, set[str]] = {}
    compiled_ids = {(row["module"], row["program_id"]) for row in rows}
    for row in rows:
        if row["module"] and row["graph"]:
            graphs.setdefault(row["module"], set()).add(row["graph"])
    for module, id_ in find_launches(trace).programs:
        if id_ and module in graphs and (module, id_) not in compiled_ids:
            graphs[module].add(f"{module}({id_})")
    return graphs


def graph_names(trace: Trace) -> list[str]:
    """Returns the name of the graph of each program in Launches.programs: that of its compilation, else the module's
    name, with the program's id if several programs share it."""
    compilations, programs = find_compilations(trace), find_launches(trace).programs
    compiled = {
        int(program): compilations.graph(index)
        for index, program in enumerate(compilations.program)
        if program >= 0
    }
    name_counts = Counter(name for name, _ in programs)
    return [
        compiled.get(program) or (f"{module}({id_})" if name_counts[module] > 1 and id_ else module)
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
            {"index": difference.index, "before": difference.before, "after": difference.after}
            for difference in nearest.differences[:_MAX_LISTED_DIFFERENCES]
        ],
        "different_count": len(nearest.differences),
        "same_count": nearest.equal_count,
    }
