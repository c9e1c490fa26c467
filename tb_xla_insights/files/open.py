"""Opens a local file, or any URL that fsspec opens."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.local import LocalFile
from tb_xla_insights.files.source import Source


def is_url(path: str) -> bool:
    """Whether a path is a URL that fsspec opens; `file://` URLs are local paths."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path) is not None and not path.startswith("file://")


def open_source(
    path: str,
    *,
    whole: bool = False,
    on_bytes: Callable[[int], None] = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Source:
    """Opens a local path or a URL (`gs://…`, `s3://…`, …). Raises InputError if that fails.

    A remote file is fetched block by block: `whole` prefetches all of it, `on_bytes` is called with the number of bytes
    that have arrived, and once `should_stop` returns True, reading bytes that have not arrived raises InputError.
    """
    if is_url(path):
        from tb_xla_insights.files.remote import RemoteFile

        return RemoteFile(path, whole, on_bytes, should_stop)
    local = path.removeprefix("file://")
    if os.path.isdir(local):
        raise InputError(f"{path}: is a directory; specify a .xplane.pb file")
    if os.path.exists(local) and not os.path.isfile(local):  # opening a pipe would wait for its writer
        raise InputError(f"{path}: is a pipe or a device; specify a .xplane.pb file")
    return LocalFile(local)


def file_names(directory: str) -> list[str]:
    """The names of the files in a local directory or below a URL. Raises the exceptions of its file system."""
    if not is_url(directory):
        with os.scandir(directory.removeprefix("file://")) as entries:
            # Unlike `entry.is_file()`, this does not raise for a link that cannot be followed.
            return [entry.name for entry in entries if os.path.isfile(entry.path)]
    import fsspec

    system, path = fsspec.core.url_to_fs(directory)
    return [
        posixpath.basename(entry["name"]) for entry in system.ls(path, detail=True) if entry["type"] == "file"
    ]
