#!/usr/bin/env python3
"""What the report says a step would take without a mistake, against what it took without it.

    python compare.py OUT

OUT is what capture.py wrote. Prints a table in ms: medians over the rounds in which both sides were hardly kept
waiting. "with" and "without" are the mean step by the program's own clock while it was recorded; "at best" and "at
worst" are `step_if_fixed_ps` and `step_if_fixed_most_ps` of the finding that names the mistake. "error" is the median
of the errors of "at best" in each round, whose sides were recorded one after the other. "outside" follows it where no
recording without the mistake lies between any two such bounds.
"""

from __future__ import annotations

import json
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from pairs import PAIRS, SIDES, Pair

import tb_xla_insights as xi

MOST_WAITING = 0.35
"""How long the threads of a recording may have waited for a processor, together, as a share of its time."""

TITLES = ("", "mistake", "without it", "finding", "rounds", "with", "at best", "at worst", "without", "error")


@dataclass(frozen=True)
class Round:
    """Recordings of both sides, one after the other: how long a step took; `folder` has the mistake."""

    with_ms: float
    without_ms: float
    waiting: float
    folder: Path


def rounds(out: Path, pair: Pair) -> list[Round]:
    """Those in which neither side was kept waiting for long, or the best one."""
    found = []
    for folder in sorted(out.glob(f"{pair.framework}_{pair.name}/with-*")):
        files = [folder.with_name(f"{side}-{folder.name.partition('-')[2]}") / "steps.json" for side in SIDES]
        if all(file.exists() for file in files):
            one, other = (json.loads(file.read_text()) for file in files)
            waiting = max(one["kept_waiting"], other["kept_waiting"])
            found.append(Round(one["step_ms"], other["step_ms"], waiting, folder))
    most = max(MOST_WAITING, min((each.waiting for each in found), default=0.0))
    return [each for each in found if each.waiting <= most]


def predicted(folder: Path, finding: str) -> tuple[float, float] | None:
    """At best and at worst, in ms; None where the report has no such finding."""
    for found in xi.load(str(folder)).report()["findings"]:
        if found["id"] == finding and found["step_if_fixed_ps"] is not None:
            return found["step_if_fixed_ps"] / 1e9, found["step_if_fixed_most_ps"] / 1e9
    return None


def row(out: Path, pair: Pair) -> list[str] | None:
    """A row of the table; None where a side was not recorded."""
    told = rounds(out, pair)
    if not told:
        return None
    before, after = (
        statistics.median(column)
        for column in zip(*((it.with_ms, it.without_ms) for it in told), strict=True)
    )
    without = f"{pair.without} (adds {pair.adds})" if pair.adds else pair.without
    cells = [pair.framework, pair.mistake, without, f"`{pair.finding}`", str(len(told)), f"{before:.1f}"]
    known = [(each, bounds) for each in told if (bounds := predicted(each.folder, pair.finding)) is not None]
    if 2 * len(known) < len(told):
        return [*cells, "not told", "", f"{after:.1f}", ""]
    least, most = (statistics.median(bounds[end] for _, bounds in known) for end in (0, 1))
    error = statistics.median((low - each.without_ms) / each.without_ms for each, (low, _) in known)
    steps = [each.without_ms for each in told]
    met = max(steps) >= min(low for _, (low, _) in known) and min(steps) <= max(
        high for _, (_, high) in known
    )
    outside = "" if met else ", outside"
    return [*cells, f"{least:.1f}", f"{most:.1f}", f"{after:.1f}", f"{100 * error:+.0f} %{outside}"]


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: compare.py OUT")
    print(f"| {' | '.join(TITLES)} |")
    print("|" + "---|" * 4 + "--:|" * 6)
    for pair in PAIRS:
        cells = row(Path(sys.argv[1]), pair)
        if cells:
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
