"""Where the page's own files are."""

from __future__ import annotations

from pathlib import Path


def page_folder() -> Path:
    """The page's files: in a wheel a package of their own, in a checkout the folder beside the package."""
    package = Path(__file__).parents[1]
    installed = package / "static"
    return installed if installed.is_dir() else package.parent / "frontend"
