"""Paths of annotations: the names of nested annotations, joined by `/`. As names may contain slashes, not every
beginning of a path is a path."""

from __future__ import annotations

from collections.abc import Container


def outer_path(path: str, paths: Container[str]) -> str:
    """The longest of some paths that encloses a path; empty without one."""
    while path := path.rpartition("/")[0]:
        if path in paths:
            break
    return path


def own_name(path: str, paths: Container[str]) -> str:
    """A path's last name: the path without the longest of some paths that encloses it."""
    outer = outer_path(path, paths)
    return path[len(outer) + 1 :] if outer else path


def depth_of(path: str, paths: Container[str]) -> int:
    """How many of some paths enclose a path."""
    depth = 0
    while path := outer_path(path, paths):
        depth += 1
    return depth
