"""FLOPs and bytes of one execution of an op: the capture's own counts, else computed from the shapes in its program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.arrays import Int64
from tb_xla_insights.device_work.codes import HAS_BYTES, HAS_FLOPS, IS_WORK
from tb_xla_insights.device_work.op_kinds import op_categories, op_kinds, op_metadata
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.xplane.hlo_amounts import MAX_AMOUNT
from tb_xla_insights.xplane.metadata import StatValue
from tb_xla_insights.xplane.proto.xplane_pb2 import MemoryAccessBreakdown

FlopsSource = Literal["stats", "kernel", "shapes"]

_HBM = 1
"""The number of the device's main memory in `memory_access_breakdown`."""


@dataclass(frozen=True)
class Amounts:
    """Amounts of one execution of each distinct op, 0 where not known.

    `flops`: as computed by the device. `model_flops`: as requested by the program. `bytes`: to and from any memory.
    `hbm_bytes`: the part of them to and from the main memory. `flags`: IS_WORK, HAS_FLOPS and HAS_BYTES.
    `flops_source`: None where FLOPs are not known.
    """

    flags: NDArray[np.uint8]
    flops_source: list[FlopsSource | None]
    flops: Int64
    model_flops: Int64
    bytes: Int64
    hbm_bytes: Int64


@memoised
def find_amounts(trace: Trace) -> Amounts:
    """Returns the amounts of all distinct ops of a host. Containers have none, as the ops inside them have them. Ops
    that only start or await an asynchronous op have the capture's bytes but are no work: the transfer runs beside
    them."""
    ops = find_ops(trace)
    flags: NDArray[np.uint8] = np.zeros(len(ops.name), np.uint8)
    flops_sources: list[FlopsSource | None] = []
    columns = np.zeros((4, len(ops.name)), np.int64)
    properties = zip(op_metadata(trace), op_kinds(trace), op_categories(trace), strict=True)
    for op, (metadata, kind, category) in enumerate(properties):
        stats = trace.metadata.stats[metadata]
        flops, nbytes = _count(stats, "flops"), _count(stats, "bytes_accessed")
        source: FlopsSource | None = "stats"
        if category.startswith("custom-call"):  # the compiler writes 0 unless the call states its cost
            flops, nbytes, source = flops or None, nbytes or None, "kernel"
        if flops is None:
            source = None
        from_shapes = ops.origin[op].amounts
        if flops is None and (flops := from_shapes.flops) is not None:
            source = "shapes"
        if nbytes is None:
            nbytes = from_shapes.bytes
        if kind == "container":
            flops = nbytes = source = None
        model_flops = _count(stats, "model_flops") if source in ("stats", "kernel") else None
        model_flops = flops if model_flops is None else model_flops
        for column, value in enumerate((flops, model_flops, nbytes, _hbm_bytes(stats, nbytes))):
            columns[column, op] = value or 0
        flags[op] = (
            IS_WORK * (kind == "work") | HAS_FLOPS * (flops is not None) | HAS_BYTES * (nbytes is not None)
        )
        flops_sources.append(source)
    return Amounts(flags, flops_sources, *columns)


def _count(stats: dict[str, StatValue], name: str) -> int | None:
    value = stats.get(name)
    # The compiler's -1 for "not known" may be written as the unsigned number 2**64 - 1.
    return int(value) if isinstance(value, (int, float)) and 0 <= value < MAX_AMOUNT else None


def _hbm_bytes(stats: dict[str, StatValue], nbytes: int | None) -> int | None:
    """Returns an execution's bytes to and from the main memory; all of its bytes if the capture does not split them by
    memory, or if the split cannot be decoded or is impossible (MAX_AMOUNT or more in the main memory). A copy between
    other memories has 0."""
    breakdown = stats.get("memory_access_breakdown")
    if nbytes is None or not isinstance(breakdown, bytes):
        return nbytes
    try:
        accesses = MemoryAccessBreakdown.FromString(breakdown).memory_accessed
    except DecodeError:
        return nbytes
    hbm_bytes = sum(access.bytes_accessed for access in accesses if access.memory_space == _HBM)
    return hbm_bytes if hbm_bytes < MAX_AMOUNT else nbytes
