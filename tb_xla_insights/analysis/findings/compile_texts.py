"""The sentences about graphs that are compiled again: when, how long, and what is new in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tb_xla_insights.analysis.compiles.calls import BEGUN_BEFORE, UNFINISHED
from tb_xla_insights.analysis.compiles.graph_diff import Change, GraphDiff
from tb_xla_insights.analysis.compiles.graph_words import changes_text, slices_text
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import first_fitting_title
from tb_xla_insights.analysis.findings.locations import steps_text
from tb_xla_insights.text.english import join_words, plural
from tb_xla_insights.text.units import brief_time

_CHANGE_CLAUSES: dict[Change, str] = {
    "same_hlo": "the program is the same as an earlier one (its HLO)",
    "placement": "only the placement of arrays differs from an earlier program",
    "constants": "only values of constants differ from an earlier program",
    "slices": "only bounds of slices differ from an earlier program",
    "code": "the parameters are those of an earlier program, the code is not",
    "grows": "a parameter has grown",
    "shrinks": "a parameter is smaller",
    "shape": "a parameter has another shape",
    "dtype": "a parameter has another type",
    "parameters": "there are other parameters",
    "fewer_parameters": "the parameters are those of an earlier program, but some are gone",
    "other_graph": "no earlier graph is similar",
}
"""The change that caused a compilation, as a clause that follows `in 4 of them`."""

_CUT_PHRASES = {
    BEGUN_BEFORE: "at the capture's start",
    UNFINISHED: "at the capture's end",
    BEGUN_BEFORE | UNFINISHED: "all through the capture",
}


@dataclass(frozen=True)
class Compilation:
    """A compilation after warm-up. `cut`: an index into CUTS; `debug_cause`: see `Sidecars.causes`."""

    start_ps: int
    end_ps: int
    cut: int
    in_step: bool
    module: str | None
    graph: str | None
    annotation: str | None
    debug_cause: dict[str, Any]
    diff: GraphDiff


def duration_text(compilations: Sequence[Compilation], total_ps: int, where: str) -> str:
    """`compiling takes 318 ms`, `5 compilations in steps 6 and 9 take 7.71 s (1 unfinished)`."""
    subject = f"{plural(len(compilations), 'compilation')} {where}".rstrip()
    verb = "takes" if len(compilations) == 1 else "take"
    clause = "compiling takes" if subject == "1 compilation" else f"{subject} {verb}"
    return f"{clause} {brief_time(total_ps)}{_cut_text(compilations)}"


def where_text(compilations: Sequence[Compilation], numbers: Sequence[int], facts: Facts) -> str:
    """`in step 9`, `in steps 6, 9 and 12, outside of whole steps and at the capture's end`."""
    phrases = [steps_text(numbers, facts.step_count)] if numbers else []
    outside = [compilation for compilation in compilations if not compilation.in_step]
    phrases += (
        ["outside of whole steps" if facts.step_count else "outside of steps"]
        if any(not compilation.cut for compilation in outside)
        else []
    )
    phrases += [
        _CUT_PHRASES[cut]
        for cut in sorted(_CUT_PHRASES)
        if any(compilation.cut == cut for compilation in outside)
    ]
    return join_words(phrases)


def title_text(compilations: Sequence[Compilation], where: str) -> str:
    if len(compilations) > 1:
        title = f"{len(compilations)} compilations after warm-up"
        return first_fitting_title(f"{title} {where}", title)
    name = compilations[0].module or "A graph"
    return first_fitting_title(f"{name} is compiled {where}", f"A graph is compiled {where}")


def longest_of_main_change(compilations: Sequence[Compilation]) -> Compilation | None:
    """The longest compilation with the change that takes most time in total; None if no change is known."""
    times: Counter[Change] = Counter()
    for compilation in compilations:
        if compilation.diff.change:
            times[compilation.diff.change] += compilation.end_ps - compilation.start_ps
    if not times:
        return None
    [(change, _)] = times.most_common(1)
    with_change = (compilation for compilation in compilations if compilation.diff.change == change)
    return max(with_change, key=lambda compilation: compilation.end_ps - compilation.start_ps)


def change_text(compilations: Sequence[Compilation], example: Compilation | None) -> str:
    """What is new in the graphs, as a clause; empty if unknown. `example`: see `longest_of_main_change`."""
    if example is None or example.diff.change is None:
        return ""
    clause = _CHANGE_CLAUSES[example.diff.change]
    with_change = sum(compilation.diff.change == example.diff.change for compilation in compilations)
    nearest = example.diff.nearest
    differences = changes_text(nearest.differences) or slices_text(nearest) if nearest else ""
    if len(compilations) == 1:
        return f"{clause}{f': {differences}' if differences else ''}"
    longest = f": in the longest, {differences}" if differences else ""
    return f"in {'all' if with_change == len(compilations) else with_change} of them {clause}{longest}"


def _cut_text(compilations: Sequence[Compilation]) -> str:
    """` (1 begun before the capture, 1 unfinished)`; empty if the capture cuts none of them."""
    descriptions = ((BEGUN_BEFORE, "begun before the capture"), (UNFINISHED, "unfinished"))
    counts = [
        (sum(bool(compilation.cut & bit) for compilation in compilations), text) for bit, text in descriptions
    ]
    parts = [text if len(compilations) == 1 else f"{count} {text}" for count, text in counts if count]
    return f" ({', '.join(parts)})" if parts else ""
