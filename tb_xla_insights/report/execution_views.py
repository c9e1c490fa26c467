"""The documents of the views on executions and compilations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from tb_xla_insights.analysis.compiles.graph_words import types_text
from tb_xla_insights.analysis.findings.compile_advice import (
    CAPTURE_AGAIN,
    HOW_TO_SEE_WHY,
    Tracer,
    advise_change,
    advise_unknown_change,
    find_tracer,
    place_text,
)
from tb_xla_insights.analysis.launches.enqueues import JOINS
from tb_xla_insights.analysis.launches.executions import find_costs, launching_report, runs_on
from tb_xla_insights.analysis.launches.launches import KINDS, find_launches
from tb_xla_insights.analysis.steps.step_times import steps_of, with_offsets
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.errors import InputError
from tb_xla_insights.report.compile_text import (
    UNKNOWN_GRAPH,
    compile_heading,
    compile_reason,
    compile_state,
    difference_text,
)
from tb_xla_insights.report.figures import joins_text
from tb_xla_insights.report.host_document import program_rows
from tb_xla_insights.report.host_parts import (
    IdleBetween,
    count_runs,
    empty_graph_row,
    idle_between_programs,
    parts_of_hosts,
    sum_of_idle,
)
from tb_xla_insights.report.views import kept_view, whole_report
from tb_xla_insights.trace.model import SessionTrace, Trace

if TYPE_CHECKING:
    from tb_xla_insights.schema.common import ExecutionKind
    from tb_xla_insights.schema.compiles_route import Compiles, CountedMetrics
    from tb_xla_insights.schema.executions_route import Executions, ExecutionSums, FittedCost, RunColumns
    from tb_xla_insights.schema.speedups import Between as BetweenRow

_TOTALS = ("launches", "count", "host_ps", "device_ps", "queue_ps", "overhead_ps")
_MOST_RUNS = 2000
_MOST_GRAPHS = 100
_FROM_LOG = "from the debug log beside the trace"
_Choice = frozenset[str] | None


def executions(
    session: SessionTrace, step: int | None = None, devices: Collection[str] | None = None
) -> Executions:
    """`data/executions`: the report's `programs` (as `executions`, `join` a text), their totals by kind, what an
    execution costs however short it is, idle time between programs, how far the host runs ahead; and the runs of one
    step (an index into the report's `steps`), of the one of median length where none is given. With `devices` (ids)
    only the runs on these.

    `per_step` is what totals over device runs are divided by for one step and core: runs over runs per step, so that
    those of steps that the capture cuts count in the mean of a run only; None without steps.

    Raises InputError for a step that is not there."""
    steps = whole_report(session)["steps"]
    if step is not None and not 0 <= step < len(steps):
        raise InputError(f"data/executions: no step {step}; the session has {len(steps)}, counted from 0")
    on = None if devices is None else frozenset(devices)
    name = "executions" if on is None else f"executions {sorted(on)}"
    common = kept_view(session, name, lambda its: _executions(its, on))
    chosen = usual_step(steps) if step is None else step
    numbers = [step["number"] if step["number"] is not None else step["index"] for step in steps]
    return {
        "executions": common["executions"],
        "kinds": common["kinds"],
        "per_step": common["per_step"],
        "fit": common["fit"],
        "between": common["between"],
        "lead": common["lead"],
        "steps": numbers,
        "step": chosen,
        "runs": None if chosen is None else _runs(session, chosen, on),
    }


def usual_step(steps: Sequence[Mapping[str, Any]]) -> int | None:
    """The index of the step of median length, of the shorter one of two."""
    durations_ps = [step["duration_ps"] for step in steps]  # a row is made each time that it is asked for
    order = sorted(range(len(durations_ps)), key=durations_ps.__getitem__)
    return order[(len(order) - 1) // 2] if order else None


def _executions(session: SessionTrace, on: _Choice) -> ExecutionSums:
    programs: Sequence[Mapping[str, Any]] = (
        whole_report(session)["programs"] if on is None else program_rows(session, on)
    )
    rows: list[Any] = [{**row, "join": joins_text(row["joins"])} for row in programs]
    kinds: dict[ExecutionKind, Any] = {}
    for row in rows:
        total = kinds.setdefault(row["kind"], dict.fromkeys(_TOTALS, 0))
        for name in _TOTALS:
            total[name] += row[name]
    told = whole_report(session)["launching"] if on is None else launching_report(session, on)
    fixed = told["fixed"]
    fit: FittedCost | None = None
    if fixed is not None:
        fit = {"fixed_ps": fixed["fixed_ps"], "n": fixed["n"], "slope": fixed["per_device"]}
    return {
        "executions": rows,
        "kinds": kinds,
        "per_step": _per_step(session, on),
        "fit": fit,
        "between": _between(session, on),
        "lead": told["lead"],
    }


def _per_step(session: SessionTrace, on: _Choice) -> float | None:
    every = (
        parts_of_hosts(session, "runs") if on is None else [count_runs(trace, on) for trace in session.traces]
    )
    runs, of_steps, step_cores = (sum(column) for column in zip(*every, strict=True)) if every else (0, 0, 0)
    return runs * step_cores / of_steps if of_steps else None


def _between(session: SessionTrace, on: _Choice) -> list[BetweenRow]:
    """Pairs of programs that follow each other on a core, with the mean time between them and the cause of most of the
    gaps there; the most time first."""
    found: dict[tuple[str, str], IdleBetween] = {}
    for host in (
        parts_of_hosts(session, "between")
        if on is None
        else [idle_between_programs(it, on) for it in session.traces]
    ):
        for ends, its in host.items():
            found[ends] = sum_of_idle(found.get(ends), its)
    most = sorted(found.items(), key=lambda it: -it[1].total_ps)[:50]
    return [
        {
            "before": before,
            "after": after,
            "count": its.number,
            "total_ps": its.total_ps,
            "mean_ps": its.total_ps // its.number,
            "cause": CLASSES[int(its.by_cause_ps.argmax())] if its.by_cause_ps.any() else None,
        }
        for (before, after), its in most
    ]


def _runs(session: SessionTrace, step: int, on: _Choice) -> RunColumns | None:
    for trace, offset in with_offsets(session):
        if 0 <= step - offset < len(steps_of(trace)):
            return _columns(trace, step - offset, on)
    return None


def _columns(trace: Trace, step: int, on: _Choice) -> RunColumns:
    launches, costs = find_launches(trace), find_costs(trace)
    runs = launches.runs
    its = np.flatnonzero((launches.step_of_run == step) & runs_on(trace, on))
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
        "host_ps": costs.host_ps[its].tolist(),
        "queue_ps": costs.queue_ps[its].tolist(),
        "overhead_ps": costs.overhead_ps[its].tolist(),
        "lead_ps": costs.lead_ps[its].tolist(),
    }


def compiles(session: SessionTrace) -> Compiles:
    """`data/compiles`: the report's rows, each with words on it (see `compile_text`) and the `advice` on it (None in
    warm-up); graphs that compiled, or ran, by step; the steps' numbers, and whose they are (`step_hosts`: in their
    order `[host, how many steps]`); what a metrics report beside the trace counts; where causes come from (`note`),
    and what would tell them."""
    return kept_view(session, "compiles", _compiles)


def _compiles(session: SessionTrace) -> Compiles:
    report = whole_report(session)
    graphs = _graphs(session)
    dynamo = any(row["kind"] == "dynamo" for row in report["executions"])
    tracer = find_tracer(dynamo, report["environment"]["framework"])
    ordered = sorted(graphs.values(), key=lambda it: (-it["compiles"], -it["cost_ps"], -len(it["steps"])))
    numbers = [step["number"] if step["number"] is not None else step["index"] for step in report["steps"]]
    return {
        "compiles": [row | _told(row, tracer) for row in report["compiles"]],
        "graphs": ordered[:_MOST_GRAPHS],
        "count": len(ordered),
        "steps": numbers,
        "step_hosts": [
            (host, sum(1 for _ in its)) for host, its in groupby(report["steps"], key=lambda it: it["host"])
        ],
        "metrics": _counted(report["metrics"]),
        "note": _FROM_LOG if any(row["cause"] or row["frame"] for row in report["compiles"]) else None,
        "how_to_see_why": HOW_TO_SEE_WHY[tracer],
    }


def _told(row: dict[str, Any], tracer: Tracer) -> dict[str, Any]:
    return {
        "graph": row["graph"] or UNKNOWN_GRAPH,
        "state": compile_state(row),
        "what_is_new": difference_text(row),
        "heading": compile_heading(row),
        "reason": compile_reason(row),
        "advice": _advice(row, tracer),
    }


def _advice(row: dict[str, Any], tracer: Tracer) -> str | None:
    """What to do about one compilation."""
    if row["warm_up"]:
        return None
    at = place_text(row["frame"], row["annotation"])
    if row["change"] is not None:
        parameters = row["nearest"]["parameters"] if row["nearest"] else []
        return advise_change(
            row["change"], tracer, at, types_text((it["before"], it["after"]) for it in parameters)
        )
    return CAPTURE_AGAIN if row["cut"] else advise_unknown_change(at, "", len(row["kin"]))


def _counted(metrics: dict[str, Any] | None) -> CountedMetrics | None:
    """What a metrics report beside the trace counts, beside the trace's own counts; None without a report."""
    if metrics is None or metrics["file"] is None:
        return None
    figures = metrics["figures"]
    return {
        "file": metrics["file"],
        "rows": [row | {"time_ps": figures[f"{row['what']}_ps"]} for row in metrics["against_trace"]],
        "uncached": figures["uncached_compiles"],
        "cached": figures["cached_compiles"],
        "fallbacks": metrics["fallbacks"],
    }


def _graphs(session: SessionTrace) -> dict[str, Any]:
    """The graphs of all hosts by name, with steps (by index, as text) counted over all of them."""
    graphs: dict[str, Any] = {}
    offset = 0
    for steps, host in zip(parts_of_hosts(session, "steps"), parts_of_hosts(session, "graphs"), strict=True):
        for name, its in host.items():
            entry = graphs.setdefault(name, empty_graph_row(name, its["module"]))
            entry["compiles"] += its["compiles"]
            entry["cost_ps"] += its["cost_ps"]
            entry["program_ids"] += [id_ for id_ in its["program_ids"] if id_ not in entry["program_ids"]]
            entry["steps"] |= {str(step + offset): state for step, state in its["steps"].items()}
        offset += steps
    return graphs
