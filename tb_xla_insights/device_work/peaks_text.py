"""The peaks of devices in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_xla_insights.text import units

Row = Mapping[str, Any]

_SOURCES = {
    "capture": "from the capture",
    "table": "from the table of known devices",
    "user": "set by you",
}


def peaks_text(peaks: Row) -> str:
    """`Peaks (TPU v6 Lite): 918.0 TFLOP/s and 1 638 GB/s, from the capture`, as far as known; `Peaks (CPU) are not
    known`."""
    values = [
        f"{units.rate(peaks[key] / scale)}{units.NARROW_SPACE}{name}"
        for key, scale, name in (("flops_per_s", 1e12, "TFLOP/s"), ("bytes_per_s", 1e9, "GB/s"))
        if peaks[key]
    ]
    kinds = ", ".join(dict.fromkeys(row["kind"] for row in peaks["devices"]))
    if not values:
        return f"Peaks ({kinds}) are not known"
    return f"Peaks ({kinds}): {' and '.join(values)}, {_SOURCES.get(peaks['source'], 'from several sources')}"


def missing_peaks_text(peaks: Row) -> str:
    """Why there is no roof, as a clause: which peaks are not known, or differ; empty if both are known."""
    missing = [key for key in ("flops_per_s", "bytes_per_s") if peaks[key] is None]
    devices = peaks["devices"]
    if not missing:
        return ""
    if len(devices) > 1 and any(row[key] is not None for key in missing for row in devices):
        return "the devices have different peaks"
    owner = "these devices" if sum(row["count"] for row in devices) > 1 else "this device"
    if len(missing) > 1:
        return f"the peaks of {owner} are not known"
    return f"the {'peak FLOP/s' if missing[0] == 'flops_per_s' else 'HBM bandwidth'} of {owner} is not known"
