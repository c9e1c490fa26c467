"""The intervals in which each device worked for a step, whenever that was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps, traces_with_step_offsets
from tb_xla_insights.trace.model import SessionTrace

if TYPE_CHECKING:
    from tb_xla_insights.schema.overview_route import StepWorkIntervals


def step_work_intervals(
    session: SessionTrace, max_intervals: int, steps: Sequence[int] | None = None
) -> list[StepWorkIntervals]:
    """Returns per device `{device, steps, step, start_ps, end_ps}`: intervals by start, each from the first run to the
    end of the last of consecutive runs that one step launched (docs/definitions.md, "Step"). They overlap if runs do.

    `step` holds indices into the report's `steps`; those from `steps[0]` to before `steps[1]` belong to the device's
    host. Runs outside of steps are in no interval. The result has the intervals of the given steps (by default the
    first `max_intervals`), at most `max_intervals` in all.
    """
    included_steps = np.arange(max_intervals) if steps is None else np.array(steps, np.int64)
    columns = []
    for trace, offset in traces_with_step_offsets(session):
        launches = find_launches(trace)
        runs = launches.runs
        for index, device in enumerate(trace.devices):
            run = np.arange(len(runs))[runs.of_device(index)]
            run = run[np.argsort(runs.start_ps[run], kind="stable")]
            step = launches.step_of_run[run]
            first = np.flatnonzero(np.append(True, step[1:] != step[:-1])[: len(step)])
            if not first.size:
                continue
            start = runs.start_ps[run][first]
            end = np.maximum.reduceat(runs.end_ps[run], first)
            is_included = (step[first] >= 0) & np.isin(step[first] + offset, included_steps)
            step = step[first][is_included] + offset
            host_steps = (offset, offset + len(find_steps(trace)))
            columns.append((device.id, host_steps, step, start[is_included], end[is_included]))
    step_of_interval = np.sort(
        np.concatenate([step for _, _, step, _, _ in columns] or [np.zeros(0, np.int64)])
    )
    end_step = int(step_of_interval[max_intervals]) if len(step_of_interval) > max_intervals else np.inf
    return [
        {
            "device": device,
            "steps": host_steps,
            "step": step[step < end_step].tolist(),
            "start_ps": start[step < end_step].tolist(),
            "end_ps": end[step < end_step].tolist(),
        }
        for device, host_steps, step, start, end in columns
    ]
