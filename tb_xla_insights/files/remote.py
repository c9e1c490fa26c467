"""A file behind any URL that fsspec opens, read by ranges. Retries are the file system's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.blocks import (
    BLOCK_BYTES,
    BlockCache,
    Blocks,
    CachedBlocks,
    StoppedError,
    call_with_timeout,
    split_into_blocks,
)
from tb_xla_insights.files.reasons import reason
from tb_xla_insights.files.source import CHANGED_MESSAGE, STOPPED_MESSAGE, Bytes, Source

_FINGERPRINT_KEYS = ("ETag", "etag", "md5Hash")
MODIFIED_TIME_KEYS = ("LastModified", "last_modified", "mtime", "updated", "created", "Last-Modified")
"""The keys under which file systems report a file's modification time, the most reliable first."""

_cache = BlockCache()


class RemoteFile(Source):
    """A file behind a URL, see `open_source`. Each block is requested once. Blocks that overlap the ranges passed to
    `cache_ranges` stay cached for later readers of the file."""

    def __init__(
        self, url: str, whole: bool, on_bytes: Callable[[int], None], should_stop: Callable[[], bool]
    ) -> None:
        self.path = url
        try:
            self._system, self._path = call_with_timeout(lambda: _file_system(url))
            info = call_with_timeout(self._info)
            self._identity = _identity(info)
            cached = _cache.get((url, *self._identity))
            is_directory = info.get("type") == "directory"
            # If the store does not report the size, the whole file is fetched.
            content = None
            if not cached and info.get("size") is None and not is_directory:
                content = self._fetch_whole(on_bytes, should_stop)
        except StoppedError as error:
            raise InputError(STOPPED_MESSAGE.format(url)) from error
        except Exception as error:  # each file system raises its own exceptions
            raise InputError(f"{url}: {reason(error)}") from error
        if is_directory:
            raise InputError(f"{url}: is a directory; specify a .xplane.pb file")
        self.size = cached.size if cached else int(info["size"]) if content is None else len(content)
        self.fingerprint = f"{self.size}-{self._identity[1]}"
        # All bytes of the content were reported as it was fetched.
        on_block = on_bytes if content is None else lambda _: None
        self._blocks = Blocks(self.size, self._fetch, on_block, should_stop, whole=whole)
        self._blocks.put(cached.blocks if cached else split_into_blocks(content or b""))

    def read_into(self, offset: int, buffer: Bytes) -> int:
        try:
            return self._blocks.read_into(offset, buffer.data)
        except StoppedError as error:
            raise InputError(STOPPED_MESSAGE.format(self.path)) from error
        except Exception as error:
            raise InputError(f"{self.path}: byte {offset}: {reason(error)}") from error

    def check_unchanged(self) -> None:
        try:
            info = call_with_timeout(self._info)
        except Exception:
            # Removed meanwhile, or the store fails: all bytes have been read, but cannot be checked.
            return
        if _identity(info) != self._identity:
            raise InputError(CHANGED_MESSAGE.format(self.path))

    def cache_ranges(self, ranges: Iterable[tuple[int, int]]) -> None:
        # Without a fingerprint, other content of the same size would not be noticed.
        if self._identity[1]:
            _cache.put(
                (self.path, *self._identity), CachedBlocks(self.size, self._blocks.finished_blocks(ranges))
            )

    def close(self) -> None:
        self._blocks.close()

    def _info(self) -> dict[str, Any]:
        self._system.invalidate_cache(self._path)  # a cached listing may be outdated
        info: dict[str, Any] = self._system.info(self._path)
        return info

    def _fetch(self, start: int, end: int) -> bytes:
        data: bytes = self._system.cat_file(self._path, start=start, end=end)
        return data

    def _fetch_whole(self, on_bytes: Callable[[int], None], should_stop: Callable[[], bool]) -> bytearray:
        """Fetches a file whose size the store does not report. Each part must arrive within the timeout."""
        content = bytearray()
        with call_with_timeout(lambda: self._system.open(self._path), should_stop=should_stop) as file:
            while part := call_with_timeout(lambda: file.read(BLOCK_BYTES), should_stop=should_stop):
                content += part
                on_bytes(len(content))
        return content


def remote_fingerprint(info: Mapping[str, Any]) -> str:
    """A fingerprint that changes when a remote file is replaced; empty if its file system reports nothing to build one
    from."""
    parts = [str(info[key]) for key in _FINGERPRINT_KEYS if info.get(key)]
    # A time only without a tag: some stores report a more exact one in a listing than for the file alone.
    return "-".join(parts or [str(info[key]) for key in MODIFIED_TIME_KEYS if info.get(key)])


def _identity(info: Mapping[str, Any]) -> tuple[int | None, str]:
    """The size, None if the store does not report it, and the fingerprint."""
    return info.get("size"), remote_fingerprint(info)


def _file_system(url: str) -> tuple[Any, str]:
    import fsspec

    system, path = fsspec.core.url_to_fs(url)
    return system, path
