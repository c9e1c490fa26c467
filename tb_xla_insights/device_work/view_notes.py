"""The notes of the view Device: which ops have no FLOP count, and which the roofline does not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.device_work.view_verdict import Chosen
from tb_xla_insights.text.english import join_words, plural
from tb_xla_insights.text.units import share, time_text

if TYPE_CHECKING:
    from tb_xla_insights.schema.device_route import WorkNotes

Row = Mapping[str, Any]

_MAX_NAMED_OPS = 3

_FLOP_ADVICE = (
    "Your own kernel can state its cost: pl.pallas_call(…, cost_estimate=pl.CostEstimate(flops=…, "
    "transcendentals=…, bytes_accessed=…)). The compiler writes it into the custom call, so the next capture has it."
)


def work_notes(chosen: Chosen, ops: Sequence[Row], work: Row) -> WorkNotes:
    """The notes on the listed ops. `work`: the report's `device_work` of all chosen ones."""
    total, drawable = work["total"], [row for row in ops if _is_drawable(row)]
    known_ps, unknown_ps = total["flops_known_ps"], total["work_ps"] - total["flops_known_ps"]

    def part(time_ps: int) -> str:
        return share(time_ps / total["self_ps"] if total["self_ps"] else None)

    def time_and_share(time_ps: int) -> str:
        return f"{time_text(round(time_ps / max(1, chosen.core_steps)))}, {part(time_ps)}"

    not_counted = not_work = not_drawn = None
    if known_ps and unknown_ps and any(_has_rates(row) for row in ops):
        names = [row["op"] for row in work["ops_without_flops"]]
        subject, is_plural = _subject(names)
        have, are, count = ("have", "are", "count") if is_plural else ("has", "is", "counts")
        picture = f", {are} not in the picture," if drawable else ""
        not_counted = (
            f"{subject} {have} no FLOP count ({time_and_share(unknown_ps)}){picture} and {count} as 0, so MFU is a "
            "lower bound."
        )
    if other_ps := total["self_ps"] - total["work_ps"]:
        times = time_and_share(other_ps)
        not_work = f"Ops that are not work, such as collectives and waits, compute nothing ({times})."
    stated = [row for row in ops if row["kind"] == "work" and row["flops_source"] == "kernel"]
    undrawn = [
        row for row in ops if row["kind"] == "work" and row["flops"] is not None and not _is_drawable(row)
    ]
    if drawable and undrawn:
        not_drawn = (
            f"Of the {part(known_ps)} with a FLOP count, {plural(len(undrawn), 'op')} with 0 FLOPs "
            "or without HBM traffic, such as copies, cannot be drawn "
            f"({time_and_share(sum(row['self_ps'] for row in undrawn))})."
        )
    return {
        "not_counted": not_counted,
        "flop_advice": _FLOP_ADVICE if not_counted and _has_custom_calls(ops, work["peaks"]) else None,
        "stated": _stated(stated, time_and_share(sum(row["self_ps"] for row in stated))) if stated else None,
        "not_work": not_work,
        "not_drawn": not_drawn,
        "no_picture": None if drawable else _no_picture(chosen, ops),
    }


def _stated(ops: Sequence[Row], time: str) -> str:
    subject, is_plural = _subject([row["op"] for row in ops])
    verb, owner = ("have", "their kernels state") if is_plural else ("has", "its kernel states")
    return f"{subject} ({time}) {verb} the FLOPs that {owner}: an estimate, not a count."


def _subject(names: Sequence[str]) -> tuple[str, bool]:
    """Ops as the subject of a sentence, and whether it is plural. Ops of several programs may share a name."""
    named = [*dict.fromkeys(names)][:_MAX_NAMED_OPS]
    more = sum(name not in named for name in names)
    if more:
        return f"{', '.join(named)} and {plural(more, 'more op')}", True
    return join_words(named), len(named) > 1


def _is_drawable(row: Row) -> bool:
    """Whether an op has FLOPs and memory traffic, and so a dot in the roofline."""
    return bool(row["kind"] == "work" and row["flops"] and row["hbm_bytes"] and row["self_ps"])


def _has_rates(row: Row) -> bool:
    return bool(row["flops_share"] or row["bytes_share"] or _is_drawable(row))


def _has_custom_calls(ops: Sequence[Row], peaks: Row) -> bool:
    """Whether there are custom calls without a FLOP count on TPUs."""
    return all(device["kind"].startswith("TPU") for device in peaks["devices"]) and any(
        row["kind"] == "work" and row["flops"] is None and row["category"].startswith("custom-call")
        for row in ops
    )


def _no_picture(chosen: Chosen, ops: Sequence[Row]) -> str:
    """Why no op can be drawn."""
    if not ops:
        return "There is no op to draw."
    subject = "The capture has" if chosen.category is None else "These ops have"
    if all(row["hbm_bytes"] is None for row in ops):
        if any(row["flops"] for row in ops):
            return f"{subject} no byte counts, so FLOP per byte is unknown."
        return f"{subject} no FLOP or byte counts."
    if all(row["kind"] != "work" for row in ops):
        return "None of these ops computes: they exchange data, move it or wait."
    if any(row["flops"] is not None for row in ops):
        return "None of these ops has both FLOPs and HBM traffic."
    return f"{subject} no FLOP counts."
