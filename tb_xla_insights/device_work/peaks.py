"""How fast a device can compute and read its memory at most: as the capture tells, else as its maker does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tb_xla_insights.trace.model import Device, Trace

Row = dict[str, Any]


class Peak(NamedTuple):
    """FLOP/s of dense matrix products in bfloat16, and bytes/s of the main memory."""

    flops_per_s: float
    bytes_per_s: float
    source: str


_TPU = "https://cloud.google.com/tpu/docs/"
_NVIDIA = "https://www.nvidia.com/en-us/data-center/"
_AMD = "https://www.amd.com/en/products/accelerators/instinct/"

TPUS = {
    "TPU v4": Peak(275e12, 1228e9, _TPU + "v4"),
    "TPU v5 Lite": Peak(197e12, 819e9, _TPU + "v5e"),
    "TPU v5": Peak(459e12, 2765e9, _TPU + "v5p"),
    "TPU v6 Lite": Peak(918e12, 1640e9, _TPU + "v6e"),
}
"""By the plane's `device_type_string`, of one device, for captures whose planes tell no peaks."""

_GB = 10**9


class Gpu(NamedTuple):
    """A GPU as captures tell it: vendor, compute capability, cores, and the least memory in bytes."""

    vendor: str
    capability: tuple[int, int]
    cores: int
    least_memory: int
    name: str
    peak: Peak


GPUS = (
    Gpu("Nvidia", (7, 0), 80, 0, "NVIDIA V100", Peak(125e12, 900e9, _NVIDIA + "v100/")),
    Gpu("Nvidia", (8, 0), 108, 60 * _GB, "NVIDIA A100 80GB", Peak(312e12, 2039e9, _NVIDIA + "a100/")),
    Gpu("Nvidia", (8, 0), 108, 0, "NVIDIA A100 40GB", Peak(312e12, 1555e9, _NVIDIA + "a100/")),
    Gpu("Nvidia", (9, 0), 132, 120 * _GB, "NVIDIA H200", Peak(989e12, 4800e9, _NVIDIA + "h200/")),
    Gpu("Nvidia", (9, 0), 132, 0, "NVIDIA H100 SXM", Peak(989e12, 3350e9, _NVIDIA + "h100/")),
    Gpu(
        "AMD",
        (9, 4),
        304,
        220 * _GB,
        "AMD Instinct MI325X",
        Peak(1307.4e12, 6000e9, _AMD + "mi300/mi325x.html"),
    ),
    Gpu("AMD", (9, 4), 304, 0, "AMD Instinct MI300X", Peak(1307.4e12, 5300e9, _AMD + "mi300/mi300x.html")),
)
"""The more special one first. V100: in float16, as it has no bfloat16."""


def peaks_of(trace: Trace) -> list[Row]:
    """One row per kind of device that has ops: `kind` (its name), `count`, `flops_per_s`, `bytes_per_s` (None: not
    known), `source` (`capture`, `table` or None) and `cite` (where the table has it from, else None)."""
    return together(_peak(trace, device) for device in trace.devices)


def together(rows: Iterable[Row]) -> list[Row]:
    """Rows of the same device as one."""
    found: dict[tuple[Any, ...], int] = {}
    for row in rows:
        key = tuple(row[name] for name in ("kind", "flops_per_s", "bytes_per_s", "source", "cite"))
        found[key] = found.get(key, 0) + row["count"]
    return [
        {
            "kind": kind,
            "count": count,
            "flops_per_s": flops,
            "bytes_per_s": nbytes,
            "source": source,
            "cite": cite,
        }
        for (kind, flops, nbytes, source, cite), count in found.items()
    ]


def _peak(trace: Trace, device: Device) -> Row:
    stats = trace.planes[device.plane].stats if device.plane is not None else {}
    name = str(stats.get("device_type_string") or device.kind.upper())
    row = {"kind": name, "count": 1, "flops_per_s": None, "bytes_per_s": None, "source": None, "cite": None}
    flops, nbytes = (stats.get(f"peak_{it}_per_second") for it in ("teraflops", "hbm_bw_gigabytes"))
    if flops and nbytes:
        return row | {
            "flops_per_s": float(flops) * 1e12,
            "bytes_per_s": float(nbytes) * 1e9,
            "source": "capture",
        }
    known = TPUS.get(name)
    if known is None and (gpu := _gpu(stats)):
        row["kind"], known = gpu.name, gpu.peak
    if known is None:
        return row
    flops_per_s, bytes_per_s, cite = known
    return row | {"flops_per_s": flops_per_s, "bytes_per_s": bytes_per_s, "source": "table", "cite": cite}


def _gpu(stats: dict[str, Any]) -> Gpu | None:
    vendor = str(stats.get("device_vendor", "Nvidia"))  # captures of 2020 name none
    capability = stats.get("compute_cap_major"), stats.get("compute_cap_minor")
    for gpu in GPUS:
        same = vendor.lower() == gpu.vendor.lower() and capability == gpu.capability
        if (
            same
            and stats.get("core_count") == gpu.cores
            and int(stats.get("memory_size", 0)) >= gpu.least_memory
        ):
            return gpu
    return None
