"""The seeds of inputs: small captures, generated or cut out of real ones, and sidecar files."""

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
_RANDOM_SEEDS = 40
_CUTS_PER_CAPTURE = 12
_MAX_EVENTS = 8
_MAX_LINES = 6
_MAX_PROGRAM_BYTES = 4000
"""Larger compiled programs are left out."""
_MAX_LINE_HEAD_BYTES = 40
"""The maximum size of a line without its events."""


_max_capture_bytes = 100_000
"""Larger real captures are not cut up."""


def take_all() -> None:
    """Also cuts up larger real captures, which takes seconds."""
    global _max_capture_bytes
    _max_capture_bytes = 600_000
    cut.cache_clear()
    parts.cache_clear()


@cache
def generated() -> tuple[Node, ...]:
    """Generated captures of a few hundred bytes to a few kilobytes."""
    spaces = [small(), small_space(2).to_bytes()]
    if COLLECTED.exists():
        packed = parsed("Captures", gzip.decompress(COLLECTED.read_bytes()))
        spaces += [written(space) for space in packed.parts or ()]
    makers: tuple[Callable[[Random], list[Parts]], ...] = (any_hosts, any_gpu_hosts)
    for seed in range(_RANDOM_SEEDS):
        spaces += [space_of(*host).to_bytes() for make in makers for host in make(Random(seed))[:1]]
    return tuple(parsed("XSpace", data) for data in spaces if len(data) < 12_000)


@cache
def cut() -> tuple[Node, ...]:
    """The captures of `made`, and captures of similar size that were cut out of real ones of many profilers."""
    files = sorted(
        [*ROOT.glob("demo_logs/*/plugins/**/*-w-0.xplane.pb"), *ROOT.glob("demo_logs/torch*/**/*.pb")]
    )
    files += sorted(ROOT.glob("tests/recorded/**/*.xplane.pb"))
    pick = Random(1)
    captures = list(generated())
    for file in files:
        if file.stat().st_size < _max_capture_bytes:
            planes = _planes(file.read_bytes())
            cuts = ([plane.cut_out(pick) for plane in planes] for _ in range(_CUTS_PER_CAPTURE))
            captures += [parsed("XSpace", written(root("XSpace", parts_of_cut))) for parts_of_cut in cuts]
    return tuple(captures)


@cache
def pods() -> tuple[tuple[Node, ...], ...]:
    """Hosts of sessions that train together: with a late host, different clocks, or as stages of a pipeline."""
    few: dict[str, Any] = {"hosts": 3, "cores": 1, "steps": 4, "ops": 2}
    late_host = Late(1, "input", 38 * MS)
    made_up = (
        Pod(**few, late=(late_host,)),
        Pod(**few, late=(Late(2, "device", 20 * MS),), clocks={1: Clock(4 * MS, 25.0)}, overlapped=True),
        Pod(**few, staged=True, programs_have_groups=False),
        Pod(**few, late=(late_host,), groups=((0, 1), (2,)), numbered=False, captured={2: (1, 3)}),
        Pod(**few, late=(late_host,), run_ids=False, joined=False, scripts={0: "jit_other"}),
    )
    return tuple(tuple(parsed("XSpace", space.to_bytes()) for space in files(pod)) for pod in made_up)


@cache
def parts(real: bool) -> dict[str, list[Node]]:
    """The fields of `cut`, or of `made`, by meaning."""
    return parts_of(cut() if real else generated())


@dataclass(frozen=True)
class _Plane:
    """A plane of a real capture. `kinds` and `names` are the event and stat metadata, by id."""

    field: Node
    lines: list[Node]
    kinds: dict[int, Node]
    names: dict[int, Node]
    rest: list[Node]

    def cut_out(self, pick: Random) -> Node:
        """A few neighbouring events of a few lines, with their metadata; without lines, some event metadata."""
        lines = [_line(pick, line) for line in pick.sample(self.lines, min(len(self.lines), _MAX_LINES))]
        used = {_number(event, 1) for line in lines for event in line.parts or () if event.kind == "XEvent"}
        ids = used if self.lines else pick.sample(sorted(self.kinds), min(len(self.kinds), _MAX_LINES))
        kinds = [self.kinds[id_] for id_ in ids if id_ in self.kinds]
        stats = {
            _number(stat, place) for field in (*lines, *kinds) for stat in _stats(field) for place in (1, 7)
        }
        names = [self.names[id_] for id_ in stats if id_ in self.names]
        return message(self.field.number, self.field.kind, [*lines, *kinds, *names, *self.rest])


def _planes(data: bytes) -> list[_Plane]:
    """The planes of a capture; their content is parsed only as far as it is cut out."""
    planes = []
    for plane in opened(text(0, "XSpace", data)).parts or ():
        parts = opened(plane).parts or () if plane.kind == "XPlane" else ()
        by_kind = {
            kind: [part for part in parts if part.kind == kind]
            for kind in ("XLine", "EventEntry", "StatEntry")
        }
        planes.append(
            _Plane(
                plane,
                [line for line in by_kind["XLine"] if len(line.raw) > _MAX_LINE_HEAD_BYTES],
                {
                    _number(entry, 1): entry
                    for entry in by_kind["EventEntry"]
                    if len(entry.raw) < _MAX_PROGRAM_BYTES
                },
                {_number(entry, 1): entry for entry in by_kind["StatEntry"]},
                [part for part in parts if part.kind not in by_kind],
            )
        )
    return [plane for plane in planes if plane.field.kind == "XPlane"]


def _line(pick: Random, line: Node) -> Node:
    parts = opened(line).parts or ()
    events = [part for part in parts if part.kind == "XEvent"]
    first = pick.randrange(max(1, len(events)))
    chosen = events[first : first + pick.randint(1, _MAX_EVENTS)]
    return message(line.number, line.kind, [*(part for part in parts if part.kind != "XEvent"), *chosen])


def _stats(field: Node) -> list[Node]:
    """The stats of a line's events, or of event metadata."""
    stats: list[Node] = []
    for part in field.parts or opened(field).parts or ():
        if part.kind == "XStat":
            stats.append(part)
        elif part.kind in ("XEvent", "XEventMetadata"):
            stats += _stats(part)
    return stats


def _number(field: Node, place: int) -> int:
    parts = field.parts or opened(field).parts or ()
    return next((part.value for part in parts if part.number == place and isinstance(part.value, int)), 0)


@cache
def texts() -> tuple[bytes, ...]:
    """Sidecar files."""
    files = [*ROOT.glob("demo_logs/*/*.txt"), *ROOT.glob("tests/recorded/**/*.json")]
    return tuple(file.read_bytes()[:6000] for file in sorted(files) if file.stat().st_size < 100_000)
