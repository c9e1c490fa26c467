"""The ops that the view Device shows: of a device, a host or all hosts; of a step, the mean step or the session."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.analysis.launches.step_times import find_steps, median_step, traces_with_step_offsets
from tb_xla_insights.analysis.propagation.ops import OpSelection, find_ops
from tb_xla_insights.analysis.propagation.tree import select_runs
from tb_xla_insights.trace.model import SessionTrace, Trace

ALL, MEAN = "all", "mean"
"""Words in links: all devices or the whole session; the mean of all whole steps."""

_MAX_DIGITS = 6
"""The maximum number of digits of an index in a link."""


@dataclass(frozen=True)
class HostOps:
    """The selected ops of one host: its index among the session's hosts, its devices (indices), and the number of steps
    that the ops belong to (1 for the whole session)."""

    host: int
    trace: Trace
    devices: list[int]
    ops: OpSelection
    step_count: int


@dataclass(frozen=True)
class Selection:
    """What a link selects. `device` and `step` are as in links: `31.2`, `31` or `all`; a step's name, `mean` or `all`
    (see `_step_names`). `is_replaced`: the link names a device or a step that the session does not have, so a default
    is shown. `step_names`: the steps of the first host as in links; `step_index`: the index of a single selected step
    among them."""

    device: str
    step: str
    is_replaced: bool
    hosts: list[HostOps] = field(default_factory=list)
    step_names: list[str] = field(default_factory=list)
    step_index: int | None = None

    @property
    def device_count(self) -> int:
        return sum(len(host.devices) for host in self.hosts)

    @property
    def core_steps(self) -> int:
        """The divisor that turns sums into means per core, and per step unless the whole session is selected."""
        return sum(len(host.devices) * host.step_count for host in self.hosts)


def select(session: SessionTrace, device: str | None, step: str | None, default_host: int = 0) -> Selection:
    """Returns what a link selects among the hosts in memory. The default device is the first one with ops, on the host
    at index `default_host` if that has one; if no device has ops, it is the first device. The default step is the one
    of median duration among the steps with recorded work on these devices of the first host; if there is none, the
    whole session is selected."""
    traces = dict(session.numbered_traces())
    devices_of_host = _parse_device(traces, device)
    is_replaced = device is not None and devices_of_host is None
    if devices_of_host is None:
        devices_of_host, device = _default_device(traces, default_host)
    offsets = {id(trace): offset for trace, offset in traces_with_step_offsets(session)}
    first_host = next(iter(devices_of_host), None)
    if first_host is None:
        return Selection(device or ALL, ALL, is_replaced)
    first_trace = traces[first_host]
    numbers = _step_numbers(first_trace, offsets[id(first_trace)])
    names = _step_names(first_trace, offsets[id(first_trace)])
    step_index = _find_step(names, numbers, step)
    if step_index is None and step != ALL and not (step == MEAN and names):
        is_replaced |= step is not None
        step, step_index = ALL, _default_step(first_trace, devices_of_host[first_host])
    if step_index is not None:
        step = names[step_index]
    hosts = []
    for host, devices in devices_of_host.items():
        trace = traces[host]
        index = _find_same_step(_step_numbers(trace, offsets[id(trace)]), numbers, step_index)
        if step in (MEAN, ALL) or index is not None:
            count = len(find_steps(trace)) if step == MEAN else 1
            hosts.append(HostOps(host, trace, devices, _select_ops(trace, devices, str(step), index), count))
    return Selection(str(device), str(step), is_replaced, hosts, names, step_index)


def _parse_device(traces: dict[int, Trace], device: str | None) -> dict[int, list[int]] | None:
    """Returns the indices of devices by the index of their host; None if the session does not have them."""
    if device == ALL:
        return {host: list(range(len(trace.devices))) for host, trace in traces.items() if trace.devices}
    host_text, _, device_text = (device or "").partition(".")
    host = _parse_index(host_text)
    trace = traces.get(host)
    if trace is None or not trace.devices:
        return None
    if not device_text:
        return {host: list(range(len(trace.devices)))}
    index = _parse_index(device_text)
    return {host: [index]} if 0 <= index < len(trace.devices) else None


def _parse_index(text: str) -> int:
    """Returns an index in a link; -1 if the text is not an index."""
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else -1


def _default_device(traces: dict[int, Trace], default_host: int) -> tuple[dict[int, list[int]], str]:
    """Returns the first device with ops, or the first device if none has any, and its name in links."""
    order = sorted(traces, key=lambda host: (host != default_host, host))
    for needs_ops in (True, False):
        for host in order:
            for index, device in enumerate(traces[host].devices):
                if len(device.ops) or not needs_ops:
                    return {host: [index]}, f"{host}.{index}"
    return {}, ALL


def _step_numbers(trace: Trace, offset: int) -> list[str]:
    """Returns the steps' numbers; of steps without one, their indices in the report's `steps`."""
    return [
        str(index if step.number is None else step.number)
        for index, step in enumerate(find_steps(trace), offset)
    ]


def _step_names(trace: Trace, offset: int) -> list[str]:
    """Returns the steps as in links: their numbers, with their indices in the report's `steps` if several steps have
    the number; without numbers, the indices alone."""
    steps = find_steps(trace)
    counts = Counter(step.number for step in steps)
    return [
        str(index)
        if step.number is None
        else f"{step.number}.{index}"
        if counts[step.number] > 1
        else f"{step.number}"
        for index, step in enumerate(steps, offset)
    ]


def _find_step(names: list[str], numbers: list[str], step: str | None) -> int | None:
    """Returns the index of the step of that name, else of the first one of its number; None if there is none."""
    if step in names:
        return names.index(step)
    number = (step or "").partition(".")[0]
    return numbers.index(number) if number in numbers else None


def _find_same_step(numbers: list[str], first_numbers: list[str], first_index: int | None) -> int | None:
    """Returns the index of the step that a host executes together with a step of the first host: of several with its
    number, the one that as many precede; None if there is none."""
    if first_index is None:
        return None
    number = first_numbers[first_index]
    indices = [index for index, other_number in enumerate(numbers) if other_number == number]
    return next(iter(indices[first_numbers[:first_index].count(number) :]), None)


def _default_step(trace: Trace, devices: list[int]) -> int | None:
    """Returns the index of the step of median duration among those with work on these devices, None without any."""
    launches = find_launches(trace)
    return median_step(trace, launches.step_of_run[np.isin(launches.runs.device, devices)])


def _select_ops(trace: Trace, devices: list[int], step: str, step_index: int | None) -> OpSelection:
    if step == ALL:
        return [(device, slice(None)) for device in devices]
    ops, launches = find_ops(trace), find_launches(trace)
    runs = launches.step_of_run >= 0 if step == MEAN else select_runs(trace, step_index, None)
    return [(device, mask) for device, mask in ops.of_runs(runs) if device in devices]
