"""GPUs on which the host launched, and that recorded no kernels: what they did is not in the capture."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tb_xla_insights.catalog.classes import DISPATCH
from tb_xla_insights.trace.model import Int32, Trace
from tb_xla_insights.trace.threads import host_planes

_GPU = re.compile(r"/device:GPU:(\d{1,18})", re.ASCII)

_OF_AMD = 1000
"""AMD's ids of devices are above this number, NVIDIA's below."""


def gpus_without_work(trace: Trace) -> list[tuple[str, int]]:
    """Names of such GPUs, and how many launches each is known to have had.

    The driver's calls tell the device (`device_id`) that they are for, and a kernel has the `correlation_id` of its
    call. A device for which calls launched, none of which led to anything on any device, has lost its kernels, unless
    it recorded others. Copies alone are no work.
    """
    launches = _launches(trace)
    if not launches.size:
        return []
    ids = trace.stats["device_id"].at(launches, -1)
    led = _led_somewhere(trace, launches)
    if trace.devices and not led.any():
        return []  # the kernels do not tell their calls
    working = {device.plane for device in trace.devices}
    planes = {
        int(match[1]): plane.index
        for plane in trace.planes
        if (match := _GPU.fullmatch(plane.name)) is not None
    }
    lost = [
        id_
        for id_ in np.unique(ids[ids >= 0]).tolist()
        if not led[ids == id_].any() and planes.get(id_) not in working
    ]
    names = _names(lost, [number for number, plane in sorted(planes.items()) if plane not in working])
    return [(name, int((ids == id_).sum())) for name, id_ in zip(names, lost, strict=True)]


def _launches(trace: Trace) -> Int32:
    """The driver's calls that put kernels into streams. NVIDIA's tracer gives them the kernel's own name where it knows
    that."""
    if not {"correlation_id", "device_id"} <= trace.stats.keys():
        return np.zeros(0, np.int32)
    rows = trace.stats["device_id"].rows
    kind = trace.metadata.class_index[trace.meta[rows]]
    launches = _on_hosts(trace, rows) & ((kind == DISPATCH) | (kind < 0))
    found: Int32 = rows[launches & (trace.stats["correlation_id"].at(rows, 0) > 0)]
    return found


def _led_somewhere(trace: Trace, calls: Int32) -> NDArray[np.bool_]:
    """Which of some calls an event of a device has the id of."""
    ids = trace.stats["correlation_id"]
    return np.isin(ids.at(calls, 0), ids.values[~_on_hosts(trace, ids.rows)])


def _on_hosts(trace: Trace, rows: Int32) -> NDArray[np.bool_]:
    return np.isin(trace.metadata.plane[trace.meta[rows]], list(host_planes(trace)))


def _names(ids: Sequence[int], without: Sequence[int]) -> list[str]:
    """What GPUs with these ids are called. NVIDIA's ids are numbers of GPUs; AMD's are none, so that such GPUs take the
    numbers of the planes `without` kernels, in order."""
    planes = iter([f"GPU:{number}" for number in without if number not in ids])
    return [f"GPU:{id_}" if id_ < _OF_AMD else next(planes, "One more GPU") for id_ in ids]
