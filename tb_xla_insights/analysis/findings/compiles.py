"""The finding about graphs that are compiled again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tb_xla_insights.analysis.compiles.calls import BEGUN_BEFORE, UNFINISHED
from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.compiles.graph_diff import Change, GraphDiff, find_graph_diffs
from tb_xla_insights.analysis.compiles.graph_words import changes_text, difference_text, types_text
from tb_xla_insights.analysis.compiles.repeated_extractions import find_repeated_extractions
from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    Window,
    first_fitting_title,
    join_words,
    longest_windows,
    lower_first,
    most_common,
    plural,
    step_names,
    step_paths,
    steps_text,
)
from tb_xla_insights.analysis.findings.compile_advice import (
    CAPTURE_AGAIN,
    advise_change,
    advise_unknown_change,
    find_tracer,
    place_text,
)
from tb_xla_insights.analysis.findings.compile_costs import (
    BUILDS,
    calls_that_compile,
    known_elsewhere,
    slow_first_runs,
)
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_path
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.time.intervals import union, union_all
from tb_xla_insights.trace.model import Int64
from tb_xla_insights.units import brief_time

_NEW: dict[Change, str] = {
    "same_hlo": "the HLO is that of an earlier program",
    "constants": "only values of constants differ from an earlier program",
    "code": "the parameters are those of an earlier program, the code is not",
    "grows": "a parameter has grown",
    "shrinks": "a parameter is smaller",
    "shape": "a parameter has another shape",
    "dtype": "a parameter has another type",
    "parameters": "there are other parameters",
    "other_graph": "the graph is like none before",
}
"""What is new in a graph, after `In 4 of them`."""

_ALL = 0.995
"""Of a compilation's time: what rounds to all of it."""

_EDGES = {
    BEGUN_BEFORE: "at the capture's start",
    UNFINISHED: "at the capture's end",
    BEGUN_BEFORE | UNFINISHED: "all through the capture",
}


@dataclass(frozen=True)
class _Again:
    """A compilation after warm-up."""

    start_ps: int
    end_ps: int
    cut: int
    in_step: bool
    module: str | None
    graph: str | None
    place: str | None
    told: dict[str, Any]
    diff: GraphDiff


def recompilation(facts: Facts) -> Finding | None:
    """Compilations other than warm-up and those of `dynamo_recompilation`. They cost the time in which devices idle
    meanwhile."""
    trace, compiles = facts.trace, find_compilations(facts.trace)
    gave_up = any(guard.limit for guard in facts.beside.guards)
    again = np.flatnonzero(~compiles.warm_up & ~find_repeated_extractions(trace, gave_up).compiles)
    if not again.size:
        return None
    when = union(compiles.start_ps[again], compiles.end_ps[again])
    calls = union_all([when, calls_that_compile(trace, compiles.row[again])])
    taken = facts.ledger.take_within(BUILDS, calls)
    cost = int(taken.sum())
    slow, unknown = slow_first_runs(trace, compiles.end_ps[again])
    fix = Fix(BUILDS, windows=(calls.start_ps, calls.end_ps), device_ps=slow, unknown=unknown)
    steps = set(compiles.step[again].tolist()) - {-1}
    numbers = step_names(trace, steps)
    found = _compilations(facts, again.tolist())
    count, total = len(found), when.total_ps
    where = _where(found, numbers, facts)
    module = most_common(it.module for it in found)
    variants = _variants(facts, module)
    place = most_common(it.place for it in found)
    told = next((it.told for it in found if it.told), {})
    new = _main_change(found)
    brief = where if all(it.in_step or it.cut for it in found) else "after warm-up"
    title = _title(found, where)
    fix = known_elsewhere(fix) if len(numbers) <= 1 else fix
    detail = f"{_took(found, total, '' if where in title else where)}; {_idle_text(facts, taken, total)}"
    if len(fix.unknown):
        detail += ", and how long a later run of it takes is not known"
    detail += f".{_new_text(found, new)}"
    if new is None and variants > 1:
        detail += (
            f" {variants} graphs are called {module}, and no HLO is recorded that would tell them apart."
        )
    return Finding(
        "recompilation",
        title,
        f"a compile {brief}" if count in (1, len(numbers)) else f"{count} compiles {brief}",
        detail,
        _advice(facts, found, new, told, place, numbers, variants),
        cost,
        {
            "compiles": count,
            "compile_ps": total,
            "idle_ps": cost,
            "begun_before": sum(bool(it.cut & BEGUN_BEFORE) for it in found),
            "unfinished": sum(bool(it.cut & UNFINISHED) for it in found),
            "steps": numbers,
            "graphs": sorted({it.graph for it in found if it.graph}),
            "modules": sorted({it.module for it in found if it.module}),
            "variants": variants,
            "changes": dict(Counter(it.diff.change for it in found if it.diff.change).most_common()),
            "difference": difference_text(new.diff) if new else None,
            "annotation": place,
            "cause": told.get("cause"),
            "frame": told.get("frame"),
        },
        longest_windows(Window(it.start_ps, it.end_ps) for it in found),
        "once" if len(numbers) <= 1 else facts.recurs(steps),
        fix,
    )


