"""Peak FLOP/s and memory bandwidth of devices: from the capture, else from the vendor's data sheets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tb_xla_insights.errors import InputError
from tb_xla_insights.text import units
from tb_xla_insights.trace.device import Device
from tb_xla_insights.trace.model import Trace

Row = dict[str, Any]


class Peak(NamedTuple):
    """FLOP/s of dense matrix products in bfloat16, bytes/s of the main memory, and the vendor's page about them."""

    flops_per_s: float
    bytes_per_s: float | None
    cite: str


_TPU = "https://cloud.google.com/tpu/docs/"
_NVIDIA = "https://www.nvidia.com/en-us/data-center/"
_MI300 = "https://www.amd.com/en/products/accelerators/instinct/mi300/"
_MI350 = "https://www.amd.com/en/products/accelerators/instinct/mi350/"

TPUS = {
    "TPU v4": Peak(275e12, 1228e9, _TPU + "v4"),
    "TPU v5 Lite": Peak(197e12, 819e9, _TPU + "v5e"),
    "TPU v5": Peak(459e12, 2765e9, _TPU + "v5p"),
    "TPU v6 Lite": Peak(918e12, 1638e9, _TPU + "v6e"),
}
"""By the plane's `device_type_string`, for captures without peaks."""

_MIN_FIGURE, _MAX_FIGURE = 1e-6, 1e24
"""Stats outside of this range are not figures of a device."""

_GB, _UNLIMITED = 10**9, 1 << 62
_FULL_RANGE = 0, _UNLIMITED


class Gpu(NamedTuple):
    """A GPU as captures describe it: vendor, compute capability, number of cores, and half-open ranges that contain the
    memory in bytes and the clock in kHz (a figure that is not recorded counts as 0); and its name and peak."""

    vendor: str
    capability: tuple[int, int]
    cores: int
    memory: tuple[int, int]
    clock_khz: tuple[int, int]
    model: str
    peak: Peak

    @property
    def name(self) -> str:
        return f"{'NVIDIA' if self.vendor == 'Nvidia' else 'AMD Instinct'} {self.model}"


GPUS = (
    Gpu("Nvidia", (7, 0), 80, _FULL_RANGE, _FULL_RANGE, "V100", Peak(125e12, 900e9, _NVIDIA + "v100/")),
    Gpu("Nvidia", (8, 0), 108, _FULL_RANGE, _FULL_RANGE, "A100", Peak(312e12, None, _NVIDIA + "a100/")),
    Gpu("Nvidia", (9, 0), 132, (1, 90 * _GB), _FULL_RANGE, "H100", Peak(989e12, 3350e9, _NVIDIA + "h100/")),
    Gpu("Nvidia", (9, 0), 132, (120 * _GB, _UNLIMITED), _FULL_RANGE, "H200", Peak(989e12, 4800e9, _NVIDIA + "h200/")),
    Gpu("AMD", (9, 4), 304, (1, 220 * _GB), _FULL_RANGE, "MI300X", Peak(1307.4e12, 5300e9, _MI300 + "mi300x.html")),
    Gpu("AMD", (9, 4), 304, (220 * _GB, _UNLIMITED), _FULL_RANGE,
        "MI325X", Peak(1307.4e12, 6000e9, _MI300 + "mi325x.html")),
    Gpu("AMD", (9, 5), 256, _FULL_RANGE, (1, 2_300_000), "MI350X", Peak(2306.9e12, 8000e9, _MI350 + "mi350x.html")),
    Gpu("AMD", (9, 5), 256, _FULL_RANGE, (2_300_000, _UNLIMITED),
        "MI355X", Peak(2516.6e12, 8000e9, _MI350 + "mi355x.html")),
)  # fmt: skip
"""V100: in float16, because it has no bfloat16. A100: without a bandwidth, because it has one of two kinds of
memory."""


