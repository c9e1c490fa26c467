"""Lazy against dynamo: what a step takes, what each execution costs, and what lies between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tb_xla_insights.compare.side import EACH, Row, Side


def lazy_dynamo(
    a: Side, b: Side, between: Mapping[str, Sequence[Row]], order: Mapping[str, Sequence[str]]
) -> dict[str, Any] | None:
    """The tables of lazy against dynamo; None unless dynamo launched in exactly one of the sessions.

    `lazy` and `dynamo` name the sides. `step` has per side `tracing_ps`, `device_ps` and `wall_ps` of a step (device
    time per core), `speedup` lazy over dynamo. `executions` are rows of programs per side in the order of the device,
    with their number per step and the means of a run; `between` the idle times between two programs.
    """
    if {a.kind, b.kind} != {"lazy", "dynamo"}:
        return None
    sides = {"a": a, "b": b}
    names = {side.kind: which for which, side in sides.items()}
    step = {which: _step(side) for which, side in sides.items()}
    lazy, dynamo = step[names["lazy"]], step[names["dynamo"]]
    return {
        **names,
        "step": step,
        "speedup": {
            key.removesuffix("_ps"): lazy[key] / dynamo[key] if lazy[key] and dynamo[key] else None
            for key in ("tracing_ps", "device_ps", "wall_ps")
        },
        "executions": {which: _executions(side, order[which]) for which, side in sides.items()},
        "between": {which: list(between[which]) for which in sides},
    }


def _step(side: Side) -> dict[str, Any]:
    """What a step takes; no time in IR tracing is None, as nothing was traced."""
    return {
        "steps": len(side.steps),
        "tracing_ps": side.class_means.get("tracing") or None,
        "device_ps": side.per_step(side.totals["executions"]["device_ps"]),
        "wall_ps": side.step_ps,
        "executions": side.runs_per_step,
    }


def _executions(side: Side, order: Sequence[str]) -> list[dict[str, Any]]:
    place = {name: index for index, name in reversed(list(enumerate(order)))}
    whole, runs = side.totals["executions"]["count"], side.runs_per_step
    found = []
    for name, total in sorted(side.programs.items(), key=lambda it: place.get(it[0], len(place))):
        count = total["count"]
        mean = {f"{key}_ps": round(total[f"{key}_ps"] / count) for key in EACH}
        per_step = None if runs is None else count / whole * runs
        found.append({"program": name, "kind": total["kind"], "count": count, "per_step": per_step, **mean})
    return found
