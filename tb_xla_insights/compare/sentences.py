"""What a comparison says in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.thresholds import INFO_SHARE
from tb_xla_insights.catalog.classes import label
from tb_xla_insights.compare.measures import close, of_other_size
from tb_xla_insights.compare.session_totals import SessionTotals
from tb_xla_insights.compare.significance import FEWEST, LEVEL
from tb_xla_insights.units import THIN, brief_time, brief_times, count, rate, samples, share

if TYPE_CHECKING:
    from tb_xla_insights.schema.compare import ComparedDeviceWork, CompareVerdict

FOUND = {"both": "", "only_a": "only in A", "only_b": "only in B", "changed": "changed"}
"""Where ops and annotations are, as it is printed beside them."""

VERDICTS = {
    "better": "▲ better",
    "worse": "▼ worse",
    "same": "≈ same",
    "chance": "≈ may be chance",
    "few": "too few steps",
}
"""A row's verdict as it is printed beside it."""

Rows = Sequence[Mapping[str, Any]]


def times(ratio: float, decimals: int = 2) -> str:
    """`1.22×`"""
    return f"{ratio:.{decimals}f}×"


def headline_row(a: SessionTotals, b: SessionTotals, measures: Rows) -> Mapping[str, Any]:
    """The row that the headline tells: the median step; samples per second where the steps are of other sizes."""
    name = "samples_median" if of_other_size(a, b) else "step_median"
    return next(row for row in measures if row["name"] == name)


def verdict(
    a: SessionTotals, b: SessionTotals, measures: Rows, classes: Rows, work: ComparedDeviceWork
) -> CompareVerdict:
    """One or two sentences on the steps (`text`), and the verdict of the row that they tell (`verdict`; `unknown`
    without steps on both sides)."""
    if not a.median_ps or not b.median_ps:
        whose = "Neither session has" if not a.median_ps and not b.median_ps else _lacking(a)
        return {"text": f"{whose} steps to compare; totals stand side by side.", "verdict": "unknown"}
    row = headline_row(a, b, measures)
    if of_other_size(a, b):
        return {"text": _speed(a, b, row["verdict"]), "verdict": row["verdict"]}
    return {
        "text": f"{_steps(a, b, row['verdict'])}{_once(a, b)}.{_why(a, b, measures, classes)}{_on_device(a, b, work)}",
        "verdict": row["verdict"],
    }


def _lacking(a: SessionTotals) -> str:
    return f"{'B' if a.median_ps else 'A'} has no"


def _steps(a: SessionTotals, b: SessionTotals, verdict: str) -> str:
    one, other = a.median_ps or 0, b.median_ps or 0
    both = " against ".join(brief_times(other, one))
    if verdict == "same":
        return f"B’s steps are as long as A’s at the median: {both}"
    if verdict == "chance":
        return f"B’s steps cannot be told from A’s: {both} at the median may be chance"
    if verdict == "few":
        return (
            f"B’s steps take {both} at the median ({times(other / one)}); so few steps do not rule out chance"
        )
    ratio, how = (other / one, "slower") if other > one else (one / other, "faster")
    return f"B’s steps are {times(ratio)} {how} at the median: {_more(other - one)} per step"


def _speed(a: SessionTotals, b: SessionTotals, verdict: str) -> str:
    (one, of_one), (other, of_other) = (
        (side.throughput["samples_per_s"]["median"], side.throughput["samples_per_step"])
        for side in (a, b)
        if side.throughput
    )
    both = f"{rate(other)} samples per second against {rate(one)}"
    sizes = f" B takes {samples(of_other)} per step, A {samples(of_one)}."
    if verdict == "same":
        return f"B is as fast as A at the median: {both}.{sizes}"
    if verdict == "chance":
        return f"B cannot be told from A: {both} at the median may be chance.{sizes}"
    if verdict == "few":
        few = "so few steps do not rule out chance"
        return f"B has {both} at the median ({times(other / one)}); {few}.{sizes}"
    ratio, how = (other / one, "faster") if other > one else (one / other, "slower")
    return f"B is {times(ratio)} {how} at the median: {both}.{sizes}"


def _once(a: SessionTotals, b: SessionTotals) -> str:
    """`; but B compiled in 1 of 6 steps, for 1.79 s`: what is in the means and decides nothing, where the sessions
    differ in it by more than steps differ from run to run."""
    spent = [sum(side.compiled_rarely) / len(side.steps) for side in (a, b)]
    if abs(spent[0] - spent[1]) < INFO_SHARE * min(a.median_ps or 0, b.median_ps or 0):
        return ""
    parts = [
        f"{name} compiled in {len(side.compiled_rarely)} of {count(len(side.steps))} steps, "
        f"for {brief_time(sum(side.compiled_rarely))}"
        for side, name in ((a, "A"), (b, "B"))
        if sum(side.compiled_rarely)
    ]
    return f"; but {_list(parts)}"


def _why(a: SessionTotals, b: SessionTotals, measures: Rows, classes: Rows) -> str:
    """` The device has 7.9 ms less work and the host 1.9 ms more wait per step, in the mean.`"""
    work = _work(a, b, measures)
    reasons = [row for row in _reasons(a, b, classes) if not _is_work(row, work)]
    parts = [f"{_more(row['difference_ps'])} {label(row['class'])}" for row in reasons]
    device = f"The device has {_more(work['difference_ps'])} work" if work else ""
    host = f"{'the host' if device else 'The host has'} {_list(parts)}" if parts else ""
    told = " and ".join(part for part in (device, host) if part)
    return f" {told} per step, in the mean." if told else ""


