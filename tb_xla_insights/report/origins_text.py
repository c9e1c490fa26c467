"""The sentence about the origins of the ops' scopes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_xla_insights.text.units import shares, time_text

_DESCRIPTIONS = {
    "direct": "with a scope in their metadata (direct)",
    "recovered": "with one from their parts or neighbours (recovered)",
    "bare": "with an op name but no scope (bare)",
    "none": "with neither (none)",
}
"""By origin, as in the keys of the report's `propagation`."""


def origins_text(propagation: Mapping[str, Any]) -> str:
    """`Of 2.43 s in ops, all cores: 84.9 % with a scope in their metadata (direct), …`, from the report's
    `propagation` of devices that recorded ops."""
    total_ps = propagation["device_ps"]
    times = [propagation[f"{origin}_ps"] for origin in _DESCRIPTIONS]
    parts = [
        f"{share} {text}" for share, text in zip(shares(times, total_ps), _DESCRIPTIONS.values(), strict=True)
    ]
    return f"Of {time_text(total_ps)} in ops, all cores: {', '.join(parts)}."
