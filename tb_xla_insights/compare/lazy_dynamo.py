"""Compares lazy tensors with dynamo: the time of a step, the cost of each execution, and the idle time between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tb_xla_insights.compare.session_totals import SessionTotals

if TYPE_CHECKING:
    from tb_xla_insights.schema.speedups import (
        IdleBetweenPrograms,
        LazyDynamo,
        LazyDynamoProgram,
        LazyDynamoStep,
        LazyDynamoSteps,
    )


def compare_lazy_dynamo(
    a: SessionTotals,
    b: SessionTotals,
    between: Mapping[str, Sequence[IdleBetweenPrograms]],
    order: Mapping[str, Sequence[str]],
) -> LazyDynamo | None:
    """Returns the tables of lazy against dynamo; None unless one session is lazy and the other dynamo.

    `between` and `order` have keys `a` and `b`: the idle times between two programs, and the programs in device order.

    `lazy` and `dynamo` name the sides. `step` has, per side, `tracing_ps`, `device_ps` (per core) and `wall_ps` of a
    step; `speedup` is lazy over dynamo. `executions` has, per side, a row per program in device order with its number
    per step and the means of a run.
    """
    if {a.kind, b.kind} != {"lazy", "dynamo"}:
        return None
    step: LazyDynamoSteps = {"a": _step(a), "b": _step(b)}
    lazy, dynamo = (step["a"], step["b"]) if a.kind == "lazy" else (step["b"], step["a"])
    return {
        "lazy": "a" if a.kind == "lazy" else "b",
        "dynamo": "b" if a.kind == "lazy" else "a",
        "step": step,
        "speedup": {
            "tracing": _speedup(lazy["tracing_ps"], dynamo["tracing_ps"]),
            "device": _speedup(lazy["device_ps"], dynamo["device_ps"]),
            "wall": _speedup(lazy["wall_ps"], dynamo["wall_ps"]),
        },
        "executions": {"a": _executions(a, order["a"]), "b": _executions(b, order["b"])},
        "between": {"a": [*between["a"]], "b": [*between["b"]]},
    }


def _speedup(lazy_ps: int | None, dynamo_ps: int | None) -> float | None:
    return lazy_ps / dynamo_ps if lazy_ps and dynamo_ps else None


def _step(session: SessionTotals) -> LazyDynamoStep:
    """Returns the times of a step; `tracing_ps` is None if nothing was traced."""
    return {
        "steps": len(session.steps),
        "tracing_ps": session.class_means.get("tracing") or None,
        "device_ps": session.device_per_step_ps,
        "wall_ps": session.mean_ps,
        "executions": session.launches_per_step,
    }


def _executions(session: SessionTotals, order: Sequence[str]) -> list[LazyDynamoProgram]:
    position = {name: index for index, name in reversed(list(enumerate(order)))}
    names = sorted(session.programs, key=lambda name: position.get(name, len(position)))
    rows: list[LazyDynamoProgram] = []
    for name in names:
        totals, times = session.programs[name], session.mean_times(name)
        rows.append(
            {
                "program": name,
                "kind": totals["kind"],
                "count": totals["count"],
                "per_step": session.program_launches_per_step(name),
                "host_ps": times["host_ps"],
                "device_ps": round(totals["device_ps"] / totals["count"]),
                "queue_ps": times["queue_ps"],
                "overhead_ps": times["overhead_ps"],
            }
        )
    return rows
