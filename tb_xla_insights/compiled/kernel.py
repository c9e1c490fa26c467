"""Functions that are compiled: how they are marked, and how they are called."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tb_xla_insights.compiled.code import address
from tb_xla_insights.compiled.marks import Inlined

_SIGNATURE = re.compile(r"(void|int64|UniTuple\(int64, (\d+)\))\((.*)\)")
_ARGUMENT = re.compile(r"(\w+)(\[(:, )?::1\])?")
_SCALARS = {"int64": ctypes.c_int64, "int32": ctypes.c_int32, "int8": ctypes.c_int8, "boolean": ctypes.c_bool}
_ALL: list[Kernel] = []


class Kernel(Inlined):
    """A compiled function. Calling it runs machine code, without Python's lock.

    The signature is numba's: arguments are scalars or contiguous arrays, `int64[::1]` or `int64[:, ::1]`; the result is
    `void`, `int64` or several of those, `UniTuple(int64, n)`. Arrays are the caller's: a kernel makes none. Integers
    lose the bits that their type has no room for. Raises TypeError for an array of another kind, ArithmeticError where
    the kernel divides by zero (or leaves an array, where NUMBA_BOUNDSCHECK is set).
    """

    def __init__(self, function: Callable[..., Any], signature: str) -> None:
        super().__init__(function)
        functools.update_wrapper(self, function)
        self.signature = signature
        found = _SIGNATURE.fullmatch(signature)
        if not found:
            raise ValueError(f"{function.__name__}: a kernel cannot have the signature {signature}")
        self._results, self._alone = (0 if found[1] == "void" else int(found[2] or 1)), not found[2]
        self._arrays: list[tuple[np.dtype[Any], int] | None] = []
        self._types: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
        for name, array, matrix in _ARGUMENT.findall(found[3]):
            dimensions = 2 if matrix else 1
            self._arrays.append((np.dtype(name.removesuffix("ean")), dimensions) if array else None)
            self._types += [ctypes.c_int64] * (5 + 2 * dimensions) if array else [_SCALARS[name]]
        self._native: Callable[..., int] | None = None
        _ALL.append(self)

    def load(self) -> Callable[..., int]:
        """Makes the machine code ready, as the first call does."""
        if self._native is None:
            self._native = ctypes.CFUNCTYPE(ctypes.c_int32, *self._types)(address(self))
        return self._native

    def __call__(self, *arguments: Any) -> Any:
        result, error = (ctypes.c_int64 * max(self._results, 1))(), ctypes.c_void_p()
        values: list[Any] = [ctypes.addressof(result), ctypes.addressof(error)]
        for array, value in zip(self._arrays, arguments, strict=True):
            if array is None:
                values.append(value)
            elif value.dtype == array[0] and value.ndim == array[1] and value.flags.c_contiguous:
                # As numba passes it: no owner to count, size, place, shape.
                values += (0, 0, value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides)
            else:
                raise TypeError(
                    f"{self.function.__name__}{self.signature}: got {value.dtype}, {value.strides}"
                )
        if (self._native or self.load())(*values):
            raise ArithmeticError(f"{self.function.__name__} divides by zero, or leaves an array")
        return None if not self._results else result[0] if self._alone else tuple(result)


def kernel(signature: str) -> Callable[[Callable[..., Any]], Kernel]:
    """Marks a function as a kernel, with a signature such as `int64(int64[::1], boolean)`."""
    return functools.partial(Kernel, signature=signature)


def kernels() -> list[Kernel]:
    """All kernels of the modules that were imported so far."""
    return list(_ALL)
