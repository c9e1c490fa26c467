"""Serves the page's files under URLs that change with their content: browsers cache them and never show old ones."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from werkzeug import wrappers

from tb_xla_insights.page.packed import read_packed, read_sources, source_paths
from tb_xla_insights.plugin.respond import bytes_response, error_response

_CACHE_SECONDS = 365 * 24 * 3600
_TYPES = {".js": "text/javascript", ".css": "text/css", ".map": "application/json"}
_IDENTITY = "identity"
_FileStates = tuple[tuple[str, int, int], ...]
"""Name, size in bytes and modification time in nanoseconds of each file."""


@dataclass(frozen=True)
class _Snapshot:
    file_states: _FileStates = ()
    digest: str = "none"
    entry: str = "index.js"
    """The name of the first script."""
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """The contents by name and content encoding."""


class Assets:
    """Serves `static/<digest>/<name>`: the page's modules, and under `packed/` the bundles packed from them. The page
    starts from the bundles if they were packed from exactly these modules; their source maps refer to the modules.

    One digest covers all files, as bundled chunks are valid only together.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._snapshot = _Snapshot()

    def entry_url(self) -> str:
        """The URL of the first script. Files are read again when one has changed, as in development."""
        file_states = self._file_states()
        if file_states != self._snapshot.file_states:
            self._snapshot = self._read(file_states)
        return f"/static/{self._snapshot.digest}/{self._snapshot.entry}"

    def serve(self, request: wrappers.Request) -> wrappers.Response:
        """The requested file. Looks its name up among the known ones, and never in a directory."""
        if not self._snapshot.files:
            self.entry_url()
        snapshot = self._snapshot
        digest, _, name = request.path.partition("/static/")[2].partition("/")
        if not snapshot.files:
            return error_response(request, 404, "the page's files are missing; reinstall tb-xla-insights")
        if digest != snapshot.digest or name not in snapshot.files:
            return error_response(request, 404, f"static/{digest}/{name}: no such file now; reload the page")
        encodings = snapshot.files[name]
        # TensorBoard gzips plain content, and unpacks gzip, but no other encoding, for clients that do not accept it.
        accepted_encodings = [
            encoding
            for encoding in ("br", "gzip")
            if encoding in encodings and request.accept_encodings[encoding] > 0
        ]
        encoding = next(iter(accepted_encodings), "gzip" if "gzip" in encodings else _IDENTITY)
        return bytes_response(
            request,
            encodings[encoding],
            _TYPES[Path(name).suffix],
            expires=_CACHE_SECONDS,
            content_encoding=None if encoding == _IDENTITY else encoding,
            headers=[("Vary", "Accept-Encoding")],
        )

    def _file_states(self) -> _FileStates:
        states = []
        folder = self._folder
        for path in [*source_paths(folder).values(), *sorted((folder / "packed").glob("*"))]:
            with suppress(OSError):  # an editor or npm is replacing the file
                status = path.stat()
                states.append((path.relative_to(folder).as_posix(), status.st_size, status.st_mtime_ns))
        return tuple(states)

    def _read(self, file_states: _FileStates) -> _Snapshot:
        sources = read_sources(self._folder)
        packed = read_packed(self._folder, sources)
        files = {**{name: {_IDENTITY: content} for name, content in sources.items()}, **packed}
        digest = hashlib.sha256()
        for name, encodings in files.items():
            for encoding, content in encodings.items():
                digest.update(f"{name}\0{encoding}\0{len(content)}\0".encode() + content)
        entry = "packed/index.js" if packed else "index.js"
        return _Snapshot(file_states, digest.hexdigest()[:16], entry, files)
