"""The finding about building graphs while nothing is queued for the device."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.findings.activities import activities_text
from tb_xla_insights.analysis.findings.compile_costs import warm_up_calls
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import Finding, first_fitting_title
from tb_xla_insights.analysis.findings.host_phases import longest_phases, phases_text
from tb_xla_insights.analysis.host.classes import host_class_segments
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import Intervals, union
from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog.classes import PYTHON, TRACING
from tb_xla_insights.text.english import Phrase, sentences
from tb_xla_insights.trace.annotations import step_annotation_rows
from tb_xla_insights.trace.model import Trace

_MAX_PHASES = 3
"""The most annotations that the text names."""


def tracing_bound(facts: Facts) -> Finding | None:
    """Idle time in which the host builds graphs, and runs other Python if that takes less time. Without the calls that
    compile in the warm-up, in which JAX traces and lowers."""
    trace, ledger, first_calls = facts.trace, facts.ledger, warm_up_calls(facts.trace)
    remaining_ps = ledger.remaining_ps.sum(axis=0)
    includes_python = remaining_ps[PYTHON] <= remaining_ps[TRACING]
    classes = ("tracing", "python") if includes_python else ("tracing",)
    ledger.discard_within(classes, first_calls)
    by_class = {name: ledger.take((name,)) for name in classes}
    taken_ps: Int64 = np.sum([*by_class.values()], axis=0)
    if not (cost := int(taken_ps.sum())):
        return None
    steps = facts.affected_steps(taken_ps)
    frequency = facts.frequency_of(steps)
    gaps = union(ledger.start_ps, ledger.end_ps, taken_ps > 0).without(first_calls)
    phases = longest_phases(trace, "tracing", steps if frequency == "once" else None, first_calls, gaps)
    is_undivided = _is_undivided(trace, gaps)
    verb_phrase = facts.words.builds + " or runs other Python" * is_undivided
    title = first_fitting_title(
        f"The device waits while the host {verb_phrase}",
        "The device waits while the host builds, or runs Python",
    )
    activities = activities_text(
        {
            activity: facts.mean_per_core(class_taken_ps, frequency).ps
            for activity, class_taken_ps in zip(
                (verb_phrase, "runs other Python"), by_class.values(), strict=False
            )
        }
    )
    waits_for = Phrase("the host", f", which {verb_phrase}")
    return Finding(
        "tracing_bound",
        title,
        str(waits_for),
        sentences(
            f"{facts.idle_text(taken_ps, frequency)} while the host {activities}",
            phases_text(facts, facts.words.building, phases[:_MAX_PHASES], frequency),
            "only steps are annotated: building and other Python look alike" if is_undivided else "",
        ),
        _advice(facts, phases[0][0] if phases else None, is_undivided),
        cost,
        {
            **{f"{name}_ps": int(class_taken_ps.sum()) for name, class_taken_ps in by_class.items()},
            "per_step_ps": cost // facts.core_steps if facts.core_steps else None,
            "phases": [{"name": phase, "host_ps": time} for phase, time in phases],
        },
        facts.gap_windows(taken_ps),
        frequency,
        facts.fix_removing(steps, *classes, outside=first_calls),
        idle_ps=facts.idle_in_steps_ps(frequency, *classes),
        waits_for=waits_for,
    )


def _is_undivided(trace: Trace, gaps: Intervals) -> bool:
    """Whether most of the building is in steps without phases, whose own time is all that the script does."""
    segments = host_class_segments(trace)
    building = segments.select((segments.class_index == TRACING) & (segments.row >= 0))
    times = covered_times(gaps.start_ps, gaps.end_ps, building.start_ps, building.end_ps)
    in_steps = np.isin(building.row, step_annotation_rows(trace))
    return 2 * int(times[in_steps].sum()) > int(times.sum())


def _advice(facts: Facts, phase: str | None, is_undivided: bool) -> str:
    """Advice to build less per step. `phase`: the annotation with most of this work, None if unknown."""
    larger = f"give a step more work ({facts.words.larger_step})"
    if is_undivided:
        phases = f" ({facts.words.annotation})" if facts.words.annotation else ""
        return (
            f"Annotate the phases of the step{phases} to tell building from other Python, then build less "
            f"({facts.words.compiles}fewer and larger ops), or {larger}."
        )
    if not phase:
        return f"Give a step more work, or compile more of it at once{facts.words.steps_at_once}."
    return f"Build less in {phase} ({facts.words.compiles}fewer and larger ops), or {larger}."
