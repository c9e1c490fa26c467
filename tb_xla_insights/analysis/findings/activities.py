"""The host's activities during idle time, as text."""

from __future__ import annotations

from collections.abc import Mapping

from tb_xla_insights.text.english import join_words
from tb_xla_insights.text.units import brief_times

_MIN_LISTED_SHARE = 0.05
"""Activities with a smaller share of the idle time are not listed."""


def activities_text(activities_ps: Mapping[str, int], conjunction: str = "and") -> str:
    """Lists the host's activities, the longest first; if there are several, each with its time, in a common unit.
    Activities below _MIN_LISTED_SHARE are left out. `activities_ps`: times by verb phrase, such as `builds the
    graph`, or by clause."""
    total_ps = sum(activities_ps.values())
    significant = [
        (activity, ps) for activity, ps in activities_ps.items() if ps and ps >= _MIN_LISTED_SHARE * total_ps
    ]
    significant.sort(key=lambda activity_time: -activity_time[1])
    if len(significant) == 1:
        return significant[0][0]
    texts = brief_times(*(ps for _, ps in significant))
    return join_words(
        [f"{activity} ({text})" for (activity, _), text in zip(significant, texts, strict=True)], conjunction
    )
