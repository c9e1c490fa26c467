"""The finding about pauses of the host: a garbage collection, a checkpoint, a sleep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_xla_insights.analysis.delays.pauses import Pause, find_pauses, times_of
from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import (
    Finding,
    ShownWindow,
    first_fitting_title,
    longest_windows,
)
from tb_xla_insights.analysis.findings.locations import step_numbers, steps_text
from tb_xla_insights.analysis.frameworks import UNSHOWN_HOST, unshown_clause
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_sources import annotated_times
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.analysis.time.intervals import Intervals
from tb_xla_insights.arrays import Int64
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.text.english import Phrase, join_words, plural, sentences
from tb_xla_insights.text.units import brief_range, brief_time
from tb_xla_insights.trace.model import Trace

_CLASSES = tuple(name for name in CLASSES if name not in ("compile", "dynamo", "program_load"))
"""Classes of the time that pauses explain; compilations inside them are other findings' time."""


def host_pause(facts: Facts) -> Finding | None:
    """Idle time in pauses (`find_pauses`), told once per kind; of kinds whose idle time no other finding explains for
    the greater part, such as the compilations in them."""
    by_kind: dict[str, list[Pause]] = {}
    ledger = facts.ledger
    for pause in find_pauses(facts.trace):
        if ((ledger.start_ps < pause.end_ps) & (ledger.end_ps > pause.start_ps)).any():
            by_kind.setdefault(pause.kind, []).append(pause)
    taken: dict[str, Int64] = {}
    for kind, pauses_of_kind in by_kind.items():
        times = times_of(pauses_of_kind)
        idle_ps = covered_times(times.start_ps, times.end_ps, ledger.start_ps, ledger.end_ps)
        if 2 * ledger.remaining_within(_CLASSES, times).sum() > idle_ps.sum():
            taken[kind] = ledger.take_within(_CLASSES, times)
    kinds = [by_kind[kind] for kind in sorted(taken, key=lambda kind: -int(taken[kind].sum()))]
    if not kinds:
        return None
    pauses = [pause for of_kind in kinds for pause in of_kind]
    taken_ps: Int64 = np.sum([*taken.values()], axis=0)
    main, steps = kinds[0][0], {pause.step for pause in pauses}
    held_up = Phrase("the host", f", held up {'in' if main.usual_ps else 'by'} {main.name}")
    texts = [_kind_text(facts, kinds[0])]
    if others := sum(map(len, kinds[1:])):
        texts.append(f"{plural(others, 'other event')} hold{'s' if others == 1 else ''} the host up")
    return Finding(
        "host_pause",
        _title(facts, kinds),
        _brief(facts, kinds),
        sentences(
            f"{facts.core_subject} idles {brief_time(facts.mean_per_core(taken_ps).ps)} while {join_words(texts)}"
        ),
        _advice(facts, main),
        int(taken_ps.sum()),
        {
            "pauses": [
                {
                    "name": pause.name or None,
                    "start_ps": pause.start_ps,
                    "duration_ps": pause.duration_ps,
                    "usual_ps": pause.usual_ps,
                    "step": step_numbers(facts.trace, [pause.step])[0],
                }
                for pause in pauses
            ]
        },
        longest_windows(ShownWindow(pause.start_ps, pause.end_ps) for pause in pauses),
        "once" if len(steps) == 1 else "some_steps",
        _fix(facts.trace, times_of(pauses)),
        waits_for=held_up if main.name else Phrase(UNSHOWN_HOST),
    )


def _fix(trace: Trace, times: Intervals) -> Fix:
    """Without the pauses, runs that were launched before one and began only after it, because it held up the runtime's
    threads as well, begin that much sooner."""
    runs = find_launches(trace).runs
    is_delayed = (
        (runs.enqueue_row >= 0) & (runs.free_ps <= runs.enqueue_ps) & (runs.enqueue_ps < runs.start_ps)
    )
    delayed_ps = covered_times(times.start_ps, times.end_ps, runs.enqueue_ps, runs.start_ps)
    return Fix(_CLASSES, windows=times, earlier_ps=np.where(is_delayed, delayed_ps, 0))


