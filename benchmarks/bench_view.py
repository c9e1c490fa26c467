"""Measures the timeline: preparing a session as the server does, ever smaller windows, search, single events.

    python benchmarks/bench_view.py [SESSION, LOGDIR OR FILE]

Times are processor time of this process in milliseconds, which other programs do not affect; sizes are those of the
compressed answer. "first" is the first answer of its kind, "again" the best of the five after it.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tb_xla_insights.session import load
from tb_xla_insights.system.deep_size import deep_size
from tb_xla_insights.timeline import Timeline

DEMO = Path(__file__).parents[1] / "demo_logs" / "torch_xla_baseline"
WIDTH_PX = 1200
ZOOMS = (1, 2, 4, 8, 16, 32, 128, 1024, 16384)


def timed_call(call: Callable[[], Any]) -> tuple[float, Any]:
    """The processor time of a call in milliseconds, and its result."""
    start = time.process_time()
    answer = call()
    return 1e3 * (time.process_time() - start), answer


def measure_row(label: str, call: Callable[[], Any], repetitions: int = 5) -> Any:
    """Prints a row of the table and returns the answer."""
    first, answer = timed_call(call)
    best = min(timed_call(call)[0] for _ in range(repetitions)) if repetitions else first
    text = json.dumps(answer, separators=(",", ":")).encode() if isinstance(answer, dict) else b""
    size = f"{len(gzip.compress(text, 6)) / 1e3:8.1f} kB" if text else ""
    print(f"{label:<38}{first:9.1f}{best:9.1f} {size}")
    return answer


def view(timeline: Timeline, start: int, duration: int, rows: list[str]) -> Any:
    """A view as the page requests it, with a power of two of picoseconds per pixel."""
    pixel_ps = 1 << max(0, (duration // WIDTH_PX).bit_length() - 1)
    return timeline.view(start, start + duration, -(-duration // pixel_ps), rows)


def main(path: str) -> None:
    print(f"{'':<38}{'first':>9}{'again':>9}")
    session = measure_row("read", lambda: load(path), repetitions=0)
    timeline = measure_row("rows", lambda: Timeline(session.trace), repetitions=0)
    rows = measure_row("head", timeline.head)["rows"]
    measure_row("prepare", timeline.prepare, repetitions=0)
    unfolded = [row["id"] for row in rows if row["unfolded"]]
    duration = session.duration_ps
    for zoom in ZOOMS:
        start = 0 if zoom == 1 else duration // 3
        measure_row(
            f"view of 1/{zoom}",
            lambda start=start, zoom=zoom: view(timeline, start, max(1, duration // zoom), unfolded),
        )
    measure_row(
        "view of the whole session, all rows",
        lambda: view(timeline, 0, duration, [row["id"] for row in rows]),
    )
    largest = max(rows, key=lambda row: row["events"])
    for query in ("dot", "e", "name:StepMarker", "end: ", "nothing has this name"):
        measure_row(f"search {query}", lambda query=query: timeline.search(query))
    for row in (unfolded[0], largest["id"]):
        start = timeline.neighbor(row, 0, duration // 2, "next")["event"]["start_ps"]
        measure_row(f"event of {row}", lambda row=row, start=start: timeline.event_at(row, start))
    measure_row("table of the whole session", lambda: timeline.table(0, duration, [], 500))
    events = sum(len(trace) for trace in session.trace.traces)
    print(f"{events} events, {len(rows)} rows, {len(unfolded)} of them unfolded")
    trace_bytes = deep_size(session.trace)
    print(f"{deep_size(timeline) / 1e6:.1f} MB of memory, {trace_bytes / 1e6:.1f} MB of them in the trace")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(DEMO))
