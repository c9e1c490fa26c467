"""Describes a comparison in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.launches.executions import MAX_EXECUTIONS
from tb_xla_insights.analysis.propagation.path_names import path_text
from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.catalog.classes import label
from tb_xla_insights.compare.measures import differ_in_setup, differ_in_step_size, is_same
from tb_xla_insights.compare.session_totals import SessionTotals
from tb_xla_insights.compare.significance import MIN_STEPS, SIGNIFICANCE_LEVEL
from tb_xla_insights.text.english import Bold, join_words, plural
from tb_xla_insights.text.units import (
    MISSING,
    NARROW_SPACE,
    brief_time,
    brief_times,
    count,
    cut_middle,
    rate,
    samples,
    share,
)

if TYPE_CHECKING:
    from tb_xla_insights.compare.executions import ExecutionPair
    from tb_xla_insights.schema.compare import Chance, ComparedDeviceWork, CompareVerdict, Verdict

PRESENCE_TEXTS = {"both": "", "only_a": "gone", "only_b": "new", "changed": "changed"}
"""Which sessions have an op or annotation, as printed beside it: B lacks what is gone, A what is new."""

VERDICT_TEXTS = {
    "better": "▲ better",
    "worse": "▼ worse",
    "same": "≈ same",
    "chance": "≈ may be chance",
    "few": MISSING,
}
"""A row's verdict as printed beside it. That the steps are too few is said once, in `chance_text`."""

PAIR_VERDICT_TEXTS = VERDICT_TEXTS | {"few": "too few steps"}
"""The verdict of a pair in a table of pairs: no sentence says whether its steps are enough."""

_MIN_REASON_SHARE = 1 / 20
"""A class or op is named if it differs by more than this share of the longer median step."""

_CLASS_NOUNS = {"unrecorded": "unrecorded time", "other": "other work"}
"""Classes whose labels are no nouns."""

_UNANNOTATED = "work without an annotation"

_MAX_REASONS = 3
_MAX_DEVICE_REASONS = 2

Rows = Sequence[Mapping[str, Any]]


def ratio_text(ratio: float, decimals: int = 2) -> str:
    """`1.22×`"""
    return f"{ratio:.{decimals}f}×"


def _headline_row(
    a: SessionTotals, b: SessionTotals, pair: ExecutionPair | None, measures: Rows
) -> Mapping[str, Any] | None:
    """Returns the row of the headline: the median step, or samples per second if steps differ in size; without steps
    the median run of `pair`; None if the sessions have neither in common."""
    if not pair and not (a.steps and b.steps):
        return None
    name = "run_median" if pair else "samples_median" if differ_in_step_size(a, b) else "step_median"
    return next(row for row in measures if row["name"] == name)


def compare_verdict(
    a: SessionTotals,
    b: SessionTotals,
    pair: ExecutionPair | None,
    measures: Rows,
    classes: Rows,
    work: ComparedDeviceWork,
    programs: Rows,
) -> tuple[CompareVerdict, list[str]]:
    """Returns a few sentences on the steps, or on the runs of `pair` (`text`), and the verdict of the headline's row
    (`verdict`; `unknown` if there is none); also the pieces of the sentences (see `english.sentence_parts`)."""
    row = _headline_row(a, b, pair, measures)
    verdict: Verdict = row["verdict"] if row else "unknown"
    if not row:
        pieces = [f"{_without_steps(a, b)}, and no program runs in both: only totals are compared."]
    elif pair:
        runs = f"runs of {_program_name(pair)}"
        sentence = _time_sentence(pair.medians_ps, verdict, runs, "run")
        reasons = _run_reasons(pair, measures)
        if row["verdict"] in ("better", "worse"):
            reasons += _device_reasons(pair.medians_ps, work, "run")
        others = _other_programs_sentence(pair, programs)
        start = f"{_without_steps(a, b)}; compared are runs of the same program. "
        pieces = [start, *sentence, ".", reasons, others]
    elif differ_in_step_size(a, b):
        pieces = _rate_sentence(a, b, verdict)
    else:
        medians = a.median_ps or 0, b.median_ps or 0
        sentence = _time_sentence(medians, verdict, "steps", "step")
        reasons = f"{_class_reasons(a, b, measures, classes)}{_device_reasons(medians, work, 'step')}"
        pieces = [*sentence, _rare_compiles_clause(a, b), ".", reasons]
    pieces.append(_setup_sentence(a, b))
    document: CompareVerdict = {
        "text": "".join(pieces),
        "verdict": verdict,
        "program": pair.program if pair else None,
    }
    return document, pieces


