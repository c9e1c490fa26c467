"""Local paths and URLs: normalises what users write and recognises captures and session directories."""

from __future__ import annotations

import os

from tb_xla_insights.files.open import is_url
from tb_xla_insights.files.paths import absolute

SUFFIX = ".xplane.pb"
"""The suffix of captures that this package writes."""

SUFFIXES = (SUFFIX, ".xplane.riegeli")
"""The suffixes of captures: those of one session have either; continuous profiling writes the second."""

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
    return suffix_of(name) not in ("", name)


def suffix_of(path: str) -> str:
    """The suffix that makes a file a capture; empty if it has none."""
    return next((suffix for suffix in SUFFIXES if path.endswith(suffix)), "")


def host_of(file_name: str) -> str:
    """The host's name: that of its capture without the suffix."""
    return file_name.removesuffix(suffix_of(file_name))


def is_session_directory(directory: str) -> bool:
    return absolute(directory).split("/")[-3:-1] == ["plugins", "profile"]
