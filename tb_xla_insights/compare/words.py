"""What a comparison says in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tb_xla_insights.catalog.classes import label
from tb_xla_insights.compare.chance import FEW
from tb_xla_insights.compare.side import Side
from tb_xla_insights.units import THIN, share, time_text


def times(ratio: float, decimals: int = 2) -> str:
    """`1.22×`"""
    return f"{ratio:.{decimals}f}×"


def verdict(measures: Sequence[Mapping[str, Any]], classes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """One or two sentences on the steps (`text`), and whether B's are `better`, `worse`, the `same`, or apart by no
    more than `chance` (`verdict`; `unknown` without steps on both sides)."""
    median = measures[0]
    a, b = median["a_ps"], median["b_ps"]
    if not a or not b:
        whose = "Neither session has" if not a and not b else f"{'A' if not a else 'B'} has no"
        return {"text": f"{whose} steps to compare; totals stand side by side.", "verdict": "unknown"}
    if median["verdict"] == "same":
        text = f"B’s steps are as long as A’s at the median: {time_text(b, 1)} against {time_text(a, 1)}."
    elif median["verdict"] == "chance":
        text = (
            f"B’s steps cannot be told from A’s: {time_text(b, 1)} against {time_text(a, 1)} may be chance."
        )
    else:
        more = median["difference_ps"] > 0
        ratio, how = (b / a, "slower") if more else (a / b, "faster")
        text = f"B’s steps are {times(ratio)} {how} at the median: {_more(median['difference_ps'])} per step."
    told_by = [row for row in classes if 20 * abs(row["difference_ps"]) > max(a, b)]
    why = [row for row in told_by if row["verdict"] not in ("same", "chance")][:3]
    parts = [f"{_more(row['difference_ps'])} {label(row['class'])}" for row in why]
    told = f" The host has {_list(parts)} per step, in the mean." if parts else ""
    return {"text": text + told, "verdict": median["verdict"]}


def _more(ps: int) -> str:
    return f"{time_text(abs(ps), 1)} {'more' if ps > 0 else 'less'}"


def _list(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def chance_text(a: Side, b: Side, by_chance: float | None) -> str | None:
    """How many steps are behind the comparison, and what may be chance; None where a session has no steps."""
    counts = {"A": len(a.steps), "B": len(b.steps)}
    if not all(counts.values()):
        return None
    few = [f"{_steps(count)} in {name}" for name, count in counts.items() if count < FEW]
    if few and by_chance is None:
        return f"{_list(few)}: how much steps differ by chance is not known."
    size = "of any size" if (by_chance or 0) >= 1 else f"below {share(by_chance).replace('.0', '')}"
    below = f"differences {size} may be chance."
    behind = _list(few) if few else f"{_steps(counts['A'])} in A and {counts['B']} in B"
    return f"{behind}: {below}"


def _steps(count: int) -> str:
    return f"{count:,}{THIN}{'step' if count == 1 else 'steps'}".replace(",", THIN)
