"""Names of scopes: which part of an op's name tells the annotations it was made in, and what they are called on the
host.

PyTorch/XLA names an op by the scopes that were open when it was traced, then the operation:
`Training_Step.1/forward.2/aten__mm`. `.N` is a scope's position within its parent, and tells repetitions apart. A
lowering that makes several instructions opens a scope of its own, named like the operation (`…/aten__add.3/aten__add`).
JAX and TensorFlow name functions and name scopes in the same way, without numbers (`jit(f)/jit(main)/add`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Literal

ScopeKind = Literal["annotation", "scope"]
"""`annotation`: what the user's annotations leave on the device. `scope`: a framework's functions and name scopes."""

_NUMBERS = re.compile(r"(?:\.\d+)+(?=/|$)")
_NUMBER = re.compile(r"\.(\d+)$")
_POSITION = re.compile(r"\d{1,15}", re.ASCII)
_OPERATION = re.compile(r"(aten|prim|xla|xla_\w+|torch_xla|torchvision|c10d\w*|quantized)__\w")

MAX_LEVELS = 64
LONGEST_PATH = 1000
_LONGEST_NAME = 250
"""Captures nest annotations some ten deep, in paths of some hundred characters. Every path is told with all that
encloses it: without limits, a file that nests without end would take memory by the square of its size."""


def fits(path: str) -> bool:
    """Whether a path is one that is told: of at most MOST_LEVELS names and LONGEST_PATH characters."""
    return len(path) <= LONGEST_PATH and path.count("/") < MAX_LEVELS


def fitting(path: str) -> str:
    """A path without what does not fit: long names lose their ends, deep paths their innermost names."""
    if len(path) <= _LONGEST_NAME and path.count("/") < MAX_LEVELS:
        return path
    names = path.split("/", MAX_LEVELS)[:MAX_LEVELS]
    found = "/".join(it if len(it) <= _LONGEST_NAME else f"{it[:_LONGEST_NAME]}…" for it in names)
    while not fits(found):
        found = found.rpartition("/")[0]
    return found


def without_numbers(path: str) -> str:
    """A path without the positions of its scopes: `a.1/b.2` becomes `a/b`. Doing it twice changes nothing more."""
    return _NUMBERS.sub("", path)


def number_of(segment: str) -> int:
    """A scope's position within its parent, 0 where its name has none."""
    digits = segment.rpartition(".")[2]
    return int(digits) if digits != segment and _POSITION.fullmatch(digits) else 0


def op_name_of(tf_op: str) -> str:
    """The op name in a `tf_op` stat, which is `op_name:type`."""
    name, colon, type_ = tf_op.rpartition(":")
    return tf_op if not colon or "/" in type_ else name


def scope_of(op_name: str, names: frozenset[str] = frozenset()) -> str:
    """The scope path in an op name, as recorded, as far as it fits; empty where the name has none (a bare one). `names`
    are those of the user's annotations: a scope of such a name is never taken for that of a lowering."""
    parts = [part for part in op_name.split("/") if part]
    scope = parts[:-1]
    while scope and without_numbers(scope[-1]) not in names and _is_lowering(scope[-1], parts[-1]):
        scope.pop()
    return fitting("/".join(scope))


def _is_lowering(segment: str, operation: str) -> bool:
    return bool(_OPERATION.match(segment)) or (
        bool(number_of(segment)) and without_numbers(segment) == operation
    )


def kind_of(scope: str, names: frozenset[str] = frozenset()) -> ScopeKind:
    """What a scope path is: numbers, or the name of an annotation of the user's, tell it from a function's."""
    segments = scope.split("/")
    if number_of(segments[0]) or any(without_numbers(segment) in names for segment in segments):
        return "annotation"
    return "scope"


_Ends = dict[tuple[int, str], tuple[int, str]]
"""Ends of paths, from the last name outwards: an end is the number of the shorter end that it goes on from, and the
name before that. Each has its number, and the first path that ends so. As texts, n names would have n^2 in their ends.
"""

_WHOLE = 0
"""The number of the end that has no name yet."""


class HostPaths:
    """The annotation paths that a host recorded, and how scopes of ops are called there."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = dict.fromkeys(paths)
        self.names = frozenset(name for path in self.paths for name in path.split("/"))
        self._known: dict[str, str] = {}

    @cached_property
    def _ends(self) -> _Ends:
        ends: _Ends = {}
        for path in sorted(self.paths, key=lambda it: (it.count("/"), it)):
            names = path.split("/")
            end = _WHOLE
            for name in reversed(names[1:]):
                end, _ = ends.setdefault((end, name), (len(ends) + 1, path))
        return ends

    def _ending_with(self, names: list[str]) -> str | None:
        """The shallowest path that has more names than these and ends with them, the first by name of several."""
        end, path = _WHOLE, ""
        for name in reversed(names):
            if (end, name) not in self._ends:
                return None
            end, path = self._ends[end, name]
        return path or None

    def path_of(self, scope: str) -> str:
        """The host's path of a scope, numbers stripped. A graph traced after its step was closed lacks the outer
        scopes; the shallowest path that ends like it has them. What the host does not know keeps its place below what
        it knows. Scopes that are no annotations stay as they are."""
        if scope not in self._known:
            self._known[scope] = self._find(scope)
        return self._known[scope]

    def _find(self, scope: str) -> str:
        if kind_of(scope, self.names) == "scope":
            return scope
        segments = [self._name(segment) for segment in scope.split("/")]
        for length in range(len(segments), 0, -1):
            head = "/".join(segments[:length])
            known = head if head in self.paths else self._ending_with(segments[:length])
            if known is not None:
                return fitting("/".join((known, *segments[length:])))
        return "/".join(segments)

    def _name(self, segment: str) -> str:
        """An annotation's own name may end like a position: only as much goes as makes a name that the host knows."""
        shorter = _NUMBER.sub("", segment)
        return shorter if shorter in self.names else without_numbers(segment)
