"""The finding about a host that reads from the device, or waits for it, in every step."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_xla_insights.analysis.blocking import blocked, blocks_report, find_blocks
from tb_xla_insights.analysis.early import find_early, reads_report
from tb_xla_insights.analysis.findings.base import (
    Facts,
    Finding,
    Window,
    longest_windows,
    plural,
    total_ps,
)
from tb_xla_insights.analysis.intervals import union, union_of
from tb_xla_insights.analysis.thresholds import EVERY_SHARE
from tb_xla_insights.analysis.what_if import Fix
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.units import share, time_text


def sync_every_step(facts: Facts) -> Finding | None:
    """Reads in at least half of the steps, or calls in which the program waits for the device. They cost the part of
    starved gaps in which the host reads or waits there; what follows an early execution counts there."""
    reads, waits = reads_report(facts.session), blocks_report(facts.session)
    if not reads["every_step"] and not waits["every_step"]:
        return None
    taken = []
    for trace, ledger in zip(facts.traces, facts.ledgers, strict=True):
        taken.append(
            ledger.take(("from_device",)) if reads["every_step"] else np.zeros(len(ledger), np.int64)
        )
        if waits["every_step"]:
            taken[-1] = taken[-1] + ledger.take_within(("wait",), trace, blocked(trace))
    cost = total_ps(taken)
    # Reads of early executions go with those.
    early = [find_early(trace) for trace in facts.traces]
    others = any(np.setdiff1d(found.reads, found.read).size for found in early)
    reads_too, gain = reads["every_step"] and others, others or waits["every_step"]
    part = max(_share(reads, "reads"), _share(waits, "waits"))
    both = [(report, what) for report, what in ((reads, "reads"), (waits, "waits")) if report["every_step"]]
    told = " and ".join(_counted(report, what) for report, what in both)
    kept_ps = sum(report["duration_ps"] for report, _ in both)
    return Finding(
        "sync_every_step",
        _title(part, reads["every_step"], waits["every_step"]),
        _brief(part, reads["every_step"]),
        f"{told} keep the host for {time_text(kept_ps)}{facts.of_hosts}; "
        + (f"devices idle in them for {facts.of_span(cost)}, " if cost else "no device idles in them, ")
        + ("not counting early syncs." if gain else "as all of them are those of early syncs."),
        _advice(facts, reads_too, waits["every_step"]),
        cost,
        {key: value for key, value in reads.items() if key != "every_step"}
        | {"waits": waits["waits"], "steps_with_waits": waits["steps_with_waits"]},
        longest_windows(
            Window(int(trace.start_ps[row]), int(trace.end_ps[row]))
            for trace in facts.traces
            for row in _rows(trace, reads["every_step"], waits["every_step"])
        ),
        "every_step" if part >= EVERY_SHARE else "some_steps",
        [_fix(trace, reads_too, waits["every_step"]) for trace in facts.traces] if gain else None,
    )


def _share(report: dict[str, Any], what: str) -> float:
    """Of the steps, how many read or wait; 0 where that is no habit."""
    return report[f"steps_with_{what}"] / report["steps"] if report["every_step"] else 0.0


def _counted(report: dict[str, Any], what: str) -> str:
    """`15 reads in 15 of 15 steps (1.0 each)`."""
    number, steps = report[what], report[f"steps_with_{what}"]
    one, many = ("read", "reads") if what == "reads" else ("wait for the device", "waits for the device")
    return f"{plural(number, one, many)} in {steps} of {plural(report['steps'], 'step')} ({number / steps:.1f} each)"


def _title(part: float, reads: bool, waits: bool) -> str:
    who, many = ("Every step", False) if part == 1 else (f"{share(part)} of the steps", True)
    does = ["read" if many else "reads"] * reads + ["wait" if many else "waits"] * waits
    prepositions = {"read": "from", "reads": "from", "wait": "for", "waits": "for"}
    if len(does) == 2:
        return f"{who} {does[0]} from the device and {does[1]} for it"
    return f"{who} {does[0]} {prepositions[does[0]]} the device"


def _brief(part: float, reads: bool) -> str:
    what = "a read from the device" if reads else "a wait for the device"
    return f"{what} {'in every step' if part == 1 else f'in {share(part)} of the steps'}"


def _advice(facts: Facts, reads: bool, waits: bool) -> str:
    if not reads and not waits:
        return "Take the reads that cut the graph out of the step first."
    advice = []
    if waits:
        call = facts.words.waits
        advice.append(
            f"{f'Take {call} out of the step' if call else 'Do not wait for the device in every step'}, so that the "
            "host launches the next step meanwhile; where you measure, wait every tenth step, or once behind the last."
        )
    if reads:
        advice.append(
            "Read less often: log every tenth step or later, add up the loss on the device, and print it "
            f"{facts.words.later}."
        )
    return " ".join(advice)


def _rows(trace: Trace, reads: bool, waits: bool) -> list[int]:
    return [
        *(find_early(trace).reads.tolist() if reads else []),
        *(find_blocks(trace).tolist() if waits else []),
    ]


def _fix(trace: Trace, reads: bool, waits: bool) -> Fix:
    """All reads, and the calls in which the program waits."""
    if not waits:
        return Fix(("from_device",), reads=True)
    rows = find_early(trace).reads
    of_reads = union(trace.start_ps[rows], trace.end_ps[rows])
    where = union_of([blocked(trace), of_reads]) if reads else blocked(trace)
    classes = ("from_device", "wait") if reads else ("wait",)
    return Fix(classes, windows=(where.start_ps, where.end_ps), reads=reads, blocks=True)
