"""What is new in a compiled graph, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tb_xla_insights.analysis.compiles.graph_diff import Difference, GraphDiff
from tb_xla_insights.units import count

_MOST_PAIRS = 2
_MOST_INDICES = 3


def difference_text(diff: GraphDiff) -> str | None:
    """`s64[4,16] became s64[4,24] (parameters 12 and 17), 2 of 20 parameters differ from SyncTensorsGraph.603(0)`; None
    where nothing is known of the graph."""
    if diff.nearest is None:
        return "no graph that was there before is like it" if diff.change == "other_graph" else None
    nearest = f"{diff.nearest.module}({diff.nearest.program_id})"
    differ, same = diff.nearest.differences, diff.nearest.same
    if diff.change == "same_hlo":
        return f"the HLO is that of {nearest}"
    if diff.change == "constants":
        return f"only values of constants differ from {nearest}"
    if diff.change == "code":
        return f"the code differs from {nearest}, the parameters do not"
    many = f"{count(len(differ))} of {count(len(differ) + same)} parameters"
    return f"{changes_text(differ)}, {many} {'differs' if len(differ) == 1 else 'differ'} from {nearest}"


def changes_text(differences: list[Difference]) -> str:
    """`s64[4,16] became s64[4,24] (parameters 12 and 17), f32[8] is new (parameter 3)`; what most parameters have in
    common comes first."""
    places: dict[tuple[str | None, str | None], list[int]] = defaultdict(list)
    for it in differences:
        places[it.before, it.after].append(it.index)
    pairs = sorted(places.items(), key=lambda pair: (-len(pair[1]), pair[1]))
    told = [f"{_change(*pair)} ({_indices(its)})" for pair, its in pairs[:_MOST_PAIRS]]
    more = sum(len(its) for _, its in pairs[_MOST_PAIRS:])
    return ", ".join(told) + (f", and {count(more)} more" if more else "")


def _change(before: str | None, after: str | None) -> str:
    if before is None:
        return f"{after} is new"
    return f"{before} is gone" if after is None else f"{before} became {after}"


def _indices(its: list[int]) -> str:
    if len(its) > _MOST_INDICES:
        return f"{count(len(its))} parameters"
    if len(its) == 1:
        return f"parameter {its[0]}"
    return f"parameters {', '.join(map(str, its[:-1]))} and {its[-1]}"


def types_text(shapes: Iterable[tuple[str | None, str | None]]) -> str:
    """`f32 became f16`, from shapes before and after; empty where no type differs."""
    for before, after in shapes:
        types = [(shape or "").partition("[")[0] for shape in (before, after)]
        if all(types) and types[0] != types[1]:
            return f"{types[0]} became {types[1]}"
    return ""
