"""The finding about graphs that are compiled again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tb_xla_insights.analysis.compiles.calls import BEGUN_BEFORE, UNFINISHED
from tb_xla_insights.analysis.compiles.compilations import find_compilations
from tb_xla_insights.analysis.compiles.graph_diff import find_graph_diffs
from tb_xla_insights.analysis.compiles.graph_words import (
    difference_text,
    types_text,
)
from tb_xla_insights.analysis.compiles.repeated_extractions import find_repeated_extractions
from tb_xla_insights.analysis.findings.compile_advice import (
    CAPTURE_AGAIN,
    advise_change,
    advise_unknown_change,
    find_tracer,
    location_text,
)
from tb_xla_insights.analysis.findings.compile_costs import (
    BUILDING_CLASSES,
    LATER_RUNS,
    calls_that_compile,
    slow_first_runs,
)
from tb_xla_insights.analysis.findings.compile_places import compiling_function
from tb_xla_insights.analysis.findings.compile_texts import (
    Compilation,
    change_text,
    duration_text,
    longest_of_main_change,
    title_text,
    where_text,
)
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import Finding, ShownWindow, longest_windows
from tb_xla_insights.analysis.findings.locations import most_common, step_numbers, step_paths
from tb_xla_insights.analysis.findings.logged_reasons import compilation_cause
from tb_xla_insights.analysis.host.enclosing_annotations import enclosing_path
from tb_xla_insights.analysis.launches.launches import DYNAMO_KIND, find_launches
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.time.intervals import union, union_all
from tb_xla_insights.arrays import Int64
from tb_xla_insights.text.english import Phrase, sentences

_NEARLY_ALL_SHARE = 0.995
"""The share of a compilation's time that rounds to all of it."""


def recompilation(facts: Facts) -> Finding | None:
    """Compilations after warm-up, except those of `dynamo_recompilation`. They cost the idle time of devices during
    them and the calls around them."""
    trace, compiles = facts.trace, find_compilations(facts.trace)
    gave_up = any(guard.limit for guard in facts.sidecars.guards)
    indices = np.flatnonzero(~compiles.warm_up & ~find_repeated_extractions(trace, gave_up).has_caused)
    if not indices.size:
        return None
    compile_intervals = union(compiles.start_ps[indices], compiles.end_ps[indices])
    compiling_calls = union_all([compile_intervals, calls_that_compile(trace, compiles.row[indices])])
    taken_ps = facts.ledger.take_within(BUILDING_CLASSES, compiling_calls)
    cost = int(taken_ps.sum())
    slow_first_ps, has_unknown_runs = slow_first_runs(trace, compiles.end_ps[indices])
    fix = Fix(
        BUILDING_CLASSES,
        windows=compiling_calls,
        device_ps=slow_first_ps,
    )
    steps = set(compiles.step[indices].tolist()) - {-1}
    numbers = step_numbers(trace, steps)
    compilations = _compilations(facts, indices.tolist())
    count, total = len(compilations), compile_intervals.total_ps
    where = where_text(compilations, numbers, facts)
    module = most_common(compilation.module for compilation in compilations)
    variants = _variants(facts, module)
    annotation = most_common(compilation.annotation for compilation in compilations)
    debug_cause = next(
        (compilation.debug_cause for compilation in compilations if compilation.debug_cause), {}
    )
    logged = debug_cause.get("frame")
    frame = None if logged else most_common(compiling_function(trace, row) for row in compiles.row[indices])
    example = longest_of_main_change(compilations)
    when = (
        where
        if all(compilation.in_step or compilation.cut for compilation in compilations)
        else "after warm-up"
    )
    is_one_each = count in (1, len(numbers))
    brief = f"a compilation {when}" if is_one_each else f"{count} compilations {when}"
    title = title_text(compilations, where)
    detail = (
        f"{duration_text(compilations, total, '' if where in title else where)}; "
        f"{_idle_text(facts, taken_ps, total)}"
    )
    if has_unknown_runs and len(numbers) > 1:
        detail += LATER_RUNS
    # The whole graph runs at the end of a step, so neither the step's marker nor its annotation locates the change.
    phase = None if annotation in step_paths(trace) else annotation
    is_at_marker = "StepTrace" in (debug_cause.get("cause") or "")
    location = location_text(None, None, phase) if is_at_marker else location_text(logged, frame, phase)
    is_indistinct = example is None and variants > 1
    return Finding(
        "recompilation",
        title,
        brief,
        sentences(
            detail,
            change_text(compilations, example),
            compilation_cause(facts, debug_cause),
            f"{variants} graphs are named {module}, and no HLO is recorded that would distinguish them"
            if is_indistinct
            else "",
        ),
        _advice(
            facts,
            compilations,
            example,
            location,
            numbers,
            variants,
        ),
        cost,
        {
            "compiles": count,
            "compile_ps": total,
            "idle_ps": cost,
            "begun_before": sum(bool(compilation.cut & BEGUN_BEFORE) for compilation in compilations),
            "unfinished": sum(bool(compilation.cut & UNFINISHED) for compilation in compilations),
            "steps": numbers,
            "graphs": sorted({compilation.graph for compilation in compilations if compilation.graph}),
            "modules": sorted({compilation.module for compilation in compilations if compilation.module}),
            "variants": variants,
            "changes": dict(
                Counter(
                    compilation.diff.change for compilation in compilations if compilation.diff.change
                ).most_common()
            ),
            "difference": difference_text(example.diff) if example else None,
            "annotation": annotation,
            "cause": debug_cause.get("cause"),
            "frame": frame.text if frame else logged,
        },
        longest_windows(
            ShownWindow(compilation.start_ps, compilation.end_ps) for compilation in compilations
        ),
        "once" if len(steps) == 1 or count == 1 else facts.frequency_of(steps),
        fix,
        waits_for=Phrase("a compilation", f" {when}") if count == 1 else Phrase("compilations"),
    )


