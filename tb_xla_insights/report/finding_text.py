"""Findings in words that the page, the text and the HTML page share: their groups, and what a fix gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tb_xla_insights.analysis.thresholds import HIDDEN_GAIN_SHARE, INFO_SHARE, MAX_GAIN_SPREAD
from tb_xla_insights.units import change_text, reduction_text, share, time_reduction_text, time_text

Row = Mapping[str, Any]

_TITLES = {None: "", "mistake": "Mistakes", "limit": "Limits"}
_MISTAKES_NOTE = "what your code can leave out; what recurs first"
_LIMITS_NOTE = "what remains then, in shares of that step"
_LIMITS_FIRST_NOTE = "more to gain than from the mistakes; in shares of the step without these"

_OF_DEVICE = frozenset(("device_stalls", "exposed_collectives"))
"""Findings about the device's own time. All others are about the host's."""

_TOLD_APART = 0.01
"""How much longer the devices must work for the mean step than it lasts for both to be told."""


@dataclass(frozen=True)
class FindingGroup:
    """Findings of one kind under one head; no title for what is no fault. `gain` is what they gain together."""

    title: str
    note: str
    gain: str
    findings: Sequence[Row]


@dataclass(frozen=True)
class Gain:
    """`−36.0 %`, `of a step`, `67.7 → 43.3 ms`; where best and worst are apart `−74.8 to −25.3 %`, `of a step`,
    `55.0 → 13.8 to 41.1 ms`; where there is none, `of` alone says why."""

    share: str
    of: str
    change: str = ""

    @property
    def text(self) -> str:
        """In one line: `−36.0 % of a step, 67.7 → 43.3 ms`."""
        gain = f"{self.share} {self.of}" if self.share else self.of
        return f"{gain}, {self.change}" if self.change else gain


def finding_groups(report: Row) -> list[FindingGroup]:
    """The findings of a report by kind, what is no fault first, then as the report has them."""
    by_kind: dict[str | None, list[Row]] = {}
    for finding in report["findings"]:
        by_kind.setdefault(finding["kind"], []).append(finding)
    kinds = sorted(by_kind, key=lambda kind: kind is not None)
    notes = {"mistake": _MISTAKES_NOTE}
    notes["limit"] = _LIMITS_FIRST_NOTE if kinds[-1:] == ["mistake"] else _LIMITS_NOTE
    return [
        FindingGroup(
            _TITLES[kind],
            notes.get(kind or "", ""),
            _together(report) if kind == "mistake" else "",
            by_kind[kind],
        )
        for kind in kinds
    ]


def leading_limit(report: Row) -> Row | None:
    """The largest limit, if it comes before the mistakes; None where the device is the bottleneck."""
    kinds = [finding["kind"] for finding in report["findings"]]
    return report["findings"][0] if kinds[:1] == ["limit"] and None not in kinds else None


def limit_text(limit: Row, mistakes: Row) -> str:
    """`the host builds the graph slower than it runs (218.7 → 169.3 ms at best)`: the largest limit of a report with
    these `mistakes`, and the step without them, with and without the limit."""
    step, without = mistakes["step_if_fixed_ps"], mistakes["step_without_limit_ps"]
    if step is None or without is None:
        return f"{limit['brief']} ({share(limit['gain'])} of the devices' time)"
    return f"{limit['brief']} ({change_text(step, without)} at best)"


def mean_steps_per_host(report: Row) -> int:
    """How many steps a host has, in the mean: so often does what is told per step happen."""
    steps = report["steps"]
    return round(len(steps) / (len({step["host"] for step in steps}) or 1))


def _together(report: Row) -> str:
    """What all mistakes gain, from one replay without them: `together at best 290.8 → 219.3 ms`. Where the devices work
    longer for a step than the mean step lasts, as where the last one's work goes on behind it, the first of both times
    is that, and the mean step is told as well."""
    mistakes = report["mistakes"]
    step, fixed = mistakes["step_ps"], mistakes["step_if_fixed_ps"]
    if not step or fixed is None or step == fixed:
        return ""
    durations = [it["duration_ps"] for it in report["steps"]]
    mean = sum(durations) // len(durations)
    longer = step - mean >= _TOLD_APART * mean
    apart = f" (by the devices' work for a step; the mean step is {time_text(mean, 1)})" if longer else ""
    return f"together at best {change_text(step, fixed)}{apart}"


def gain_of(finding: Row, report: Row) -> Gain:
    """What the fix of a report's finding gains. (docs/definitions.md, "Findings")

    Of what recurs: the share of the usual step, and the usual step with and without it. Of what happened once: all that
    it cost, as its share depends on how many steps a capture has, and the mean step. Of a limit: the share of the step
    that remains without all mistakes. All at best, and at worst as well where that is another gain. Where nothing can
    be replayed: the share of the devices' spans that it explains.
    What is no fault has no gain of its own, and stands before those that have one.
    """
    gain = finding["gain"] or 0.0
    if finding["kind"] is None and any(it["gain"] for it in report["findings"]):
        return Gain("", "what is to gain stands below")
    if finding["step_if_fixed_ps"] is None:
        return Gain(share(gain), "of the devices' spans") if gain else Gain("", "no time to gain")
    if gain < HIDDEN_GAIN_SHARE and _share_of_spans(finding, report) >= INFO_SHARE:
        return Gain("", _why_none(finding, report))
    if gain <= 0:
        return Gain("", "no time to gain")
    step, of = finding["step_ps"], "of a step"
    worst = finding["gain_at_worst"]
    if gain - worst < MAX_GAIN_SPREAD * gain:
        worst = gain
    if finding["kind"] == "limit":
        left = report["mistakes"]["step_if_fixed_ps"] or step
        step, of = left, of if left == step else "of what remains"
    elif finding["recurs"] != "once":
        usual = report["mistakes"]["usual_step_ps"]
        step, of = usual, of if usual == step else "of a usual step"
    fixed, most = (round(step * (1 - part)) for part in (gain, worst))
    change = change_text(step, fixed, most)
    if finding["kind"] == "mistake" and finding["recurs"] == "once":
        steps = mean_steps_per_host(report)
        return Gain(
            time_reduction_text(steps * (step - fixed), steps * (step - most)), "once", f"mean step {change}"
        )
    return Gain(reduction_text(gain, worst), of, change)


def _share_of_spans(finding: Row, report: Row) -> float:
    span = sum(device["span_ps"] for device in report["devices"])
    return finding["cost_ps"] / span if span else 0.0


def _why_none(finding: Row, report: Row) -> str:
    """Why time that is lost is none to gain: no step has it, or steps would take as long for something else."""
    steps = report["steps"]
    start = min(step["start_ps"] for step in steps)
    end = max(step["start_ps"] + step["duration_ps"] for step in steps)
    middles = [(window["start_ps"] + window["end_ps"]) // 2 for window in finding["windows"]]
    if middles and not any(start <= middle < end for middle in middles):
        return "none: outside of the steps"
    others = {row["id"] for row in report["findings"] if (row["gain"] or 0.0) >= INFO_SHARE} - _OF_DEVICE
    host = finding["id"] in _OF_DEVICE and others
    return f"none now: {'the host' if host else 'something else'} is slower"
