"""Texts about findings for the page, the text output and the HTML report: their groups, and the gain of a fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from tb_xla_insights.analysis.findings.worth import FindingGroup as FindingGroupName
from tb_xla_insights.analysis.findings.worth import group_of
from tb_xla_insights.analysis.thresholds import HIDDEN_GAIN_SHARE, INFO_SHARE, MAX_GAIN_SPREAD
from tb_xla_insights.text.units import change_text, reduction_text, share, time_text

Row = Mapping[str, Any]

Tag = Literal["fix", "pace", "note", "once"]
FindingTag = Literal["fix first", "fix", "pace", "note", "once"]

_TITLES: Mapping[FindingGroupName, tuple[Tag, str, str]] = {
    "fix": ("fix", "Fix", "what your code can avoid"),
    "pace": ("pace", "Pace", "what sets the pace; gains of each alone"),
    "small_fix": ("fix", "Smaller fixes", "at most 3 % of a step each"),
    "note": ("note", "No device time", "fixes that make no step shorter"),
    "once": ("once", "Once", "what happened once in this capture"),
}
"""Tag, heading and remark of each group of findings."""

DEVICE_FINDINGS = frozenset(("device_copies", "device_waits"))
"""Findings about the device's time; all others are about the host's."""

_MIN_EXCESS_SHARE = 0.01
"""Both the mean step and the devices' work for it are given if the work is longer by at least this share."""


@dataclass(frozen=True)
class FindingGroup:
    """Findings under one heading. `tag`: what each of them is; `gain`: the gain of fixing all."""

    tag: Tag
    title: str
    note: str
    gain: str
    findings: Sequence[Row]


@dataclass(frozen=True)
class Gain:
    """The texts of a gain: `−36.0 %`, `of a step`, `67.7 → 43.3 ms`; `up to −74.8 %` if it may be much
    less. Without a gain `basis` alone says why. The page gets these fields as they are."""

    share: str
    basis: str
    change: str = ""

    @property
    def text(self) -> str:
        """The gain in one line: `−36.0 % of a step, 67.7 → 43.3 ms`."""
        gain = f"{self.share} {self.basis}" if self.share else self.basis
        return f"{gain}, {self.change}" if self.change else gain


@dataclass(frozen=True)
class StepChange:
    """How a fix changes the step that it refers to. `gain`: the share of `before_ps` that it saves, at best."""

    before_ps: int
    after_ps: int
    gain: float
    is_certain: bool

    @property
    def text(self) -> str:
        """`67.7 → 43.3 ms`."""
        return change_text(self.before_ps, self.after_ps)

    @property
    def text_in_sentence(self) -> str:
        """`67.7 to 43.3 ms`."""
        return change_text(self.before_ps, self.after_ps, to="to")


def step_change(finding: Row, report: Row) -> StepChange | None:
    """The step before and after the fix of a finding with a gain; None where nothing can be replayed. The step is the
    usual one; for what happened once the mean step."""
    if finding["step_if_fixed_ps"] is None:
        return None
    before_ps, mistakes = finding["step_ps"], report["mistakes"]
    if finding["recurs"] != "once":
        before_ps = mistakes["usual_step_ps"]
    gain = finding["gain"] or 0.0
    return StepChange(before_ps, round(before_ps * (1 - gain)), gain, _is_certain(finding))


def step_at_worst(finding: Row, change: StepChange) -> int:
    """The step after the fix of a finding at worst; `change`: its `step_change`."""
    return round(change.before_ps * (1 - (finding["gain_at_worst"] or 0.0)))


def change_after_mistakes(limit: Row, report: Row) -> StepChange | None:
    """The step that remains without all mistakes, before and after the fix of the largest limit; None where nothing can
    be replayed."""
    before_ps, after_ps = (report["mistakes"][key] for key in ("step_if_fixed_ps", "step_without_limit_ps"))
    if not before_ps or after_ps is None:
        return None
    return StepChange(before_ps, after_ps, (before_ps - after_ps) / before_ps, _is_certain(limit))


def _is_certain(finding: Row) -> bool:
    return is_certain(finding["gain"] or 0.0, finding["gain_at_worst"] or 0.0)


def is_certain(gain: float, gain_at_worst: float) -> bool:
    """Whether a gain at best is hardly more than at worst."""
    return gain - gain_at_worst < MAX_GAIN_SPREAD * gain or gain == gain_at_worst


def tag_of(finding: Row, group: FindingGroup, report: Row) -> FindingTag:
    """What a finding is: `fix first` for the one that the verdict names so, else as its group."""
    return "fix first" if finding["id"] == report["verdict"]["fix"] else group.tag


def finding_groups(report: Row) -> list[FindingGroup]:
    """The findings of a report in its order, under one heading per group."""
    groups = groupby(report["findings"], lambda row: group_of(row["kind"], row["recurs"], row["gain"]))
    return [
        FindingGroup(*_TITLES[name], _gain_of_all_mistakes(report) if name == "fix" else "", [*findings])
        for name, findings in groups
    ]


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
    """The gain of fixing a report's finding, at best. (docs/definitions.md, "Findings")

    - What recurs: the share of the usual step, and the usual step before and after the fix.
    - A mistake that occurred once: all the time that its fix saves a host, and the mean step before and after the fix.
      The gain as a share would depend on the number of steps in the capture.
    - A finding that cannot be replayed: the share of the devices' spans that it explains.
    - A finding that is neither a mistake nor a limit has no gain.
    """
    gain = finding["gain"] or 0.0
    if finding["kind"] is None:
        return Gain("", _where_gains_are(finding, report))
    if finding["step_if_fixed_ps"] is None:
        return Gain(share(gain), "of the devices' spans") if gain else Gain("", "no gain")
    if gain < HIDDEN_GAIN_SHARE and _share_of_spans(finding, report) >= INFO_SHARE:
        return Gain("", _why_no_gain(finding, report))
    if gain <= 0:
        return Gain("", "no gain")
    change = step_change(finding, report)
    assert change is not None
    up_to = "" if change.is_certain else "up to "
    if finding["recurs"] == "once":
        saved_ps = mean_steps_per_host(report) * (change.before_ps - change.after_ps)
        return Gain(f"{up_to}−{time_text(saved_ps, 1)}", "once", f"mean step {change.text}")
    return Gain(f"{up_to}{reduction_text(gain)}", "of a step", change.text)


def _where_gains_are(finding: Row, report: Row) -> str:
    """Where a reader finds the gains, if a finding has none of its own."""
    rows = report["findings"]
    index = next((index for index, row in enumerate(rows) if row["id"] == finding["id"]), 0)
    above, below = (
        any(row["kind"] and gain_of(row, report).share for row in others)
        for others in (rows[:index], rows[index + 1 :])
    )
    return "see the gains below" if below else "see the gains above" if above else "nothing to gain"


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
    host_is_slower = finding["id"] in DEVICE_FINDINGS and gaining_ids - DEVICE_FINDINGS
    return f"no gain now: {'the host' if host_is_slower else 'something else'} is slower"
