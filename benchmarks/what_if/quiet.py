"""Record until the machine leaves a program alone: what other processes take is no part of an experiment."""

import json
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

MOST_TRIES = 4
QUIET_SHARE = 0.15
PAUSE_S = 1.0


@dataclass(frozen=True)
class Recorded:
    """`step_ms`: the mean step by the program's own clock, the device's work included. `kept_waiting`: how long its
    threads were ready to run and did not, together, as a share of the time. `tries`: recordings until this one."""

    step_ms: float
    kept_waiting: float
    tries: int


def record(
    logdir: Path, start: Callable[[str], None], run: Callable[[], float], stop: Callable[[], None]
) -> None:
    """Leaves the quietest of some recordings below `logdir`, with `steps.json` that tells of it. `run` trains some
    steps and gives their mean in ms."""
    best: Recorded | None = None
    for number in range(1, MOST_TRIES + 1):
        place = logdir / f"try{number}"
        start(str(place))
        before, begun = waited_s(), time.perf_counter()
        step_ms = run()
        share = (waited_s() - before) / (time.perf_counter() - begun)
        stop()
        if best is None or share < best.kept_waiting:
            shutil.rmtree(logdir / "plugins", ignore_errors=True)
            (place / "plugins").rename(logdir / "plugins")
            best = Recorded(step_ms, share, number)
        shutil.rmtree(place)
        if share < QUIET_SHARE:
            break
        time.sleep(PAUSE_S)
    assert best is not None
    for file in logdir.glob("plugins/profile/*/*.json.gz"):
        file.unlink()  # says the profile again, in another format
    told = asdict(best) | {"without_profiler_ms": run()}
    (logdir / "steps.json").write_text(json.dumps(told) + "\n")


def waited_s() -> float:
    """What this process' threads have waited for a processor so far."""
    waited = 0
    for file in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError):  # a thread that has ended
            waited += int(file.read_text().split()[1])
    return waited / 1e9
