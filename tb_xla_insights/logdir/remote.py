"""A place behind any URL that fsspec opens: what it is and what lies below it, in few requests."""

from __future__ import annotations

from functools import partial
from typing import Any

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.blocks import call_with_timeout
from tb_xla_insights.files.reasons import is_missing, is_refusal, reason
from tb_xla_insights.logdir.paths import DEEPEST, is_session_directory, parent
from tb_xla_insights.parallel import run_parallel

_EXTRA = {"gs": "gcs", "gcs": "gcs", "s3": "s3", "s3a": "s3", "http": "http", "https": "http"}
_LISTED_AT_ONCE = 16
_LISTING_PATIENCE_S = 900.0
"""How long all requests of one listing may take."""


class Remote:
    """A URL's file system and path in it; what goes wrong inside `with` becomes an InputError of one line."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __enter__(self) -> Remote:
        try:
            import fsspec

            self.system, self.path = call_with_timeout(lambda: fsspec.core.url_to_fs(self.url))
            self.system.invalidate_cache()
        except ImportError as error:
            extra = _EXTRA.get(self.url.split("://")[0])
            remedy = f'pip install "tb-xla-insights[{extra}]"' if extra else " ".join(str(error).split())
            raise InputError(f"{self.url}: nothing installed opens this kind of URL; {remedy}") from error
        except Exception as error:  # each file system raises its own kinds
            raise InputError(f"{self.url}: {reason(error, listing=True)}") from error
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            raise InputError(f"{self.url}: {reason(error, listing=True)}") from error

    def info(self) -> dict[str, Any] | None:
        """What the file system tells of the place, None where nothing is."""
        try:
            info: dict[str, Any] = call_with_timeout(lambda: self.system.info(self.path))
        except FileNotFoundError as error:
            if is_missing(error):
                return None
            raise
        return info

    def listed(self) -> dict[str, dict[str, Any]] | None:
        """All files below the place, at any depth, by URL; None where nothing is."""
        try:
            return call_with_timeout(self._found if self._finds() else self._walked, _LISTING_PATIENCE_S)
        except FileNotFoundError as error:
            if is_missing(error):
                return None
            raise

    def _finds(self) -> bool:
        """Whether the file system lists all depths at once, as buckets do: a request per thousand names."""
        from fsspec.asyn import AsyncFileSystem
        from fsspec.spec import AbstractFileSystem

        system = type(self.system)
        if issubclass(system, AsyncFileSystem):
            return system._find is not AsyncFileSystem._find or system.find is not AsyncFileSystem.find
        return system.find is not AbstractFileSystem.find

    def _found(self) -> dict[str, dict[str, Any]]:
        found = self.system.find(self.path, detail=True)
        return {self._full(path): info for path, info in found.items()}

    def _walked(self) -> dict[str, dict[str, Any]]:
        """Directory by directory, those of one depth side by side, down to those of sessions."""
        files: dict[str, dict[str, Any]] = {}
        level, depth = [self.path], 0
        while level and depth < DEEPEST:
            ask = [partial(self._entries, path, below=depth > 0) for path in level]
            entries = [entry for found in run_parallel(ask, _LISTED_AT_ONCE) for entry in found]
            paths = {self._full(entry["name"]).rstrip("/"): entry for entry in entries}
            files |= {path: entry for path, entry in paths.items() if entry["type"] == "file"}
            above = [path for path, entry in paths.items() if entry["type"] == "directory"]
            level = [paths[path]["name"] for path in above if not is_session_directory(parent(path))]
            depth += 1
        return files

    def _entries(self, path: str, below: bool) -> list[dict[str, Any]]:
        try:
            entries: list[dict[str, Any]] = call_with_timeout(lambda: self.system.ls(path, detail=True))
        except Exception as error:
            if below and (is_missing(error) or is_refusal(error)):
                return []  # a directory that this user may not enter hides its sessions, not those beside it
            raise
        return entries

    def _full(self, path: str) -> str:
        """The URL of a path that the file system gave."""
        return str(self.system.unstrip_protocol(path))
