"""Repeats a recording until other processes hardly disturb it."""

import json
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

MAX_TRIES = 4
QUIET_SHARE = 0.15
"""A recording is not repeated if its threads waited for a shorter share of its duration."""
PAUSE_S = 1.0
"""The pause between two recordings."""


@dataclass(frozen=True)
class Recording:
    """`step_ms`: the mean step by the program's own clock, including the device's work. `kept_waiting`: the time that
    all its threads together waited for a processor, as a share of the duration. `tries`: recordings until this one."""

    step_ms: float
    kept_waiting: float
    tries: int


def record(
    logdir: Path, start: Callable[[str], None], run: Callable[[], float], stop: Callable[[], None]
) -> None:
    """Keeps the least disturbed of several recordings below `logdir`, with its `steps.json`, which also has the mean
    step of a last run without the profiler. `run` trains some steps and returns their mean in ms."""
    best: Recording | None = None
    for number in range(1, MAX_TRIES + 1):
        folder = logdir / f"try{number}"
        start(str(folder))
        waiting_before_s, start_s = waiting_time_s(), time.perf_counter()
        step_ms = run()
        share = (waiting_time_s() - waiting_before_s) / (time.perf_counter() - start_s)
        stop()
        if best is None or share < best.kept_waiting:
            shutil.rmtree(logdir / "plugins", ignore_errors=True)
            (folder / "plugins").rename(logdir / "plugins")
            best = Recording(step_ms, share, number)
        shutil.rmtree(folder)
        if share < QUIET_SHARE:
            break
        time.sleep(PAUSE_S)
    assert best is not None
    for file in logdir.glob("plugins/profile/*/*.json.gz"):
        file.unlink()  # the same profile in another format
    document = asdict(best) | {"without_profiler_ms": run()}
    (logdir / "steps.json").write_text(json.dumps(document) + "\n")


def waiting_time_s() -> float:
    """The time that this process's threads have waited for a processor so far, in seconds."""
    waiting_ns = 0
    for file in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError):  # a thread that has ended
            waiting_ns += int(file.read_text().split()[1])
    return waiting_ns / 1e9
