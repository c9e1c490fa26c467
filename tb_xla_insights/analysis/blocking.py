"""Where the program itself waits until the device is done (`jax.block_until_ready`), reads apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from tb_xla_insights.analysis.early import last_steps
from tb_xla_insights.analysis.idle import SLACK_PS
from tb_xla_insights.analysis.intervals import Intervals, union
from tb_xla_insights.analysis.kept import kept
from tb_xla_insights.analysis.steps import steps_of
from tb_xla_insights.analysis.thresholds import READS_SHARE
from tb_xla_insights.analysis.waits import Waits, find_waits
from tb_xla_insights.trace.model import SessionTrace, Trace


@kept
def find_blocks(trace: Trace) -> Waits:
    """The calls on the driving thread in which the program waits for the device, of those that last longer than clocks
    may be apart. (docs/definitions.md, "Early execution")"""
    waits = find_waits(trace)
    driving = np.isin(trace.lines_of(waits.row), trace.lines_with("driving"))
    return waits.where(driving & (waits.end_ps - waits.start_ps >= SLACK_PS))


def blocked(trace: Trace) -> Intervals:
    """When the program waits for the device."""
    waits = find_blocks(trace)
    return union(waits.start_ps, waits.end_ps)


def blocks_report(session: SessionTrace) -> dict[str, Any]:
    """Whether the program waits for the device in every step: `steps`, `steps_with_waits`, `every_step` (at least half
    of them), `waits` and `duration_ps` (without those before the first step)."""
    totals = {"steps": 0, "steps_with_waits": 0, "waits": 0, "duration_ps": 0}
    for trace in session.traces:
        waits = find_blocks(trace)
        step = last_steps(trace, waits.row)
        totals["steps"] += len(steps_of(trace))
        totals["steps_with_waits"] += len(np.unique(step[step >= 0]))
        totals["waits"] += int((step >= 0).sum())
        totals["duration_ps"] += int((waits.end_ps - waits.start_ps)[step >= 0].sum())
    with_waits = totals["steps_with_waits"]
    return totals | {"every_step": with_waits > 0 and with_waits >= READS_SHARE * totals["steps"]}
