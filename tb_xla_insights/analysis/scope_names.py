"""Scopes in op names, and the paths of the same annotations on the host.

PyTorch/XLA names an op by the scopes that were open when it was traced, then the operation:
`Training_Step.1/forward.2/aten__mm`. `.N` is a scope's position within its parent and distinguishes repetitions. A
lowering to several instructions opens its own scope, named like the operation (`…/aten__add.3/aten__add`).
JAX and TensorFlow name functions and name scopes in the same way, without numbers (`jit(f)/jit(main)/add`). The
compiler joins the names of ops that it makes one with `;`, and those of collectives that it combines as `a/(b:c)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Literal

ScopeKind = Literal["annotation", "scope"]
"""`annotation`: a scope from a user's annotation. `scope`: a function or name scope of a framework."""

_NUMBERS = re.compile(r"(?:\.\d++)++(?P<continuation>[^/])?")
"""Positions at the end of a segment. If the segment continues after the digits, they are part of a name."""
_NUMBER = re.compile(r"\.(\d+)$")
_POSITION = re.compile(r"\d{1,15}", re.ASCII)
_OPERATION = re.compile(r"(aten|prim|xla|xla_\w+|torch_xla|torchvision|c10d\w*|quantized)__\w")

MAX_LEVELS = 64
MAX_PATH_LENGTH = 1000
_MAX_NAME_LENGTH = 250
"""Limits of paths. Real captures nest about ten annotations, with paths of about a hundred characters. Each path
includes all names around it; without limits, a deeply nested file would take memory quadratic in its size."""


def fits_limits(path: str) -> bool:
    """Whether a path has at most MAX_LEVELS names and MAX_PATH_LENGTH characters."""
    return len(path) <= MAX_PATH_LENGTH and path.count("/") < MAX_LEVELS


def names_in(path: str) -> list[str]:
    """The names in a path that are not empty. Scopes have no others: that of the annotation `/forward` is `forward`."""
    return [*filter(None, path.split("/"))]


def truncate_path(path: str) -> str:
    """The path cut to the limits: long names lose their ends, deep paths their innermost names."""
    if len(path) <= _MAX_NAME_LENGTH and path.count("/") < MAX_LEVELS:
        return path
    names = path.split("/", MAX_LEVELS)[:MAX_LEVELS]
    shortened = "/".join(
        name if len(name) <= _MAX_NAME_LENGTH else f"{name[:_MAX_NAME_LENGTH]}…" for name in names
    )
    while not fits_limits(shortened):
        shortened = shortened.rpartition("/")[0]
    return shortened


def without_numbers(path: str) -> str:
    """A path without the positions of its scopes: `a.1/b.2` becomes `a/b`. Idempotent."""
    return _NUMBERS.sub(lambda match: match[0] if match["continuation"] else "", path)


def scope_position(segment: str) -> int:
    """A scope's position within its parent; 0 if its name has none."""
    digits = segment.rpartition(".")[2]
    return int(digits) if digits != segment and _POSITION.fullmatch(digits) else 0


def op_name_in_tf_op(tf_op: str) -> str:
    """The op name in a `tf_op` stat, which is `op_name:type`."""
    name, colon, type_ = tf_op.rpartition(":")
    return tf_op if not colon or "/" in type_ else name


def scope_in_op_name(op_name: str, names: frozenset[str] = frozenset()) -> str:
    """The scope path in an op name, with positions, cut to the limits; empty if the op name is bare. `names`: the names
    of the user's annotations; a scope with such a name is never taken for a lowering's."""
    segments = _segments(op_name, names)
    scope = segments[:-1]
    while scope and without_numbers(scope[-1]) not in names and _is_lowering(scope[-1], segments[-1]):
        scope.pop()
    return truncate_path("/".join(scope))


def operation_in_op_name(op_name: str) -> str:
    """The operation in an op name; of several that the compiler made one, that of the first."""
    return (_segments(op_name, frozenset()) or [op_name])[-1]


