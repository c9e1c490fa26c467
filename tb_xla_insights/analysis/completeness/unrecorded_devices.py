"""GPUs and TPU cores on which the host launched work but which recorded none: their work is not in the capture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.analysis.codes import ENQUEUE
from tb_xla_insights.analysis.launches.causality import rows_flagged
from tb_xla_insights.analysis.launches.launches import find_launches
from tb_xla_insights.arrays import Int32, Int64
from tb_xla_insights.catalog.classes import DISPATCH
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.run_keys import stat_at
from tb_xla_insights.trace.threads import host_planes

_PLANE = r"/device:{}:(\d{{1,18}})"

_MAX_NUMBER = 64
"""More devices than a host has: larger ids are not their numbers. AMD's tracer records ids such as 768 and 47,645."""


@dataclass(frozen=True)
class _Launches:
    """The host's launches on devices of one kind: the id of each one's device, and whether it led to anything that a
    device recorded."""

    ids: Int64
    has_effect: NDArray[np.bool_]


def devices_without_work(trace: Trace) -> list[tuple[str, int]]:
    """Returns the names of the GPUs and TPU cores whose work is not recorded, and the number of known launches on each.

    A device has lost its work if no launch on it led to anything on any device and its plane recorded no other work.
    """
    lost: list[tuple[str, int]] = []
    for kind, launches in (("GPU", _gpu_launches(trace)), ("TPU", _tpu_launches(trace))):
        if trace.devices and not launches.has_effect.any():
            continue  # there are none, or the devices do not record their launches
        planes_with_work = {device.plane for device in trace.devices}
        plane_of_id = {
            int(match[1]): plane.index
            for plane in trace.planes
            if (match := re.fullmatch(_PLANE.format(kind), plane.name, re.ASCII)) is not None
        }
        lost_ids = [
            id_
            for id_ in np.unique(launches.ids[launches.ids >= 0]).tolist()
            if not launches.has_effect[launches.ids == id_].any()
            and plane_of_id.get(id_) not in planes_with_work
        ]
        free_numbers = [
            number for number, plane in sorted(plane_of_id.items()) if plane not in planes_with_work
        ]
        names = _names(kind, lost_ids, free_numbers)
        lost += [(name, int((launches.ids == id_).sum())) for name, id_ in zip(names, lost_ids, strict=True)]
    return lost


def _tpu_launches(trace: Trace) -> _Launches:
    """Returns the programs that the host put into the queues of TPU cores. The core is the stat `device_ordinal`, which
    is left out for core 0."""
    rows = rows_flagged(trace, ENQUEUE)
    return _Launches(
        stat_at(trace, "device_ordinal", rows, 0), np.isin(rows, find_launches(trace).runs.enqueue_row)
    )


def _gpu_launches(trace: Trace) -> _Launches:
    """Returns the driver's calls that put kernels into streams. They include calls of names without a class: NVIDIA's
    tracer names a call after its kernel if it knows the kernel. Copies alone are no work.

    The calls record their device (`device_id`), and a kernel has the `correlation_id` of its call.
    """
    if not {"correlation_id", "device_id"} <= trace.stats.keys():
        return _Launches(np.zeros(0, np.int64), np.zeros(0, np.bool_))
    rows, ids = trace.stats["device_id"].rows, trace.stats["correlation_id"]
    class_index = trace.metadata.class_index[trace.metadata_index[rows]]
    is_launch = _on_hosts(trace, rows) & ((class_index == DISPATCH) | (class_index < 0))
    calls = rows[is_launch & (ids.at(rows, 0) > 0)]
    has_effect = np.isin(ids.at(calls, 0), ids.values[~_on_hosts(trace, ids.rows)])
    return _Launches(trace.stats["device_id"].at(calls, -1), has_effect)


def _on_hosts(trace: Trace, rows: Int32) -> NDArray[np.bool_]:
    return np.isin(trace.metadata.plane[trace.metadata_index[rows]], list(host_planes(trace)))


def _names(kind: str, ids: Sequence[int], numbers_without_work: Sequence[int]) -> list[str]:
    """Returns the names of the devices with these ids. They are the devices' numbers, except for AMD's GPUs: these take
    the numbers of the planes without work, in order."""
    numbers = iter([f"{kind}:{number}" for number in numbers_without_work if number not in ids])
    return [f"{kind}:{id_}" if id_ < _MAX_NUMBER else next(numbers, f"One more {kind}") for id_ in ids]
