"""The page's files, under addresses that change with their content: browsers keep them, and never show old ones."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from werkzeug import wrappers

from tb_xla_insights.page.packed import read_packed, read_sources, source_paths
from tb_xla_insights.plugin.respond import error, raw

_KEEP_SECONDS = 365 * 24 * 3600
_TYPES = {".js": "text/javascript", ".css": "text/css", ".map": "application/json"}
_PLAIN = "identity"
_Marks = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class _Snapshot:
    marks: _Marks = ()
    digest: str = "none"
    entry: str = "index.js"
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)  # by place and content encoding


class Assets:
    """Serves `static/<digest>/<place>`: the page's modules as they are, and beside them, under `packed/`, what was
    packed from them. The page begins in the latter where it is of these very files, and its source maps lead to the
    modules.

    One digest stands for all files, because chunks only fit those that they were packed with.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._snapshot = _Snapshot()

    def entry(self) -> str:
        """The address of the first script. Files are read again when one changed, as it does under a developer's
        hands."""
        marks = self._marks()
        if marks != self._snapshot.marks:
            self._snapshot = self._read(marks)
        return f"/static/{self._snapshot.digest}/{self._snapshot.entry}"

    def serve(self, request: wrappers.Request) -> wrappers.Response:
        """The file that the address names. Names are looked up among those known, never joined to a path."""
        if not self._snapshot.files:
            self.entry()
        snapshot = self._snapshot
        digest, _, name = request.path.partition("/static/")[2].partition("/")
        if not snapshot.files:
            return error(request, 404, "the page's files are missing; reinstall tb-xla-insights")
        if digest != snapshot.digest or name not in snapshot.files:
            return error(request, 404, f"static/{digest}/{name}: no such file now; reload the page")
        encodings = snapshot.files[name]
        # TensorBoard gzips what is plain, and unpacks gzip, and only that, for those who do not take it.
        accepted = [it for it in ("br", "gzip") if it in encodings and request.accept_encodings[it] > 0]
        encoding = next(iter(accepted), "gzip" if "gzip" in encodings else _PLAIN)
        return raw(
            request,
            encodings[encoding],
            _TYPES[Path(name).suffix],
            expires=_KEEP_SECONDS,
            content_encoding=None if encoding == _PLAIN else encoding,
            headers=[("Vary", "Accept-Encoding")],
        )

    def _marks(self) -> _Marks:
        marks = []
        folder = self._folder
        for path in [*source_paths(folder).values(), *sorted((folder / "packed").glob("*"))]:
            with suppress(OSError):  # a file that an editor, or npm, just replaced
                status = path.stat()
                marks.append((path.relative_to(folder).as_posix(), status.st_size, status.st_mtime_ns))
        return tuple(marks)

    def _read(self, marks: _Marks) -> _Snapshot:
        sources = read_sources(self._folder)
        packed = read_packed(self._folder, sources)
        files = {**{name: {_PLAIN: content} for name, content in sources.items()}, **packed}
        whole = hashlib.sha256()
        for name, encodings in files.items():
            for encoding, content in encodings.items():
                whole.update(f"{name}\0{encoding}\0{len(content)}\0".encode() + content)
        return _Snapshot(marks, whole.hexdigest()[:16], "packed/index.js" if packed else "index.js", files)