def _took(found: Sequence[_Again], total_ps: int, where: str) -> str:
    """`Compiling takes 318 ms`, `5 compilations in steps 6 and 9 take 7.71 s (1 unfinished)`."""
    what = f"{plural(len(found), 'compilation')} {where}".rstrip()
    takes = "Compiling takes" if what == "1 compilation" else f"{what} take{'s' if len(found) == 1 else ''}"
    return f"{takes} {brief_time(total_ps)}{_cut_text(found)}"


def _idle_text(facts: Facts, taken: Int64, total_ps: int) -> str:
    if not taken.any():
        return "no device waits for it in its span"
    idle, core = facts.mean(taken), lower_first(facts.core)
    return f"{core} idles meanwhile" if idle.ps >= _ALL * total_ps else f"{core} idles for {idle} of it"


def _compilations(facts: Facts, numbers: Sequence[int]) -> list[_Again]:
    compiles, diffs = find_compilations(facts.trace), find_graph_diffs(facts.trace)
    return [
        _Again(
            int(compiles.start_ps[number]),
            int(compiles.end_ps[number]),
            int(compiles.cut[number]),
            bool(compiles.step[number] >= 0),
            compiles.module[number],
            compiles.graph(number),
            enclosing_path(facts.trace, int(compiles.annotation[number])),
            facts.beside.causes.get(compiles.graph_hash[number] or "", {}),
            diffs[number],
        )
        for number in numbers
    ]


def _where(found: Sequence[_Again], numbers: Sequence[int], facts: Facts) -> str:
    """`in step 9`, `in steps 6, 9 and 12, outside of whole steps and at the capture's end`."""
    places = [steps_text(numbers, facts.steps)] if numbers else []
    outside = [it for it in found if not it.in_step]
    places += (
        ["outside of whole steps" if facts.steps else "outside of steps"]
        if any(not it.cut for it in outside)
        else []
    )
    places += [_EDGES[cut] for cut in sorted(_EDGES) if any(it.cut == cut for it in outside)]
    return join_words(places)


def _title(found: Sequence[_Again], where: str) -> str:
    if len(found) > 1:
        many = f"{len(found)} compilations after warm-up"
        return first_fitting_title(f"{many} {where}", many)
    name = found[0].module or "A graph"
    return first_fitting_title(f"{name} is compiled {where}", f"A graph is compiled {where}")


def _main_change(found: Sequence[_Again]) -> _Again | None:
    """The longest compilation with the change that takes most time; None where none is known."""
    times: Counter[Change] = Counter()
    for it in found:
        if it.diff.change:
            times[it.diff.change] += it.end_ps - it.start_ps
    if not times:
        return None
    [(most, _)] = times.most_common(1)
    return max((it for it in found if it.diff.change == most), key=lambda it: it.end_ps - it.start_ps)


def _new_text(found: Sequence[_Again], new: _Again | None) -> str:
    """What is new in the graphs, as a sentence with a space before it."""
    if new is None or new.diff.change is None:
        return ""
    is_new, alike = _NEW[new.diff.change], sum(it.diff.change == new.diff.change for it in found)
    told = changes_text(new.diff.nearest.differences) if new.diff.nearest else ""
    if len(found) == 1:
        return f" {is_new[:1].upper()}{is_new[1:]}{f': {told}' if told else ''}."
    longest = f": in the longest, {told}" if told else ""
    return f" In {'all' if alike == len(found) else alike} of them {is_new}{longest}."


def _cut_text(found: Sequence[_Again]) -> str:
    """` (1 begun before the capture, 1 unfinished)`; empty where the capture cuts none."""
    cuts = ((BEGUN_BEFORE, "begun before the capture"), (UNFINISHED, "unfinished"))
    told = [(sum(bool(it.cut & bit) for it in found), what) for bit, what in cuts]
    parts = [what if len(found) == 1 else f"{many} {what}" for many, what in told if many]
    return f" ({', '.join(parts)})" if parts else ""


def _advice(
    facts: Facts,
    found: Sequence[_Again],
    new: _Again | None,
    told: dict[str, Any],
    place: str | None,
    numbers: Sequence[int],
    variants: int,
) -> str:
    # Where a step is left the whole graph runs: nothing there is of a shape.
    inside = None if place in step_paths(facts.trace) else place
    at = place_text(None if "StepTrace" in (told.get("cause") or "") else told.get("frame"), inside)
    if new is not None and new.diff.change is not None:
        differences = new.diff.nearest.differences if new.diff.nearest else ()
        types = types_text((it.before, it.after) for it in differences)
        dynamo = bool((find_launches(facts.trace).kind == DYNAMO_KIND).any())
        return advise_change(new.diff.change, find_tracer(dynamo, facts.framework), at, types)
    if all(it.cut for it in found):
        return CAPTURE_AGAIN
    return advise_unknown_change(at, f" of step {numbers[0]}" if len(numbers) == 1 else "", variants)


def _variants(facts: Facts, name: str | None) -> int:
    """The programs and graphs that have a module's name."""
    if name is None:
        return 0
    programs = {id_ for n, id_ in find_launches(facts.trace).programs if n == name and id_}
    compiles = find_compilations(facts.trace)
    compiled = {compiles.graph(it) for it in range(len(compiles)) if compiles.module[it] == name}
    return max(len(programs), len(compiled))
