"""Queries and lists any URL that fsspec opens, in few requests."""

from __future__ import annotations

from functools import partial
from typing import Any

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.blocks import call_with_timeout
from tb_xla_insights.files.reasons import is_missing, is_refusal, reason
from tb_xla_insights.logdir.paths import MAX_DEPTH, is_session_directory, parent
from tb_xla_insights.system.parallel import run_parallel

_EXTRA = {"gs": "gcs", "gcs": "gcs", "s3": "s3", "s3a": "s3", "http": "http", "https": "http"}
"""The extra of this package that installs the file system of a URL scheme."""

_MAX_LIST_REQUESTS = 16
_LISTING_TIMEOUT_S = 900.0
"""The time limit for all requests of one listing."""


class Remote:
    """A URL's file system and the path in it. An exception inside `with` becomes an InputError of one line.

    `unreadable` has the directories that `list_files` was not permitted to list."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.unreadable: list[str] = []

    def __enter__(self) -> Remote:
        try:
            import fsspec

            self.system, self.path = call_with_timeout(lambda: fsspec.core.url_to_fs(self.url))
            self.system.invalidate_cache()
        except ImportError as error:
            extra = _EXTRA.get(self.url.split("://")[0])
            remedy = f'pip install "tb-xla-insights[{extra}]"' if extra else " ".join(str(error).split())
            raise InputError(f"{self.url}: nothing installed opens this kind of URL; {remedy}") from error
        except Exception as error:  # each file system raises its own exceptions
            raise InputError(f"{self.url}: {reason(error, listing=True)}") from error
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            raise InputError(f"{self.url}: {reason(error, listing=True)}") from error

    def info(self) -> dict[str, Any] | None:
        """What the file system records about the path, None if nothing exists there."""
        try:
            info: dict[str, Any] = call_with_timeout(lambda: self.system.info(self.path))
        except FileNotFoundError as error:
            if is_missing(error):
                return None
            raise
        return info

    def list_files(self) -> dict[str, dict[str, Any]] | None:
        """What `info` returns, of the files below the path, at least down to sessions' directories, by URL; None if
        nothing exists there."""
        try:
            return call_with_timeout(self._find if self._has_find() else self._walk, _LISTING_TIMEOUT_S)
        except FileNotFoundError as error:
            if is_missing(error):
                return None
            raise

    def _has_find(self) -> bool:
        """Whether the file system lists all depths in one call, as buckets do, with one request per thousand names."""
        from fsspec.asyn import AsyncFileSystem
        from fsspec.spec import AbstractFileSystem

        system = type(self.system)
        if issubclass(system, AsyncFileSystem):
            return system._find is not AsyncFileSystem._find or system.find is not AsyncFileSystem.find
        return system.find is not AbstractFileSystem.find

    def _find(self) -> dict[str, dict[str, Any]]:
        entries = self.system.find(self.path, detail=True)
        return {self._url(path): info for path, info in entries.items()}

    def _walk(self) -> dict[str, dict[str, Any]]:
        """Lists directory by directory, those of one depth in parallel, down to the directories of sessions."""
        files: dict[str, dict[str, Any]] = {}
        level, depth = [self.path], 0
        while level and depth < MAX_DEPTH:
            tasks = [partial(self._entries, path, is_optional=depth > 0) for path in level]
            entries = [entry for result in run_parallel(tasks, _MAX_LIST_REQUESTS) for entry in result]
            by_url = {self._url(entry["name"]).rstrip("/"): entry for entry in entries}
            files |= {url: entry for url, entry in by_url.items() if entry["type"] == "file"}
            directories = [url for url, entry in by_url.items() if entry["type"] == "directory"]
            level = [by_url[url]["name"] for url in directories if not is_session_directory(parent(url))]
            depth += 1
        return files

    def _entries(self, path: str, is_optional: bool) -> list[dict[str, Any]]:
        try:
            entries: list[dict[str, Any]] = call_with_timeout(lambda: self.system.ls(path, detail=True))
        except Exception as error:
            if not is_optional or not (is_missing(error) or is_refusal(error)):
                raise
            if is_refusal(error):  # hides its own sessions only
                self.unreadable.append(self._url(path))
            return []
        return entries

    def _url(self, path: str) -> str:
        """The URL of a path of the file system, with the user's scheme: `gs` and `gcs`, `s3` and `s3a` are the same."""
        url, scheme = str(self.system.unstrip_protocol(path)), self.url.partition("://")[0]
        protocol: str | tuple[str, ...] = self.system.protocol
        protocols = (protocol,) if isinstance(protocol, str) else protocol
        return f"{scheme}://{url.partition('://')[2]}" if scheme in protocols else url