def _setup_sentence(a: SessionTotals, b: SessionTotals) -> str:
    """Returns ` The setups differ: A is JAX · PJRT · 4 TPU v4 cores, B JAX · PJRT · 8 TPU v4 cores.`; empty if they do
    not differ. Then a longer step may do more work, or share it among fewer devices."""
    if not differ_in_setup(a, b):
        return ""
    label_a, label_b = (session.report["environment"]["label"] for session in (a, b))
    return f" The setups differ: A is {label_a}, B {label_b}."


def _without_steps(a: SessionTotals, b: SessionTotals) -> str:
    """`A has no steps`"""
    if not a.steps and not b.steps:
        return "Neither session has steps"
    return f"{'B' if a.steps else 'A'} has no steps"


def _program_name(pair: ExecutionPair) -> str:
    name = cut_middle(pair.program)
    return name if pair.program_b == pair.program else f"{name} ({cut_middle(pair.program_b)} in B)"


_TIME_SENTENCES = {
    "same": "B’s {subject} are as long as A’s at the median: {values}",
    "chance": "B’s {subject} cannot be distinguished from A’s: {values} at the median may be chance",
    "few": "B’s {subject} take {values} at the median ({ratio}); chance cannot be ruled out with so few {unit}s",
}
_RATE_SENTENCES = {
    "same": "B is as fast as A at the median: {values}",
    "chance": "B cannot be distinguished from A: {values} at the median may be chance",
    "few": "B has {values} at the median ({ratio}); chance cannot be ruled out with so few steps",
}
"""The sentences of verdicts that find no difference, with the values of both and the ratio B / A."""


def _time_sentence(medians_ps: tuple[int, int], verdict: Verdict, subject: str, unit: str) -> list[str]:
    a_ps, b_ps = medians_ps
    if text := _TIME_SENTENCES.get(verdict or ""):
        values, ratio = " against ".join(brief_times(b_ps, a_ps)), ratio_text(b_ps / max(a_ps, 1))
        return [text.format(subject=subject, values=values, ratio=ratio, unit=unit)]
    shorter, longer = sorted(medians_ps)
    factor, direction = longer / max(shorter, 1), "slower" if b_ps > a_ps else "faster"
    difference = _difference_text(b_ps - a_ps)
    end = f" at the median: {difference} per {unit}"
    return [f"B’s {subject} are ", Bold(f"{ratio_text(factor)} {direction}"), end]


def _rate_sentence(a: SessionTotals, b: SessionTotals, verdict: Verdict) -> list[str]:
    (rate_a, size_a), (rate_b, size_b) = (
        (session.throughput["samples_per_s"]["median"], session.throughput["samples_per_step"])
        for session in (a, b)
        if session.throughput
    )
    rates = f"{rate(rate_b)} samples per second against {rate(rate_a)}"
    sizes = f" B takes {samples(size_b)} per step, A {samples(size_a)}."
    if text := _RATE_SENTENCES.get(verdict or ""):
        return [f"{text.format(values=rates, ratio=ratio_text(rate_b / rate_a))}.{sizes}"]
    factor, direction = (rate_b / rate_a, "faster") if rate_b > rate_a else (rate_a / rate_b, "slower")
    return ["B is ", Bold(f"{ratio_text(factor)} {direction}"), f" at the median: {rates}.{sizes}"]


def _rare_compiles_clause(a: SessionTotals, b: SessionTotals) -> str:
    """Returns `; but B compiled in 1 of 6 steps, for 1.79 s`: time that is in the means but not in the test. Empty if
    that time, as a mean of all steps, differs by less than INFO_SHARE of the shorter median step (see `is_same`)."""
    mean_a, mean_b = (sum(session.rare_compile_times_ps) / len(session.steps) for session in (a, b))
    if abs(mean_a - mean_b) < INFO_SHARE * min(a.median_ps or 0, b.median_ps or 0):
        return ""
    parts = [
        f"{name} compiled in {len(times)} of {count(len(session.steps))} steps, for {brief_time(sum(times))}"
        for session, name in ((a, "A"), (b, "B"))
        if sum(times := session.rare_compile_times_ps)
    ]
    return f"; but {join_words(parts)}"


def _class_reasons(a: SessionTotals, b: SessionTotals, measures: Rows, classes: Rows) -> str:
    """Returns ` The device has 7.9 ms less work and the host 1.9 ms more wait per step, on average.`"""
    work_row = _device_work_row(a, b, measures)
    medians = a.median_ps or 0, b.median_ps or 0
    rows = [row for row in classes if _is_notable(medians, row)][:_MAX_REASONS]
    parts = [
        f"{_difference_text(row['difference_ps'])} {_CLASS_NOUNS.get(row['class']) or label(row['class'])}"
        for row in rows
        if not _is_device_work(row, work_row)
    ]
    device = f"The device has {_difference_text(work_row['difference_ps'])} work" if work_row else ""
    host = f"{'the host' if device else 'The host has'} {join_words(parts)}" if parts else ""
    text = " and ".join(part for part in (device, host) if part)
    return f" {text} per step, on average." if text else ""


