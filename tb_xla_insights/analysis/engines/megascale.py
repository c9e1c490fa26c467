"""What a host records of the transfers between slices: when data is on the way to it, and what it does for them itself.
(docs/definitions.md, "Transfers between slices")

Times here are durations, and instants of the one clock of the host that recorded them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.errors import InputError
from tb_xla_insights.trace.details import own_stats
from tb_xla_insights.trace.metadata_events import rows_with_metadata
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.xplane.metadata import StatValue

_PLANE = "/device:CUSTOM:Megascale Trace"
_RECEIVE, _MESSAGE = "NetworkReceive END", "MegaScale: Communication Transport Receive"
_OWN_ACTION = re.compile(r"(?:NetworkSend|DeviceToHost|HostToDevice|Reduction\w*) END", re.ASCII)
"""What a host does itself for a transfer."""

_GRAPH = re.compile(r"device_(\d{1,18})_gid_([^$]+)", re.ASCII)
_BUFFER = re.compile(r"s(\d{1,18})->(\d{1,18})d\|\$c\d+=(\d{1,18})", re.ASCII)
"""A part of the data: from where, to where, and its bytes."""

_DEVICES_PER_SLICE = 100_000
"""The number of a device counts from so much times its slice's number."""

_MAX_PS = 1 << 53
"""Longer durations, and larger sizes, are no recorded ones."""

Times = list[tuple[int, int]]
"""Starts and ends in ps."""


@dataclass
class Execution:
    """One transfer as a host carries it out for one of its devices. `network`: when data is on the way to it. `own`:
    when the host works for it. `pending`: when it has asked for data, None if that is not recorded. `bytes`: what it
    receives, None if that is not recorded. `peers`: the slices that it receives from."""

    network: Times = field(default_factory=list)
    own: Times = field(default_factory=list)
    pending: Times | None = None
    bytes: int | None = None
    peers: set[int] = field(default_factory=set)

    @property
    def times(self) -> Times:
        """All times of it."""
        return [*self.network, *self.own, *(self.pending or ())]

    @property
    def start_ps(self) -> int:
        return min(start for start, _ in self.times)

    @property
    def end_ps(self) -> int:
        return max(end for _, end in self.times)

    @property
    def network_ps(self) -> int:
        """How long data is on the way; -1 if that is not recorded."""
        return total_ps(self.network) if self.network else -1

    @property
    def under_way_ps(self) -> int:
        """How long data is on the way or the host works for the transfer; -1 if the former is not recorded."""
        return total_ps([*self.network, *self.own]) if self.network else -1

    @property
    def awaited_ps(self) -> int:
        """How long the host has asked for data that is not on the way yet, while it has nothing to do for the transfer
        itself; -1 if that is not recorded."""
        if self.pending is None or not self.network:
            return -1
        return total_ps(self.times) - self.under_way_ps


@memoised
def find_executions(trace: Trace) -> Mapping[tuple[int, str], list[Execution]]:
    """The recorded transfers by device (an index into the trace's devices) and name, in order of time. Empty if the
    host's numbers of devices cannot be related to its devices."""
    executions: dict[tuple[int, str], list[Execution]] = {}
    try:
        found = _from_graphs(trace) or _from_messages(trace)
    except InputError:
        return {}
    tpus = sorted(
        (device.ordinal, index) for index, device in enumerate(trace.devices) if device.kind == "tpu"
    )
    numbers = sorted({number for number, _, _ in found})
    if len(numbers) != len(tpus):
        return {}
    device_of = {number: index for number, (_, index) in zip(numbers, tpus, strict=True)}
    for number, name, execution in found:
        executions.setdefault((device_of[number], name), []).append(execution)
    for of_name in executions.values():
        of_name.sort(key=lambda execution: execution.end_ps)
    return executions


def _from_graphs(trace: Trace) -> list[tuple[int, str, Execution]]:
    """The transfers of the host's line of action graphs: number of the device, name of the transfer, and what was
    recorded. All actions of one execution share a key."""
    planes = [plane.index for plane in trace.planes if plane.name == _PLANE]
    is_received = _named(trace, lambda name: name == _RECEIVE, planes)
    is_own = _named(trace, lambda name: _OWN_ACTION.fullmatch(name) is not None, planes)
    rows = rows_with_metadata(is_received | is_own, trace.metadata_index)
    executions: dict[str, Execution] = {}
    for row, stats in zip(rows.tolist(), own_stats(trace, rows), strict=True):
        key, duration_ps = stats.get("graph_key"), _ps(stats, "action_duration_ns", 1000)
        if not isinstance(key, str) or not (graph := _GRAPH.match(key)):
            continue
        execution, buffers = executions.setdefault(key, Execution()), stats.get("buffer_sizes")
        end_ps = int(trace.end_ps[row])
        whole = [] if duration_ps is None else [(end_ps - duration_ps, end_ps)]
        if not is_received[trace.metadata_index[row]]:
            execution.own += whole
            continue
        if _is_loopback(buffers):
            continue
        if whole:
            execution.pending = [*(execution.pending or ()), *whole]
        if latency_ps := _ps(stats, "network_transport_latency_us", 1_000_000):
            execution.network.append((end_ps - latency_ps, end_ps))
        for peer, size in _buffers(buffers, int(graph[1])):
            execution.bytes = (execution.bytes or 0) + size
            execution.peers.add(peer)
    return [
        (int(graph[1]), graph[2], execution)
        for key, execution in executions.items()
        if (graph := _GRAPH.match(key)) and execution.times
    ]