def _idle_text(facts: Facts, taken_ps: Int64, total_ps: int) -> str:
    if not taken_ps.any():
        return "no device idles meanwhile within its span"
    idle, core = facts.mean_per_core(taken_ps), facts.core_subject
    return (
        f"{core} idles meanwhile"
        if idle.ps >= _NEARLY_ALL_SHARE * total_ps
        else f"{core} idles for {idle} of it"
    )


def _compilations(facts: Facts, indices: Sequence[int]) -> list[Compilation]:
    compiles, diffs = find_compilations(facts.trace), find_graph_diffs(facts.trace)
    causes = facts.compile_causes
    return [
        Compilation(
            int(compiles.start_ps[index]),
            int(compiles.end_ps[index]),
            int(compiles.cut[index]),
            bool(compiles.step[index] >= 0),
            compiles.module[index],
            compiles.graph(index),
            enclosing_path(facts.trace, int(compiles.annotation[index])),
            causes.get(compiles.graph_hash[index] or compiles.module[index] or "", {}),
            diffs[index],
        )
        for index in indices
    ]


def _advice(
    facts: Facts,
    compilations: Sequence[Compilation],
    example: Compilation | None,
    location: str,
    numbers: Sequence[int],
    variants: int,
) -> str:
    if example is not None and example.diff.change is not None:
        differences = example.diff.nearest.differences if example.diff.nearest else ()
        types = types_text((difference.before, difference.after) for difference in differences)
        dynamo = bool((find_launches(facts.trace).kind == DYNAMO_KIND).any())
        return advise_change(
            example.diff.change,
            find_tracer(dynamo, facts.framework),
            location,
            types,
            facts.words.is_server,
            is_in_every_step=len(numbers) == facts.step_count > 1,
        )
    if all(compilation.cut for compilation in compilations):
        return CAPTURE_AGAIN
    is_one_step = len(numbers) == 1 and all(compilation.in_step for compilation in compilations)
    return advise_unknown_change(location, f" of step {numbers[0]}" if is_one_step else "", variants)


def _variants(facts: Facts, name: str | None) -> int:
    """The number of programs, or of graphs if greater, that share a module's name."""
    if name is None:
        return 0
    programs = {id_ for module, id_ in find_launches(facts.trace).programs if module == name and id_}
    compiles = find_compilations(facts.trace)
    compiled = {compiles.graph(index) for index in range(len(compiles)) if compiles.module[index] == name}
    return max(len(programs), len(compiled))
