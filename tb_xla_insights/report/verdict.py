"""One sentence on a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.frameworks import host_activities
from tb_xla_insights.analysis.thresholds import DEVICE_BOUND_SHARE, INFO_SHARE, OUTSIDE_SPAN_SHARE, SEVERITIES
from tb_xla_insights.device_work.bottlenecks import BELOW_ROOFLINE, bottleneck_texts
from tb_xla_insights.report.finding_text import leading_limit, limit_text, mean_steps_per_host
from tb_xla_insights.report.straggler_text import (
    is_straggler_cause,
    straggler_cost_text,
    waiting_by_name,
    waiting_text,
)
from tb_xla_insights.units import brief_time, count, part_text, share, time_text

if TYPE_CHECKING:
    from tb_xla_insights.schema.findings import Verdict

_COMPILING = ("recompilation", "dynamo_recompilation")

_MOST_LETTERS = 230
"""Two lines of the page."""

_USUAL_EDGE = 1.5
"""Steps that a capture begins or ends with before the first run or after the last one, though nothing is wrong."""

_MOST_OF_HOST = 1 / 3
"""Of the steps, what a class of host time must have to be told of where no device is known."""


_UNSEEN = "whether runs compute or wait is not recorded"
"""Of a device that recorded program runs and no ops."""


def verdict(report: Mapping[str, Any]) -> Verdict:
    """`text` and `severity` (good, info, warning, critical) of a session's report: how busy its devices are, what the
    mistakes cost together, and the largest limit, in the order of the findings; of devices that are the bottleneck, in
    what their time lies; before that, who holds up the others, if nothing gains more. What lies outside the devices'
    span is said as well from a tenth of the capture on, and first where it is most of it; not where it is no more than
    the building of a first step. On two lines of the page: what does not fit is left out, first what is said beyond
    the first cause, then what fills most of the idle time. (docs/definitions.md, "Findings")"""
    outside = report["outside"]
    if outside is None or outside["share"] < OUTSIDE_SPAN_SHARE:
        return _inside_span(report, _MOST_LETTERS)
    together = outside["before"]["duration_ps"] + outside["after"]["duration_ps"]
    if together < _USUAL_EDGE * _mean_step(report):
        return _inside_span(report, _MOST_LETTERS)
    sentence = _outside(outside, _does(report))
    told = _inside_span(report, _MOST_LETTERS - len(sentence) - 1)
    first = outside["share"] > 0.5 and not _late(report)
    texts = (sentence, told["text"]) if first else (told["text"], sentence)
    severity = "info" if told["severity"] == "good" else told["severity"]
    return {"text": " ".join(texts), "severity": severity}


def _host_alone(report: Mapping[str, Any]) -> str:
    """`the host waits for data for 12.0 of 16.0 ms a step`, what it does most, if that takes a third of the steps."""
    steps = report["steps"]
    by_class: Counter[str] = sum((Counter(step["host_ps"]) for step in steps), Counter())
    whole = sum(step["duration_ps"] for step in steps)
    for name, time in by_class.most_common(1):
        if time >= _MOST_OF_HOST * whole:
            does = _does(report)[name]
            if name == "dispatch" and report["environment"]["framework"] == "tensorflow":
                does = "launches and runs operations"  # Without XLA its executors run each one where they launch it.
            return f"the host {does} for {part_text(time // len(steps), whole // len(steps))} a step"
    return "what the host did is shown alone"


def _mean_step(report: Mapping[str, Any]) -> float:
    steps = report["steps"]
    return sum(step["duration_ps"] for step in steps) / len(steps) if steps else 0.0


def _outside(outside: Mapping[str, Any], does: Mapping[str, str]) -> str:
    """`52.1 % of the capture lies before the first run (the host compiles).`"""
    before, after = outside["before"], outside["after"]
    where = "before and after all runs"
    if after["duration_ps"] <= OUTSIDE_SPAN_SHARE * before["duration_ps"]:
        where = "before the first run"
    elif before["duration_ps"] <= OUTSIDE_SPAN_SHARE * after["duration_ps"]:
        where = "after the last run"
    by_class = Counter(before["by_class_ps"]) + Counter(after["by_class_ps"])
    most = next((name for name, time in by_class.most_common(1) if 2 * time > by_class.total()), None)
    doing = f" (the host {does[most]})" if most else ""
    return f"{share(outside['share'])} of the capture lies {where}{doing}."


def _inside_span(report: Mapping[str, Any], room: int) -> Verdict:
    """The verdict on what lies within the devices' span, in `room` letters where that is possible."""
    devices, findings = report["devices"], report["findings"]
    if not devices:
        return _without_devices(report)
    span, busy = (sum(device[key] for device in devices) for key in ("span_ps", "busy_ps"))
    duty = share(busy / span if span else 0.0)
    whose = "The device is" if len(devices) == 1 else f"The {count(len(devices))} devices are"
    bound = next((finding for finding in findings if finding["id"] == "device_bound"), None)
    if bound:
        text = f"{whose} the bottleneck: {duty} busy."
        leads = (text + it for it in bottleneck_texts(report))
        worst: Any = next((it["severity"] for it in findings if it["id"] == BELOW_ROOFLINE), "good")
        return {"text": next((it for it in leads if len(it) <= room), text), "severity": worst}
    mistakes, limits = (
        [it for it in findings if it["kind"] == kind and _counts(it)] for kind in ("mistake", "limit")
    )
    reasons = mistakes + limits
    hidden = _hidden(report)
    if not reasons and hidden:
        unknown = "why" if busy < DEVICE_BOUND_SHARE * span else "whether the host keeps up"
        return {"text": f"{whose} {duty} busy; {unknown} is not known, as {hidden}.", "severity": "warning"}
    if (
        not reasons
        and busy >= DEVICE_BOUND_SHARE * span
        and (part := _share_of_steps(report)) < DEVICE_BOUND_SHARE
    ):
        text = f"{whose} {duty} busy from first to last run, yet at work for {share(part)} of the steps' time"
        rest = report["step_idle"]
        host = (
            _mostly(report, rest["by_class_ps"] or {}, rest["idle_ps"] or 0)
            or ", too few runs to tell what is in the way"
        )
        return {"text": f"{text}{host}.", "severity": "warning"}
    if not reasons and not report["steps"] and all(device.get("modules", 0) <= 1 for device in devices):
        each = (
            f"{brief_time(busy // len(devices))}{' each' if len(devices) > 1 else ''}"  # no share: of what?
        )
        text = f"{whose} at work for {each}, in too few runs to tell what is in the way."
        return {"text": text, "severity": "warning"}
    unseen = any(not device["ops"] for device in devices)
    if not reasons:
        idle = _in_gaps(report, span - busy)
        if unseen:
            idle = "" if busy >= DEVICE_BOUND_SHARE * span else idle
            return {"text": f"{whose} {duty} busy with program runs{idle}; {_UNSEEN}.", "severity": "info"}
        return {"text": f"{whose} {duty} busy{idle}, and nothing stands out.", "severity": "info"}
    first = _warm_up(report, span - busy)
    mostly = rest = ""
    if hidden:
        rest = f"; what else is in the way is not known, as {hidden}"
    elif not first and 2 * sum(finding["cost_ps"] for finding in reasons) < span - busy:
        mostly = _in_gaps(report, span - busy)
    if unseen and not mistakes and not hidden:
        rest = f"; {_UNSEEN}"
    together = report["mistakes"]
    limit = limit_text(limits[0], together) if limits and (not mistakes or _remains(together)) else ""
    late = _late(report)
    if limit and mistakes and not first and leading_limit(report):
        head, waiting = "", waiting_by_name(late) if late else ""
        causes = _limit_first(limit, mistakes, together, mean_steps_per_host(report))
    elif late and late is mistakes[0]:
        further = [
            it for it in mistakes[1:] if not is_straggler_cause(it.get("evidence", {}), late["evidence"])
        ]
        head, waiting = f"{straggler_cost_text(late)} ", waiting_text(late)
        causes = _causes_beside_late(first, further, limit)
    else:
        head, waiting = "", waiting_by_name(late) if late else ""
        causes = _causes(first, mistakes, limit, together, mean_steps_per_host(report))
    busy_text = f"{duty} busy, which includes waiting for {waiting}" if late else f"{duty} busy"
    texts = [
        f"{head}{whose} {busy_text}{it}{rest}." for it in (*(cause + mostly for cause in causes), causes[-1])
    ]
    severity = max((finding["severity"] for finding in reasons), key=SEVERITIES.index)
    return {"text": next((text for text in texts if len(text) <= room), texts[-1]), "severity": severity}


