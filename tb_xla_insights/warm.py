"""Loads every compiled kernel from its file, or compiles it, so that no request has to wait for a compiler."""

from __future__ import annotations

import importlib
import pkgutil

import tb_xla_insights
from tb_xla_insights.compiled import kernels

_WITH_KERNELS = ("xplane", "trace", "analysis", "timeline")


def warm() -> None:
    """Imports the packages that have kernels, and makes all of them ready."""
    for package in _WITH_KERNELS:
        found = importlib.import_module(f"{tb_xla_insights.__name__}.{package}")
        for module in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
            importlib.import_module(module.name)
    for kernel in kernels():
        kernel.load()
