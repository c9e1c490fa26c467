"""The page as npm packed it (`pack.js`): few requests, few bytes. It holds for the very files beside it: after an edit
the page is served as it now is, module by module."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

_KINDS = (".js", ".css")
_ENCODINGS = ("br", "gzip")
_DIGEST = "packed/sources.sha256"


def source_paths(folder: Path) -> dict[str, Path]:
    """The page's own files by their place in its folder, in one order everywhere."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.suffix in _KINDS}
    return {
        name: paths[name]
        for name in sorted(paths)
        if not name.startswith("packed/") and not paths[name].name.startswith(".")
    }


def read_sources(folder: Path) -> dict[str, bytes]:
    """The page's own files and their content."""
    return {name: path.read_bytes() for name, path in source_paths(folder).items()}


def read_packed(folder: Path, sources: dict[str, bytes]) -> dict[str, dict[str, bytes]]:
    """What was packed from exactly these sources, by place (`packed/index.js`) and content encoding; else nothing."""
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
    """Whether the page is packed as it now is."""
    return bool(read_packed(folder, read_sources(folder)))


def _digest(sources: dict[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name, content in sources.items():
        whole.update(f"{name}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()
