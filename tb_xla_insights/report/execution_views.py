"""The documents of the views on executions and compilations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.compiles import find_compiles
from tb_xla_insights.analysis.executions import Costs, find_costs, fixed_cost
from tb_xla_insights.analysis.launches import KINDS, find_launches
from tb_xla_insights.analysis.reach import steps_of
from tb_xla_insights.analysis.runs import JOINS, NONE
from tb_xla_insights.errors import InputError
from tb_xla_insights.report.views import kept_view, whole_report
from tb_xla_insights.trace.model import Int64, SessionTrace, Trace

_TOTALS = ("launches", "count", "host_ps", "device_ps", "queue_ps", "overhead_ps")
_MOST_RUNS = 2000
_MOST_GRAPHS = 100
_MOST_STEPS = 500
_UNKNOWN = "unknown graph"


def executions(session: SessionTrace, step: int | None = None) -> dict[str, Any]:
    """`data/executions`: the report's rows, their totals by kind, what an execution costs however short it
    is, idle time between programs, how far the host runs ahead; and the runs of one step (an index into the
    report's `steps`), of the one of median length where none is given. Raises InputError for a step that is
    not there."""
    steps = whole_report(session)["steps"]
    if step is not None and not 0 <= step < len(steps):
        raise InputError(f"data/executions: no step {step}; the session has {len(steps)}, counted from 0")
    common = kept_view(session, "executions", _executions)
    chosen = _usual(steps) if step is None else step
    numbers = [step["number"] if step["number"] is not None else step["index"] for step in steps]
    return {
        **common,
        "steps": numbers,
        "step": chosen,
        "runs": None if chosen is None else _runs(session, chosen),
    }


def _usual(steps: list[dict[str, Any]]) -> int | None:
    order = sorted(range(len(steps)), key=lambda it: steps[it]["duration_ps"])
    return order[(len(order) - 1) // 2] if order else None


def _executions(session: SessionTrace) -> dict[str, Any]:
    rows = whole_report(session)["executions"]
    kinds: dict[str, dict[str, int]] = {}
    for row in rows:
        total = kinds.setdefault(row["kind"], dict.fromkeys(_TOTALS, 0))
        for name in _TOTALS:
            total[name] += row[name]
    fixed = fixed_cost(session)
    fit = fixed and {"fixed_ps": fixed["fixed_ps"], "n": fixed["n"], "slope": fixed["per_device"]}
    return {
        "executions": rows,
        "kinds": kinds,
        "fit": fit,
        "between": _between(session),
        "lead": _lead(session),
    }


def _between(session: SessionTrace) -> list[dict[str, Any]]:
    """Pairs of programs that follow each other on a core, with the mean time between them; the most time
    first."""
    times: dict[tuple[str, str], list[int]] = {}
    for trace in session.traces:
        launches = find_launches(trace)
        runs, names = launches.runs, [name for name, _ in launches.programs]
        after = np.flatnonzero(runs.device[1:] == runs.device[:-1]) + 1
        pause = np.maximum(0, runs.start_ps[after] - runs.end_ps[after - 1])
        key = runs.program[after - 1].astype(np.int64) * len(names) + runs.program[after]
        pairs, place, counts = np.unique(key, return_inverse=True, return_counts=True)
        sums = np.zeros(len(pairs), np.int64)
        np.add.at(sums, place, pause)
        for pair, number, total in zip(pairs.tolist(), counts.tolist(), sums.tolist(), strict=True):
            entry = times.setdefault((names[pair // len(names)], names[pair % len(names)]), [0, 0])
            entry[0] += number
            entry[1] += total
    rows = [
        {"before": before, "after": after, "count": number, "total_ps": total, "mean_ps": total // number}
        for (before, after), (number, total) in times.items()
    ]
    return sorted(rows, key=lambda row: -row["total_ps"])[:50]  # type: ignore[operator]


def _lead(session: SessionTrace) -> dict[str, int] | None:
    found = []
    for trace in session.traces:
        known = find_launches(trace).runs.join != NONE
        found.append(find_costs(trace).lead_ps[known])
    leads: Int64 = np.concatenate(found or [np.zeros(0, np.int64)])
    if not leads.size:
        return None
    return {"mean_ps": int(leads.mean()), "min_ps": int(leads.min()), "max_ps": int(leads.max())}


def _runs(session: SessionTrace, step: int) -> dict[str, list[Any]] | None:
    for trace in session.traces:
        count = len(steps_of(trace))
        if step < count:
            return _columns(trace, step)
        step -= count
    return None


def _columns(trace: Trace, step: int) -> dict[str, list[Any]]:
    launches, costs = find_launches(trace), find_costs(trace)
    runs = launches.runs
    of_run = np.append(launches.step, np.int32(-1))[runs.launch]
    its = np.flatnonzero(of_run == step)
    its = its[np.argsort(runs.start_ps[its], kind="stable")][:_MOST_RUNS]
    calls = launches.row[runs.launch[its]]
    return {
        "device": [trace.devices[it].id for it in runs.device[its].tolist()],
        "start_ps": runs.start_ps[its].tolist(),
        "duration_ps": (runs.end_ps - runs.start_ps)[its].tolist(),
        "program": [launches.programs[it][0] for it in runs.program[its].tolist()],
        "kind": [KINDS[it] for it in launches.kind[runs.launch[its]].tolist()],
        "launch_start_ps": trace.start_ps[calls].tolist(),
        "join": [JOINS[it] for it in runs.join[its].tolist()],
        **_cost_columns(costs, its),
    }


def _cost_columns(costs: Costs, its: NDArray[np.intp]) -> dict[str, list[int]]:
    names = ("host_ps", "queue_ps", "overhead_ps", "lead_ps")
    return {name: getattr(costs, name)[its].tolist() for name in names}


def compiles(session: SessionTrace) -> dict[str, Any]:
    """`data/compiles`: the report's rows; graphs that compiled, or ran, by step; and the steps' numbers."""
    return kept_view(session, "compiles", _compiles)


def _compiles(session: SessionTrace) -> dict[str, Any]:
    report = whole_report(session)
    graphs: dict[str, dict[str, Any]] = {}
    offset = 0
    for trace in session.traces:
        _add_host(trace, offset, graphs)
        offset += len(steps_of(trace))
    ordered = sorted(graphs.values(), key=lambda it: (-it["compiles"], -it["cost_ps"], -len(it["steps"])))
    numbers = [step["number"] if step["number"] is not None else step["index"] for step in report["steps"]]
    return {
        "compiles": [row | {"graph": row["graph"] or _UNKNOWN} for row in report["compiles"]],
        "graphs": ordered[:_MOST_GRAPHS],
        "count": len(ordered),
        "steps": numbers,
    }


def _add_host(trace: Trace, offset: int, graphs: dict[str, dict[str, Any]]) -> None:
    """Adds one host's graphs: those compiled, by their hash; those that only ran, by module and program id."""
    found, launches = find_compiles(trace), find_launches(trace)
    graph_of = {
        int(found.program[it]): str(found.graph(it)) for it in range(len(found)) if found.program[it] >= 0
    }
    for it in range(len(found)):
        name = found.graph(it) or _UNKNOWN
        entry = graphs.setdefault(name, _graph(name, found.module[it]))
        entry["compiles"] += 1
        entry["cost_ps"] += int(trace.duration_ps[found.row[it]])
        if found.step[it] >= 0:
            entry["steps"][str(int(found.step[it]) + offset)] = "compiled"
    names = [name for name, _ in launches.programs]
    for program, (module, id_) in enumerate(launches.programs):
        several = names.count(module) > 1
        name = graph_of.get(program, f"{module}({id_})" if several and id_ else module)
        entry = graphs.setdefault(name, _graph(name, module))
        if id_ and id_ not in entry["program_ids"]:
            entry["program_ids"].append(id_)
        mine = launches.step[(launches.program == program) & (launches.step >= 0)]
        for step in np.unique(mine)[:_MOST_STEPS].tolist():
            entry["steps"].setdefault(str(step + offset), "run")


def _graph(name: str, module: str | None) -> dict[str, Any]:
    return {"graph": name, "module": module, "program_ids": [], "compiles": 0, "cost_ps": 0, "steps": {}}
