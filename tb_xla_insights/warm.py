"""Loads every compiled kernel from its cache, or compiles it, so that no request has to wait for a compiler."""

from __future__ import annotations

import importlib
import pkgutil

import tb_xla_insights

_WITH_KERNELS = ("xplane", "trace", "analysis", "timeline")


def warm() -> None:
    """Imports the packages whose kernels have explicit signatures and so are ready once imported."""
    for package in _WITH_KERNELS:
        found = importlib.import_module(f"{tb_xla_insights.__name__}.{package}")
        for module in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
            importlib.import_module(module.name)
    # The first call of any kernel makes numba prepare for calls at all.
    importlib.import_module("tb_xla_insights.xplane.wire").Table([-1])
