"""FLOPs and bytes of one execution of an op: the capture's own counts, else those by the shapes in its program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from tb_xla_insights.analysis.memo import memoised
from tb_xla_insights.analysis.propagation.ops import find_ops
from tb_xla_insights.device_work.activity import categories, kinds, metadata_of
from tb_xla_insights.device_work.codes import COUNTED, SIZED, WORKS
from tb_xla_insights.trace.model import Int64, Trace
from tb_xla_insights.xplane.hlo_amounts import MAX_AMOUNT
from tb_xla_insights.xplane.metadata import StatValue
from tb_xla_insights.xplane.proto.xplane_pb2 import MemoryAccessBreakdown

Counted = Literal["stats", "shapes"]

HBM = 1
"""The number of the device's main memory in `memory_access_breakdown`."""


@dataclass(frozen=True)
class Amounts:
    """Amounts of one execution, an entry per distinct op, 0 where unknown: `flops` (as computed by the device),
    `model_flops` (as the program asks for), `bytes` (to and from any memory), `hbm_bytes` (the main memory's part of
    these). `known`: the bits WORKS, COUNTED and SIZED. `counted`: the source of the FLOPs, None where unknown."""

    known: NDArray[np.uint8]
    counted: list[Counted | None]
    flops: Int64
    model_flops: Int64
    bytes: Int64
    hbm_bytes: Int64


@memoised
def find_amounts(trace: Trace) -> Amounts:
    """The amounts of all distinct ops of a host. Containers have none, since their parts have them. Ops that only start
    or await an asynchronous op keep the capture's bytes, but are not work: the transfer goes on beside their time."""
    ops = find_ops(trace)
    known, counted = np.zeros(len(ops.name), np.uint8), []  # type: NDArray[np.uint8], list[Counted | None]
    columns = np.zeros((4, len(ops.name)), np.int64)
    told_of = zip(metadata_of(trace), kinds(trace), categories(trace), strict=True)
    for k, (entry, kind, category) in enumerate(told_of):
        stats = trace.metadata.stats[entry]
        works = kind == "work"
        flops, nbytes = _number(stats, "flops"), _number(stats, "bytes_accessed")
        if category.startswith("custom-call"):  # the compiler writes 0 unless the call states its cost
            flops, nbytes = flops or None, nbytes or None
        told: Counted | None = "stats" if flops is not None else None
        by_shapes = ops.origin[k].amounts
        if flops is None and (flops := by_shapes.flops) is not None:
            told = "shapes"
        if nbytes is None:
            nbytes = by_shapes.bytes
        if kind == "container":
            flops = nbytes = told = None
        model = _number(stats, "model_flops") if told == "stats" else None
        hbm = _hbm_bytes(stats, nbytes)
        for column, value in enumerate((flops, flops if model is None else model, nbytes, hbm)):
            columns[column, k] = value or 0
        known[k] = WORKS * works | COUNTED * (flops is not None) | SIZED * (nbytes is not None)
        counted.append(told)
    return Amounts(known, counted, *columns)


def _number(stats: dict[str, StatValue], name: str) -> int | None:
    value = stats.get(name)
    # The compiler's -1 for what it does not know may be written without its sign.
    return int(value) if isinstance(value, (int, float)) and 0 <= value < MAX_AMOUNT else None


def _hbm_bytes(stats: dict[str, StatValue], nbytes: int | None) -> int | None:
    """An execution's bytes to and from the main memory; all of its bytes where the capture does not split them by
    memory. A copy between other memories has 0."""
    told = stats.get("memory_access_breakdown")
    if nbytes is None or not isinstance(told, bytes):
        return nbytes
    try:
        accessed = MemoryAccessBreakdown.FromString(told).memory_accessed
    except DecodeError:
        return nbytes
    return sum(it.bytes_accessed for it in accessed if it.memory_space == HBM)
