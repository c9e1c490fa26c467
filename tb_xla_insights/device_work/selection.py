"""Which ops of a session the view Device shows: of a core, a host or all; of a step, the mean step or the session."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.propagation.ops import OpSelection, find_ops
from tb_xla_insights.analysis.propagation.tree import select_runs
from tb_xla_insights.analysis.steps.step_times import steps_of, traces_with_step_offsets
from tb_xla_insights.trace.model import SessionTrace, Trace

ALL, MEAN = "all", "mean"
"""Words of links: all devices or the whole session; the mean of all whole steps."""


@dataclass(frozen=True)
class Part:
    """The chosen ops of one host: its place among the session's hosts, its devices (indices), and of how many steps
    they are (1 for the whole session)."""

    place: int
    trace: Trace
    devices: list[int]
    ops: OpSelection
    steps: int


@dataclass(frozen=True)
class Selection:
    """`dd` and `st` as a link writes what was chosen: `31.2`, `31` or `all`; a step's number, `mean` or `all`. `stale`:
    something else was asked for, which the session does not have. `step` is the index of a single step among those of
    its host, which `steps` lists as links write them."""

    dd: str
    st: str
    stale: bool
    parts: list[Part] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    step: int | None = None

    @property
    def cores(self) -> int:
        return sum(len(part.devices) for part in self.parts)

    @property
    def core_steps(self) -> int:
        """The divisor that turns sums into means per core, and per step unless the whole session is chosen."""
        return sum(len(part.devices) * part.steps for part in self.parts)


def choose(session: SessionTrace, dd: str | None, st: str | None, usual: int = 0) -> Selection:
    """The selection that a link names among the hosts in memory. The default device is the first core with ops of the
    host at place `usual`; the default step is the one of median length among the steps with recorded device work."""
    hosts = dict(session.numbered())
    chosen = _devices(hosts, dd)
    stale = dd is not None and chosen is None
    if chosen is None:
        chosen, dd = _usual_device(hosts, usual)
    offsets = {id(trace): offset for trace, offset in traces_with_step_offsets(session)}
    place = next(iter(chosen), None)
    if place is None:
        return Selection(dd or ALL, ALL, stale)
    first = hosts[place]
    names = _step_names(first, offsets[id(first)])
    known = st in names or st in (MEAN, ALL)
    stale |= st is not None and not known
    if not known or not names:
        at = _usual_step(first, chosen[place])
        st = ALL if at is None else names[at]
    parts = []
    for own, devices in chosen.items():
        trace = hosts[own]
        steps = _step_names(trace, offsets[id(trace)]) if st not in (MEAN, ALL) else []
        if st in (MEAN, ALL) or st in steps:
            at = steps.index(st) if st in steps else None
            count = len(steps_of(trace)) if st == MEAN else 1
            parts.append(Part(own, trace, devices, _ops(trace, devices, str(st), at), count))
    return Selection(str(dd), str(st), stale, parts, names, names.index(st) if st in names else None)


def _devices(hosts: dict[int, Trace], dd: str | None) -> dict[int, list[int]] | None:
    """Devices by the place of their host; None where the text names none that is there."""
    if dd == ALL:
        return {place: list(range(len(trace.devices))) for place, trace in hosts.items() if trace.devices}
    place, _, core = (dd or "").partition(".")
    trace = hosts.get(int(place)) if place.isdecimal() and len(place) < 7 else None
    if trace is None or not trace.devices:
        return None
    if not core:
        return {int(place): list(range(len(trace.devices)))}
    at = int(core) if core.isdecimal() and len(core) < 7 else -1
    return {int(place): [at]} if 0 <= at < len(trace.devices) else None


def _usual_device(hosts: dict[int, Trace], usual: int) -> tuple[dict[int, list[int]], str]:
    order = sorted(hosts, key=lambda place: (place != usual, place))
    for wanted in (True, False):  # one without ops only where none has any
        for place in order:
            for at, device in enumerate(hosts[place].devices):
                if len(device.ops) or not wanted:
                    return {place: [at]}, f"{place}.{at}"
    return {}, ALL


def _step_names(trace: Trace, offset: int) -> list[str]:
    """Steps as links write them: by their number, else by their index in the report's `steps`."""
    return [
        str(offset + at if step.number is None else step.number) for at, step in enumerate(steps_of(trace))
    ]


def _usual_step(trace: Trace, devices: list[int]) -> int | None:
    steps, launches = steps_of(trace), find_launches(trace)
    of_run = launches.step_of_run[np.isin(launches.runs.device, devices)]
    worked = np.unique(of_run[of_run >= 0]).tolist()
    order = sorted(worked, key=lambda it: (steps[it].duration_ps, it))
    return order[(len(order) - 1) // 2] if order else None


def _ops(trace: Trace, devices: list[int], st: str, step: int | None) -> OpSelection:
    if st == ALL:
        return [(number, slice(None)) for number in devices]
    ops, launches = find_ops(trace), find_launches(trace)
    runs = launches.step_of_run >= 0 if st == MEAN else select_runs(trace, step, None)
    return [it for it in ops.of_runs(runs) if it[0] in devices]
