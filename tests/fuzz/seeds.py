"""What inputs are made from: small captures, written for this or cut out of real ones, and the texts beside them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

from captures import space_of
from damaged import small
from fuzz.change import parts_of
from fuzz.tree import Node, at_path, message, nth, parsed, root
from helpers import small_space
from test_report_random import Parts, any_gpu_hosts, any_hosts

ROOT = Path(__file__).parents[2]
_RANDOM = 40
_CUTS = 12
"""Of each real capture."""
_MOST_EVENTS = 8
_MOST_LINES = 6
_MOST_PROGRAM = 4000
"""Bytes of a compiled program that is kept whole."""


@cache
def made() -> tuple[Node, ...]:
    """Captures of a few hundred bytes to a few kilobytes, from nothing but code."""
    spaces = [small(), small_space(2).to_bytes()]
    makers: tuple[Callable[[Random], list[Parts]], ...] = (any_hosts, any_gpu_hosts)
    for seed in range(_RANDOM):
        spaces += [space_of(*host).to_bytes() for make in makers for host in make(Random(seed))[:1]]
    return tuple(parsed("XSpace", data) for data in spaces if len(data) < 12_000)


@cache
def cut() -> tuple[Node, ...]:
    """Captures of as many bytes that were cut out of real ones of many profilers: `made`, and these."""
    files = sorted(
        [*ROOT.glob("demo_logs/*/plugins/**/*-w-0.xplane.pb"), *ROOT.glob("demo_logs/torch*/**/*.pb")]
    )
    files += sorted(ROOT.glob("tests/recorded/**/*.xplane.pb"))
    pick = Random(1)
    found = list(made())
    for file in files:
        if file.stat().st_size < 600_000:
            whole = parsed("XSpace", file.read_bytes())
            found += [cut_out(pick, whole) for _ in range(_CUTS)]
    return tuple(found)


@cache
def parts(real: bool) -> dict[str, list[Node]]:
    """The fields of `cut`, or of `made`, by what they mean."""
    return parts_of(cut() if real else made())


def cut_out(pick: Random, space: Node) -> Node:
    """A few neighbouring events of a few lines of each plane, with the names that they have."""
    return root(
        "XSpace", [_plane(pick, part) if part.kind == "XPlane" else part for part in space.parts or ()]
    )


def _plane(pick: Random, plane: Node) -> Node:
    lines = [part for part in plane.parts or () if part.kind == "XLine"]
    full = [line for line in lines if any(part.kind == "XEvent" for part in line.parts or ())]
    chosen = {id(line) for line in pick.sample(full, min(len(full), _MOST_LINES))}
    kept = [_line(pick, line) for line in lines if id(line) in chosen]
    kinds = {_number(event, 1) for line in kept for event in line.parts or () if event.kind == "XEvent"}
    own = [
        part for part in plane.parts or () if part.kind == "EventEntry" and _wanted(part, kinds, bool(lines))
    ]
    stats = {_number(stat, 1) for it in (*kept, *own) for stat in _stats(it)}
    stats |= {_number(stat, 7) for it in (*kept, *own) for stat in _stats(it)}
    rest = [part for part in plane.parts or () if part.kind not in ("XLine", "EventEntry")]
    names = [part for part in rest if part.kind != "StatEntry" or _number(part, 1) in stats]
    return message(plane.number, plane.kind, [*kept, *own, *names])


def _wanted(entry: Node, kinds: set[int], lines: bool) -> bool:
    """Whether a kind of event is kept; planes without lines have compiled programs as kinds."""
    return (_number(entry, 1) in kinds or not lines) and len(entry.raw) < _MOST_PROGRAM


def _line(pick: Random, line: Node) -> Node:
    events = [part for part in line.parts or () if part.kind == "XEvent"]
    first = pick.randrange(len(events))
    kept = {id(event) for event in events[first : first + pick.randint(1, _MOST_EVENTS)]}
    return message(
        line.number,
        line.kind,
        [part for part in line.parts or () if part.kind != "XEvent" or id(part) in kept],
    )


def _stats(node: Node) -> list[Node]:
    found = [node] if node.kind == "XStat" else []
    return found + [stat for part in node.parts or () for stat in _stats(part)]


def _number(node: Node, place: int) -> int:
    return next(
        (part.value for part in node.parts or () if part.number == place and isinstance(part.value, int)), 0
    )


@cache
def texts() -> tuple[bytes, ...]:
    """Files that lie beside captures."""
    files = [*ROOT.glob("demo_logs/*/*.txt"), *ROOT.glob("tests/recorded/**/*.json")]
    return tuple(file.read_bytes()[:6000] for file in sorted(files) if file.stat().st_size < 100_000)


def some_part(pick: Random, tree: Node, kind: str) -> Node:
    """One of the fields of a kind in a capture; the whole capture where there is none."""
    found = [nth(tree, place) for place in range(tree.size - 1)]
    chosen = [path for path in found if at_path(tree, path).kind == kind]
    return at_path(tree, pick.choice(chosen)) if chosen else tree
