"""The definitions of busy, in a module that option parsing can import without the rest of the text."""

from __future__ import annotations

from collections.abc import Sequence

_OPS = "Busy is the union of top-level ops on a core, or of program runs where no ops are recorded"
DUTY = {
    "ops": f"{_OPS}; the span lasts from the start of the first to the end of the last of them",
    "modules": "Busy is the union of program runs, or of ops where no runs are recorded; the span is the same",
    "capture": f"{_OPS}; the span is the whole capture",
}
"""The meaning of busy for each key of the report's `duty`."""

_AGREE_SHARE = 0.01
"""Devices whose duty cycles differ by no more are told as one."""


def devices_agree(duty_cycles: Sequence[float]) -> bool:
    """Whether one number says how busy all devices are."""
    return bool(duty_cycles) and max(duty_cycles) - min(duty_cycles) <= _AGREE_SHARE
