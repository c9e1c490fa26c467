"""Descriptions of what is new in a compiled graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tb_xla_insights.analysis.compiles.graph_diff import GraphDiff, Nearest
from tb_xla_insights.analysis.compiles.parameter_diff import ParameterDifference
from tb_xla_insights.text.english import join_words
from tb_xla_insights.text.units import count

_MAX_CHANGES = 2
_MAX_INDICES = 3


def difference_text(diff: GraphDiff) -> str | None:
    """Returns, for example, `s64[4,16] became s64[4,24] (parameters 12 and 17), 2 of 20 parameters differ from
    SyncTensorsGraph.603(0)`; None if the graph is unknown."""
    if diff.nearest is None:
        return "no earlier graph is similar" if diff.change == "other_graph" else None
    nearest = f"{diff.nearest.module}({diff.nearest.program_id})"
    differences, equal_count = diff.nearest.differences, diff.nearest.equal_count
    if diff.change == "same_hlo":
        return f"the HLO is that of {nearest}"
    if diff.change == "placement":
        return f"only the placement of arrays differs from {nearest}"
    if diff.change == "constants":
        return f"only values of constants differ from {nearest}"
    if diff.change == "slices":
        return f"only bounds of slices differ from {nearest}: {slices_text(diff.nearest)}"
    if diff.change == "code":
        return f"the code differs from {nearest}, the parameters do not"
    proportion = f"{count(len(differences))} of {count(len(differences) + equal_count)} parameters"
    verb = "differs" if len(differences) == 1 else "differ"
    return f"{changes_text(differences)}, {proportion} {verb} from {nearest}"


def changes_text(differences: list[ParameterDifference]) -> str:
    """Returns, for example, `s64[4,16] became s64[4,24] (parameters 12 and 17), f32[8] is new (parameter 3)`; the
    change that most parameters have in common comes first."""
    indices: dict[tuple[str | None, str | None], list[int]] = defaultdict(list)
    for difference in differences:
        indices[difference.before, difference.after].append(difference.index)
    groups = sorted(indices.items(), key=lambda group: (-len(group[1]), group[1]))
    texts = [f"{_change_text(*shapes)} ({_indices_text(group)})" for shapes, group in groups[:_MAX_CHANGES]]
    more = sum(len(group) for _, group in groups[_MAX_CHANGES:])
    return ", ".join(texts) + (f", and {count(more)} more" if more else "")


def slices_text(nearest: Nearest) -> str:
    """Returns, for example, `[0:8,26:27] became [0:8,27:28]`, and the number of other slices that differ; empty if no
    bounds of slices are known."""
    if not nearest.slices:
        return ""
    before, after = nearest.slices[0]
    more = len(nearest.slices) - 1
    return f"{before} became {after}" + (f", and {count(more)} more" if more else "")


def _change_text(before: str | None, after: str | None) -> str:
    if before is None:
        return f"{after} is new"
    return f"{before} is gone" if after is None else f"{before} became {after}"


def _indices_text(indices: list[int]) -> str:
    if len(indices) > _MAX_INDICES:
        return f"{count(len(indices))} parameters"
    return f"parameter{'s' if len(indices) > 1 else ''} {join_words([*map(str, indices)])}"


def types_text(shapes: Iterable[tuple[str | None, str | None]]) -> str:
    """Returns, for example, `f32 became f16`, from shapes before and after; empty if no type differs."""
    for before, after in shapes:
        types = [(shape or "").partition("[")[0] for shape in (before, after)]
        if all(types) and types[0] != types[1]:
            return f"{types[0]} became {types[1]}"
    return ""
