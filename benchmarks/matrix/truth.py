"""A program's own measurements of its training, written as `truth.json` beside the capture."""

import json
import platform
import shutil
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from quiet import waiting_time_s

WARMUP_STEPS, RECORDED_STEPS = 5, 20
MAX_TRIES = 2
MAX_STEP_RATIO = 4.0
"""A step longer than this multiple of the median was disturbed, unless it compiled."""


@dataclass(frozen=True)
class Case:
    """One program. `finding`: the id of the report's finding for its mistake; `besides`: the ids of those for its
    consequences. `devices`: their number, None if XLA has none. `collectives`: whether it has any.
    `asynchronous`: the host runs ahead of the device, so that a step's time on the host differs from the device's.
    `annotated`: its steps have annotations. `change`: what is new in its recompiled graphs."""

    finding: str | None = None
    besides: tuple[str, ...] = ()
    devices: int | None = 1
    collectives: bool = False
    asynchronous: bool = True
    annotated: bool = True
    change: str | None = None


class Clock:
    """Measures a program while it is recorded. Times are seconds of `time.perf_counter`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self.start_s = self.end_s = 0.0
        self.step_s: list[float] = []
        self.part_s: Counter[str] = Counter()
        self.compilations: list[tuple[int, float]] = []  # index of the step, duration
        self.launches = 0

    @contextmanager
    def step(self) -> Iterator[None]:
        start = time.perf_counter()
        self.start_s = self.start_s or start
        yield
        self.end_s = time.perf_counter()
        self.step_s.append(self.end_s - start)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Adds the time of the block to that of `name`. Thread-safe."""
        start = time.perf_counter()
        yield
        with self._lock:
            self.part_s[name] += time.perf_counter() - start

    def compilation(self, seconds: float) -> None:
        """Records a compilation in the current step."""
        with self._lock:
            self.compilations.append((len(self.step_s), seconds))

    def is_disturbed(self) -> bool:
        """Whether a step was delayed by something other than the program. Meaningless if the host runs ahead, as the
        device then delays it at times."""
        compiling = {step for step, _ in self.compilations}
        steps = [seconds for index, seconds in enumerate(self.step_s) if index not in compiling]
        return bool(steps) and max(steps) > MAX_STEP_RATIO * statistics.median(steps)


def record(
    logdir: Path,
    case: Case,
    facts: dict[str, object],
    clock: Clock,
    start: Callable[[str], None],
    run: Callable[[], None],
    stop: Callable[[], None],
) -> None:
    """Records `run` below `logdir`, with its `truth.json`; a disturbed capture is repeated once, and the undisturbed
    one is kept, else the shorter one. `run` trains RECORDED_STEPS steps and waits for the device. `facts`: framework,
    version, program, … In `truth.json`, `tries` is the number of the kept capture, from 1, and `kept_waiting` the time
    that all threads together waited for a processor, as a share of the capture's duration."""
    best: tuple[bool, float] | None = None
    for number in range(1, MAX_TRIES + 1):
        folder = logdir / f"try{number}"
        start(str(folder))
        clock.reset()
        waiting_before_s = waiting_time_s()
        run()
        wall_s = (time.perf_counter() if case.asynchronous else clock.end_s) - clock.start_s
        waiting_s = waiting_time_s() - waiting_before_s
        stop()
        disturbed = not case.asynchronous and clock.is_disturbed()
        if best is None or (disturbed, wall_s) < best:
            best = disturbed, wall_s
            shutil.rmtree(logdir / "plugins", ignore_errors=True)
            (folder / "plugins").rename(logdir / "plugins")
            truth = {
                **facts,
                "python": platform.python_version(),
                **asdict(case),
                "steps": len(clock.step_s),
                "step_ms": [round(1e3 * seconds, 4) for seconds in clock.step_s],
                "wall_ms": round(1e3 * wall_s, 4),
                "compilations": len(clock.compilations),
                "compiled_in": [step for step, _ in clock.compilations],
                "compile_ms": [round(1e3 * seconds, 4) for _, seconds in clock.compilations],
                "launches": clock.launches or None,
                "parts_ms": {name: round(1e3 * seconds, 4) for name, seconds in sorted(clock.part_s.items())},
                "kept_waiting": round(waiting_s / wall_s, 3),
                "disturbed": disturbed,
                "tries": number,
            }
            (logdir / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
        shutil.rmtree(folder)
        if not disturbed:
            break
    for file in logdir.glob("plugins/profile/*/*.json.gz"):
        file.unlink()  # the same profile in another format
