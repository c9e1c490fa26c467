"""The smallest input that fails in the same way, as far as it is found in the time that is given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from fuzz.tree import Node, NoMessageError, at_path, nth, number, parsed, text, with_parts, written


def shrunk(data: bytes, kind: str | None, fails: Callable[[bytes], bool], seconds: float) -> bytes:
    """`fails` says whether an input fails in the way that is looked at; it does so for `data`."""
    until = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for tried in _smaller(data, kind):
            if time.monotonic() > until:
                return data
            if len(tried) <= len(data) and tried != data and fails(tried):
                data, smaller = tried, True
                break
    return data


def _smaller(data: bytes, kind: str | None) -> Iterator[bytes]:
    if kind is not None:
        try:
            tree = parsed(kind, data)
        except NoMessageError:
            pass
        else:
            yield from map(written, _pruned(tree))
            return
    size = len(data) // 2
    while size:
        for at in range(0, len(data), size):
            yield data[:at] + data[at + size :]
        size //= 2


def _pruned(tree: Node) -> Iterator[Node]:
    """With a field less, the largest first; then with smaller numbers and texts."""
    places = [nth(tree, place) for place in range(tree.size - 1)]
    for path in sorted(places, key=lambda its: -at_path(tree, its).size):
        yield with_parts(tree, path, [])
    for path in places:
        old = at_path(tree, path)
        if isinstance(old.value, int):
            yield from (
                with_parts(tree, path, [number(old.number, old.kind, it)]) for it in (0, 1) if it < old.value
            )
        elif old.parts is None and len(old.value) > 1:
            half = old.value[: len(old.value) // 2]
            yield with_parts(tree, path, [text(old.number, old.kind, half)])
