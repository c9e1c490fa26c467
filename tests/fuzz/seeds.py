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
from fuzz.change import fields_by_kind
from fuzz.tree import Node, encode, message, parse, parse_shallow, root, text
from helpers import small_space
from synthetic.pod import files
from synthetic.pod_schedule import Clock, Delay, Pod
from synthetic.times import MS
from test_report_random import Planes, any_gpu_hosts, any_hosts

COLLECTED = Path(__file__).with_name("collected.gz")
"""Small captures of tests; `collect.py` rebuilds the file."""
ROOT = Path(__file__).parents[2]
_RANDOM_SEEDS = 40
_CUTS_PER_CAPTURE = 12
_MAX_EVENTS = 8
_MAX_LINES = 6
_MAX_PROGRAM_BYTES = 4000
"""Larger event metadata, which contains compiled programs, is left out."""
_MAX_LINE_HEAD_BYTES = 40
"""The size up to which a line has no events."""
_STAT_METADATA_REFERENCES = (1, 7)
"""The fields of an XStat that refer to stat metadata: its name, and a text value."""


_max_capture_bytes = 100_000
"""Larger real captures are not cut up."""


def include_large_captures() -> None:
    """Also uses larger real captures, which takes seconds."""
    global _max_capture_bytes
    _max_capture_bytes = 600_000
    cut_captures.cache_clear()
    fields.cache_clear()


@cache
def generated_captures() -> tuple[Node, ...]:
    """Generated captures of a few hundred bytes to a few kilobytes."""
    spaces = [small(), small_space(2).to_bytes()]
    if COLLECTED.exists():
        packed = parse("Captures", gzip.decompress(COLLECTED.read_bytes()))
        spaces += [encode(space) for space in packed.fields or ()]
    makers: tuple[Callable[[Random], list[Planes]], ...] = (any_hosts, any_gpu_hosts)
    for seed in range(_RANDOM_SEEDS):
        spaces += [space_of(*host).to_bytes() for make in makers for host in make(Random(seed))[:1]]
    return tuple(parse("XSpace", data) for data in spaces if len(data) < 12_000)


@cache
def cut_captures() -> tuple[Node, ...]:
    """The captures of `generated_captures`, and captures of similar size cut out of real ones of several profilers."""
    files = sorted(
        [*ROOT.glob("demo_logs/*/plugins/**/*-w-0.xplane.pb"), *ROOT.glob("demo_logs/torch*/**/*.pb")]
    )
    files += sorted(ROOT.glob("tests/recorded/**/*.xplane.pb"))
    pick = Random(1)
    captures = list(generated_captures())
    for file in files:
        if file.stat().st_size < _max_capture_bytes:
            planes = _planes(file.read_bytes())
            cuts = ([plane.cut_out(pick) for plane in planes] for _ in range(_CUTS_PER_CAPTURE))
            captures += [parse("XSpace", encode(root("XSpace", planes_of_cut))) for planes_of_cut in cuts]
    return tuple(captures)


@cache
def pods() -> tuple[tuple[Node, ...], ...]:
    """Hosts of sessions that train together: with a late host, different clocks, or as stages of a pipeline."""
    small_pod: dict[str, Any] = {"hosts": 3, "cores": 1, "steps": 4, "ops": 2}
    late_host = Delay(1, "input", 38 * MS)
    variants = (
        Pod(**small_pod, delays=(late_host,)),
        Pod(
            **small_pod,
            delays=(Delay(2, "device", 20 * MS),),
            clocks={1: Clock(4 * MS, 25.0)},
            is_asynchronous=True,
        ),
        Pod(**small_pod, is_pipeline=True, programs_have_groups=False),
        Pod(
            **small_pod,
            delays=(late_host,),
            groups=((0, 1), (2,)),
            has_step_numbers=False,
            captured_steps={2: (1, 3)},
        ),
        Pod(
            **small_pod,
            delays=(late_host,),
            has_run_ids=False,
            exchanges_loss=False,
            module_names={0: "jit_other"},
        ),
    )
    return tuple(tuple(parse("XSpace", space.to_bytes()) for space in files(pod)) for pod in variants)


@cache
def fields(real: bool) -> dict[str, list[Node]]:
    """The fields of `cut_captures` if `real`, else of `generated_captures`, by kind."""
    return fields_by_kind(cut_captures() if real else generated_captures())


@dataclass(frozen=True)
class _Plane:
    """A plane of a real capture, with its event and stat metadata by id."""

    node: Node
    lines: list[Node]
    event_metadata: dict[int, Node]
    stat_metadata: dict[int, Node]
    other_fields: list[Node]

    def cut_out(self, pick: Random) -> Node:
        """The plane with a few neighbouring events of a few lines and their metadata; without lines, with some event
        metadata."""
        lines = [_line(pick, line) for line in pick.sample(self.lines, min(len(self.lines), _MAX_LINES))]
        used = {_number(event, 1) for line in lines for event in line.fields or () if event.kind == "XEvent"}
        if not self.lines:
            used = set(pick.sample(sorted(self.event_metadata), min(len(self.event_metadata), _MAX_LINES)))
        event_metadata = [self.event_metadata[id_] for id_ in used if id_ in self.event_metadata]
        stats = {
            _number(stat, field_number)
            for node in (*lines, *event_metadata)
            for stat in _stats(node)
            for field_number in _STAT_METADATA_REFERENCES
        }
        stat_metadata = [self.stat_metadata[id_] for id_ in stats if id_ in self.stat_metadata]
        fields = [*lines, *event_metadata, *stat_metadata, *self.other_fields]
        return message(self.node.number, self.node.kind, fields)


def _planes(data: bytes) -> list[_Plane]:
    """The planes of a capture; only the content that is cut out is parsed."""
    planes = []
    for plane in parse_shallow(text(0, "XSpace", data)).fields or ():
        if plane.kind != "XPlane":
            continue
        fields = parse_shallow(plane).fields or ()
        by_kind = {
            kind: [field for field in fields if field.kind == kind]
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
                [field for field in fields if field.kind not in by_kind],
            )
        )
    return planes


def _line(pick: Random, line: Node) -> Node:
    fields = parse_shallow(line).fields or ()
    events = [field for field in fields if field.kind == "XEvent"]
    first = pick.randrange(max(1, len(events)))
    neighbours = events[first : first + pick.randint(1, _MAX_EVENTS)]
    return message(
        line.number, line.kind, [*(field for field in fields if field.kind != "XEvent"), *neighbours]
    )


def _stats(node: Node) -> list[Node]:
    """The stats of a line's events, or of event metadata."""
    stats: list[Node] = []
    for field in node.fields or parse_shallow(node).fields or ():
        if field.kind == "XStat":
            stats.append(field)
        elif field.kind in ("XEvent", "XEventMetadata"):
            stats += _stats(field)
    return stats


def _number(node: Node, field_number: int) -> int:
    fields = node.fields or parse_shallow(node).fields or ()
    return next(
        (field.value for field in fields if field.number == field_number and isinstance(field.value, int)), 0
    )


@cache
def texts() -> tuple[bytes, ...]:
    """Sidecar files."""
    files = [*ROOT.glob("demo_logs/*/*.txt"), *ROOT.glob("tests/recorded/**/*.json")]
    files += ROOT.glob("tests/recorded/**/*.log")
    return tuple(file.read_bytes()[:6000] for file in sorted(files) if file.stat().st_size < 100_000)