def _on_device(a: SessionTotals, b: SessionTotals, work: ComparedDeviceWork) -> str:
    """` On the device, Training_Step/forward/attention takes 4.1 ms more per step and core.`: annotations that tell the
    sessions apart; where none does, ops."""
    for rows, name in ((work["annotations"], _path), (work["ops"], op_names)):
        told = [
            f"{name(row)} takes {_more(row['difference_ps'])}"
            for row in rows
            if _tells(a, b, row) and name(row)
        ]
        if told:
            return f" On the device, {_list(told[:2])} per step and core."
    return ""


def _path(row: Mapping[str, Any]) -> str:
    return row["path"] or "work without an annotation"


def op_names(row: Mapping[str, Any]) -> str:
    """`fusion.3`; `fusion.3 and 4 more → fusion.7`, where ops have changed."""
    sides = [
        f"{names[0]}{f' and {count(number - 1)} more' if number > 1 else ''}"
        for names, number in zip((row["ops_a"], row["ops_b"]), row["count"], strict=True)
        if names
    ]
    return sides[0] if row["found"] == "both" else " → ".join(sides)


def _work(a: SessionTotals, b: SessionTotals, measures: Rows) -> Mapping[str, Any] | None:
    """The row of the device's work, where it tells the sessions apart and one of them runs programs on the thread that
    launches them: there the class `dispatch` is that work."""
    if not (a.runs_itself or b.runs_itself):
        return None
    rows = [row for row in measures if row["name"] == "device_per_step" and row["difference_ps"] is not None]
    return next((row for row in rows if _tells(a, b, row)), None)


def _is_work(row: Mapping[str, Any], work: Mapping[str, Any] | None) -> bool:
    """Whether most of a difference in `dispatch` is the device's work."""
    if work is None or row["class"] != "dispatch":
        return False
    return bool(abs(row["difference_ps"] - work["difference_ps"]) < abs(row["difference_ps"]) / 2)


def _reasons(a: SessionTotals, b: SessionTotals, classes: Rows) -> Rows:
    """The classes that tell the sessions apart."""
    return [row for row in classes if _tells(a, b, row)][:3]


def _tells(a: SessionTotals, b: SessionTotals, row: Mapping[str, Any]) -> bool:
    """Whether the sessions differ in it: no chance, and more than a twentieth of a step."""
    least = max(a.median_ps or 0, b.median_ps or 0) / 20
    known = row["p"] is not None and row["p"] <= LEVEL
    return known and abs(row["difference_ps"]) > least and not close(row["a_ps"], row["b_ps"])


def _more(ps: int | None) -> str:
    assert ps is not None, "only differences that are known are told"
    return f"{brief_time(abs(ps))} {'more' if ps > 0 else 'less'}"


def _list(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def chance_text(a: SessionTotals, b: SessionTotals, row: Mapping[str, Any]) -> str | None:
    """How many steps are behind the headline's row, what the test of chance says of it, and what happened in too few
    steps to decide anything; None where a session has no steps."""
    if not a.steps or not b.steps:
        return None
    behind = f"{_counted(a, 'A')} and {_counted(b, 'B')}"
    if row["p"] is None:
        told = f"too few to tell a difference from chance; capture at least {FEWEST} of each."
    else:
        told = f"chance alone makes such a difference of medians in {share(row['p'])} of the cases"
        told += f"; differences up to {_percent(row['chance'])} may be chance." if row["chance"] else "."
    return f"{behind}: {told}{_rare(a, b)}"


def _counted(side: SessionTotals, name: str) -> str:
    steps = f"{count(len(side.steps))}{THIN}{'step' if len(side.steps) == 1 else 'steps'} in {name}"
    draws = side.drawn.draws
    return steps if draws == len(side.steps) else f"{steps} ({count(draws)} with all hosts together)"


def _percent(value: float) -> str:
    return share(value).replace(".0", "")


def _rare(a: SessionTotals, b: SessionTotals) -> str:
    """What was compiled in fewer than half of the steps is in the means, and not in the test of medians."""
    parts = []
    for side, name in ((a, "A"), (b, "B")):
        if compiled := side.compiled_rarely:
            spent = f" ({brief_time(sum(compiled))})" if sum(compiled) else ""
            parts.append(f"{name} compiled in {len(compiled)} of {count(len(side.steps))} steps{spent}")
    return f" {_list(parts)}; that is in the means, and left out of the test of medians." if parts else ""


def unjudged(document: Mapping[str, Any]) -> str | None:
    """Why a comparison cannot tell whether B is worse than A; None where it can."""
    if document["verdict"]["verdict"] == "unknown":
        return str(document["verdict"]["text"])
    return document["chance"]["text"] if document["chance"]["p"] is None else None


def longer(document: Mapping[str, Any]) -> float:
    """By which share of A's step (of its time per sample, where steps are of other sizes) B's is longer, beyond chance;
    0 where it is not."""
    chance = document["chance"]
    row = next(row for row in document["measures"] if row["name"] == chance["measure"])
    if chance["p"] > LEVEL or row["ratio"] is None:
        return 0.0
    ratio = row["ratio"] if row["better"] != "higher" else 1 / row["ratio"]
    return max(0.0, float(ratio) - 1)
