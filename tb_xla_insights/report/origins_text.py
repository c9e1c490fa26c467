"""The sentence about the origins of the ops' scopes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_xla_insights.analysis.propagation.hlo_scopes import state_words
from tb_xla_insights.text.units import shares, time_text

_DESCRIPTIONS = {
    "direct": "with a scope in their metadata",
    "recovered": "with one from their parts or neighbours",
    "bare": "with an op name alone, as in a backward pass",
    "none": "with neither",
}
"""By origin, as in the keys of the report's `propagation`."""


def origins_text(propagation: Mapping[str, Any]) -> str:
    """`Of 2.43 s in ops, all cores: 84.9 % with a scope in their metadata (named), …`, from the report's
    `propagation` of devices that recorded ops."""
    total_ps, words = propagation["device_ps"], dict[str, str](**state_words(propagation))
    times = [propagation[f"{origin}_ps"] for origin in _DESCRIPTIONS]
    parts = [
        f"{share} {text} ({words[origin]})"
        for share, (origin, text) in zip(shares(times, total_ps), _DESCRIPTIONS.items(), strict=True)
    ]
    return f"Of {time_text(total_ps)} in ops, all cores: {', '.join(parts)}."
