"""Local paths and URLs: normalises what users write and recognises captures and session directories."""

from __future__ import annotations

import os
from urllib.parse import unquote

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.source import is_url

SUFFIX = ".xplane.pb"
MAX_DEPTH = 40
"""How deep a logdir is searched: deeper than any real one. Ends walks through links that lead to ever new names."""


def expand(path: str) -> str:
    """The path with `~` expanded, without `file://` and without a trailing slash."""
    if is_url(path):
        return path if path.endswith("://") else path.rstrip("/")
    local = os.path.expanduser(path.removeprefix("file://"))
    return local.rstrip("/") or "/" if local else local


def absolute(path: str) -> str:
    """The path from the root, with `..` resolved as the system does: after the links before it. Raises InputError for a
    relative path if the working directory was removed."""
    if is_url(path):
        return path
    names = path.split("/")
    end = len(names) - names[::-1].index("..") if ".." in names else 0
    try:
        head = os.path.realpath("/".join(names[:end])) if end else ""
        return os.path.abspath(os.path.join(head, *names[end:]) if end else path)
    except FileNotFoundError as error:
        raise InputError(f"{path}: the working directory was removed; give an absolute path") from error


def decoded(path: str) -> str:
    """The path from which names are formed: a web address without its query, such as a signature, and decoded."""
    is_web_address = path.startswith(("http://", "https://"))
    return unquote(path.partition("?")[0]) if is_web_address else path


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
