"""Loops compiled by numba, which later processes load without it."""

from tb_xla_insights.compiled.kernel import Kernel, kernel, kernels
from tb_xla_insights.compiled.marks import inlined
from tb_xla_insights.compiled.room import cut, room

__all__ = ["Kernel", "cut", "inlined", "kernel", "kernels", "room"]
