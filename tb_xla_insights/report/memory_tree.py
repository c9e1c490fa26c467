"""What is alive at the peak of a program's memory, as a tree of annotations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from tb_xla_insights.analysis.propagation.path_names import outer_path, path_text, with_outer_paths

if TYPE_CHECKING:
    from tb_xla_insights.schema.memory_route import MemoryNode

MAX_NODES = 300
NO_ANNOTATION = "no annotation"

KINDS = ("parameter_bytes", "bytes", "gradient_bytes")

_Bytes = list[int]  # in the order of KINDS


def memory_tree(rows: Iterable[Mapping[str, Any]]) -> list[MemoryNode]:
    """The rows of `by_annotation` and the annotations around them, outer ones first, the largest first; what has no
    annotation comes last. An annotation that has nothing of its own is left out, unless it has several inside. One
    around all others stands beside these, with what is its own."""
    own = {row["path"]: [row[kind] for kind in KINDS] for row in rows}
    without_path = own.pop(None, None)
    own = _largest(own)
    around_all = _around_all(own) if len(own) > 1 else ""
    paths = _with_branches(own) - {around_all}
    whole: dict[str, _Bytes] = {path: [0, 0, 0] for path in paths}
    children: dict[str, list[str]] = {}
    if around_all in own:
        whole[around_all] = own[around_all]
        children[""] = [around_all]
    for path in paths:
        children.setdefault(outer_path(path, paths), []).append(path)
        for outer in with_outer_paths(path, paths):
            whole[outer] = _added(whole[outer], own.get(path, [0, 0, 0]))
    nodes: list[MemoryNode] = []
    pending = [""]
    while pending:
        path = pending.pop()
        if path:
            outer = outer_path(path, paths)
            rest = f"the rest of {path_text(path)}"
            name = rest if path == around_all else path_text(path, outer or around_all)
            depth = sum(1 for _ in with_outer_paths(outer, paths))
            nodes.append(_node(path, name, depth, whole[path], own.get(path, [0, 0, 0])))
        # The last one is next.
        pending += sorted(children.get(path, ()), key=lambda child: (-sum(whole[child]), child))[::-1]
    if without_path:
        nodes.append(_node(None, NO_ANNOTATION, 0, without_path, without_path))
    return nodes


def _node(path: str | None, name: str, depth: int, whole: _Bytes, own: _Bytes) -> MemoryNode:
    return {
        "path": path,
        "parameter_bytes": whole[0],
        "bytes": whole[1],
        "gradient_bytes": whole[2],
        "name": name,
        "depth": depth,
        "own_parameter_bytes": own[0],
        "own_bytes": own[1],
        "own_gradient_bytes": own[2],
    }


def _added(a: _Bytes, b: _Bytes) -> _Bytes:
    return [x + y for x, y in zip(a, b, strict=True)]


def _largest(own: dict[str | None, _Bytes]) -> dict[str, _Bytes]:
    """The MAX_NODES // 2 largest rows; the others are added to the nearest of these around them, or to the path that
    is the first name of theirs."""
    by_size = sorted(filter(None, own), key=lambda path: (-sum(own[path]), path))
    kept = {path: own[path] for path in by_size[: MAX_NODES // 2]}
    for path in by_size[MAX_NODES // 2 :]:
        outer = outer_path(path, kept) or path.partition("/")[0]
        kept[outer] = _added(kept.get(outer, [0, 0, 0]), own[path])
    return kept


def _with_branches(own: Iterable[str]) -> set[str]:
    """Paths, and those around several of them."""
    paths = {*own}
    inside: dict[str, set[str]] = {}
    for path in paths:
        child, outer = path, path.rpartition("/")[0]
        while outer:
            inside.setdefault(outer, set()).add(child)
            child, outer = outer, outer.rpartition("/")[0]
    return paths | {path for path, below in inside.items() if len(below) > 1}


def _around_all(paths: Iterable[str]) -> str:
    """The longest path that is one of all paths or around it; empty without one."""
    names = zip(*(path.split("/") for path in paths), strict=False)
    return "/".join(same[0] for same in takewhile(lambda each: len({*each}) == 1, names))
