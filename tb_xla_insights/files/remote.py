"""A file behind any URL that fsspec opens, read by ranges. Retries are the file system's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.blocks import (
    BlockCache,
    Blocks,
    CachedBlocks,
    StoppedError,
    call_with_timeout,
    split_into_blocks,
)
from tb_xla_insights.files.reasons import reason
from tb_xla_insights.files.source import CHANGED_MESSAGE, Bytes, Source

_MARKS = ("ETag", "etag", "md5Hash")
MODIFIED_TIME_KEYS = ("LastModified", "last_modified", "mtime", "updated", "created", "Last-Modified")
"""Under which names file systems tell when a file was changed, the best first."""

_keep = BlockCache()


class RemoteFile(Source):
    """See `open_source`. Each byte is asked for once, blocks that `keep` names even by the next one who opens the
    file."""

    def __init__(
        self, url: str, whole: bool, arrived: Callable[[int], None], stop: Callable[[], bool]
    ) -> None:
        self.path = url
        try:
            self._system, self._path = call_with_timeout(lambda: _file_system(url))
            info = call_with_timeout(self._info)
            self._told = _told(info)
            kept = _keep.get((url, self._told[1]))
            # A store that does not tell the size is asked for the whole file.
            whole_file = call_with_timeout(self._all) if not kept and info.get("size") is None else None
        except Exception as error:  # each file system raises its own kinds
            raise InputError(f"{url}: {reason(error)}") from error
        if info.get("type") == "directory":
            raise InputError(f"{url}: is a directory; name a .xplane.pb file")
        self.size = kept.size if kept else int(info["size"]) if whole_file is None else len(whole_file)
        self.fingerprint = f"{self.size}-{self._told[1]}"
        self._blocks = Blocks(self.size, self._fetch, arrived, stop, whole=whole)
        self._blocks.put(kept.blocks if kept else split_into_blocks(whole_file or b""))

    def read_into(self, offset: int, buffer: Bytes) -> int:
        try:
            return self._blocks.read_into(offset, buffer.data)
        except StoppedError as error:
            raise InputError(
                f"{self.path}: not read, stopped before; reload the session to read it"
            ) from error
        except Exception as error:
            raise InputError(f"{self.path}: byte {offset}: {reason(error)}") from error

    def check(self) -> None:
        try:
            info = call_with_timeout(self._info)
        except Exception:  # gone by now, but all of it had come
            return
        if _told(info) != self._told:
            raise InputError(CHANGED_MESSAGE.format(self.path))

    def keep(self, ranges: Iterable[tuple[int, int]]) -> None:
        # What has no mark may be another content of the same size.
        if self._told[1]:
            _keep.put((self.path, self._told[1]), CachedBlocks(self.size, self._blocks.of(ranges)))

    def close(self) -> None:
        self._blocks.close()

    def _info(self) -> dict[str, Any]:
        self._system.invalidate_cache(self._path)  # what a listing told is of that time
        info: dict[str, Any] = self._system.info(self._path)
        return info

    def _fetch(self, start: int, end: int) -> bytes:
        data: bytes = self._system.cat_file(self._path, start=start, end=end)
        return data

    def _all(self) -> bytes:
        """The content of a file whose size the store does not tell."""
        data: bytes = self._system.cat_file(self._path)
        return data


def remote_fingerprint(info: Mapping[str, Any]) -> str:
    """Differs when a remote file was replaced, as far as its file system tells; empty where it does not."""
    marks = [str(info[key]) for key in _MARKS if info.get(key)]
    # Some stores tell a time more exactly in a listing than of the file alone.
    return "-".join(marks or [str(info[key]) for key in MODIFIED_TIME_KEYS if info.get(key)])


def _told(info: Mapping[str, Any]) -> tuple[int | None, str]:
    """The size, if the store tells it, and the mark."""
    return info.get("size"), remote_fingerprint(info)


def _file_system(url: str) -> tuple[Any, str]:
    import fsspec

    system, path = fsspec.core.url_to_fs(url)
    return system, path
