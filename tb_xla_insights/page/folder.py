"""Locates the page's files."""

from __future__ import annotations

from pathlib import Path


def page_folder() -> Path:
    """The folder of the page's files: `static` in a wheel, `frontend` beside the package in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "static"
    return installed if installed.is_dir() else package.parent / "frontend"
