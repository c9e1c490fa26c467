"""Reads the page as npm packed it (`pack.js`), for few requests and few bytes. Bundles are valid only for the exact
sources beside them: after an edit, the page is served from its sources, module by module."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

_SOURCE_SUFFIXES = (".js", ".css")
_ENCODINGS = ("br", "gzip")
_DIGEST = "packed/sources.sha256"


def source_paths(folder: Path) -> dict[str, Path]:
    """The page's sources by their path in its folder, in an order that is the same on every system."""
    paths = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.suffix in _SOURCE_SUFFIXES
    }
    return {
        name: paths[name]
        for name in sorted(paths)
        if not name.startswith("packed/") and not paths[name].name.startswith(".")
    }


def read_sources(folder: Path) -> dict[str, bytes]:
    """The contents of the page's sources, by path."""
    return {name: path.read_bytes() for name, path in source_paths(folder).items()}


def read_packed(folder: Path, sources: dict[str, bytes]) -> dict[str, dict[str, bytes]]:
    """The bundles packed from exactly these sources, by path (`packed/index.js`) and content encoding; empty if there
    are none."""
    files: dict[str, dict[str, bytes]] = {}
    with suppress(OSError):
        if (folder / _DIGEST).read_text().strip() != _digest(sources):
            return {}
        for path in sorted((folder / "packed").iterdir()):
            if (encoding := path.suffix.removeprefix(".")) in _ENCODINGS:
                files.setdefault(f"packed/{path.stem}", {})[encoding] = path.read_bytes()
        return files
    return {}


def is_packed(folder: Path) -> bool:
    """Whether the bundles are those of the current sources."""
    return bool(read_packed(folder, read_sources(folder)))


def read_static_page(folder: Path) -> bytes | None:
    """The page as one HTML document, packed from exactly the current sources; None if there is none."""
    path = folder / "packed/static.html"
    return path.read_bytes() if is_packed(folder) and path.is_file() else None


def _digest(sources: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in sources.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
