"""GPUs on which the host launched work but which recorded no kernels: their work is not in the capture."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.catalog.classes import DISPATCH
from tb_xla_insights.trace.model import Int32, Trace
from tb_xla_insights.trace.threads import host_planes

_GPU = re.compile(r"/device:GPU:(\d{1,18})", re.ASCII)

_MAX_GPUS = 64
"""More GPUs than a host has: larger device ids are not GPU numbers. AMD's tracer records ids such as 768 and 47,645."""


def gpus_without_work(trace: Trace) -> list[tuple[str, int]]:
    """Returns the names of the GPUs whose work is not recorded, and the number of known launches on each.

    The driver's calls record their device (`device_id`), and a kernel has the `correlation_id` of its call. A device
    has lost its kernels if none of its calls led to anything on any device and it recorded no other kernels. Copies
    alone are no work.
    """
    launches = _launches(trace)
    if not launches.size:
        return []
    ids = trace.stats["device_id"].at(launches, -1)
    has_effect = _has_device_event(trace, launches)
    if trace.devices and not has_effect.any():
        return []  # the kernels do not record their calls
    planes_with_work = {device.plane for device in trace.devices}
    plane_of_gpu = {
        int(match[1]): plane.index
        for plane in trace.planes
        if (match := _GPU.fullmatch(plane.name)) is not None
    }
    lost_ids = [
        id_
        for id_ in np.unique(ids[ids >= 0]).tolist()
        if not has_effect[ids == id_].any() and plane_of_gpu.get(id_) not in planes_with_work
    ]
    names = _names(
        lost_ids, [number for number, plane in sorted(plane_of_gpu.items()) if plane not in planes_with_work]
    )
    return [(name, int((ids == id_).sum())) for name, id_ in zip(names, lost_ids, strict=True)]


def _launches(trace: Trace) -> Int32:
    """Returns the driver's calls that put kernels into streams. They include calls of names without a class: NVIDIA's
    tracer names a call after its kernel if it knows the kernel."""
    if not {"correlation_id", "device_id"} <= trace.stats.keys():
        return np.zeros(0, np.int32)
    rows = trace.stats["device_id"].rows
    class_index = trace.metadata.class_index[trace.metadata_index[rows]]
    is_launch = _on_hosts(trace, rows) & ((class_index == DISPATCH) | (class_index < 0))
    launches: Int32 = rows[is_launch & (trace.stats["correlation_id"].at(rows, 0) > 0)]
    return launches


def _has_device_event(trace: Trace, calls: Int32) -> NDArray[np.bool_]:
    """Per call, whether a device's event has its correlation id."""
    ids = trace.stats["correlation_id"]
    return np.isin(ids.at(calls, 0), ids.values[~_on_hosts(trace, ids.rows)])


def _on_hosts(trace: Trace, rows: Int32) -> NDArray[np.bool_]:
    return np.isin(trace.metadata.plane[trace.metadata_index[rows]], list(host_planes(trace)))


def _names(ids: Sequence[int], numbers_without_work: Sequence[int]) -> list[str]:
    """Returns the names of the GPUs with these ids. NVIDIA's ids are the GPUs' numbers. AMD's are not: AMD GPUs take
    the numbers of the planes without work, in order."""
    numbers = iter([f"GPU:{number}" for number in numbers_without_work if number not in ids])
    return [f"GPU:{id_}" if id_ < _MAX_GPUS else next(numbers, "One more GPU") for id_ in ids]
