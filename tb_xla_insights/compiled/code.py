"""The machine code of kernels: made by numba once, kept in files, and loaded from them without numba.

Importing numba, and letting it load what it keeps itself, takes half a second and 70 MB.

A file has the digest of what follows, the function's name in the code, and the code. Its name has a digest of all that
the code depends on: the function and those it uses, the constants that they take from their modules, Python, numba and
what tells it how to compile, and the processor. It lies beside Python's own compiled files, or in the user's cache
where that folder cannot be written.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from tb_xla_insights.compiled.loading import load
from tb_xla_insights.compiled.marks import Inlined, Instruction

_CALL = 1
"""To be counted up when the way a kernel is called changes."""

_OPTIONS = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
"""Code without Python and without memory management: nothing outside of it is called, so it can be loaded alone."""

_CPU = (b"vendor_id", b"cpu family", b"model", b"stepping", b"flags")
"""What Linux tells of an x86-64 processor, and code depends on."""

CONSTANTS = (int, float, Instruction)
"""What a kernel may take from its module besides functions of its kind and NumPy."""

_lock = threading.RLock()


def address(kernel: Any) -> int:
    """Where the machine code of a kernel begins; it is compiled where no file has it."""
    with _lock:
        name, code = _kept(kernel) or _made(kernel)
        return load(code, name)


def _kept(kernel: Any) -> tuple[str, bytes] | None:
    for folder in _folders(kernel):
        with suppress(OSError):
            digest, _, content = (folder / _file(kernel)).read_bytes().partition(b"\n")
            if digest == _digest(content):
                name, _, code = content.partition(b"\n")
                return name.decode(), code
    return None


def _made(kernel: Any) -> tuple[str, bytes]:
    from numba import config, njit

    if config.DISABLE_JIT:
        raise RuntimeError("kernels have to be compiled; unset NUMBA_DISABLE_JIT")
    made = njit(kernel.signature, **_OPTIONS)(_source(kernel))
    result = made.overloads[made.signatures[0]]
    name = result.fndesc.llvm_func_name
    code = result.library.serialize_using_object_code()[2][0]
    content = name.encode() + b"\n" + code
    for folder in _folders(kernel):
        with suppress(OSError):
            _write(folder / _file(kernel), _digest(content) + b"\n" + content)
            break
    return name, code


def _source(mark: Inlined) -> FunctionType:
    """A function that numba compiles: with what the compiler knows in the place of marks."""
    names = {name: _for_numba(value) for name, value in _used(mark.function).items()}
    function: Any = mark.function
    return FunctionType(function.__code__, function.__globals__ | names, function.__name__)


def _for_numba(value: Any) -> Any:
    if isinstance(value, Instruction):
        from tb_xla_insights.compiled import instructions

        return getattr(instructions, value.name)
    if isinstance(value, Inlined):
        from numba import njit

        return njit(forceinline=True, **_OPTIONS)(_source(value))
    return value


def _used(function: Any) -> dict[str, Any]:
    """What a function may use of its module."""
    names = function.__globals__
    return {name: names[name] for name in function.__code__.co_names if name in names}


def _file(kernel: Any) -> str:
    whole = repr((kernel.signature, _compiler(), *_identity(kernel))).encode()
    return f"{kernel.__module__.rpartition('.')[2]}.{kernel.__name__}.{_digest(whole).decode()}.kernel"


@cache
def _compiler() -> tuple[Any, ...]:
    """Everything that code depends on besides its source."""
    found = [importlib.util.find_spec(name) for name in ("numba", "llvmlite")]  # imports nothing
    files = [Path(it.origin).with_name("_version.py") for it in found if it and it.origin]
    files.append(Path(__file__).with_name("instructions.py"))
    told = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    texts = [path.read_bytes() for path in files if path.is_file()]
    return _CALL, _OPTIONS, sys.version, _processor(), told, texts


def _processor() -> Any:
    """What it is, and what it can do."""
    with suppress(OSError), open("/proc/cpuinfo", "rb") as file:
        first = file.read(1 << 14).partition(b"\n\n")[0]
        known = [line for line in first.splitlines() if line.partition(b"\t")[0] in _CPU]
        if len(known) == len(_CPU):
            return known
    from llvmlite import binding

    return (
        binding.get_process_triple(),
        binding.get_host_cpu_name(),
        binding.get_host_cpu_features().flatten(),
    )


def _identity(value: Any) -> Iterator[Any]:
    """All of a value that is compiled into whatever uses it."""
    if isinstance(value, Inlined):
        code: Any = value.function.__code__
        yield code.co_code, code.co_consts, code.co_names, code.co_varnames
        for used in _used(value.function).values():
            yield from _identity(used)
    else:
        yield value if isinstance(value, CONSTANTS) else type(value).__name__


def _folders(kernel: Any) -> Iterator[Path]:
    yield Path(kernel.function.__code__.co_filename).parent / "__pycache__"
    with suppress(RuntimeError):  # a user without a home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tb_xla_insights"


def _digest(content: bytes) -> bytes:
    """Python's own of its source files: 64 bits. Importing what has longer ones takes 5 ms."""
    return importlib.util.source_hash(content).hex().encode()


def _write(path: Path, content: bytes) -> None:
    """At once, since other processes may read and write the same file, and for all users. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    try:
        half.write_bytes(content)
        half.replace(path)
    except OSError:
        half.unlink(missing_ok=True)
        raise
