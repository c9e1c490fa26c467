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
from tb_xla_insights.plugin.link import script, sheet
from tb_xla_insights.plugin.respond import error, raw

_log = logging.getLogger(__name__)
_KEEP_SECONDS = 365 * 24 * 3600
_ENTRY = "index.js"
# What is served: everything else is taken in by one of the two.
_SERVED: dict[str, tuple[str, Callable[[Path], str]]] = {
    _ENTRY: ("text/javascript", script),
    "index.css": ("text/css", sheet),
}
_Marks = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class _Snapshot:
    marks: _Marks
    digest: str
    packed: dict[str, bytes]


class Assets:
    """Serves `static/<digest>/index.js` and `index.css`, linked in memory from the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._snapshot = _Snapshot((), "none", {})

    def digest(self) -> str:
        """A digest of what is served. It is linked again when a file changed, as it does under a developer's hands."""
        marks = []
        for path in sorted(self._folder.rglob("*")):
            if path.suffix in (".js", ".css"):
                with suppress(OSError):  # an editor's own link, or a file that it just replaced
                    status = path.stat()
                    place = path.relative_to(self._folder).as_posix()
                    marks.append((place, status.st_size, status.st_mtime_ns))
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
            missing = "reinstall tb-xla-insights" if name == _ENTRY else "reload the page"
            return error(request, 404, f"static/{name}: no such file; {missing}")
        keep = _KEEP_SECONDS if digest == snapshot.digest else 0
        return raw(request, packed, _SERVED[name][0], expires=keep, content_encoding="gzip")

    def _read(self, marks: _Marks) -> _Snapshot:
        whole = hashlib.sha256()
        packed = {}
        for name, (_, link) in _SERVED.items():
            if not (self._folder / name).is_file():
                continue
            content = self._linked(name, link).encode()
            whole.update(f"{name}\0{len(content)}\0".encode() + content)
            packed[name] = gzip.compress(content, 9, mtime=0)
        return _Snapshot(marks, whole.hexdigest()[:16], packed)

    def _linked(self, name: str, link: Callable[[Path], str]) -> str:
        """What cannot be linked must not keep TensorBoard from its other plugins: the page says it instead."""
        try:
            return link(self._folder / name)
        except InputError as failure:
            _log.error("%s", failure)
            if name != _ENTRY:
                return ""
            return f"export function render() {{ document.body.textContent = {json.dumps(str(failure))}; }}\n"
