"""The waits of cores for other hosts, for the timeline. (docs/definitions.md, "Pods")

Times are on each host's own clock, from the session's start, as in its rows. `arrivals` and `names` are those of all
hosts of the session; `hosts` are the hosts of the answer, by their indices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.pod.arrivals import Arrivals
from tb_xla_insights.pod.waits import CoreWaits, clock_uncertainty_ps, core_waits, delayed_instance
from tb_xla_insights.timeline.host import HostTimeline
from tb_xla_insights.trace.row_ids import RowId

if TYPE_CHECKING:
    from tb_xla_insights.schema.waits_route import (
        CollectiveAnswer,
        CollectiveArrivals,
        CollectiveCores,
        WaitColumns,
        Waits,
    )

_MAX_WAITS = 2000
"""An answer has at most this many waits, the longest ones: a screen has no space for more that are two pixels wide."""


def waits_in(
    arrivals: Arrivals,
    names: Sequence[str],
    hosts: Mapping[int, HostTimeline],
    start_ps: int,
    end_ps: int,
    px: int,
) -> Waits:
    """The waits of these hosts that overlap a window and last a pixel (`(end_ps - start_ps) / px`) or more, host by
    host, sorted by start; at most _MAX_WAITS. `count` includes shorter waits and those left out."""
    pixel_ps = (end_ps - start_ps) // px
    waits_of_host = {index: core_waits(arrivals, index) for index in hosts}
    candidates: list[tuple[int, int, int]] = []  # length, index of the host, row in its waits
    count = 0
    for index, waits in waits_of_host.items():
        shift = _shift_ps(arrivals, hosts[index])
        begin, end = waits.wait_start_ps + shift, np.minimum(waits.last_arrival_ps, waits.end_ps) + shift
        overlaps = (waits.waits_ps > 0) & (begin < end_ps) & (end > start_ps)
        count += int(overlaps.sum())
        rows = np.flatnonzero(overlaps & (waits.waits_ps >= pixel_ps))
        candidates += [
            (length, index, row)
            for length, row in zip(waits.waits_ps[rows].tolist(), rows.tolist(), strict=True)
        ]
    longest = sorted(candidates, reverse=True)[:_MAX_WAITS]
    answer: Waits = {**_empty_columns(), "count": count, "names": [], "last_host": [], "name": []}
    texts: dict[str, int] = {}
    for index, waits in waits_of_host.items():
        rows = np.array(sorted(row for _, host, row in longest if host == index), np.intp)
        _add_ops(answer, arrivals, hosts[index], waits, rows)
        for instance in waits.instance[rows].tolist():
            instruction = arrivals.shared.instructions[arrivals.instances.instruction[instance]]
            for column, text in (
                (answer["last_host"], names[arrivals.last_party[instance]]),
                (answer["name"], instruction.name),
            ):
                column.append(texts.setdefault(text, len(texts)))
    answer["names"] = list(texts)
    return answer


def collective_at(
    arrivals: Arrivals,
    names: Sequence[str],
    hosts: Mapping[int, HostTimeline],
    device: str,
    start_ps: int,
    end_ps: int | None = None,
) -> CollectiveAnswer:
    """The collective whose op starts on a device at an instant; with `end_ps` the one that is delayed by a gap from
    `start_ps` to `end_ps`."""
    for index, host in hosts.items():
        ids = [device_.id for device_ in host.trace.devices]
        if device in ids:
            instance = _instance(arrivals, host, index, ids.index(device), start_ps, end_ps)
            return {"collective": None if instance is None else _collective(arrivals, names, hosts, instance)}
    return {"collective": None}


def _instance(
    arrivals: Arrivals, host: HostTimeline, index: int, core: int, start_ps: int, end_ps: int | None
) -> int | None:
    """The index of the instance that `collective_at` answers with, None if there is none."""
    shift = _shift_ps(arrivals, host)
    if end_ps is not None:
        return delayed_instance(arrivals, index, core, start_ps - shift, end_ps - shift)
    waits, start = core_waits(arrivals, index), start_ps - shift
    rows = np.flatnonzero((waits.core == core) & ((waits.begin_ps == start) | (waits.wait_start_ps == start)))
    return int(waits.instance[rows[0]]) if len(rows) else None


def _collective(
    arrivals: Arrivals, names: Sequence[str], hosts: Mapping[int, HostTimeline], instance: int
) -> CollectiveArrivals:
    instances, last = arrivals.instances, int(arrivals.last_party[instance])
    party_indices = np.flatnonzero(instances.present[instance]).astype(np.int32)
    uncertainty_ps = clock_uncertainty_ps(arrivals, last, party_indices)
    waits = np.where(
        arrivals.waits_ps[instance, party_indices] > uncertainty_ps,
        arrivals.waits_ps[instance, party_indices],
        0,
    )
    instruction = arrivals.shared.instructions[instances.instruction[instance]]
    columns: CollectiveCores = {**_empty_columns(), "begin_ps": []}
    for index, host in hosts.items():
        host_waits = core_waits(arrivals, index)
        rows = np.flatnonzero(host_waits.instance == instance)
        rows = rows[np.argsort(host_waits.core[rows], kind="stable")]
        begin = (host_waits.begin_ps[rows] + _shift_ps(arrivals, host)).tolist()
        _add_ops(columns, arrivals, host, host_waits, rows)
        columns["begin_ps"] += begin
    return {
        "name": instruction.name,
        "kind": instruction.kind,
        "last_host": names[last],
        "hosts": len(party_indices),
        "waiting": int((waits > 0).sum()),
        "longest_ps": int(waits.max(initial=0)),
        "waits_ps": int(waits.sum()),
        "uncertainty_ps": int(uncertainty_ps.max(initial=0)),
        "cores": columns,
    }


def _empty_columns() -> WaitColumns:
    """Columns without rows."""
    return {"device": [], "depth": [], "start_ps": [], "last_arrival_ps": [], "end_ps": [], "waits_ps": []}


def _add_ops(
    columns: WaitColumns,
    arrivals: Arrivals,
    host: HostTimeline,
    waits: CoreWaits,
    rows: NDArray[np.intp],
) -> None:
    """Adds the ops in which cores of a host wait to the columns."""
    shift = _shift_ps(arrivals, host)
    start, end = waits.wait_start_ps[rows] + shift, waits.end_ps[rows] + shift
    cores = waits.core[rows].tolist()
    columns["device"] += [host.trace.devices[core].id for core in cores]
    columns["depth"] += [_depth(host, *op) for op in zip(cores, start.tolist(), end.tolist(), strict=True)]
    columns["start_ps"] += start.tolist()
    columns["last_arrival_ps"] += (waits.last_arrival_ps[rows] + shift).tolist()
    columns["end_ps"] += end.tolist()
    columns["waits_ps"] += waits.waits_ps[rows].tolist()


def _depth(host: HostTimeline, core: int, start_ps: int, end_ps: int) -> int:
    """The depth of an op in its core's row of ops, 0 where the row does not show it."""
    track = host.tracks.get(str(RowId(host.number, "ops", core)))
    for depth, lane in enumerate(track.lanes if track else ()):
        index = int(np.searchsorted(lane.start, start_ps))
        if index < len(lane) and (int(lane.start[index]), int(lane.end[index])) == (start_ps, end_ps):
            return depth
    return 0


def _shift_ps(arrivals: Arrivals, host: HostTimeline) -> int:
    """Picoseconds to add to the times of a host's collectives, which may have been read before the host's trace was
    shifted (by whole nanoseconds) onto the session's time base."""
    return (arrivals.parties[host.number].base_unix_ns - host.trace.base_unix_ns) * 1000
