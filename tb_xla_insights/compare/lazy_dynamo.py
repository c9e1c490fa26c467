"""Lazy against dynamo: what a step takes, what each execution costs, and what lies between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tb_xla_insights.compare.session_totals import SessionTotals

if TYPE_CHECKING:
    from tb_xla_insights.schema.speedups import Between, KindExecution, KindStep, KindSteps, LazyDynamo


def lazy_dynamo(
    a: SessionTotals,
    b: SessionTotals,
    between: Mapping[str, Sequence[Between]],
    order: Mapping[str, Sequence[str]],
) -> LazyDynamo | None:
    """The tables of lazy against dynamo; None unless dynamo launched in exactly one of the sessions.

    `lazy` and `dynamo` name the sides. `step` has per side `tracing_ps`, `device_ps` and `wall_ps` of a step (device
    time per core), `speedup` lazy over dynamo. `executions` are rows of programs per side in the order of the device,
    with their number per step and the means of a run; `between` the idle times between two programs.
    """
    if {a.kind, b.kind} != {"lazy", "dynamo"}:
        return None
    step: KindSteps = {"a": _step(a), "b": _step(b)}
    lazy, dynamo = (step["a"], step["b"]) if a.kind == "lazy" else (step["b"], step["a"])
    return {
        "lazy": "a" if a.kind == "lazy" else "b",
        "dynamo": "b" if a.kind == "lazy" else "a",
        "step": step,
        "speedup": {
            "tracing": _over(lazy["tracing_ps"], dynamo["tracing_ps"]),
            "device": _over(lazy["device_ps"], dynamo["device_ps"]),
            "wall": _over(lazy["wall_ps"], dynamo["wall_ps"]),
        },
        "executions": {"a": _executions(a, order["a"]), "b": _executions(b, order["b"])},
        "between": {"a": [*between["a"]], "b": [*between["b"]]},
    }


def _over(lazy: int | None, dynamo: int | None) -> float | None:
    return lazy / dynamo if lazy and dynamo else None


def _step(side: SessionTotals) -> KindStep:
    """What a step takes; no time in IR tracing is None, as nothing was traced."""
    return {
        "steps": len(side.steps),
        "tracing_ps": side.class_means.get("tracing") or None,
        "device_ps": side.per_step(side.totals["executions"]["device_ps"]),
        "wall_ps": side.step_ps,
        "executions": side.runs_per_step,
    }


def _executions(side: SessionTotals, order: Sequence[str]) -> list[KindExecution]:
    place = {name: index for index, name in reversed(list(enumerate(order)))}
    whole, runs = side.totals["executions"]["count"], side.runs_per_step
    found: list[KindExecution] = []
    for name, total in sorted(side.programs.items(), key=lambda it: place.get(it[0], len(place))):
        count = total["count"]
        found.append(
            {
                "program": name,
                "kind": total["kind"],
                "count": count,
                "per_step": None if runs is None else count / whole * runs,
                "host_ps": round(total["host_ps"] / count),
                "device_ps": round(total["device_ps"] / count),
                "queue_ps": round(total["queue_ps"] / count),
                "overhead_ps": round(total["overhead_ps"] / count),
            }
        )
    return found
