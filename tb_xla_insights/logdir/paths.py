"""Local paths and URLs: normalises what users write and recognises captures and session directories."""

from __future__ import annotations

import os

from tb_xla_insights.files.open import is_url
from tb_xla_insights.files.paths import absolute

SUFFIX = ".xplane.pb"
MAX_DEPTH = 40
"""How deep a logdir is searched: deeper than any real one. Ends walks through links that lead to ever new names."""


def expand(path: str) -> str:
    """The path with `~` expanded, without `file://` and without a trailing slash."""
    if is_url(path):
        return path if path.endswith("://") else path.rstrip("/")
    local = os.path.expanduser(path.removeprefix("file://"))
    return local.rstrip("/") or "/" if local else local


def run_directory(logdir: str) -> str:
    """The absolute directory to which profilers append `plugins/profile`: the logdir, or its run if the logdir is a
    run's `plugins/profile`, in which appended directories would not be found."""
    path = absolute(logdir)
    run = path.removesuffix("/plugins/profile")
    return path if run == "" or run.endswith(":/") else run


def parent(path: str) -> str:
    return path.rpartition("/")[0]


def is_capture(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith(SUFFIX) and name != SUFFIX


def is_session_directory(directory: str) -> bool:
    return absolute(directory).split("/")[-3:-1] == ["plugins", "profile"]
