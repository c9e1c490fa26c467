"""Loops compiled by numba, which later processes load without it."""

from tb_xla_insights.compiled.kernel import Kernel, kernel, kernels
from tb_xla_insights.compiled.marks import inlined

__all__ = ["Kernel", "inlined", "kernel", "kernels"]
