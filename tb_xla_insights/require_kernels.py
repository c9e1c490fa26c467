"""Imported before any kernel: says what to do in a checkout whose kernels were never compiled."""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from tb_xla_insights.errors import InputError

_FOLDER = Path(__file__).parent

if not any((_FOLDER / f"xplane/kernels{suffix}").is_file() for suffix in EXTENSION_SUFFIXES):
    raise InputError(f"{_FOLDER}: the kernels are not compiled; run pip install -e . in {_FOLDER.parent}")
