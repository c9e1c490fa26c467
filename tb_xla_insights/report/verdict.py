"""One sentence on a session, and the sentences of its gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tb_xla_insights.analysis.thresholds import BOUND_SHARE, SEVERITIES
from tb_xla_insights.units import share, time_text

_HOST = {
    "tracing": "builds the graph",
    "sync_prepare": "prepares the graph",
    "dynamo": "runs torch.compile",
    "compile": "compiles",
    "program_load": "loads programs",
    "to_device": "sends data",
    "from_device": "reads data back",
    "dispatch": "launches",
    "wait": "waits",
    "input": "waits for data",
    "python": "runs Python",
    "other": "does other work",
    "unrecorded": "records nothing",
}
"""What the host does, by class, after `the host`."""

_ORDINARY = ("A", "Every", "Graphs", "Nothing", "Suspected", "Suspected:", "The")
"""First words of titles that are no names from the session."""


def verdict(report: Mapping[str, Any]) -> dict[str, str]:
    """`text` and `severity` (good, info, warning, critical) of a session's report: how busy its devices are,
    and what is in the way."""
    devices, findings = report["devices"], report["findings"]
    if not devices:
        return {
            "text": "No device's work could be read: what the host did is shown alone.",
            "severity": "warning",
        }
    span, busy = (sum(device[key] for device in devices) for key in ("span_ps", "busy_ps"))
    duty = share(busy / span if span else 0.0)
    whose = "The device is" if len(devices) == 1 else f"The {len(devices)} devices are"
    bound = next((it for it in findings if it["id"] == "device_bound"), None)
    if bound:
        return {"text": f"{whose} the bottleneck: {duty} busy.", "severity": "good"}
    # What only informs and costs no time is no reason for idle devices.
    reasons = [it for it in findings if it["cost_ps"] or it["severity"] != "info"]
    worst = max(reasons, key=lambda it: (SEVERITIES.index(it["severity"]), it["cost_ps"]), default=None)
    hidden = _hidden(report)
    if worst is None and hidden:
        unknown = "why" if busy < BOUND_SHARE * span else "whether the host keeps up"
        return {"text": f"{whose} {duty} busy; {unknown} is not known, as {hidden}.", "severity": "warning"}
    if worst is None and busy >= BOUND_SHARE * span and (part := _share_of_steps(report)) < BOUND_SHARE:
        text = (
            f"{whose} {duty} busy from first to last run, yet at work for {share(part)} of the steps' time: "
        )
        return {"text": f"{text}too few runs to tell what is in the way.", "severity": "warning"}
    idle = (
        f"; what else is in the way is not known, as {hidden}"
        if hidden
        else _mostly(report["gaps"]["by_class_ps"], span - busy)
    )
    if worst is None:
        return {"text": f"{whose} {duty} busy{idle}, and nothing stands out.", "severity": "info"}
    first, _, rest = worst["title"].partition(" ")
    first = first.lower() if first in _ORDINARY else first
    # What explains less than half of the idle time is not why the devices are idle.
    idle = idle if 2 * worst["cost_ps"] < span - busy else ""
    return {"text": f"{whose} {duty} busy: {first} {rest}{idle}.", "severity": worst["severity"]}


def _hidden(report: Mapping[str, Any]) -> str | None:
    """Why it cannot be said what the host did in idle time; None where it can."""
    if any(it["id"] == "clocks_disagree" for it in report["diagnostics"]):
        return "the clocks of host and device disagree"
    if not any(row["join"] != "none" for row in report["executions"]):
        return "nothing tells what launched the work"
    return None


def _share_of_steps(report: Mapping[str, Any]) -> float:
    """The part of the steps in which the device works on them; all of it where there are none."""
    total = sum(step["duration_ps"] for step in report["steps"])
    return sum(step["device_busy_ps"] for step in report["steps"]) / total if total else 1.0


def _mostly(by_class: Mapping[str, int], idle: int) -> str:
    """What the host does in more than half of the idle time, if there is such a thing."""
    name = max(by_class, key=lambda it: by_class[it], default=None)
    return f"; most of the idle time the host {_HOST[name]}" if name and 2 * by_class[name] > idle else ""


def gap_sentence(gap: Mapping[str, Any]) -> str:
    """Why a gap was there and why it ended, from its entry in the report."""
    duration, after = time_text(gap["duration_ps"]), gap["after"]
    inside = gap.get("inside_run")
    ended = f"{after} {'went on' if inside else 'ran'}" if after else "it ended"
    if inside and gap["kind"] == "queued":
        return (
            f"The device is idle for {duration} while {after} runs: the program itself waits for something."
        )
    if gap["kind"] == "queued":
        return (
            f"{after} was queued before the gap began: for {duration} the device waited for something else, "
            "a transfer, a collective or another core."
        )
    parts = sorted(gap["by_class_ps"].items(), key=lambda it: -it[1])[:3]
    doing = ", ".join(f"{_HOST[name]} ({time_text(ps)})" for name, ps in parts)
    if gap["kind"] == "starved":
        return f"Nothing was queued for {duration}: the host {doing}, until {ended}."
    return f"What was queued is not known. For {duration} the host {doing}, until {ended}."


def without_sentence(finding: Mapping[str, Any], digits: int = 3) -> str:
    """What the mean step would be without a finding; empty where that is not known."""
    if finding["step_if_fixed_ps"] is None:
        return ""
    step, now = (time_text(finding[key], digits) for key in ("step_if_fixed_ps", "step_ps"))
    return (
        "Without it the mean step is as long."
        if step == now
        else f"Mean step without it: at best {step} instead of {now}."
    )


def by_thread(chain: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A chain's time by class and thread, the most first; it adds up to the gap."""
    sums: dict[tuple[str, str], int] = {}
    for link in chain:
        key = link["class"], link["thread"]
        sums[key] = sums.get(key, 0) + link["duration_ps"]
    parts = [{"class": class_, "thread": thread, "ps": ps} for (class_, thread), ps in sums.items()]
    return sorted(parts, key=lambda it: -it["ps"])
