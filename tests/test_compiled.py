"""Kernels: what they take, what they give, and how their machine code is kept."""

from __future__ import annotations

import ctypes
import dis
import mmap
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_xla_insights.compiled import inlined, kernel, kernels, loading
from tb_xla_insights.compiled.code import CONSTANTS, _kept
from tb_xla_insights.compiled.loading import _HEADER, _SECTION, _image
from tb_xla_insights.compiled.marks import Inlined
from tb_xla_insights.errors import InputError
from tb_xla_insights.warm import warm

DEMO = Path(__file__).parents[1] / "demo_logs" / "torch_xla_baseline"
WEIGHT = 10
LINUX_ON_X86 = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="elsewhere LLVM loads all code"
)


@inlined
def _weighed(value):  # type: ignore[no-untyped-def]
    return WEIGHT * value


@kernel("UniTuple(int64, 2)(int64[::1], int32[:, ::1], boolean[::1], int8, boolean, int64[::1])")
def _add_up(values, table, chosen, extra, twice, out):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(len(values)):
        out[i] = _weighed(values[i]) if chosen[i] else 0
        total += out[i]
        for j in range(table.shape[1]):
            total += table[i, j]
    return (2 * total if twice else total) + extra, len(values)


@kernel("int64(int64, int64)")
def _ratio(a, b):  # type: ignore[no-untyped-def]
    return a // b


def test_arrays_and_numbers_go_in_and_numbers_come_out() -> None:
    values, chosen = np.array([1, 2, 3]), np.array([True, False, True])
    table, out = np.arange(6, dtype=np.int32).reshape(3, 2), np.empty(3, np.int64)
    assert _add_up(values, table, chosen, -1, False, out) == (40 + 15 - 1, 3)
    assert out.tolist() == [10, 0, 30]
    assert _add_up(values, table, chosen, np.int8(-128), np.True_, out) == (110 - 128, 3)
    assert _add_up(values[:0], table[:0], chosen[:0], 7, True, out[:0]) == (7, 0)
    assert _ratio(2**62 + 1, np.int64(-1)) == -(2**62) - 1


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (0, np.zeros(3, np.int32)),
        (0, np.zeros(6, np.int64)[::2]),
        (0, np.zeros((3, 1), np.int64)),
        (1, np.zeros((2, 3), np.int32).T),
        (2, np.zeros(3, np.int8)),
        (3, 1.5),
        (5, np.zeros(3, ">i8")),
    ],
)
def test_another_kind_of_argument_is_refused(place: int, wrong: object) -> None:
    arguments: list[object] = [np.zeros(3, np.int64), np.zeros((3, 2), np.int32), np.zeros(3, bool), 1, True]
    arguments.append(np.zeros(3, np.int64))
    arguments[place] = wrong
    with pytest.raises((TypeError, ctypes.ArgumentError)):
        _add_up(*arguments)


def test_a_missing_argument_is_refused() -> None:
    with pytest.raises(ValueError, match="argument 2"):
        _ratio(1)


def test_a_division_by_zero_is_an_error() -> None:
    with pytest.raises(ArithmeticError, match="_ratio"):
        _ratio(1, 0)


@pytest.mark.parametrize(
    "signature", ["int64[::1](int64)", "float64()", "int64", "UniTuple(int32, 2)(int64)"]
)
def test_a_kernel_gives_numbers_only(signature: str) -> None:
    with pytest.raises(ValueError, match="signature"):
        kernel(signature)(len)


@kernel("int64(int64)")
def _thousandths_of_the_sine(value):  # type: ignore[no-untyped-def]
    return round(1000 * np.sin(value))


