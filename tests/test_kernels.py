"""Kernels: the arrays that they accept, varints, tables of ids, and compilation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tb_xla_insights.analysis.time import kernels
from tb_xla_insights.xplane.codes import INVALID_POSITION, PADDING
from tb_xla_insights.xplane.kernels import IdTable, read_varint

PACKAGE = Path(__file__).parents[1] / "tb_xla_insights"
DEMO = PACKAGE.parent / "demo_logs" / "torch_xla_baseline"
START, END = np.array([0, 5, 9]), np.array([6, 8, 12])
ALL = np.ones(3, np.bool_)


def test_kernel_fills_output_arrays() -> None:
    start, end = np.zeros(3, np.int64), np.zeros(3, np.int64)
    assert kernels.merge(START, END, ALL, start, end) == 2
    assert (start[:2].tolist(), end[:2].tolist()) == ([0, 9], [8, 12])


@pytest.mark.parametrize(
    "array",
    [
        START.astype(np.int32),
        START.astype(np.uint64),
        START.astype(">i8"),
        START.astype(np.float64),
        np.zeros(6, np.int64)[::2],
        np.zeros((3, 1), np.int64),
    ],
)
def test_wrong_array_type_is_refused(array: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match=r"[Bb]uffer|contiguous"):
        kernels.merge(array, END, ALL, START.copy(), END.copy())


def test_input_arrays_may_be_read_only() -> None:
    start, end = START.copy(), END.copy()
    start.flags.writeable = end.flags.writeable = False
    out = np.empty(3, np.int64), np.empty(3, np.int64)
    empty = np.empty(0, np.int64)
    assert kernels.difference(start, end, empty, empty, *out) == 3
    with pytest.raises(ValueError, match="read-only"):
        kernels.merge(START, END, ALL, start, end)


@pytest.mark.parametrize("value", [0, 127, 128, 2**28, 2**49, 2**56 - 1, 2**56, 2**63 - 1, -1, -(2**63)])
def test_varint_of_any_length(value: int) -> None:
    bits, content = value % 2**64, bytearray()
    while bits > 127:
        content.append(bits & 127 | 128)
        bits >>= 7
    content.append(bits)
    window = np.frombuffer(b"\xff" + content + b"\xff" * PADDING, np.uint8)
    assert read_varint(window, 1) == (value, 1 + len(content))


def test_unterminated_varint() -> None:
    assert read_varint(np.full(PADDING, 0xFF, np.uint8), 0)[1] == INVALID_POSITION


def test_ids_are_found_despite_hash_collisions() -> None:
    table = IdTable(np.zeros(16, np.int64), np.full(16, -1, np.int32))
    ids = np.array([-1, 2**63 - 1, -(2**63), 0, 1 << 40], np.int64)
    table.insert(ids, np.arange(5, dtype=np.int32))
    table.insert(ids[:1], np.array([9], np.int32))  # the last of equal ids counts
    values = np.empty(6, np.int32)
    table.find_all(np.append(ids, 5), values)
    assert values.tolist() == [9, 1, 2, 3, 4, -1]


def test_every_kernel_module_is_compiled() -> None:
    files = sorted(PACKAGE.rglob("kernels.py"))
    assert len(files) == 11
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in files]
    program = f"import importlib; [print(importlib.import_module(name).__file__) for name in {names}]"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not [name for name in process.stdout.split() if name.endswith(".py")]


def test_report_needs_no_compiler() -> None:
    program = (
        f"import sys, tb_xla_insights as xi; xi.load({str(DEMO)!r}).report(); "
        "print({'cython', 'Cython'} & set(sys.modules))"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "set()"
