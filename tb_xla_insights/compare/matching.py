"""What of one session belongs to what of the other: steps by number, programs and annotations by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.compare.measures import judged, paired, way_of
from tb_xla_insights.compare.session_totals import Row, SessionTotals
from tb_xla_insights.compare.significance import PermutationTest

if TYPE_CHECKING:
    from tb_xla_insights.schema.compare import (
        ComparedAnnotation,
        ComparedCompiles,
        ComparedGaps,
        ComparedProgram,
        ComparedSteps,
        StepPair,
    )
    from tb_xla_insights.schema.differences import GapClass

_NUMBER = re.compile(r"[._]\d+$")
"""What PyTorch/XLA puts behind a program's name: the size of its graph."""


def steps(a: SessionTotals, b: SessionTotals) -> ComparedSteps:
    """Steps by number where both sessions have numbers in common, else in order.

    `by` is `number`, `order` or None; `only_a` and `only_b` count the steps that have no partner.
    """
    numbered = [
        {step["number"]: step for step in side.steps if step["number"] is not None} for side in (a, b)
    ]
    common = [number for number in numbered[0] if number in numbered[1]]
    pairs = [(numbered[0][it], numbered[1][it]) for it in common] or list(zip(a.steps, b.steps, strict=False))
    rows: list[StepPair] = [
        {
            "a": one["index"], "b": other["index"], "a_number": one["number"], "b_number": other["number"],
            **paired(one["duration_ps"], other["duration_ps"]),
            "device": paired(one["device_busy_ps"], other["device_busy_ps"]),
            "executions": [one["executions"], other["executions"]],
        }
        for one, other in pairs
    ]  # fmt: skip
    return {
        "by": ("number" if common else "order") if rows else None,
        "rows": rows,
        "only_a": len(a.steps) - len(rows),
        "only_b": len(b.steps) - len(rows),
    }


def annotated(a: SessionTotals, b: SessionTotals, test: PermutationTest) -> list[ComparedAnnotation]:
    """Annotations by path, in the order of A, then what only B has; `phase` marks the children of a step's annotation.

    `host` and `device` are times per step (of the whole capture where there are no steps). Host times of phases are
    judged; those of other annotations have no verdict, and device times have no value per step.
    """
    way = way_of(a, b)
    trees = [{row["path"]: row for row in side.report["annotations"]} for side in (a, b)]
    rows: list[ComparedAnnotation] = []
    for path in {**trees[0], **trees[1]}:
        one, other = (tree.get(path) for tree in trees)
        host, device = zip(_each(a, one), _each(b, other), strict=True)
        phase = path.count("/") == 1
        tested = None
        if phase and one and other and a.steps and b.steps:
            tested = test.of_means(a.annotation_times(path), b.annotation_times(path))
        rows.append(
            {
                "path": path,
                "phase": phase,
                "a": one,
                "b": other,
                "host": judged(*host, way, tested),
                "device": paired(*device),
            }
        )
    return rows


def _each(side: SessionTotals, row: Row | None) -> tuple[int | None, int | None]:
    """Host and device time per step; the latter by the mean of an annotation, as it may come after its step."""
    if row is None:
        return None, None
    (host_ps, count), steps = side.annotated.get(row["path"], (0, 0)), max(1, len(side.steps))
    device = round(row["device_ps"] / row["count"] * count / steps) if row["count"] else None
    return round(host_ps / steps), device


def programs(a: SessionTotals, b: SessionTotals) -> list[ComparedProgram]:
    """Programs, those with most device time first. `match` is `name`; `base` where the names differ only in the number
    behind them and no other program of either session is called so; None where a program is in one session only.

    `a` and `b` are totals; `host`, `device`, `queue` and `overhead` times per run.
    """
    tables = [a.programs, b.programs]
    only = [[name for name in table if name not in other] for table, other in (tables, tables[::-1])]
    bases = [_unique(names) for names in only]
    renamed = {bases[0][base]: bases[1][base] for base in bases[0] if base in bases[1]}
    taken = set(renamed.values())
    rows: list[ComparedProgram] = []
    for name in [*tables[0], *(name for name in only[1] if name not in taken)]:
        second = renamed.get(name, name)
        one, other = tables[0].get(name), tables[1].get(second)
        known = tables[0].get(name) or tables[1][second]
        rows.append(
            {
                "program": name,
                "program_b": second if other else None,
                "match": "base" if name in renamed else "name" if one and other else None,
                "kind": known["kind"],
                "a": one,
                "b": other,
                "host": paired(_run(one, "host_ps"), _run(other, "host_ps")),
                "device": paired(_run(one, "device_ps"), _run(other, "device_ps")),
                "queue": paired(_run(one, "queue_ps"), _run(other, "queue_ps")),
                "overhead": paired(_run(one, "overhead_ps"), _run(other, "overhead_ps")),
            }
        )
    return sorted(rows, key=lambda row: -max(side["device_ps"] for side in (row["a"], row["b"]) if side))


def _unique(names: Iterable[str]) -> dict[str, str]:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_NUMBER.sub("", name), []).append(name)
    return {base: its[0] for base, its in groups.items() if len(its) == 1}


def _run(row: Mapping[str, Any] | None, key: str) -> int | None:
    return round(row[key] / row["count"]) if row else None


def gaps(a: SessionTotals, b: SessionTotals) -> ComparedGaps:
    """Idle time per step and core: `idle` all of it, `classes` what the host did meanwhile, `small` in gaps under
    10 us; None where a session has no steps, or no devices that recorded work. `count`: how many gaps there were."""
    one, other = (side.in_steps.get("by_class_ps", {}) for side in (a, b))
    names = [name for name in CLASSES if name in one or name in other]
    rows: list[GapClass] = [
        {
            "class": name,
            **paired(one.get(name, 0) if one else None, other.get(name, 0) if other else None),
        }
        for name in names
    ]
    return {
        "count": [side.report["gaps"]["count"] for side in (a, b)],
        "idle": paired(a.in_steps.get("idle_ps"), b.in_steps.get("idle_ps")),
        "classes": sorted(rows, key=lambda row: -max(row["a_ps"] or 0, row["b_ps"] or 0)),
        "small": paired(a.in_steps.get("small_ps"), b.in_steps.get("small_ps")),
    }


def compiles(a: SessionTotals, b: SessionTotals) -> list[ComparedCompiles]:
    """Compilations by module, with number and time; those that took longest first."""
    rows: dict[str, dict[str, Any]] = {}
    for which, side in (("a", a), ("b", b)):
        for compile_ in side.report["compiles"]:
            name = compile_["module"] or compile_["graph"] or "unknown graph"
            row = rows.setdefault(name, {"module": name, "a": [0, 0], "b": [0, 0]})
            row[which][0] += 1
            row[which][1] += compile_["duration_ps"]
    return [
        {"module": name, "count": [row["a"][0], row["b"][0]], **paired(row["a"][1], row["b"][1])}
        for name, row in sorted(rows.items(), key=lambda it: -max(it[1]["a"][1], it[1]["b"][1]))
    ]