@pytest.fixture
def placed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each kernel that is loaded, whether that was done without LLVM."""
    found: list[bool] = []

    def image(code: bytes, name: str) -> Any:
        its = _image(code, name)
        found.append(its is not None)
        return its

    monkeypatch.setattr(loading, "_image", image)
    return found


@LINUX_ON_X86
def test_code_that_needs_nothing_else_is_placed_without_llvm(placed: list[bool]) -> None:
    made = kernel("int64(int64, int64)")(_ratio.function)
    assert made(7, 2) == 3
    assert placed == [True]


def test_code_that_calls_others_is_loaded_by_llvm(placed: list[bool]) -> None:
    assert _thousandths_of_the_sine(2) == 909
    assert placed in ([False], [])  # the latter on other systems


def test_llvm_loads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_image", lambda *_: None)
    out = np.empty(2, np.int64)
    made = kernel(_add_up.signature)(_add_up.function)
    table = np.arange(4, dtype=np.int32).reshape(2, 2)
    assert made(np.array([5, 6]), table, np.array([True, True]), 1, True, out) == (2 * (110 + 6) + 1, 2)


@LINUX_ON_X86
def test_code_with_a_place_to_write_to_is_left_to_llvm() -> None:
    made = kernel("int64(int64, int64)")(_ratio.function)
    made.load()
    name, code = _kept(made) or ("", b"")
    assert _image(code, name) is not None
    header = list(_HEADER.unpack_from(code))
    place = header[6]
    changed = bytearray(code)
    for section in range(header[12]):
        flags = place + section * _SECTION.size + 8
        changed[flags] |= changed[flags] >> 1 & 1  # what is kept in memory is made writable
    assert _image(bytes(changed), name) is None


@LINUX_ON_X86
def test_a_system_that_lets_no_code_be_made_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mmap, "PROT_EXEC", 64)  # no such protection
    with pytest.raises(InputError, match="lets no code be made"):
        kernel("int64(int64, int64)")(_ratio.function).load()


SOURCE = """
from tb_xla_insights.compiled import kernel
WEIGHT = {weight}

@kernel("int64(int64)")
def weigh(value):
    return WEIGHT * value
"""
PROGRAM = "import sys, module; print(module.weigh(7), 'numba' in sys.modules)"


@pytest.fixture
def weigh(tmp_path: Path) -> Callable[[int], str]:
    """What a new process that uses a kernel of a module in `code/` says: its result, and whether it needed numba."""

    def run(weight: int) -> str:
        folder = tmp_path / "code"
        folder.mkdir(exist_ok=True)
        (folder / "module.py").write_text(SOURCE.format(weight=weight))
        paths = os.pathsep.join((str(folder), str(DEMO.parents[1])))
        environment = os.environ | {"PYTHONPATH": paths, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        command = [sys.executable, "-B", "-c", PROGRAM]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    return run


def test_code_is_kept_until_what_it_depends_on_changes(weigh: Callable[[int], str], tmp_path: Path) -> None:
    assert weigh(3) == "21 True"
    assert weigh(3) == "21 False"
    assert weigh(5) == "35 True"
    for path in tmp_path.rglob("*.kernel"):
        path.write_bytes(path.read_bytes()[:-1])
    assert weigh(5) == "35 True"
    assert weigh(5) == "35 False"


def test_code_is_kept_in_the_users_cache_where_its_folder_cannot_be_written(
    weigh: Callable[[int], str], tmp_path: Path
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "__pycache__").write_text("in the way")
    assert weigh(3) == "21 True"
    assert weigh(3) == "21 False"
    assert [path.parent for path in tmp_path.rglob("*.kernel")] == [tmp_path / "cache" / "tb_xla_insights"]


def test_without_any_place_it_is_compiled_each_time(weigh: Callable[[int], str], tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "__pycache__").write_text("in the way")
    (tmp_path / "cache").write_text("in the way, too")
    assert weigh(3) == "21 True"
    assert weigh(3) == "21 True"


def test_a_full_disk_leaves_nothing_behind(weigh: Callable[[int], str], tmp_path: Path) -> None:
    least, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, most))
    try:
        assert weigh(3) == "21 True"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "code" / "module.py"]


def test_other_users_may_read_what_one_compiled(weigh: Callable[[int], str], tmp_path: Path) -> None:
    weigh(3)
    (kept,) = tmp_path.rglob("*.kernel")
    assert kept.stat().st_mode == (tmp_path / "code" / "module.py").stat().st_mode


def test_kernels_use_constants_that_their_files_name_tells() -> None:
    warm()
    for it in kernels():
        names = it.function.__globals__
        loaded = {step.argval for step in dis.get_instructions(it.function) if step.opname == "LOAD_GLOBAL"}
        for name in loaded & names.keys():
            assert names[name] is np or isinstance(names[name], (*CONSTANTS, Inlined)), (
                it.function.__name__,
                name,
            )


def test_once_compiled_nothing_needs_numba() -> None:
    warm()
    assert {
        it.__module__.split(".")[1] for it in kernels() if it.__module__.startswith("tb_xla_insights.")
    } == {
        "analysis",
        "timeline",
        "trace",
        "xplane",
    }
    program = (
        f"import sys, tb_xla_insights as xi; xi.load({str(DEMO)!r}).report(); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