def _title(facts: Facts, kinds: Sequence[Sequence[Pause]]) -> str:
    pauses = [pause for of_kind in kinds for pause in of_kind]
    main, where, lengths = kinds[0][0], _where(facts, pauses), _lengths(pauses)
    text = f"A pause of {lengths}" if len(pauses) == 1 else f"{len(pauses)} pauses of {lengths}"
    if not (names := _names(kinds)):
        what = "" if len(kinds) > 1 else ": nothing is recorded"
        return first_fitting_title(f"{text} {where}{what}", f"{text} {where}", text)
    if main.usual_ps and len(kinds) == 1:
        usually = f", usually {brief_time(main.usual_ps)}"
        return first_fitting_title(
            f"{text} in {names} {where}{usually}", f"{text} in {names} {where}", f"{text} in {names}", text
        )
    return first_fitting_title(f"{text} {where}: {names}", f"{text} in {names}", f"{text} {where}", text)


def _names(kinds: Sequence[Sequence[Pause]]) -> str:
    """`gc.collect`, or `gc.collect and others`, after the kind that costs most; empty if nothing is recorded in it."""
    name = kinds[0][0].name
    return f"{name} and others" if name and len(kinds) > 1 else name


def _brief(facts: Facts, kinds: Sequence[Sequence[Pause]]) -> str:
    """`a pause in gc.collect in step 9`; `pauses in save and others after 4 of 12 steps`."""
    pauses = [pause for of_kind in kinds for pause in of_kind]
    noun = "a pause" if len(pauses) == 1 else "pauses"
    where = _where(facts, pauses)
    if names := _names(kinds):
        return f"{noun} in {names} {where}"
    return f"{noun} {where}" if len(kinds) > 1 else f"{noun} ({unshown_clause('the host')}) {where}"


def _lengths(pauses: Sequence[Pause]) -> str:
    """`707 ms`, or `61 to 64 ms`."""
    return brief_range(*(limit(pause.duration_ps for pause in pauses) for limit in (min, max)))


def _where(facts: Facts, pauses: Sequence[Pause]) -> str:
    """`in step 9`, or `after steps 65, 70 and 75` if most of the pauses are between the recorded steps."""
    ends = annotated_times(facts.trace)[1]
    is_after = [pause.start_ps >= ends[pause.step] for pause in pauses]
    numbers = step_numbers(facts.trace, [pause.step for pause in pauses])
    return steps_text(numbers, facts.step_count, "after" if 2 * sum(is_after) > len(pauses) else "in")


def _kind_text(facts: Facts, pauses: Sequence[Pause]) -> str:
    """`gc.collect holds the host up for 707 ms in step 9`, or `the host stays in forward for 28.1 ms in step 10
    without a launch (usually 0.373 ms)`: a part of `forward`, which may launch something else."""
    each = " each" if len(pauses) > 1 else ""
    where, lengths, usual_ps = _where(facts, pauses), _lengths(pauses), pauses[0].usual_ps
    if not (name := pauses[0].name):
        return f"{unshown_clause('the host')} for {lengths}{each} {where}"
    if usual_ps:
        usually = brief_time(usual_ps)
        return f"the host stays in {name} for {lengths}{each} {where} without a launch (usually {usually})"
    return f"{name} holds the host up for {lengths}{each} {where}"


def _advice(facts: Facts, pause: Pause) -> str:
    if not pause.name:
        return f"Find out what the host does there: {facts.recording_advice}."
    if pause.usual_ps:
        return (
            f"Find out what held the host up there ({facts.recording_advice}): a part of the code, a garbage "
            "collection (gc.freeze() before the loop shortens it) or other processes."
        )
    return (
        f"Take {pause.name} out of the loop, do it less often, or do it in another thread while the device works on "
        "steps that are launched already."
    )
