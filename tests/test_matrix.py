"""Captures of every age of JAX, and of TensorFlow, against what the program knew of itself: those recorded beside this
file, and all that `make matrix` left in `build/matrix`."""

from __future__ import annotations

from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.matrix.check import CHECKS, captures, read

HERE = Path(__file__).parent
RECORDED = HERE / "recorded/matrix"
MADE = HERE.parent / "build/matrix"

MANY_DEVICES = ("pmap", "shard_map")
TIMES = ("step_times", "sum_of_steps")
NOT_HELD = (
    *(("jax*/op_by_op*", check) for check in TIMES),
    *(("jax0.10*/io_callback", check) for check in TIMES),
    *((f"jax0.[!4678]*/{program}", check) for program in MANY_DEVICES for check in TIMES),
    ("torch_xla*/read_after_step", "sum_of_steps"),
    ("jax0.6*/new_*", "change"),
    ("tensorflow*/compiled_new_shapes", "change"),
    *((f"jax0.[!4578]*/{program}", "devices") for program in MANY_DEVICES),
    *((f"jax0.[!78]*/{program}", "launches") for program in MANY_DEVICES),
    *((f"jax0.12*/{program}", "shares") for program in MANY_DEVICES),
    ("tensorflow*/compiled*", "launches"),
    ("jax*/block", "finding"),
    ("jax0.[456]*/op_by_op*", "finding"),
    ("jax*/*_callback*", "finding"),
    ("jax*/python_between", "finding"),
    ("tensorflow*/*slow_input*", "finding"),
)
"""What the report does not tell yet: patterns of captures, as ENVIRONMENT/PROGRAM, and the check."""

Document = dict[str, Any]


@cache
def read_once(folder: Path) -> tuple[Document, Document]:
    return read(folder)


def held(folder: Path, check: str) -> bool:
    place = "/".join(folder.parts[-2:])
    return not any(name == check and fnmatch(place, pattern) for pattern, name in NOT_HELD)


def test_the_captures_are_there() -> None:
    frameworks = {folder.parent.name.rstrip(".0123456789") for folder in captures(RECORDED)}
    assert frameworks == {"jax", "tensorflow"}
    assert len({folder.parent for folder in captures(RECORDED)}) >= 5


@pytest.mark.parametrize(
    ("folder", "check"),
    [
        pytest.param(folder, check, id=f"{'/'.join(folder.parts[-2:])}-{check}")
        for folder in (*captures(RECORDED), *captures(MADE))
        for check in CHECKS
        if held(folder, check)
    ],
)
def test_the_report_tells_what_the_program_knows(folder: Path, check: str) -> None:
    report, truth = read_once(folder)
    assert list(CHECKS[check](report, truth)) == []
