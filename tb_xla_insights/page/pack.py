"""The page as it is sent: linked, and, where pip could do so when it built the package, minified and compressed well.

`packed/` beside the page's files holds what was made of them, under names with a digest of what it was made of: after
an edit there is none of that name, and the page is served as it now is.
"""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tb_xla_insights.page.link import script, sheet

SERVED: dict[str, tuple[str, Callable[[Path], str]]] = {
    "index.js": ("text/javascript", script),
    "index.css": ("text/css", sheet),
}
"""The type of each file that is served, and how it is linked: everything else is taken in by one of the two."""

_ENCODINGS = ("br", "gzip")


def pack(folder: Path) -> None:
    """Makes `packed/` of the page in a folder. ImportError where a package that this takes is missing."""
    import brotli
    import minify

    (folder / "packed").mkdir(exist_ok=True)
    made = set()
    for name, (kind, link) in SERVED.items():
        linked = link(folder / name)
        small = minify.string(kind, linked).encode()
        sent = {"br": brotli.compress(small, quality=11), "gzip": gzip.compress(small, 9, mtime=0)}
        for encoding in _ENCODINGS:
            path = _path(folder, name, linked, encoding)
            half = path.with_suffix(f".{os.getpid()}")
            half.write_bytes(sent[encoding])
            half.replace(path)  # a server may be reading it
            made.add(path)
    for encoding in _ENCODINGS:
        for path in set((folder / "packed").glob(f"*.{encoding}")) - made:
            path.unlink(missing_ok=True)


def packed(folder: Path, name: str, linked: str) -> dict[str, bytes]:
    """What was made of exactly this text of a file, by content encoding; nothing if it was made of another."""
    with suppress(OSError):
        return {encoding: _path(folder, name, linked, encoding).read_bytes() for encoding in _ENCODINGS}
    return {}


def _path(folder: Path, name: str, linked: str, encoding: str) -> Path:
    digest = hashlib.sha256(linked.encode()).hexdigest()[:16]
    return folder / "packed" / f"{digest}-{name}.{encoding}"
