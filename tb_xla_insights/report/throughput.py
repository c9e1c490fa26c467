"""Samples per second, where it is known how many samples a step takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights import units
from tb_xla_insights.analysis.sidecars import SAMPLES_PER_STEP_KEY
from tb_xla_insights.units import PS_PER

if TYPE_CHECKING:
    from tb_xla_insights.schema.texts import Throughput


def throughput(
    steps: Sequence[Mapping[str, Any]], recorded: Mapping[str, Any] | None, samples_per_step: float | None
) -> Throughput | None:
    """The report's `throughput`: `samples_per_step`, as given or else as recorded, of all hosts and devices together,
    and `samples_per_s` with the `median` step and with the `mean` one, which is all samples over all the time. None
    where the samples are not known, or there are no steps."""
    samples = samples_per_step or recorded_samples(recorded)
    durations = sorted(step["duration_ps"] for step in steps)
    median = durations[(len(durations) - 1) // 2] if durations else 0
    if samples is None or not median:
        return None
    mean = sum(durations) / len(durations)
    return {
        "samples_per_step": samples,
        "samples_per_s": {
            "median": samples * PS_PER["s"] / median,
            "mean": samples * PS_PER["s"] / mean,
        },
    }


def throughput_text(told: Mapping[str, Any]) -> str:
    """The same as a sentence."""
    median, mean = (units.rate(told["samples_per_s"][name]) for name in ("median", "mean"))
    of = units.samples(told["samples_per_step"])
    return f"{of} per step: {median} per second at the median step, {mean} in the mean"


def recorded_samples(recorded: Mapping[str, Any] | None) -> float | None:
    """What a recording was told; None where that is no number above 0, as anybody may have written the file."""
    samples = (recorded or {}).get(SAMPLES_PER_STEP_KEY)
    if isinstance(samples, bool) or not isinstance(samples, int | float):
        return None
    return samples if 0 < samples <= units.MAX_SAMPLES_PER_STEP else None
