#!/usr/bin/env python3
"""Compare the report's prediction of a step without a mistake with the measured step without it.

    python compare.py OUT

OUT is the output of capture.py. Prints a table in ms: medians over the rounds in which neither side waited long for a
processor. "with" and "without" are the mean step by the program's own clock during the recording; "at best" and "at
worst" are `step_if_fixed_ps` and `step_if_fixed_at_worst_ps` of the finding for the mistake. "error" is the median
error of "at best" over the rounds, whose sides were recorded one after the other. "outside" follows it if
all steps without the mistake are shorter than all predictions at best, or longer than all predictions at worst.
"""

from __future__ import annotations

import json
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

from pairs import PAIRS, SIDES, Pair

import tb_xla_insights as xi

MAX_WAITING_SHARE = 0.35
"""The time that all threads of a recording may wait for a processor, together, as a share of its duration."""

TITLES = ("", "mistake", "without it", "finding", "rounds", "with", "at best", "at worst", "without", "error")


@dataclass(frozen=True)
class Round:
    """The mean steps of both sides, recorded one after the other; `folder` is the recording with the mistake."""

    with_ms: float
    without_ms: float
    waiting_share: float
    folder: Path


def rounds(out: Path, pair: Pair) -> list[Round]:
    """The rounds in which neither side waited long for a processor, or the best round."""
    candidates = []
    for folder in sorted(out.glob(f"{pair.framework}_{pair.name}/with-*")):
        files = [folder.with_name(f"{side}-{folder.name.partition('-')[2]}") / "steps.json" for side in SIDES]
        if all(file.exists() for file in files):
            with_mistake, without = (json.loads(file.read_text()) for file in files)
            waiting_share = max(with_mistake["kept_waiting"], without["kept_waiting"])
            candidates.append(Round(with_mistake["step_ms"], without["step_ms"], waiting_share, folder))
    limit = max(MAX_WAITING_SHARE, min((candidate.waiting_share for candidate in candidates), default=0.0))
    return [candidate for candidate in candidates if candidate.waiting_share <= limit]


def predict_step(folder: Path, finding: str) -> tuple[float, float] | None:
    """The predicted step at best and at worst, in ms; None if the report has no such finding."""
    for row in xi.load(str(folder)).report()["findings"]:
        if row["id"] == finding and row["step_if_fixed_ps"] is not None:
            return row["step_if_fixed_ps"] / 1e9, row["step_if_fixed_at_worst_ps"] / 1e9
    return None


def table_row(out: Path, pair: Pair) -> list[str] | None:
    """A row of the table; None if a side was not recorded."""
    recordings = rounds(out, pair)
    if not recordings:
        return None
    with_ms = statistics.median(recording.with_ms for recording in recordings)
    without_ms = statistics.median(recording.without_ms for recording in recordings)
    without = f"{pair.without} (adds {pair.adds})" if pair.adds else pair.without
    cells = [
        pair.framework,
        pair.mistake,
        without,
        f"`{pair.finding}`",
        str(len(recordings)),
        f"{with_ms:.1f}",
    ]
    predictions = [
        (recording, bounds)
        for recording in recordings
        if (bounds := predict_step(recording.folder, pair.finding)) is not None
    ]
    if 2 * len(predictions) < len(recordings):
        return [*cells, "not predicted", "", f"{without_ms:.1f}", ""]
    best, worst = (statistics.median(bounds[end] for _, bounds in predictions) for end in (0, 1))
    error = statistics.median(
        (low - recording.without_ms) / recording.without_ms for recording, (low, _) in predictions
    )
    steps = [recording.without_ms for recording in recordings]
    lowest, highest = min(low for _, (low, _) in predictions), max(high for _, (_, high) in predictions)
    outside = "" if max(steps) >= lowest and min(steps) <= highest else ", outside"
    return [*cells, f"{best:.1f}", f"{worst:.1f}", f"{without_ms:.1f}", f"{100 * error:+.0f} %{outside}"]


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: compare.py OUT")
    print(f"| {' | '.join(TITLES)} |")
    print("|" + "---|" * 4 + "--:|" * 6)
    for pair in PAIRS:
        cells = table_row(Path(sys.argv[1]), pair)
        if cells:
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
