"""Refuses outputs that would overwrite an input, before anything is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tb_xla_insights.files.open import is_url
from tb_xla_insights.files.replace import report_write_errors
from tb_xla_insights.logdir.paths import is_capture, suffix_of
from tb_xla_insights.logdir.sessions import SessionFiles
from tb_xla_insights.report.sidecar_files import sidecar_files


def refusal(outputs: Iterable[Path], files: SessionFiles, catalog: str | None) -> str | None:
    """Why an output must not be written: it is an input, perhaps under another name or link, or is named like a
    capture. None if all may be written. Raises InputError for a relative path if the working directory is gone."""
    for output in outputs:
        with report_write_errors(output, "give an absolute path"):
            target = os.path.realpath(output)
        if is_capture(target):
            return f"{output} is named like a capture, *{suffix_of(target)}; give another file"
        for path, role in _inputs(files, catalog):
            if _is_same(output, path):
                return f"{output} is {role}, {path}; give another file"
    return None


def _inputs(files: SessionFiles, catalog: str | None) -> Iterator[tuple[str, str]]:
    if catalog is not None:
        yield catalog, "the catalogue"
    captures = [host.file.path for host in files.hosts]
    yield from ((path, "the capture") for path in captures)
    if not is_url(files.path):
        yield from ((path, "read with the capture") for path in sidecar_files(captures))


def _is_same(output: Path, path: str) -> bool:
    try:
        return os.path.samefile(output, path.rpartition("://")[2])
    except OSError:  # one of them does not exist, or not on this machine
        return False
