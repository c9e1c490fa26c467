"""Texts about findings for the page, the text output and the HTML report: their groups, and the gain of a fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tb_xla_insights.analysis.thresholds import HIDDEN_GAIN_SHARE, INFO_SHARE, MAX_GAIN_SPREAD
from tb_xla_insights.units import change_text, reduction_text, share, time_reduction_text, time_text

Row = Mapping[str, Any]

_TITLES = {None: "", "mistake": "Mistakes", "limit": "Limits"}
_MISTAKES_NOTE = "what your code can avoid; recurring mistakes first"
_LIMITS_NOTE = "what remains without the mistakes; gains as shares of the remaining step"
_LIMITS_FIRST_NOTE = "gain more than the mistakes; gains as shares of the step without these"

_DEVICE_FINDINGS = frozenset(("device_copies", "device_stalls", "exposed_collectives"))
"""Findings about the device's time; all others are about the host's."""

_MIN_EXCESS_SHARE = 0.01
"""Both the mean step and the devices' work for it are given if the work is longer by at least this share."""


@dataclass(frozen=True)
class FindingGroup:
    """Findings of one kind under one heading; findings that are neither mistakes nor limits have no title. `gain`: the
    gain of fixing all."""

    title: str
    note: str
    gain: str
    findings: Sequence[Row]


@dataclass(frozen=True)
class Gain:
    """The texts of a gain: `−36.0 %`, `of a step`, `67.7 → 43.3 ms`; if best and worst differ `−74.8 to −25.3 %`,
    `of a step`, `55.0 → 13.8 to 41.1 ms`. Without a gain `basis` alone says why. The page gets these fields as they
    are."""

    share: str
    basis: str
    change: str = ""

    @property
    def text(self) -> str:
        """The gain in one line: `−36.0 % of a step, 67.7 → 43.3 ms`."""
        gain = f"{self.share} {self.basis}" if self.share else self.basis
        return f"{gain}, {self.change}" if self.change else gain


def finding_groups(report: Row) -> list[FindingGroup]:
    """The findings of a report by kind: those that are neither mistakes nor limits first, then in the
    report's order."""
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
            _gain_of_all_mistakes(report) if kind == "mistake" else "",
            by_kind[kind],
        )
        for kind in kinds
    ]


def leading_limit(report: Row) -> Row | None:
    """The largest limit, if it comes before the mistakes; None where the device is the bottleneck."""
    kinds = [finding["kind"] for finding in report["findings"]]
    return report["findings"][0] if kinds[:1] == ["limit"] and None not in kinds else None


def limit_text(limit: Row, mistakes: Row) -> str:
    """`the host builds graphs slower than they run (218.7 → 169.3 ms at best)`: the largest limit, and what its fix
    makes of the step without mistakes. Without a replay, the share of the devices' spans that the limit explains.
    `mistakes`: the report's."""
    step_ps, without_limit_ps = mistakes["step_if_fixed_ps"], mistakes["step_without_limit_ps"]
    if step_ps is None or without_limit_ps is None:
        return f"{limit['brief']} ({share(limit['gain'])} of the devices' spans)"
    return f"{limit['brief']} ({change_text(step_ps, without_limit_ps)} at best)"


def mean_steps_per_host(report: Row) -> int:
    """The mean number of steps of a host: the number of occurrences per host of an event that is in every step."""
    steps = report["steps"]
    return round(len(steps) / (len({step["host"] for step in steps}) or 1))


def _gain_of_all_mistakes(report: Row) -> str:
    """The gain of fixing all mistakes, from one replay without them: `together at best: mean 290.8 → 219.3 ms`; empty
    without a replay or a gain. In place of the mean step, the first figure is the devices' work for a step if that is
    longer, for example because the last step's work continues after it; the mean step is then given as well."""
    mistakes = report["mistakes"]
    step_ps, fixed_ps = mistakes["step_ps"], mistakes["step_if_fixed_ps"]
    if not step_ps or fixed_ps is None or step_ps == fixed_ps:
        return ""
    durations_ps = [step["duration_ps"] for step in report["steps"]]
    mean_ps = sum(durations_ps) // len(durations_ps)
    if step_ps - mean_ps < _MIN_EXCESS_SHARE * mean_ps:
        return f"together at best: mean {change_text(step_ps, fixed_ps)}"
    note = f"by the devices' work for a step; the mean step is {time_text(mean_ps, 1)}"
    return f"together at best: {change_text(step_ps, fixed_ps)} ({note})"