def _from_messages(trace: Trace) -> list[tuple[int, str, Execution]]:
    """The same from the messages that older hosts record, whose times are their ends. The messages of one part of the
    data belong to one execution after the other. One without duration, since two clocks disagree, is not known to be on
    the way."""
    rows = rows_with_metadata(_named(trace, lambda name: name == _MESSAGE), trace.metadata_index)
    rows = rows[np.argsort(trace.start_ps[rows], kind="stable")]
    executions: dict[tuple[int, str], list[Execution]] = {}
    seen: dict[tuple[object, ...], int] = {}
    for row, stats in zip(rows.tolist(), own_stats(trace, rows), strict=True):
        name, device = stats.get("dcn_label"), _count(stats, "dcn_destination_per_slice_device_id")
        if not isinstance(name, str) or device is None:
            continue
        peer = _count(stats, "dcn_source_slice_id")
        part = (name, device, peer, stats.get("dcn_source_per_slice_device_id"), stats.get("dcn_chunk"))
        number = seen[part] = seen.get(part, -1) + 1
        of_name = executions.setdefault((device, name), [])
        if number == len(of_name):
            of_name.append(Execution())
        execution, end_ps = of_name[number], int(trace.start_ps[row])
        if duration_ps := _ps(stats, "duration_us", 1_000_000):
            execution.network.append((end_ps - duration_ps, end_ps))
        if (size := _count(stats, "payload_size_bytes")) is not None:
            execution.bytes = (execution.bytes or 0) + size
        if peer is not None and peer != _count(stats, "dcn_destination_slice_id"):
            execution.peers.add(peer)
    return [
        (device, name, execution)
        for (device, name), of_name in executions.items()
        for execution in of_name
        if execution.network
    ]


def _named(
    trace: Trace, is_named: Callable[[str], bool], planes: Iterable[int] | None = None
) -> NDArray[np.bool_]:
    """Which event metadata have such a name, in these planes."""
    found = trace.map_texts(trace.metadata.name, is_named) > 0
    if planes is not None:
        found &= np.isin(trace.metadata.plane, [*planes])
    return found


def _count(stats: Mapping[str, StatValue], name: str) -> int | None:
    """A number that is not negative nor too large; None for anything else."""
    value = stats.get(name)
    return value if isinstance(value, int) and 0 <= value < _MAX_PS else None


def _ps(stats: Mapping[str, StatValue], name: str, unit_ps: int) -> int | None:
    value = _count(stats, name)
    return value * unit_ps if value is not None and value * unit_ps < _MAX_PS else None


def _is_loopback(text: StatValue | None) -> bool:
    """Whether all parts of the data go from where they are to the same place, which needs no network."""
    parts = _BUFFER.findall(text) if isinstance(text, str) else []
    return bool(parts) and all(source == destination for source, destination, _ in parts)


def _buffers(text: StatValue | None, own: int) -> Iterator[tuple[int, int]]:
    """The slice that each part of received data comes from, and its bytes, of those from other slices. `own`: the
    number of the receiving device. Sources and destinations are numbers of devices, else of slices."""
    if not isinstance(text, str):
        return
    own_slice = own // _DEVICES_PER_SLICE
    for source, destination, size in _BUFFER.findall(text):
        is_device = int(destination) == own and int(source) // _DEVICES_PER_SLICE != own_slice
        peer = int(source) // _DEVICES_PER_SLICE if is_device else int(source)
        if (is_device or int(destination) == own_slice) and peer != own_slice and int(size) < _MAX_PS:
            yield peer, int(size)


def merged(times: Times) -> Times:
    """The union of some times."""
    found: Times = []
    for start, end in sorted(times):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def total_ps(times: Times) -> int:
    """The time that at least one of them covers."""
    return sum(end - start for start, end in merged(times))
