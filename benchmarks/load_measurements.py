"""The measurements of bench_load.py, and their tables."""

from __future__ import annotations

import statistics
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field


@dataclass
class Measurements:
    """The measurements of all clients, added under a lock, and of the server's process."""

    times: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    """Milliseconds by phase and route. A name in parentheses, such as `(open a session)`, is no route: it stands for
    several requests."""
    errors: Counter[str] = field(default_factory=Counter)
    still_reading: Counter[str] = field(default_factory=Counter)
    """The number of responses that said that the session is still being read, by phase."""
    rss: list[tuple[float, str, int]] = field(default_factory=list)
    """Seconds since the start, phase, and the resident memory of the server's process in bytes."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    phase: str = "in memory"

    def add(self, phase: str, route: str, milliseconds: float) -> None:
        with self.lock:
            self.times[phase, route].append(milliseconds)

    def add_still_reading(self, phase: str) -> None:
        with self.lock:
            self.still_reading[phase] += 1

    def fail(self, message: str) -> None:
        with self.lock:
            self.errors[message] += 1


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def print_tables(measurements: Measurements) -> None:
    phases = ("in memory", "beyond memory")
    columns = "requests | p50 (ms) | p99 (ms) | longest (ms)"
    print(f"\n| route | {phases[0]}: {columns} | {phases[1]}: {columns} |")
    print("|---|---|---|---|---|---|---|---|---|")
    routes = sorted({route for _, route in measurements.times})
    for route in sorted(
        routes, key=lambda name: -quantile(measurements.times.get((phases[0], name), [0]), 0.99)
    ):
        cells = []
        for phase in phases:
            times = measurements.times.get((phase, route), [])
            cells += [
                f"{len(times):,}",
                *(f"{quantile(times, share):,.0f}" if times else "" for share in (0.5, 0.99, 1)),
            ]
        print(f"| {route.strip('()') if route[0] == '(' else f'`{route}`'} | {' | '.join(cells)} |")
    print("\n| phase | answers | asked to retry | memory, first quarter (MB) | last quarter | most |")
    print("|---|---|---|---|---|---|")
    for phase in phases:
        memory = [rss / 1e6 for _, rss_phase, rss in measurements.rss if rss_phase == phase]
        if not memory:  # the server ended before this phase
            continue
        quarter = max(1, len(memory) // 4)
        first, last = statistics.median(memory[:quarter]), statistics.median(memory[-quarter:])
        answers = sum(
            len(times)
            for (times_phase, route), times in measurements.times.items()
            if times_phase == phase and not route.startswith("(")
        )
        print(
            f"| {phase} | {answers:,} | {measurements.still_reading[phase]} | {first:,.0f} | {last:,.0f} "
            f"| {max(memory):,.0f} |"
        )
