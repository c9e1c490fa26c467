"""Finds a smaller input with the same failure, within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from fuzz.tree import Node, NotAMessageError, encode, node_at, nth_path, number, parse, text, with_fields


def shrink(data: bytes, kind: str | None, fails: Callable[[bytes], bool], seconds: float) -> bytes:
    """The smallest input found for which `fails` is true, as it is for `data`."""
    deadline = time.monotonic() + seconds
    shrinks = True
    while shrinks:
        shrinks = False
        for candidate in _candidates(data, kind):
            if time.monotonic() > deadline:
                return data
            if len(candidate) <= len(data) and candidate != data and fails(candidate):
                data, shrinks = candidate, True
                break
    return data


def _candidates(data: bytes, kind: str | None) -> Iterator[bytes]:
    if kind is not None:
        try:
            tree = parse(kind, data)
        except NotAMessageError:
            pass
        else:
            yield from map(encode, _pruned(tree))
            return
    size = len(data) // 2
    while size:
        for at in range(0, len(data), size):
            yield data[:at] + data[at + size :]
        size //= 2


def _pruned(tree: Node) -> Iterator[Node]:
    """Yields trees that lack one field, the largest field first; then trees with one smaller number or text."""
    paths = [nth_path(tree, index) for index in range(tree.size - 1)]
    for path in sorted(paths, key=lambda field_path: -node_at(tree, field_path).size):
        yield with_fields(tree, path, [])
    for path in paths:
        old = node_at(tree, path)
        if isinstance(old.value, int):
            yield from (
                with_fields(tree, path, [number(old.number, old.kind, value)])
                for value in (0, 1)
                if value < old.value
            )
        elif old.fields is None and len(old.value) > 1:
            half = old.value[: len(old.value) // 2]
            yield with_fields(tree, path, [text(old.number, old.kind, half)])
