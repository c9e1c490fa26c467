"""Samples per second, if the number of samples per step is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.sidecar_contents import SAMPLES_PER_STEP_KEY
from tb_xla_insights.errors import InputError
from tb_xla_insights.text import units
from tb_xla_insights.text.units import MAX_SAMPLES_PER_STEP, PS_PER

if TYPE_CHECKING:
    from tb_xla_insights.schema.texts import Throughput


def throughput(
    steps: Sequence[Mapping[str, Any]], recorded: Mapping[str, Any] | None, samples_per_step: float | None
) -> Throughput | None:
    """The report's `throughput` of all hosts and devices together: `samples_per_step`, as given or else as recorded,
    and `samples_per_s` by the `median` step and by the `mean` one, which is all samples over the time of all steps.
    None without steps, or if the number of samples is unknown."""
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


def check_samples(samples: float | None) -> float | None:
    """Returns a number of samples per step as given by a user, for JSON as an int or a float if it is one of NumPy's;
    None: not given. Raises InputError unless it is a number above 0 and at most MAX_SAMPLES_PER_STEP."""
    if samples is None:
        return None
    try:
        return units.check_samples(samples)
    except ValueError as error:
        allowed = f"give a number above 0 and up to {MAX_SAMPLES_PER_STEP:g}"
        raise InputError(f"{str(samples)[:40]} is not a number of samples per step; {allowed}") from error


def throughput_text(row: Mapping[str, Any]) -> str:
    """The report's `throughput` as a sentence."""
    median, mean = (units.rate(row["samples_per_s"][name]) for name in ("median", "mean"))
    samples = units.samples(row["samples_per_step"])
    return f"{samples} per step: {median} per second at the median step, {mean} in the mean"


def recorded_samples(recorded: Mapping[str, Any] | None) -> float | None:
    """The samples per step in the recording's file; None unless that is a number above 0 and at most
    MAX_SAMPLES_PER_STEP, since any program may have written the file."""
    samples = (recorded or {}).get(SAMPLES_PER_STEP_KEY)
    if isinstance(samples, bool) or not isinstance(samples, int | float):
        return None
    return samples if 0 < samples <= units.MAX_SAMPLES_PER_STEP else None
