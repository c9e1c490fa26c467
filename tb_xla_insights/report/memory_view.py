"""The document of `data/memory`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_xla_insights.report.memory_text import memory_details, memory_headline, waited_for_memory_ps
from tb_xla_insights.report.memory_tree import memory_tree
from tb_xla_insights.report.session_view import SessionView

if TYPE_CHECKING:
    from tb_xla_insights.schema.memory_route import MemoryAnswer, MemoryProgram


def memory(session: SessionView, program: str | None) -> MemoryAnswer:
    """What fills the memory at the peak of a program; None: of the one with the highest peak."""
    rows = session.report["memory"]
    runs = {row["program"]: row["count"] for row in session.report["programs"]}
    shown = next((row for row in rows if row["program"] == program), rows[0] if rows else None)
    tree = memory_tree(shown["by_annotation"]) if shown else []
    # Which program needed the room is not recorded: the one with the highest peak needs most.
    waited_ps = waited_for_memory_ps(session.report) if shown in rows[:1] else 0
    programs: list[MemoryProgram] = []
    for row in rows:
        sums = {name: value for name, value in row.items() if name != "by_annotation"}
        programs.append({**sums, "runs": runs.get(row["program"], 0)})  # type: ignore[typeddict-item]
    return {
        "headline": memory_headline(shown, tree, waited_ps) if shown else "",
        "details": memory_details(shown, tree, waited_ps) if shown else "",
        "programs": programs,
        "program": shown["program"] if shown else None,
        "stale": program is not None and (shown is None or shown["program"] != program),
        "tree": tree,
    }
