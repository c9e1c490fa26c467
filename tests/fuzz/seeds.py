"""What inputs are made from: small captures, written for this or cut out of real ones, and the texts beside them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from captures import space_of
from damaged import small
from fuzz.change import parts_of
from fuzz.tree import Node, message, opened, parsed, root, text, written
from helpers import small_space
from synthetic.pod import files
from synthetic.pod_schedule import Clock, Late, Pod
from synthetic.times import MS
from test_report_random import Parts, any_gpu_hosts, any_hosts

COLLECTED = Path(__file__).with_name("collected.gz")
"""Captures of tests; `collect.py` renews it."""
ROOT = Path(__file__).parents[2]
_RANDOM = 40
_CUTS = 12
"""Of each real capture."""
_MOST_EVENTS = 8
_MOST_LINES = 6
_MOST_PROGRAM = 4000
"""Bytes of a compiled program that is kept."""
_LINE_WITHOUT_EVENTS = 40
"""Bytes that the head of a line takes at most."""


_most_bytes = 100_000
"""Of a real capture that is cut up."""


def take_all() -> None:
    """Has real captures of any size cut up, which takes seconds."""
    global _most_bytes
    _most_bytes = 600_000
    cut.cache_clear()
    parts.cache_clear()


@cache
def made() -> tuple[Node, ...]:
    """Captures of a few hundred bytes to a few kilobytes, from nothing but code."""
    spaces = [small(), small_space(2).to_bytes()]
    if COLLECTED.exists():
        packed = parsed("Captures", gzip.decompress(COLLECTED.read_bytes()))
        spaces += [written(its) for its in packed.parts or ()]
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
        if file.stat().st_size < _most_bytes:
            planes = _planes(file.read_bytes())
            cuts = ([plane.cut_out(pick) for plane in planes] for _ in range(_CUTS))
            found += [parsed("XSpace", written(root("XSpace", its))) for its in cuts]
    return tuple(found)


@cache
def pods() -> tuple[tuple[Node, ...], ...]:
    """The hosts of sessions that train together: one is late, or clocks differ, or they are stages of a pipeline."""
    few: dict[str, Any] = {"hosts": 3, "cores": 1, "steps": 4, "ops": 2}
    late = Late(1, "input", 38 * MS)
    made_up = (
        Pod(**few, late=(late,)),
        Pod(**few, late=(Late(2, "device", 20 * MS),), clocks={1: Clock(4 * MS, 25.0)}, overlapped=True),
        Pod(**few, staged=True, tells_groups=False),
        Pod(**few, late=(late,), groups=((0, 1), (2,)), numbered=False, captured={2: (1, 3)}),
        Pod(**few, late=(late,), run_ids=False, joined=False, scripts={0: "jit_other"}),
    )
    return tuple(tuple(parsed("XSpace", space.to_bytes()) for space in files(pod)) for pod in made_up)


@cache
def parts(real: bool) -> dict[str, list[Node]]:
    """The fields of `cut`, or of `made`, by what they mean."""
    return parts_of(cut() if real else made())


@dataclass(frozen=True)
class _Plane:
    """A plane of a real capture. `kinds` and `names` are the metadata of events and stats, by id."""

    field: Node
    lines: list[Node]
    kinds: dict[int, Node]
    names: dict[int, Node]
    rest: list[Node]

    def cut_out(self, pick: Random) -> Node:
        """A few neighbouring events of a few lines, with their names; of a plane without lines some kinds."""
        lines = [_line(pick, line) for line in pick.sample(self.lines, min(len(self.lines), _MOST_LINES))]
        used = {_number(event, 1) for line in lines for event in line.parts or () if event.kind == "XEvent"}
        wanted = used if self.lines else pick.sample(sorted(self.kinds), min(len(self.kinds), _MOST_LINES))
        kinds = [self.kinds[id_] for id_ in wanted if id_ in self.kinds]
        stats = {_number(stat, place) for it in (*lines, *kinds) for stat in _stats(it) for place in (1, 7)}
        names = [self.names[id_] for id_ in stats if id_ in self.names]
        return message(self.field.number, self.field.kind, [*lines, *kinds, *names, *self.rest])


def _planes(data: bytes) -> list[_Plane]:
    """The planes of a capture, of which only what is cut out is read further."""
    found = []
    for plane in opened(text(0, "XSpace", data)).parts or ():
        parts = opened(plane).parts or () if plane.kind == "XPlane" else ()
        by_kind = {
            kind: [part for part in parts if part.kind == kind]
            for kind in ("XLine", "EventEntry", "StatEntry")
        }
        found.append(
            _Plane(
                plane,
                [line for line in by_kind["XLine"] if len(line.raw) > _LINE_WITHOUT_EVENTS],
                {_number(it, 1): it for it in by_kind["EventEntry"] if len(it.raw) < _MOST_PROGRAM},
                {_number(it, 1): it for it in by_kind["StatEntry"]},
                [part for part in parts if part.kind not in by_kind],
            )
        )
    return [plane for plane in found if plane.field.kind == "XPlane"]


def _line(pick: Random, line: Node) -> Node:
    parts = opened(line).parts or ()
    events = [part for part in parts if part.kind == "XEvent"]
    first = pick.randrange(max(1, len(events)))
    some = events[first : first + pick.randint(1, _MOST_EVENTS)]
    return message(line.number, line.kind, [*(part for part in parts if part.kind != "XEvent"), *some])


def _stats(field: Node) -> list[Node]:
    """The stats of the events of a line, or of what a kind of events has."""
    found: list[Node] = []
    for part in field.parts or opened(field).parts or ():
        if part.kind == "XStat":
            found.append(part)
        elif part.kind in ("XEvent", "XEventMetadata"):
            found += _stats(part)
    return found


def _number(field: Node, place: int) -> int:
    parts = field.parts or opened(field).parts or ()
    return next((its.value for its in parts if its.number == place and isinstance(its.value, int)), 0)


@cache
def texts() -> tuple[bytes, ...]:
    """Files that lie beside captures."""
    files = [*ROOT.glob("demo_logs/*/*.txt"), *ROOT.glob("tests/recorded/**/*.json")]
    return tuple(file.read_bytes()[:6000] for file in sorted(files) if file.stat().st_size < 100_000)
