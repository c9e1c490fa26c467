"""Imported before any kernel: raises InputError, with the remedy, if the kernels of a checkout are not compiled."""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from tb_xla_insights.errors import InputError

_PACKAGE_FOLDER = Path(__file__).parent

if not any((_PACKAGE_FOLDER / f"xplane/kernels{suffix}").is_file() for suffix in EXTENSION_SUFFIXES):
    raise InputError(
        f"{_PACKAGE_FOLDER}: the kernels are not compiled; run pip install -e . in {_PACKAGE_FOLDER.parent}"
    )