def _segments(op_name: str, names: frozenset[str]) -> list[str]:
    """The segments of an op name, the last one the operation. Of an op that stands for several of the program
    (`a/b/mul;a/c/add`) those of the first; of combined collectives (`a/(b/mul:c/add)`) those that all have in common,
    and the operation of the first."""
    if op_name.endswith(")"):
        common, bracket, members = f"/{op_name}".partition("/(")
        if bracket and ":" in members:
            return [*names_in(common), members.partition(":")[0].rpartition("/")[2]]
    segments = names_in(op_name)
    for index, segment in enumerate(segments):
        # In `a.1/aten__mul;a.1/aten__add`, the position is that of the next op's scope. Only PyTorch/XLA has positions.
        is_scope = scope_position(segments[0]) and scope_position(segment) and not _OPERATION.match(segment)
        if ";" in segment and not is_scope and without_numbers(segment) not in names:
            return [*segments[:index], segment.partition(";")[0]]
    return segments


def _is_lowering(segment: str, operation: str) -> bool:
    return bool(_OPERATION.match(segment)) or (
        bool(scope_position(segment)) and without_numbers(segment) == operation
    )


def scope_kind(scope: str, names: frozenset[str] = frozenset()) -> ScopeKind:
    """The kind of a scope path. A position in its first segment, or the name of a user's annotation in any segment,
    makes it an `annotation`."""
    segments = scope.split("/")
    if scope_position(segments[0]) or any(without_numbers(segment) in names for segment in segments):
        return "annotation"
    return "scope"


_Suffixes = dict[tuple[int, str], tuple[int, str]]
"""A trie of the paths' suffixes. The key is the number of a shorter suffix and the name before it; the value is the
number of this suffix and the first path with it. Suffixes as texts would need space quadratic in the number of names.
"""

_EMPTY_SUFFIX = 0
"""The number of the suffix without names."""


class HostPaths:
    """The annotation paths of a host. Maps scopes of ops to these paths."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths: dict[str, str] = {}
        """The paths by their names that are not empty, joined by `/`. Of several with the same names, the one without
        empty names; else the first."""
        for path in paths:
            key = "/".join(names_in(path))
            if path == key or key not in self.paths:
                self.paths[key] = path
        self.names = frozenset(name for path in self.paths for name in path.split("/"))
        self._path_of_scope: dict[str, str] = {}

    @cached_property
    def _suffixes(self) -> _Suffixes:
        suffixes: _Suffixes = {}
        for path in sorted(self.paths, key=lambda path: (path.count("/"), path)):
            names = path.split("/")
            suffix = _EMPTY_SUFFIX
            for name in reversed(names[1:]):
                suffix, _ = suffixes.setdefault((suffix, name), (len(suffixes) + 1, path))
        return suffixes

    def _path_ending_with(self, names: list[str]) -> str | None:
        """The shallowest path that ends with these names and has more; of several, the first in alphabetical order."""
        suffix, path = _EMPTY_SUFFIX, ""
        for name in reversed(names):
            if (suffix, name) not in self._suffixes:
                return None
            suffix, path = self._suffixes[suffix, name]
        return path or None

    def path_of(self, scope: str) -> str:
        """The host's path of a scope, without positions. A graph traced after its step was closed lacks the outer
        scopes; they are taken from the shallowest path with the same end. Segments that the host did not record are
        kept below the longest beginning that it recorded. Scopes that are not annotations are returned unchanged."""
        if scope not in self._path_of_scope:
            self._path_of_scope[scope] = self._find(scope)
        return self._path_of_scope[scope]

    def _find(self, scope: str) -> str:
        if scope_kind(scope, self.names) == "scope":
            return scope
        segments = [*filter(None, map(self._name, scope.split("/")))]
        for length in range(len(segments), 0, -1):
            head = "/".join(segments[:length])
            path = head if head in self.paths else self._path_ending_with(segments[:length])
            if path is not None:
                return truncate_path("/".join((self.paths[path], *segments[length:])))
        return "/".join(segments) or scope  # a position without a name: a path is not empty

    def _name(self, segment: str) -> str:
        """The segment without its position. Because an annotation's name may itself end like a position, only the last
        one is removed if that leaves a name that the host recorded."""
        shorter = _NUMBER.sub("", segment)
        return shorter if shorter in self.names else without_numbers(segment)
