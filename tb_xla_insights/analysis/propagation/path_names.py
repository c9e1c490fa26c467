"""Names in annotation paths: which path encloses which, and the texts by which readers know a path.

As a name may itself contain slashes, not every beginning of a path is a path.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator, Sequence
from itertools import pairwise

_CALL = re.compile(r"(\w+)\((.*)\)", re.ASCII)
_DIFFERENTIATION = frozenset(("jvp", "transpose"))


def outer_path(path: str, paths: Container[str]) -> str:
    """The longest of some paths that encloses a path; empty without one."""
    while path := path.rpartition("/")[0]:
        if path in paths:
            break
    return path


def with_outer_paths(path: str | None, paths: Container[str]) -> Iterator[str]:
    """A path and those of some paths that enclose it, the innermost first; nothing for None."""
    while path:
        yield path
        path = outer_path(path, paths)


def own_name(path: str, paths: Container[str]) -> str:
    """The last name of a path, as recorded: without the longest of some paths that encloses it."""
    outer = outer_path(path, paths)
    return path[len(outer) + 1 :] if outer else path


def name_and_depth(path: str, paths: Container[str]) -> tuple[str, int]:
    """The text of a path's last name, for tables in which its outer paths have rows, and how many of some paths enclose
    it."""
    outer = [*with_outer_paths(path, paths)][1:]
    return path_text(path, outer[0] if outer else ""), len(outer)


def short_names(paths: Collection[str]) -> dict[str, str]:
    """The text of each path outside of trees: its shortest ending, in whole names, with which no other of the paths
    ends; the whole path if another one ends with it."""
    ordered = sorted({path: path.split("/")[::-1] for path in paths}.items(), key=lambda item: item[1])
    common = dict.fromkeys(paths, 0)
    for (a, segments_a), (b, segments_b) in pairwise(
        ordered
    ):  # neighbours have the longest endings in common
        length = _common_length(segments_a, segments_b)
        common[a], common[b] = max(common[a], length), max(common[b], length)
    texts = {}
    for path, common_length in common.items():
        outer = outer_path(path, common)
        while outer and path.count("/") - outer.count("/") <= common_length:
            outer = outer_path(outer, common)
        texts[path] = path_text(path, outer)
    return texts


def short_name(path: str, paths: Collection[str]) -> str:
    """The text of one of some paths, or of another path; see `short_names`."""
    return short_names([*paths, path])[path]


def _common_length(a: Sequence[str], b: Sequence[str]) -> int:
    return next(
        (index for index, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def path_text(path: str, outer: str = "") -> str:
    """The text of a path's names after `outer`, a beginning of it. JAX's scopes of differentiation are named by the
    function: `backward of loss` for `transpose(jvp(loss))`, `forward of loss` for `jvp(loss)`; where the scope names
    none, by the compiled function around it."""
    segments = path.split("/")
    first = outer.count("/") + 1 if outer else 0
    texts: list[str] = []
    for index, segment in enumerate(segments[first:], first):
        transforms, function = _parse(segment)
        if "jvp" not in transforms:
            texts.append(segment)
            continue
        if function:
            for transform in reversed(transforms):
                function = function if transform in _DIFFERENTIATION else f"{transform}({function})"
        else:
            function = next(filter(None, (_parse_call(name) for name in reversed(segments[:index]))), "")
            if index > first and _parse_call(segments[index - 1]):
                texts.pop()
        direction = "backward" if "transpose" in transforms else "forward"
        texts.append(f"{direction} of {function}" if function else f"{direction} pass")
    return "/".join(texts)


def is_unnamed_scope(path: str) -> bool:
    """Whether the last scope of a path is one of differentiation that names no function."""
    transforms, function = _parse(path.rpartition("/")[2])
    return "jvp" in transforms and not function


def forward_paths(path: str) -> list[str]:
    """The paths that the forward pass of a path may have, if that is one of the backward pass: `loss/jvp(a)/b` and
    `loss/a/b` for `loss/transpose(jvp(a))/b`. Empty for other paths."""
    start = path.find("transpose(")
    if start < 0 or path[start - 1 : start] not in ("", "/"):
        return []
    differentiated = _without_call(path, start)
    start = differentiated.find("jvp(", start)
    return [differentiated, _without_call(differentiated, start)] if start >= 0 else []


def _without_call(path: str, start: int) -> str:
    """A path with the argument in place of the call that begins at an index: `a/b` for `a/jvp(b)`."""
    opening, depth = path.index("(", start), 0
    for end in range(opening, len(path)):
        depth += {"(": 1, ")": -1}.get(path[end], 0)
        if not depth:
            return f"{path[:start]}{path[opening + 1 : end]}{path[end + 1 :]}"
    return path


def _parse(segment: str) -> tuple[list[str], str]:
    """The transformations in a scope's name, the outermost first, and the function that they transform."""
    transforms = []
    while match := _CALL.fullmatch(segment):
        transforms.append(match[1])
        segment = match[2]
    return transforms, segment


def _parse_call(segment: str) -> str:
    """The function in a scope such as `jit(step)`; empty for other scopes."""
    transforms, function = _parse(segment)
    return function if transforms else ""
