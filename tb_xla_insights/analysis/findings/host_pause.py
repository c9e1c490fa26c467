"""The finding about pauses of the host: a garbage collection, a checkpoint, a sleep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.analysis.findings.finding import Finding, Window, first_fitting_title, longest_windows
from tb_xla_insights.analysis.findings.locations import step_numbers, steps_text
from tb_xla_insights.analysis.frameworks import UNSHOWN_HOST, unshown_clause
from tb_xla_insights.analysis.host.pauses import Pause, find_pauses, times_of
from tb_xla_insights.analysis.replay.what_if import Fix
from tb_xla_insights.analysis.steps.sources import annotated_times
from tb_xla_insights.analysis.time.class_times import covered_times
from tb_xla_insights.catalog.classes import CLASSES
from tb_xla_insights.english import join_words
from tb_xla_insights.trace.model import Int64
from tb_xla_insights.units import brief_time, brief_times

_CLASSES = tuple(name for name in CLASSES if name not in ("compile", "dynamo", "program_load"))
"""Classes of the time that pauses explain; compilations inside them are other findings' time."""

_MAX_KINDS = 2
"""The maximum number of kinds of pauses in the text."""


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
    kinds = sorted(taken, key=lambda kind: -int(taken[kind].sum()))
    if not kinds:
        return None
    pauses = [pause for kind in kinds for pause in by_kind[kind]]
    taken_ps: Int64 = np.sum([taken[kind] for kind in kinds], axis=0)
    main, steps = by_kind[kinds[0]], {pause.step for pause in pauses}
    name, where, lengths = main[0].name, _where(facts, main), _lengths(main)
    pause_text = f"A pause of {lengths}" if len(main) == 1 else f"{len(main)} pauses of {lengths}"
    in_name = f" in {name}" if name else f", in which {unshown_clause('the host')}"
    texts = [_kind_text(facts, by_kind[kind]) for kind in kinds[:_MAX_KINDS]]
    idle = brief_time(facts.mean_per_core(taken_ps).ps)
    return Finding(
        "host_pause",
        first_fitting_title(
            f"{pause_text} {where}: {name or 'nothing is recorded'}",
            f"{pause_text} in {name}" if name else f"{pause_text} {where}",
            pause_text,
        ),
        f"{'a pause' if len(main) == 1 else 'pauses'} {where}{in_name}",
        f"{facts.core_subject} idles {idle} while {join_words(texts)}.",
        _advice(facts, name),
        int(taken_ps.sum()),
        {
            "pauses": [
                {
                    "name": pause.name or None,
                    "start_ps": pause.start_ps,
                    "duration_ps": pause.duration_ps,
                    "step": step_numbers(facts.trace, [pause.step])[0],
                }
                for pause in pauses
            ]
        },
        longest_windows(Window(pause.start_ps, pause.end_ps) for pause in pauses),
        "once" if len(steps) == 1 else "some_steps",
        Fix(_CLASSES, windows=times_of(pauses)),
        waits_for=f"the host, held up by {name}" if name else UNSHOWN_HOST,
    )


def _lengths(pauses: Sequence[Pause]) -> str:
    """`707 ms`, or `61 to 64 ms`."""
    shortest, longest = (limit(pause.duration_ps for pause in pauses) for limit in (min, max))
    low, high = brief_times(shortest, longest)
    return high if low == high else f"{low.partition(chr(0x202F))[0]} to {high}"


def _where(facts: Facts, pauses: Sequence[Pause]) -> str:
    """`in step 9`, or `after steps 65, 70 and 75` if most of the pauses are between the recorded steps."""
    ends = annotated_times(facts.trace)[1]
    is_after = [pause.start_ps >= ends[pause.step] for pause in pauses]
    text = steps_text(step_numbers(facts.trace, [pause.step for pause in pauses]), facts.step_count)
    return text.replace("in ", "after ", 1) if 2 * sum(is_after) > len(pauses) else text


def _kind_text(facts: Facts, pauses: Sequence[Pause]) -> str:
    """`gc.collect holds the host up for 707 ms in step 9`."""
    each = " each" if len(pauses) > 1 else ""
    where, lengths = _where(facts, pauses), _lengths(pauses)
    if not (name := pauses[0].name):
        return f"{unshown_clause('the host')} for {lengths}{each} {where}"
    return f"{name} holds the host up for {lengths}{each} {where}"


def _advice(facts: Facts, name: str) -> str:
    if not name:
        return f"Find out what the host does there: {facts.recording_advice}."
    return (
        f"Take {name} out of the loop, do it less often, or do it in another thread while the device works on steps "
        "that are launched already."
    )
