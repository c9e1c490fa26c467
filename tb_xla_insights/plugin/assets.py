"""The page's files, under addresses that change with their content: browsers keep them, and never show old ones."""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from werkzeug import wrappers

from tb_xla_insights.plugin.respond import error, raw

_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
_COMMENT = re.compile(rb"^[ \t]*(?:/\*(?:(?!\*/).)*\*/[ \t]*|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
_KEEP_SECONDS = 365 * 24 * 3600
_Marks = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class _Snapshot:
    marks: _Marks
    digest: str
    packed: dict[str, bytes]


class Assets:
    """Serves `static/<digest>/<file>` for the files below a folder that are of a type a page uses."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._snapshot = _Snapshot((), "none", {})

    def digest(self) -> str:
        """A digest of all files. They are read again when one changed, as it does under a developer's hands."""
        paths = [p for p in sorted(self._folder.rglob("*")) if p.suffix in _TYPES and ".test." not in p.name]
        marks = []
        for path in paths:
            status = path.stat()
            marks.append((path.relative_to(self._folder).as_posix(), status.st_size, status.st_mtime_ns))
        if tuple(marks) != self._snapshot.marks:
            self._snapshot = self._read(tuple(marks))
        return self._snapshot.digest

    def serve(self, request: wrappers.Request) -> wrappers.Response:
        """The file that the address names. Names are looked up among those known, never joined to a path."""
        if not self._snapshot.packed:
            self.digest()
        digest, _, name = request.path.partition("/static/")[2].partition("/")
        snapshot = self._snapshot
        packed = snapshot.packed.get(name)
        if packed is None:
            missing = "reinstall tb-xla-insights" if name == "index.js" else "reload the page"
            return error(request, 404, f"static/{name}: no such file; {missing}")
        kind = _TYPES[Path(name).suffix]
        keep = _KEEP_SECONDS if digest == snapshot.digest else 0
        return raw(request, packed, kind, expires=keep, content_encoding="gzip")

    def _read(self, marks: _Marks) -> _Snapshot:
        whole = hashlib.sha256()
        packed = {}
        for name, _, _ in marks:
            content = (self._folder / name).read_bytes()
            whole.update(f"{name}\0{len(content)}\0".encode() + content)
            packed[name] = gzip.compress(_without_comments(content), 9, mtime=0)
        return _Snapshot(marks, whole.hexdigest()[:16], packed)


def _without_comments(content: bytes) -> bytes:
    """A file without the comments that have lines of their own. Types and reasons are a quarter of the page; they are
    for those who read its source."""
    return _COMMENT.sub(b"", content)