def _without_devices(report: Mapping[str, Any]) -> Verdict:
    """What is said where no device worked, or none was recorded."""
    inside = {row["host"] for row in report["compiles"] if row["cut"] == "both"}
    if len(inside) == len(report["session"]["hosts"]):
        text = "The whole capture lies inside one compilation, which began before it and was not finished"
        return {"text": f"{text}: no program ran.", "severity": "warning"}
    return {"text": f"No device's work could be read: {_host_alone(report)}.", "severity": "warning"}


def _causes(
    warm_up: str, mistakes: Sequence[Mapping[str, Any]], limit: str, together: Mapping[str, Any], steps: int
) -> list[str]:
    """What is in the way, in fewer and fewer words: the first mistake by name, the limit last."""
    first = f": {warm_up}" if warm_up else ""
    if not first and not mistakes:
        return [f": {limit}"]
    text = f"{first}. {_together(mistakes, together, steps)}" if mistakes else first
    several = " cost " in text
    return [f"{text}; beyond {'them' if several else 'that'} {limit}" if limit else text, text]


def _limit_first(
    limit: str, mistakes: Sequence[Mapping[str, Any]], together: Mapping[str, Any], steps: int
) -> list[str]:
    """What is in the way, in fewer and fewer words, where the largest limit comes before the mistakes."""
    text = _together(mistakes, together, steps)
    return [f": {limit}. Beyond that {text[0].lower()}{text[1:]}", f": {limit}"]