def gain_of(finding: Row, report: Row) -> Gain:
    """The gain of fixing a report's finding, at best, and at worst as well if that differs. (docs/definitions.md,
    "Findings")

    - A recurring mistake: the share of the usual step, and the usual step before and after the fix.
    - A mistake that occurred once: all the time that its fix saves a host, and the mean step before and after the fix.
      The gain as a share would depend on the number of steps in the capture.
    - A limit: the share of the step that remains without all mistakes.
    - A finding that cannot be replayed: the share of the devices' spans that it explains.
    - A finding that is neither a mistake nor a limit has no gain; it precedes those that have one.
    """
    gain = finding["gain"] or 0.0
    if finding["kind"] is None and any(candidate["gain"] for candidate in report["findings"]):
        return Gain("", "see the gains below")
    if finding["step_if_fixed_ps"] is None:
        return Gain(share(gain), "of the devices' spans") if gain else Gain("", "no gain")
    if gain < HIDDEN_GAIN_SHARE and _share_of_spans(finding, report) >= INFO_SHARE:
        return Gain("", _why_no_gain(finding, report))
    if gain <= 0:
        return Gain("", "no gain")
    step_ps, basis = finding["step_ps"], "of a step"
    gain_at_worst = finding["gain_at_worst"]
    if gain - gain_at_worst < MAX_GAIN_SPREAD * gain:
        gain_at_worst = gain
    if finding["kind"] == "limit":
        remaining_ps = report["mistakes"]["step_if_fixed_ps"] or step_ps
        step_ps, basis = remaining_ps, basis if remaining_ps == step_ps else "of what remains"
    elif finding["recurs"] != "once":
        usual_step_ps = report["mistakes"]["usual_step_ps"]
        step_ps, basis = usual_step_ps, basis if usual_step_ps == step_ps else "of a usual step"
    fixed_ps, fixed_at_worst_ps = (
        round(step_ps * (1 - share_saved)) for share_saved in (gain, gain_at_worst)
    )
    change = change_text(step_ps, fixed_ps, fixed_at_worst_ps)
    if finding["kind"] == "mistake" and finding["recurs"] == "once":
        steps = mean_steps_per_host(report)
        return Gain(
            time_reduction_text(steps * (step_ps - fixed_ps), steps * (step_ps - fixed_at_worst_ps)),
            "once",
            f"mean step {change}",
        )
    return Gain(reduction_text(gain, gain_at_worst), basis, change)


def _share_of_spans(finding: Row, report: Row) -> float:
    span = sum(device["span_ps"] for device in report["devices"])
    return finding["cost_ps"] / span if span else 0.0


def _why_no_gain(finding: Row, report: Row) -> str:
    """Why a fix gains nothing: the time is outside of the steps, or something else takes as long."""
    steps = report["steps"]
    start = min(step["start_ps"] for step in steps)
    end = max(step["start_ps"] + step["duration_ps"] for step in steps)
    middles = [(window["start_ps"] + window["end_ps"]) // 2 for window in finding["windows"]]
    if middles and not any(start <= middle < end for middle in middles):
        return "no gain: outside of the steps"
    gaining_ids = {row["id"] for row in report["findings"] if (row["gain"] or 0.0) >= INFO_SHARE}
    host_is_slower = finding["id"] in _DEVICE_FINDINGS and gaining_ids - _DEVICE_FINDINGS
    return f"no gain now: {'the host' if host_is_slower else 'something else'} is slower"
