"""Matches names that two sessions do not share: of programs, of annotations, and of kernels, which may hold the sizes
that they are tuned to. (docs/definitions.md, "Comparison")"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable

from tb_xla_insights.analysis.propagation.path_names import outer_path

_LAST_NUMBER = re.compile(r"[._]\d+$")
"""PyTorch/XLA appends the size of the graph to a program's name, XLA a number to an op's."""

_NUMBER = re.compile(r"\d+")


def without_last_number(name: str) -> str:
    return _LAST_NUMBER.sub("", name)


def kernel_without_sizes(name: str) -> str | None:
    """Returns the name of a kernel without its sizes, as of `RPA-bq_32-bkvp_64.3`; None if only the last number, XLA's
    own, is in it."""
    kernel = without_last_number(name)
    return _NUMBER.sub("", kernel) if _NUMBER.search(kernel) else None


def common_paths(
    a: Collection[str], b: Collection[str], enclosing: Container[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Returns, for paths of A and of B that the other session lacks, the path at which they are compared: A's path if
    two differ only in their numbers; else, if both sessions have such paths inside one that is common (`enclosing`),
    the innermost of these. Paths that are new or gone are left out."""
    only_a, only_b = [path for path in a if path not in b], [path for path in b if path not in a]
    unique_a, unique_b = (unique_names(only, _without_numbers) for only in (only_a, only_b))
    paths_b = {unique_b[name]: unique_a[name] for name in unique_a if name in unique_b}
    matched_a = set(paths_b.values())
    inside_a, inside_b = (
        {path: outer for path in only if (outer := outer_path(path, enclosing))}
        for only in (
            [path for path in only_a if path not in matched_a],
            [path for path in only_b if path not in paths_b],
        )
    )
    shared = {*inside_a.values()} & {*inside_b.values()}
    paths_a = {path: outer for path, outer in inside_a.items() if outer in shared}
    return paths_a, paths_b | {path: outer for path, outer in inside_b.items() if outer in shared}


def _without_numbers(path: str) -> str:
    return _NUMBER.sub("", path)


def unique_names(names: Iterable[str], shorten: Callable[[str], str]) -> dict[str, str]:
    """Returns names by what `shorten` leaves of them, where that is unique."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(shorten(name), []).append(name)
    return {short: group[0] for short, group in groups.items() if len(group) == 1}