def _late(report: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The finding about who holds up the others, where it counts."""
    return next((it for it in report["findings"] if it["id"] == "straggler" and _counts(it)), None)


def _causes_beside_late(warm_up: str, further: Sequence[Mapping[str, Any]], limit: str) -> list[str]:
    """What else is in the way than late hosts, in fewer and fewer words."""
    first = f": {warm_up}" if warm_up else ""
    beyond = f"; beyond {'them' if further else 'that'} {limit}" if limit else ""
    text = f"{first}. Further mistakes: {_named(further)}" if further else first
    return [text + beyond, text]


def _named(mistakes: Sequence[Mapping[str, Any]]) -> str:
    """`a compile in step 1209 and 2 more`."""
    more = len(mistakes) - 1
    return f"{mistakes[0]['brief']}{f' and {more} more' if more else ''}"


def _warm_up(report: Mapping[str, Any], idle: int) -> str:
    """What is in the way where most of the idle time goes to compilations that every training begins with."""
    if 2 * report["gaps"]["by_class_ps"].get("compile", 0) <= idle:
        return ""
    said = {
        id_ for it in report["findings"] for id_ in (it["id"], *it.get("evidence", {}).get("said_by", ()))
    }
    if said & set(_COMPILING):
        return ""
    return (
        "during most of the idle time the host compiles for the first time (capture later to see usual steps)"
    )


def _counts(finding: Mapping[str, Any]) -> bool:
    """Whether its fix buys something that can be told from chance."""
    return (finding["gain"] or 0.0) >= INFO_SHARE


def _remains(together: Mapping[str, Any]) -> bool:
    """Whether the largest limit is worth telling once the mistakes are gone."""
    step, without = together["step_if_fixed_ps"], together["step_without_limit_ps"]
    return not step or without is None or step - without >= INFO_SHARE * step


def _together(mistakes: Sequence[Mapping[str, Any]], together: Mapping[str, Any], steps: int) -> str:
    """`3 mistakes (2 of them once) cost up to 69.5 of 290.8 ms a step, first 324.5 MB sent each step`; where all
    happened once `A mistake costs up to 318.4 ms once: a compile in step 5`. `steps`: those of a host."""
    number, name = len(mistakes), mistakes[0]["brief"]
    once = sum(finding.get("recurs") == "once" for finding in mistakes)
    step, fixed = together["step_ps"], together["step_if_fixed_ps"]
    if step is None or fixed is None:
        cost = f"{share(min(1.0, sum(finding['gain'] for finding in mistakes)))} of the devices' time"
    else:
        cost = f"up to {part_text(step - fixed, step)} a step"
        # One that counts, and what the replay takes away with it is more than its own.
        alone = mistakes[0].get("step_if_fixed_ps") if number == 1 else None
        if alone is not None and part_text(step - alone, step) != part_text(step - fixed, step):
            return f"Mistakes cost {cost}, first {name}"
        # A share of a step depends on how many steps the capture has, what it cost does not.
        if once == number:
            cost = f"up to {time_text(steps * (step - fixed), 1)} once"
    if number == 1:
        return f"A mistake costs {cost}: {name}"
    some = f" ({once} of them once)" if 0 < once < number else ""
    return f"{number} mistakes{some} cost {cost}, first {name}"


def _hidden(report: Mapping[str, Any]) -> str | None:
    """Why it cannot be said what the host did in idle time; None where it can, at least on most hosts."""
    apart = sum(it.get("hosts", 1) for it in report["diagnostics"] if it["id"] == "clocks_disagree")
    if apart and 2 * apart >= len(report["session"]["hosts"]):
        return "the clocks of host and device disagree"
    if not any(row["join"] != "none" for row in report["executions"]):
        return "nothing tells what launched the work"
    return None


def _share_of_steps(report: Mapping[str, Any]) -> float:
    """The part of the steps in which a core works; all of it where there are none."""
    work, step = report["step_idle"]["work_ps"], report["step_idle"]["step_ps"]
    return work / step if work is not None and step else 1.0


def _does(report: Mapping[str, Any]) -> dict[str, str]:
    """What the host does, by class, in the words of the capture's framework."""
    return host_activities(report["environment"]["framework"])


def _mostly(report: Mapping[str, Any], by_class: Mapping[str, int], idle: int, queued: int = 0) -> str:
    """What the host does in more than half of the idle time, or that work was queued already, if there is such a
    thing."""
    if 2 * queued > idle:
        return "; during most of the idle time work is queued already"
    name = max(by_class, key=lambda it: by_class[it], default=None)
    if not name or 2 * by_class[name] <= idle:
        return ""
    return f"; during most of the idle time the host {_does(report)[name]}"


def _in_gaps(report: Mapping[str, Any], idle: int) -> str:
    gaps = report["gaps"]
    return _mostly(report, gaps["by_class_ps"], idle, gaps["by_kind_ps"]["queued"])
