"""Captures of many versions of JAX, TensorFlow and PyTorch/XLA, compared with the program's own record: those in
`recorded`, and those that `make matrix` wrote to `build/matrix`."""

from __future__ import annotations

import json
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.matrix.check import CHECKS, captures, read
from benchmarks.what_if import quiet

HERE = Path(__file__).parent
RECORDED = HERE / "recorded/matrix"
BUILT = HERE.parent / "build/matrix"

TIMES = ("step_times", "sum_of_steps")
KNOWN_FAILURES = (
    # The machine was slow before the first run or after the last one, for a reason that the capture does not record.
    *(("jax0.12*/op_by_op", check) for check in TIMES),
    *(("jax0.11*/shard_map", check) for check in TIMES),
    *(("jax0.12*/pmap", check) for check in TIMES),
    ("torch_xla*/read_after_step", "sum_of_steps"),
    # JAX 0.6 records no waits and no ops on a CPU.
    ("jax0.6*/block", "finding"),
    ("jax0.6*/*_callback*", "finding"),
    # TensorFlow records no device on a CPU, so that no finding explains idle time.
    ("tensorflow*/*slow_input*", "finding"),
)
"""Checks that captures do not pass: patterns of captures, as ENVIRONMENT/PROGRAM, and the check."""

Document = dict[str, Any]


@cache
def cached_read(folder: Path) -> tuple[Document, Document]:
    return read(folder)


def is_expected_to_pass(folder: Path, check: str) -> bool:
    capture = "/".join(folder.parts[-2:])
    return not any(name == check and fnmatch(capture, pattern) for pattern, name in KNOWN_FAILURES)


def test_the_captures_exist() -> None:
    frameworks = {folder.parent.name.rstrip(".0123456789") for folder in captures(RECORDED)}
    assert frameworks == {"jax", "tensorflow"}
    assert len({folder.parent for folder in captures(RECORDED)}) >= 5


@pytest.mark.parametrize(
    ("folder", "check"),
    [
        pytest.param(folder, check, id=f"{'/'.join(folder.parts[-2:])}-{check}")
        for folder in (*captures(RECORDED), *captures(BUILT))
        for check in CHECKS
        if is_expected_to_pass(folder, check)
    ],
)
def test_the_report_matches_the_programs_own_record(folder: Path, check: str) -> None:
    report, truth = cached_read(folder)
    assert list(CHECKS[check](report, truth)) == []


def test_a_disturbed_recording_is_repeated_and_the_best_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shares of 0.8, 0.4, 0.6 and 0.5: the second recording is kept."""
    waiting_s = iter([0, 80, 0, 40, 0, 60, 0, 50])
    seconds = iter([0, 100] * quiet.MAX_TRIES)
    monkeypatch.setattr(quiet, "waiting_time_s", lambda: next(waiting_s))
    clock = SimpleNamespace(perf_counter=lambda: next(seconds), sleep=lambda _: None)
    monkeypatch.setattr(quiet, "time", clock)
    steps_ms = iter([11.0, 12.0, 13.0, 14.0, 9.0])
    quiet.record(
        tmp_path,
        lambda folder: (Path(folder) / "plugins").mkdir(parents=True),
        lambda: next(steps_ms),
        lambda: None,
    )
    assert json.loads((tmp_path / "steps.json").read_text()) == {
        "step_ms": 12.0, "kept_waiting": 0.4, "tries": 2, "without_profiler_ms": 9.0}  # fmt: skip