def check_peaks(peaks: Iterable[float]) -> tuple[float, float]:
    """Returns FLOP/s and bytes/s of a device as given by a user. Raises InputError unless both are numbers in
    the range of `units.check_peaks`."""
    try:
        return units.check_peaks(peaks)
    except (TypeError, ValueError) as error:
        allowed = f"{units.PEAKS_RANGE_TEXT}, such as (918e12, 1638e9)"
        raise InputError(
            f"{str(peaks)[:40]} are not peaks; give FLOP/s and bytes/s of a device, {allowed}"
        ) from error


def peaks_of(trace: Trace, devices: Iterable[int]) -> list[Row]:
    """Returns a row per kind of device and its peaks, of `devices` (indices): `kind` (its name), `count` (of devices),
    `flops_per_s` and `bytes_per_s` (each None if not known), `source` (`capture`, `table` or None) and `cite` (the
    vendor's page if from the table, else None)."""
    return merge_peaks(_peak_row(trace, trace.devices[device]) for device in devices)


def merge_peaks(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Merges the rows of equal devices; `count` is their sum."""
    counts: dict[tuple[Any, ...], int] = {}
    for row in rows:
        key = tuple(row[name] for name in ("kind", "flops_per_s", "bytes_per_s", "source", "cite"))
        counts[key] = counts.get(key, 0) + row["count"]
    return [
        {
            "kind": kind,
            "count": count,
            "flops_per_s": flops,
            "bytes_per_s": nbytes,
            "source": source,
            "cite": cite,
        }
        for (kind, flops, nbytes, source, cite), count in counts.items()
    ]


def _peak_row(trace: Trace, device: Device) -> Row:
    stats = trace.planes[device.plane].stats if device.plane is not None else {}
    name = str(stats.get("device_type_string") or stats.get("gpu_device_name") or device.kind.upper())
    teraflops = _figure(stats, "peak_teraflops_per_second")
    gigabytes = _figure(stats, "peak_hbm_bw_gigabytes_per_second")
    if teraflops or gigabytes:  # the file's own figures come first, even one alone
        return _row(name, teraflops * 1e12 or None, gigabytes * 1e9 or None, "capture")
    gpu = _find_gpu(stats) if device.kind == "gpu" else None
    peak = gpu.peak if gpu else TPUS.get(name)
    if gpu and "gpu_device_name" not in stats:
        name = gpu.name
    if peak is None:
        return _row(name)
    # NVIDIA's driver reports the right bandwidth; AMD's reports half of the vendor's figure.
    bandwidth = _figure(stats, "memory_bandwidth") if gpu and gpu.vendor == "Nvidia" else 0.0
    return _row(name, peak.flops_per_s, bandwidth or peak.bytes_per_s, "table", peak.cite)


def _row(
    kind: str,
    flops_per_s: float | None = None,
    bytes_per_s: float | None = None,
    source: str | None = None,
    cite: str | None = None,
) -> Row:
    peak = {"flops_per_s": flops_per_s, "bytes_per_s": bytes_per_s}
    return {"kind": kind, "count": 1, **peak, "source": source, "cite": cite}


def _figure(stats: Mapping[str, Any], name: str) -> float:
    """Returns a stat within the range of a device's figures, else 0."""
    value = stats.get(name)
    return float(value) if isinstance(value, (int, float)) and _MIN_FIGURE <= value <= _MAX_FIGURE else 0.0


def _find_gpu(stats: Mapping[str, Any]) -> Gpu | None:
    vendor = str(stats.get("device_vendor", "Nvidia")).lower()  # captures of 2020 name none
    capability = stats.get("compute_cap_major"), stats.get("compute_cap_minor")
    memory, clock = _figure(stats, "memory_size"), _figure(stats, "clock_rate")
    for gpu in GPUS:
        if (
            (gpu.vendor.lower(), gpu.capability, gpu.cores) == (vendor, capability, stats.get("core_count"))
            and gpu.memory[0] <= memory < gpu.memory[1]
            and gpu.clock_khz[0] <= clock < gpu.clock_khz[1]
        ):
            return gpu
    return None