def _run_reasons(pair: ExecutionPair, measures: Rows) -> str:
    """Returns ` The device takes 7.9 ms less and overhead is 0.4 ms more per run, on average.`"""
    verbs = {"run_device": "the device takes", "run_overhead": "overhead is"}
    parts = [
        f"{verbs[row['name']]} {_difference_text(row['difference_ps'])}"
        for row in measures
        if row["name"] in verbs and _is_notable(pair.medians_ps, row)
    ]
    text = join_words(parts)
    return f" {text[0].upper()}{text[1:]} per run, on average." if text else ""


def _other_programs_sentence(pair: ExecutionPair, programs: Rows) -> str:
    """Returns ` A run of jit_sample takes 3.00 ms more on the device.`: the other programs whose device time differs by
    a notable part of the time of `pair` in A."""
    main = next(row for row in programs if row["program"] == pair.program)
    min_ps = main["a"]["device_ps"] * _MIN_REASON_SHARE
    parts = [
        f"a run of {cut_middle(row['program'])} takes {_difference_text(row['device']['difference_ps'])}"
        for row in programs
        if row is not main
        and row["device"]["verdict"] in ("better", "worse")
        and abs(row["device"]["difference_ps"]) * row["a"]["count"] > min_ps
    ]
    text = join_words(parts[:_MAX_DEVICE_REASONS])
    return f" {text[0].upper()}{text[1:]} on the device." if text else ""


def _device_reasons(medians_ps: tuple[int, int], work: ComparedDeviceWork, unit: str) -> str:
    """Returns ` On the device, Training_Step/forward/attention takes 4.1 ms more per step and core.`: the annotations
    with a notable difference; if there are none, or no op has an annotation, the ops. Those of runs are not tested."""
    is_notable = _is_notable if unit == "step" else _is_large
    annotations = work["annotations"] if any(row["path"] for row in work["annotations"]) else []
    for rows, row_name in ((annotations, _annotation_name), (work["ops"], op_names_text)):
        parts = [
            _device_part(row_name(row), row) for row in rows if is_notable(medians_ps, row) and row_name(row)
        ]
        if parts:
            return f" On the device, {join_words(parts[:_MAX_DEVICE_REASONS])} per {unit} and core."
    return ""


def _device_part(name: str, row: Mapping[str, Any]) -> str:
    if name == _UNANNOTATED or row["presence"] not in ("only_a", "only_b"):
        return f"{name} takes {_difference_text(row['difference_ps'])}"
    if row["presence"] == "only_b":
        return f"{name} (new) takes {brief_time(row['b_ps'])}"
    return f"{name} (gone) took {brief_time(row['a_ps'])}"


def _annotation_name(row: Mapping[str, Any]) -> str:
    return path_text(row["path"]) if row["path"] else _UNANNOTATED


def op_names_text(row: Mapping[str, Any]) -> str:
    """Returns `fusion.3`, or for changed ops `fusion.3 and 4 more → fusion.7`."""
    sides = [
        f"{names[0]}{f' and {count(number - 1)} more' if number > 1 else ''}"
        for names, number in zip((row["ops_a"], row["ops_b"]), row["count"], strict=True)
        if names
    ]
    return sides[0] if row["presence"] == "both" else " → ".join(sides)


def _device_work_row(a: SessionTotals, b: SessionTotals, measures: Rows) -> Mapping[str, Any] | None:
    """Returns the row of the device's work if its difference is notable and a session runs programs on the driving
    thread: there the class `dispatch` is that work."""
    if not (a.runs_on_driving_thread or b.runs_on_driving_thread):
        return None
    rows = [row for row in measures if row["name"] == "device_per_step" and row["difference_ps"] is not None]
    medians = a.median_ps or 0, b.median_ps or 0
    return next((row for row in rows if _is_notable(medians, row)), None)


def _is_device_work(row: Mapping[str, Any], work_row: Mapping[str, Any] | None) -> bool:
    """Whether most of a difference in `dispatch` is the device's work."""
    if work_row is None or row["class"] != "dispatch":
        return False
    return bool(abs(row["difference_ps"] - work_row["difference_ps"]) < abs(row["difference_ps"]) / 2)


def _is_notable(medians_ps: tuple[int, int], row: Mapping[str, Any]) -> bool:
    """Whether a row's difference is significant, above _MIN_REASON_SHARE of the longer median step or run, and larger
    than between two captures of one training (`is_same`)."""
    is_significant = row["p"] is not None and row["p"] <= SIGNIFICANCE_LEVEL
    return is_significant and _is_large(medians_ps, row)


