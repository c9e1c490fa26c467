"""Describes a comparison in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.catalog.classes import label
from tb_xla_insights.compare.measures import differ_in_step_size, is_same
from tb_xla_insights.compare.session_totals import SessionTotals
from tb_xla_insights.compare.significance import MIN_STEPS, SIGNIFICANCE_LEVEL
from tb_xla_insights.english import join_words
from tb_xla_insights.units import MISSING, NARROW_SPACE, brief_time, brief_times, count, rate, samples, share

if TYPE_CHECKING:
    from tb_xla_insights.schema.compare import ComparedDeviceWork, CompareVerdict

PRESENCE_TEXTS = {"both": "", "only_a": "only in A", "only_b": "only in B", "changed": "changed"}
"""Which sessions have an op or annotation, as printed beside it."""

VERDICT_TEXTS = {
    "better": "▲ better",
    "worse": "▼ worse",
    "same": "≈ same",
    "chance": "≈ may be chance",
    "few": MISSING,
}
"""A row's verdict as printed beside it. That the steps are too few is said once, in `chance_text`."""

_MIN_REASON_SHARE = 1 / 20
"""A class or op is named if it differs by more than this share of the longer median step."""

_MAX_REASONS = 3
_MAX_DEVICE_REASONS = 2

Rows = Sequence[Mapping[str, Any]]


def ratio_text(ratio: float, decimals: int = 2) -> str:
    """`1.22×`"""
    return f"{ratio:.{decimals}f}×"


def headline_row(a: SessionTotals, b: SessionTotals, measures: Rows) -> Mapping[str, Any]:
    """Returns the row of the headline: the median step, or samples per second if steps differ in size."""
    name = "samples_median" if differ_in_step_size(a, b) else "step_median"
    return next(row for row in measures if row["name"] == name)


def compare_verdict(
    a: SessionTotals, b: SessionTotals, measures: Rows, classes: Rows, work: ComparedDeviceWork
) -> CompareVerdict:
    """Returns one to three sentences on the steps (`text`), and the verdict of the headline's row (`verdict`; `unknown`
    if a session has no steps)."""
    if not a.median_ps or not b.median_ps:
        subject = "Neither session has" if not a.median_ps and not b.median_ps else _side_without_steps(a)
        return {"text": f"{subject} steps to compare; only totals are compared.", "verdict": "unknown"}
    row = headline_row(a, b, measures)
    if differ_in_step_size(a, b):
        return {"text": _rate_sentence(a, b, row["verdict"]), "verdict": row["verdict"]}
    sentence = f"{_step_sentence(a, b, row['verdict'])}{_rare_compiles_clause(a, b)}."
    reasons = f"{_class_reasons(a, b, measures, classes)}{_device_reasons(a, b, work)}"
    return {"text": f"{sentence}{reasons}", "verdict": row["verdict"]}


def _side_without_steps(a: SessionTotals) -> str:
    """The subject and verb of the sentence about the session without steps."""
    return f"{'B' if a.median_ps else 'A'} has no"


_STEP_SENTENCES = {
    "same": "B’s steps are as long as A’s at the median: {values}",
    "chance": "B’s steps cannot be distinguished from A’s: {values} at the median may be chance",
    "few": "B’s steps take {values} at the median ({ratio}); chance cannot be ruled out with so few steps",
}
_RATE_SENTENCES = {
    "same": "B is as fast as A at the median: {values}",
    "chance": "B cannot be distinguished from A: {values} at the median may be chance",
    "few": "B has {values} at the median ({ratio}); chance cannot be ruled out with so few steps",
}
"""The sentences of verdicts that find no difference, with the values of both and the ratio B / A."""


def _step_sentence(a: SessionTotals, b: SessionTotals, verdict: str) -> str:
    a_ps, b_ps = a.median_ps or 0, b.median_ps or 0
    if text := _STEP_SENTENCES.get(verdict):
        return text.format(
            values=" against ".join(brief_times(b_ps, a_ps)), ratio=ratio_text(b_ps / max(a_ps, 1))
        )
    factor, direction = (b_ps / a_ps, "slower") if b_ps > a_ps else (a_ps / b_ps, "faster")
    difference = _difference_text(b_ps - a_ps)
    return f"B’s steps are {ratio_text(factor)} {direction} at the median: {difference} per step"


