"""Whether a finding's idle time is mostly one pause, which need not recur."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.analysis.findings.facts import Facts
from tb_xla_insights.trace.model import Int64
from tb_xla_insights.units import brief_time

_MIN_GAPS = 4
"""The minimum number of gaps per core of a finding: of fewer, one often has most of the time."""


def single_gap_ps(facts: Facts, taken_ps: Int64) -> int | None:
    """The length in ps of the gap that has more than half of a finding's time (`taken_ps` per gap) and mostly consists
    of it; None without such a gap, for fewer than _MIN_GAPS gaps per core, and in captures of one step. With several
    cores, the longest gaps of all cores count together, because a pause of the host leaves one on each; the length is
    then their mean."""
    ledger = facts.ledger
    gaps = np.flatnonzero(taken_ps)
    cores = np.unique(ledger.device[gaps])
    if facts.step_count == 1 or len(gaps) < _MIN_GAPS * len(cores) or not len(cores):
        return None
    gaps_of_cores = [gaps[ledger.device[gaps] == core] for core in cores]
    longest = np.array([core_gaps[np.argmax(taken_ps[core_gaps])] for core_gaps in gaps_of_cores])
    length_ps = int((ledger.end_ps[longest] - ledger.start_ps[longest]).sum())
    if 2 * int(taken_ps[longest].sum()) <= max(int(taken_ps.sum()), length_ps):
        return None
    return length_ps // len(cores)


def single_gap_text(gap_ps: int | None) -> str:
    """`, most of it in one gap of 20.7 ms`; empty for None."""
    return "" if gap_ps is None else f", most of it in one gap of {brief_time(gap_ps)}"