def _is_large(medians_ps: tuple[int, int], row: Mapping[str, Any]) -> bool:
    min_ps = max(medians_ps) * _MIN_REASON_SHARE
    return abs(row["difference_ps"]) > min_ps and not is_same(row["a_ps"], row["b_ps"])


def _difference_text(difference_ps: int | None) -> str:
    assert difference_ps is not None, "only known differences have a text"
    return f"{brief_time(abs(difference_ps))} {'more' if difference_ps > 0 else 'less'}"


def chance(a: SessionTotals, b: SessionTotals, pair: ExecutionPair | None, measures: Rows) -> Chance:
    """Returns the result of the test for the headline's row: `p`, `share` and a sentence."""
    row = _headline_row(a, b, pair, measures)
    if row is None:
        return {"measure": None, "p": None, "share": None, "text": None}
    text = _run_chance_text(pair, row) if pair else step_chance_text(a, b, row)
    return {"measure": row["name"], "p": row["p"], "share": row["chance"], "text": text}


def _run_chance_text(pair: ExecutionPair, row: Mapping[str, Any]) -> str:
    """Returns the number of executions behind the headline's row, and its test result."""
    counts = [
        f"{'the first ' if len(side.block) >= MAX_EXECUTIONS else ''}{plural(len(side.block), 'execution')} in {name}"
        for side, name in ((pair.a, "A"), (pair.b, "B"))
    ]
    text = f"{join_words(counts)}: {_test_text(row)}"
    return f"{text[0].upper()}{text[1:]}"


def step_chance_text(a: SessionTotals, b: SessionTotals, row: Mapping[str, Any]) -> str:
    """Returns the number of steps behind the headline's row, its test result, and compilations in too few steps to
    count in the test."""
    has_enough = min(session.sample.block_count for session in (a, b)) >= MIN_STEPS
    result = _test_text(row, " without a compilation" if has_enough else "")
    return (
        f"{_step_count_text(a, 'A')} and {_step_count_text(b, 'B')}: {result}{_rare_compiles_sentence(a, b)}"
    )


def _test_text(row: Mapping[str, Any], kind: str = "") -> str:
    """Returns the test result of a row in words; `kind`: what must be captured if there is too little of it."""
    if row["p"] is None:
        return f"too few to distinguish a difference from chance; capture at least {MIN_STEPS} of each{kind}."
    result = f"chance alone causes such a difference of medians in {share(row['p'])} of the cases"
    return (
        f"{result}; differences up to {_percent(row['chance'])} may be chance."
        if row["chance"]
        else f"{result}."
    )


def _step_count_text(session: SessionTotals, name: str) -> str:
    steps = (
        f"{count(len(session.steps))}{NARROW_SPACE}{'step' if len(session.steps) == 1 else 'steps'} in {name}"
    )
    blocks = session.sample.block_count
    return (
        steps
        if blocks == len(session.steps)
        else f"{steps} ({count(blocks)} if each step counts once for all hosts)"
    )


def _percent(value: float) -> str:
    return share(value).replace(".0", "")


def _rare_compiles_sentence(a: SessionTotals, b: SessionTotals) -> str:
    """Returns in how many steps something was compiled if those are fewer than half: they are in the means, but not in
    the test of medians."""
    parts = []
    for session, name in ((a, "A"), (b, "B")):
        if times := session.rare_compile_times_ps:
            total = f" ({brief_time(sum(times))})" if sum(times) else ""
            parts.append(f"{name} compiled in {len(times)} of {count(len(session.steps))} steps{total}")
    return f" {join_words(parts)}; this counts in the means, but not in the test of medians." if parts else ""


def unjudged_reason(document: Mapping[str, Any]) -> str | None:
    """Returns why a comparison cannot judge whether B is worse than A; None if it can."""
    if document["verdict"]["verdict"] == "unknown":
        return str(document["verdict"]["text"])
    return document["chance"]["text"] if document["chance"]["p"] is None else None


def step_increase(document: Mapping[str, Any]) -> float:
    """Returns how much longer B's step is than A's, as a share of A's (or its time per sample, if steps differ in
    size); 0 if it is not longer, or may be by chance. Requires a comparison that can be judged (`unjudged_reason`)."""
    chance = document["chance"]
    row = next(row for row in document["measures"] if row["name"] == chance["measure"])
    if chance["p"] > SIGNIFICANCE_LEVEL or row["ratio"] is None:
        return 0.0
    ratio = row["ratio"] if row["better"] != "higher" else 1 / row["ratio"]
    return max(0.0, float(ratio) - 1)
