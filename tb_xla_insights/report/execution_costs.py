"""The costs of executions per run, per step and core, and in total; what they say in words, and what fewer executions
would save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tb_xla_insights.columns.merge import merged_row
from tb_xla_insights.report.launch_rows import mean_times
from tb_xla_insights.report.launch_text import fixed_cost_text
from tb_xla_insights.schema.common import Sums
from tb_xla_insights.schema.launches import known_runs
from tb_xla_insights.text import units
from tb_xla_insights.text.english import plural

if TYPE_CHECKING:
    from tb_xla_insights.schema.executions_route import (
        Costs,
        CostsByBasis,
        ExecutionRow,
        ExecutionSums,
        Saving,
    )
    from tb_xla_insights.schema.launches import FixedCost

Row = Mapping[str, Any]

_PARTS: tuple[Literal["device_ps", "queue_ps", "overhead_ps"], ...] = ("device_ps", "queue_ps", "overhead_ps")
"""The parts of host time."""

_COMPARED: tuple[Literal["overhead_ps", "device_ps"], ...] = ("overhead_ps", "device_ps")

_MAX_RUNS_NOT_WORTH_MERGING = 1.5
"""With at most this many runs per step and core, there is hardly anything to merge."""


def execution_sums(programs: Sequence[Row], core_steps: int | None) -> ExecutionSums:
    """The sums of programs, each a row of the report's `programs` with `per_step`. `core_steps`: whole steps times
    cores; None without steps."""
    costs, sums = costs_by_basis(programs, core_steps), merged_row(Sums, programs)
    overhead_ps, host_ps = costs["run"]["overhead_ps"], costs["run"]["host_ps"]
    return {
        "programs": len(programs),
        "launches": sums["launches"],
        "count": sums["count"],
        "per_step": sum(row["per_step"] for row in programs),
        "costs": costs,
        "overhead_share": overhead_ps / host_ps if overhead_ps is not None and host_ps else None,
    }


def costs_by_basis(programs: Sequence[Row], core_steps: int | None) -> CostsByBasis:
    """The costs of these programs together. In means, the queue time and overhead of a run whose launch is not known
    are taken to be the mean of its program's other runs; totals lack them."""
    mean_runs = [{**row, **mean_times(row, known_runs(row))} for row in programs]
    is_known = any(run["host_ps"] is not None for run in mean_runs)
    total = merged_row(Sums, programs)

    def sum_ps(key: str, weight: str) -> float:
        return float(sum((run[key] or 0) * run[weight] for run in mean_runs))

    def mean_ps(key: str) -> float:
        runs: int = sum(run["count"] for run in mean_runs if run[key] is not None)
        return sum_ps(key, "count") / max(1, runs)

    return {
        "run": _costs(*(round(mean_ps(key)) for key in _PARTS), is_known=is_known),
        "step": _costs(*(round(sum_ps(key, "per_step")) for key in _PARTS), is_known=is_known)
        if core_steps
        else None,
        "total": _costs(*(total[key] for key in _PARTS), is_known=is_known),
    }


def _costs(device_ps: int, queue_ps: int, overhead_ps: int, *, is_known: bool) -> Costs:
    """`is_known`: whether any launch is."""
    if not is_known:
        return {"host_ps": None, "device_ps": device_ps, "queue_ps": None, "overhead_ps": None}
    return {
        "host_ps": device_ps + queue_ps + overhead_ps,
        "device_ps": device_ps,
        "queue_ps": queue_ps,
        "overhead_ps": overhead_ps,
    }


def reading_text(programs: Sequence[ExecutionRow], fixed: FixedCost | None, core_steps: int | None) -> str:
    """What the costs of the programs say."""
    launched = _launched(programs)
    sentences = []
    if len(launched) > 1:
        overhead, device = (_range_text([_run_ps(row, key) for row in launched]) for key in _COMPARED)
        sentences.append(
            f"Depending on the program, the mean overhead of a run is {overhead}, for device runs of {device}."
        )
    if fixed:
        sentences.append(fixed_cost_text(fixed))
    if small := _small(launched):
        costs = _step_costs(small, core_steps)
        overhead, device = units.brief_times(*(costs[key] or 0 for key in _COMPARED))
        basis = "per step and core " if core_steps else ""
        sentences.append(
            f"{plural(len(small), 'program')} {'takes' if len(small) == 1 else 'take'} {overhead} of overhead {basis}"
            f"for device runs of {device}: {_merge_advice(small)}."
        )
    if 2 * sum(row["queue_ps"] for row in launched) > sum(row["host_ps"] for row in launched):
        sentences.append("Most host time is queue time: the host runs ahead of the device, as it should.")
    if sentences:
        return " ".join(sentences)
    if launched:
        return "On average, a run takes at least as long as its overhead: nothing to gain by merging."
    return "The launches of these runs are unknown, and so is their overhead." if programs else ""


def savings(
    programs: Sequence[ExecutionRow], fixed: FixedCost | None, core_steps: int | None
) -> list[Saving]:
    """The overhead of a step on a core, now and without the small programs; and with all work in one execution, whose
    overhead follows from `fixed`. Without steps, the overhead of the session, in the first case only."""
    launched = _launched(programs)
    small = _small(launched)
    costs = _step_costs(launched, core_steps)
    now_ps = costs["overhead_ps"] or 0
    rows: list[Saving] = []
    if small and len(small) < len(launched):
        name = "small program" if len(small) == 1 else f"{len(small)} small programs"
        then_ps = now_ps - (_step_costs(small, core_steps)["overhead_ps"] or 0)
        rows.append({"name": f"without the {name}", "now_ps": now_ps, "then_ps": then_ps})
    if fixed and core_steps and sum(row["per_step"] for row in launched) > _MAX_RUNS_NOT_WORTH_MERGING:
        merged_ps = round(fixed["fixed_ps"] + fixed["slope"] * costs["device_ps"])
        if merged_ps < now_ps:
            rows.append({"name": "all work in one execution", "now_ps": now_ps, "then_ps": merged_ps})
    return rows


def _launched(programs: Sequence[ExecutionRow]) -> list[ExecutionRow]:
    """The programs with a run whose launch is known."""
    return [row for row in programs if known_runs(row)]


def _small(programs: Sequence[ExecutionRow]) -> list[ExecutionRow]:
    """The programs whose mean run takes less time than its overhead."""
    return [row for row in programs if _run_ps(row, "device_ps") < _run_ps(row, "overhead_ps")]


def _run_ps(program: ExecutionRow, key: Literal["overhead_ps", "device_ps"]) -> int:
    return program["costs"]["run"][key] or 0


def _step_costs(programs: Sequence[ExecutionRow], core_steps: int | None) -> Costs:
    """Per step and core; in total without steps."""
    costs = costs_by_basis(programs, core_steps)
    return costs["step"] or costs["total"]


def _range_text(times_ps: Sequence[int]) -> str:
    """`1.81 – 4.28 ms`."""
    return units.brief_range(min(times_ps), max(times_ps), joint="–")


def _merge_advice(programs: Sequence[ExecutionRow]) -> str:
    """The advice on small programs."""
    pronoun, syncs = (
        ("it", "the sync that launches it") if len(programs) == 1 else ("them", "the syncs that launch them")
    )
    if any(row["kind"] == "lazy" for row in programs):
        return f"merge {pronoun} with others, or avoid {syncs}"
    return f"do more work per launch, or merge {pronoun} with others"