def _rate_sentence(a: SessionTotals, b: SessionTotals, verdict: str) -> str:
    (rate_a, size_a), (rate_b, size_b) = (
        (session.throughput["samples_per_s"]["median"], session.throughput["samples_per_step"])
        for session in (a, b)
        if session.throughput
    )
    rates = f"{rate(rate_b)} samples per second against {rate(rate_a)}"
    sizes = f" B takes {samples(size_b)} per step, A {samples(size_a)}."
    if text := _RATE_SENTENCES.get(verdict):
        return f"{text.format(values=rates, ratio=ratio_text(rate_b / rate_a))}.{sizes}"
    factor, direction = (rate_b / rate_a, "faster") if rate_b > rate_a else (rate_a / rate_b, "slower")
    return f"B is {ratio_text(factor)} {direction} at the median: {rates}.{sizes}"


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
    rows = [row for row in classes if _is_notable(a, b, row)][:_MAX_REASONS]
    parts = [
        f"{_difference_text(row['difference_ps'])} {label(row['class'])}"
        for row in rows
        if not _is_device_work(row, work_row)
    ]
    device = f"The device has {_difference_text(work_row['difference_ps'])} work" if work_row else ""
    host = f"{'the host' if device else 'The host has'} {join_words(parts)}" if parts else ""
    text = " and ".join(part for part in (device, host) if part)
    return f" {text} per step, on average." if text else ""


def _device_reasons(a: SessionTotals, b: SessionTotals, work: ComparedDeviceWork) -> str:
    """Returns ` On the device, Training_Step/forward/attention takes 4.1 ms more per step and core.`: the annotations
    with a notable difference; if there are none, the ops."""
    for rows, row_name in ((work["annotations"], _annotation_name), (work["ops"], op_names_text)):
        parts = [
            f"{row_name(row)} takes {_difference_text(row['difference_ps'])}"
            for row in rows
            if _is_notable(a, b, row) and row_name(row)
        ]
        if parts:
            return f" On the device, {join_words(parts[:_MAX_DEVICE_REASONS])} per step and core."
    return ""


def _annotation_name(row: Mapping[str, Any]) -> str:
    return row["path"] or "work without an annotation"


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
    return next((row for row in rows if _is_notable(a, b, row)), None)


def _is_device_work(row: Mapping[str, Any], work_row: Mapping[str, Any] | None) -> bool:
    """Whether most of a difference in `dispatch` is the device's work."""
    if work_row is None or row["class"] != "dispatch":
        return False
    return bool(abs(row["difference_ps"] - work_row["difference_ps"]) < abs(row["difference_ps"]) / 2)


def _is_notable(a: SessionTotals, b: SessionTotals, row: Mapping[str, Any]) -> bool:
    """Whether a row's difference is significant, above _MIN_REASON_SHARE of the longer median step, and larger than
    between two runs of one training (`is_same`)."""
    min_ps = max(a.median_ps or 0, b.median_ps or 0) * _MIN_REASON_SHARE
    is_significant = row["p"] is not None and row["p"] <= SIGNIFICANCE_LEVEL
    return is_significant and abs(row["difference_ps"]) > min_ps and not is_same(row["a_ps"], row["b_ps"])


def _difference_text(difference_ps: int | None) -> str:
    assert difference_ps is not None, "only known differences have a text"
    return f"{brief_time(abs(difference_ps))} {'more' if difference_ps > 0 else 'less'}"


def chance_text(a: SessionTotals, b: SessionTotals, row: Mapping[str, Any]) -> str | None:
    """Returns the number of steps behind the headline's row, its test result, and compilations in too few steps to
    count in the test; None if a session has no steps."""
    if not a.steps or not b.steps:
        return None
    step_counts = f"{_step_count_text(a, 'A')} and {_step_count_text(b, 'B')}"
    if row["p"] is None:
        has_enough = min(session.sample.block_count for session in (a, b)) >= MIN_STEPS
        kind = " without a compilation" if has_enough else ""
        result = (
            f"too few to distinguish a difference from chance; capture at least {MIN_STEPS} of each{kind}."
        )
    else:
        result = f"chance alone causes such a difference of medians in {share(row['p'])} of the cases"
        result += f"; differences up to {_percent(row['chance'])} may be chance." if row["chance"] else "."
    return f"{step_counts}: {result}{_rare_compiles_sentence(a, b)}"


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
