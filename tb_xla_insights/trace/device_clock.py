"""The clock of a host's devices, placed against the host's by what cannot be: a run that begins before it was enqueued,
or the host notified of an end that has not come yet.

A TPU's times may be some 0.1 ms to 1 ms away from its host's. One shift places all devices of a host.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.trace.model import DeviceClock, Trace

CLOCK_SLACK_PS = 10_000_000
"""Host and device clocks agree only to some microseconds. Instants on different clocks that are closer than this have
no known order."""

_USUAL_START_PS, _USUAL_COMPLETION_PS = 50_000_000, 130_000_000
"""Usual times from the end of the enqueuing to the start of the run on a free device (34 to 60 µs on TPU v6e), and from
a run's end to its completion on the host (122 to 218 µs there)."""

_COMPLETIONS = ("CompleteCallbacks", "tpu::System::Execute=>Done")
"""Events that begin when the host is notified of a run's end. The first ones have a flow from the run's enqueuing, of
the others only the number is known: one per run."""


def find_device_clock(trace: Trace) -> DeviceClock | None:
    """Finds the shift that the devices' times need; None if the clocks of host and devices agree, or if nothing
    consistent can be said. Needs the trace's devices and flows. (docs/definitions.md, "Time base")

    The shift is at least the time from a run's start to the end of its enqueuing, and at most the time from a run's end
    to its completion on the host. The second holds only for runs after which all devices were idle: where runs follow
    each other directly, the recorded end of the first may be late, by up to 198 ms on TPU v6e.
    """
    runs = [device.runs for device in trace.devices if not device.from_host_events]
    is_enqueue = np.array(
        ["enqueue" in trace.catalog.tags(trace.strings[name]) for name in trace.metadata.name], np.bool_
    )
    enqueues = trace.rows_with_metadata(is_enqueue)
    if not runs or not enqueues.size:
        return None
    row = np.concatenate([intervals.row for intervals in runs])
    start_ps = np.concatenate([intervals.start_ps for intervals in runs])
    end_ps = np.concatenate([intervals.end_ps for intervals in runs])
    enqueue = trace.flows.producers(row)
    is_known = np.isin(enqueue, enqueues)
    if not is_known.any():
        return None
    idle_follows = _idle_follows(start_ps, end_ps, has_all_runs=bool(np.isin(enqueues, enqueue).all()))
    lowest = int((trace.end_ps[enqueue[is_known]] - start_ps[is_known]).max())
    highest = _highest_shift(trace, enqueue, end_ps, idle_follows)
    if lowest <= CLOCK_SLACK_PS and (highest is None or highest >= -CLOCK_SLACK_PS):
        return None
    shift = lowest + _USUAL_START_PS
    if highest is not None:
        if lowest > highest:
            return None
        if lowest < 0:  # it may be far off: that of runs that had to wait for earlier ones
            shift = max(shift, highest - _USUAL_COMPLETION_PS)
        if shift > highest:
            shift = (lowest + highest) // 2
    return DeviceClock(shift, lowest, highest)


def _idle_follows(start_ps: Int64, end_ps: Int64, has_all_runs: bool) -> NDArray[np.bool_]:
    """Whether all devices are idle after each run. `has_all_runs`: whether each enqueued run is recorded, so that
    nothing follows the last one."""
    begun = np.searchsorted(np.sort(start_ps), end_ps + CLOCK_SLACK_PS, "right")
    ended = np.searchsorted(np.sort(end_ps), end_ps, "right")
    idle_follows: NDArray[np.bool_] = (begun == ended) & (has_all_runs | (begun < len(start_ps)))
    return idle_follows


def _highest_shift(
    trace: Trace, enqueue: Int32, end_ps: Int64, idle_follows: NDArray[np.bool_]
) -> int | None:
    """The shortest time from the end of a run that idle time follows to its completion on the host; None if no such
    completion is known."""
    callbacks, notifications = (
        trace.rows_with_metadata(
            np.array([trace.strings[index] == name for index in trace.metadata.name], np.bool_)
        )
        for name in _COMPLETIONS
    )
    order = np.argsort(enqueue, kind="stable")
    producer = trace.flows.producers(callbacks)
    run = order[np.minimum(np.searchsorted(enqueue[order], producer), len(order) - 1)]
    is_of_run = (producer >= 0) & (enqueue[run] == producer) & idle_follows[run]
    shifts_ps = trace.start_ps[callbacks[is_of_run]] - end_ps[run[is_of_run]]
    if len(notifications) == len(end_ps):  # when a run ends before idle time, all earlier ones have ended
        order = np.argsort(end_ps, kind="stable")
        notified_ps = np.sort(trace.start_ps[notifications])
        shifts_ps = np.append(shifts_ps, (notified_ps - end_ps[order])[idle_follows[order]])
    return int(shifts_ps.min()) if len(shifts_ps) else None
