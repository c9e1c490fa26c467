"""What each device worked on for which step, whenever it did: this moves a step's device work below its host work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.steps.step_times import steps_of, with_offsets
from tb_xla_insights.trace.model import SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.schema.overview_route import StepWorkIntervals


def step_work_intervals(
    session: SessionTrace, most: int, told: Sequence[int] | None = None
) -> list[StepWorkIntervals]:
    """Per device `{device, steps, step, start_ps, end_ps}`: stretches by start, each from the first run to the end of
    the last of consecutive runs that one step launched (docs/definitions.md, "Step"). They overlap where runs do.

    `step` is an index into the report's `steps`, of which those from `steps[0]` to before `steps[1]` are of the
    device's host. Runs outside of steps are in no stretch. At most `most` stretches in all, and those of the steps
    `told` (by default the first `most`), are told.
    """
    among = np.arange(most) if told is None else np.array(told, np.int64)
    found = []
    for trace, offset in with_offsets(session):
        launches = find_launches(trace)
        runs = launches.runs
        for number, device in enumerate(trace.devices):
            its = np.arange(len(runs))[runs.of_device(number)]
            its = its[np.argsort(runs.start_ps[its], kind="stable")]
            step = launches.step_of_run[its]
            first = np.flatnonzero(np.append(True, step[1:] != step[:-1])[: len(step)])
            if not first.size:
                continue
            start = runs.start_ps[its][first]
            end = np.maximum.reduceat(runs.end_ps[its], first)
            keep = (step[first] >= 0) & np.isin(step[first] + offset, among)
            whose = (offset, offset + len(steps_of(trace)))
            found.append((device.id, whose, step[first][keep] + offset, start[keep], end[keep]))
    steps = np.sort(np.concatenate([step for _, _, step, _, _ in found] or [np.zeros(0, np.int64)]))
    last = int(steps[most]) if len(steps) > most else np.inf
    return [
        {
            "device": device,
            "steps": whose,
            "step": step[step < last].tolist(),
            "start_ps": start[step < last].tolist(),
            "end_ps": end[step < last].tolist(),
        }
        for device, whose, step, start, end in found
    ]
