"""The host's activities during idle time, as text."""

from __future__ import annotations

from collections.abc import Mapping

from tb_xla_insights.english import join_words
from tb_xla_insights.units import brief_times

_MIN_LISTED_SHARE = 0.05
"""Activities with a smaller share of the idle time are not listed."""


def activities_text(times: Mapping[str, int]) -> str:
    """The host's activities, the longest first; several activities each with their time, in a common unit. Activities
    below _MIN_LISTED_SHARE are left out."""
    total = sum(times.values())
    significant = [
        (activity, time) for activity, time in times.items() if time and time >= _MIN_LISTED_SHARE * total
    ]
    significant.sort(key=lambda activity_time: -activity_time[1])
    if len(significant) == 1:
        return significant[0][0]
    texts = brief_times(*(time for _, time in significant))
    return join_words(
        [f"{activity} ({text})" for (activity, _), text in zip(significant, texts, strict=True)]
    )
