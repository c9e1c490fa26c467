"""Outputs that would destroy an input: refused before anything is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from tb_xla_insights.files.source import is_url
from tb_xla_insights.logdir.paths import SUFFIX, is_capture
from tb_xla_insights.logdir.sessions import SessionFiles
from tb_xla_insights.report.sidecars import sidecar_files


def refusal(outputs: Iterable[Path], files: SessionFiles, catalog: str | None) -> str | None:
    """Why one of these files must not be written, whatever name or link leads to it; None where all may be."""
    for output in outputs:
        if is_capture(os.path.realpath(output)):
            return f"{output} is named as a capture is, *{SUFFIX}; give another file"
        for path, what in _inputs(files, catalog):
            if _is_same(output, path):
                return f"{output} is {what}, {path}; give another file"
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
    except OSError:  # one of them is not there, or not on this machine
        return False
