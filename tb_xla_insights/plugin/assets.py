"""The page's files, under addresses that change with their content: browsers keep them, and never show old ones."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from werkzeug import wrappers

from tb_xla_insights.errors import InputError
from tb_xla_insights.page.pack import SERVED, packed
from tb_xla_insights.plugin.respond import error, raw

_log = logging.getLogger(__name__)
_KEEP_SECONDS = 365 * 24 * 3600
_ENTRY = "index.js"
_Marks = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class _Snapshot:
    marks: _Marks
    digest: str
    files: dict[str, dict[str, bytes]]  # by name and content encoding


class Assets:
    """Serves `static/<digest>/index.js` and `index.css`, linked in memory from the files of a folder.

    What was packed ahead is sent if it was made of exactly this; else it is gzipped here.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._snapshot = _Snapshot((), "none", {})

    def digest(self) -> str:
        """A digest of what is served. It is linked again when a file changed, as it does under a developer's hands."""
        marks = []
        for path in sorted(self._folder.rglob("*")):
            if path.suffix in (".js", ".css", ".br", ".gzip"):
                with suppress(OSError):  # an editor's own link, or a file that it just replaced
                    status = path.stat()
                    place = path.relative_to(self._folder).as_posix()
                    marks.append((place, status.st_size, status.st_mtime_ns))
        if tuple(marks) != self._snapshot.marks:
            self._snapshot = self._read(tuple(marks))
        return self._snapshot.digest

    def serve(self, request: wrappers.Request) -> wrappers.Response:
        """The file that the address names. Names are looked up among those known, never joined to a path."""
        if not self._snapshot.files:
            self.digest()
        digest, _, name = request.path.partition("/static/")[2].partition("/")
        snapshot = self._snapshot
        encodings = snapshot.files.get(name)
        if encodings is None:
            missing = "reinstall tb-xla-insights" if name == _ENTRY else "reload the page"
            return error(request, 404, f"static/{name}: no such file; {missing}")
        # TensorBoard unpacks gzip, and only that, for those who do not take it.
        encoding = "br" if "br" in encodings and request.accept_encodings["br"] > 0 else "gzip"
        return raw(
            request,
            encodings[encoding],
            SERVED[name][0],
            expires=_KEEP_SECONDS if digest == snapshot.digest else 0,
            content_encoding=encoding,
            headers=[("Vary", "Accept-Encoding")],
        )

    def _read(self, marks: _Marks) -> _Snapshot:
        whole = hashlib.sha256()
        files = {}
        for name, (_, link) in SERVED.items():
            if not (self._folder / name).is_file():
                continue
            linked = self._linked(name, link)
            files[name] = packed(self._folder, name, linked)
            if not files[name]:
                files[name] = {"gzip": gzip.compress(linked.encode(), 9, mtime=0)}
            for encoding, data in files[name].items():
                whole.update(f"{name}\0{encoding}\0{len(data)}\0".encode() + data)
        return _Snapshot(marks, whole.hexdigest()[:16], files)

    def _linked(self, name: str, link: Callable[[Path], str]) -> str:
        """What cannot be linked must not keep TensorBoard from its other plugins: the page says it instead."""
        try:
            return link(self._folder / name)
        except InputError as failure:
            _log.error("%s", failure)
            if name != _ENTRY:
                return ""
            return f"export function render() {{ document.body.textContent = {json.dumps(str(failure))}; }}\n"
