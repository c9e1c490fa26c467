"""A second decoder of XPlane files, to compare the package's with: protobuf's parser with messages described here.

Slow, and it holds the whole file in memory, but it shares no code with the package. Texts are declared as bytes, as
files contain names that are not UTF-8; maps are declared as on the wire, as repeated entries whose last one counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from build import MemorySource
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tb_xla_insights.xplane.read_xspace import NUMBER_STATS, TEXT_STATS, XSpace, read_space

_INT64, _UINT64, _DOUBLE, _BYTES, _MESSAGE = 3, 4, 1, 12, 11  # as descriptors number them
_MESSAGES: dict[str, dict[str, tuple[int, int | str]]] = {
    "XStat": {
        "metadata_id": (1, _INT64), "double_value": (2, _DOUBLE), "uint64_value": (3, _UINT64),
        "int64_value": (4, _INT64), "str_value": (5, _BYTES), "bytes_value": (6, _BYTES), "ref_value": (7, _UINT64),
    },
    "XEvent": {
        "metadata_id": (1, _INT64), "offset_ps": (2, _INT64), "duration_ps": (3, _INT64), "stats": (4, "XStat*"),
        "num_occurrences": (5, _INT64),
    },
    "XLine": {
        "id": (1, _INT64), "name": (2, _BYTES), "timestamp_ns": (3, _INT64), "events": (4, "XEvent*"),
        "display_name": (11, _BYTES),
    },
    "XEventMetadata": {"id": (1, _INT64), "name": (2, _BYTES), "display_name": (4, _BYTES), "stats": (5, "XStat*")},
    "XStatMetadata": {"id": (1, _INT64), "name": (2, _BYTES)},
    "EventEntry": {"key": (1, _INT64), "value": (2, "XEventMetadata")},
    "StatEntry": {"key": (1, _INT64), "value": (2, "XStatMetadata")},
    "XPlane": {
        "name": (2, _BYTES), "lines": (3, "XLine*"), "event_metadata": (4, "EventEntry*"),
        "stat_metadata": (5, "StatEntry*"), "stats": (6, "XStat*"),
    },
    "XSpace": {
        "planes": (1, "XPlane*"), "errors": (2, "bytes*"), "warnings": (3, "bytes*"), "hostnames": (4, "bytes*"),
    },
}  # fmt: skip
_ONEOFS = {
    "XStat": {"double_value", "uint64_value", "int64_value", "str_value", "bytes_value", "ref_value"},
    "XEvent": {"offset_ps", "num_occurrences"},
}


def _message_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="independent.proto", package="independent", syntax="proto3"
    )
    for name, members in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name in _ONEOFS:
            message.oneof_decl.add(name="value")
        for member, (number, kind) in members.items():
            field = message.field.add(name=member, number=number, label=1)
            if isinstance(kind, int):
                field.type = cast(Any, kind)
            else:
                field.label = cast(Any, 3 if kind.endswith("*") else 1)
                field.type = cast(Any, _BYTES if kind == "bytes*" else _MESSAGE)
                if kind != "bytes*":
                    field.type_name = f".independent.{kind.rstrip('*')}"
            if member in _ONEOFS.get(name, ()):
                field.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("independent.XSpace"))


SPACE = _message_class()

Value = int | float | str | bytes


@dataclass
class Event:
    """`stats` are the event's, without those of its metadata; the first of several with one name counts."""

    name: str
    metadata_id: int
    offset_ps: int
    duration_ps: int
    stats: dict[str, Value]


@dataclass
class Line:
    id: int
    name: str
    timestamp_ns: int
    events: list[Event]


@dataclass
class Plane:
    """`event_metadata` has name, display name and stats by id."""

    name: str
    stats: dict[str, Value]
    event_metadata: dict[int, tuple[str, str, dict[str, Value]]]
    lines: list[Line]


def parse(data: bytes) -> list[Plane]:
    """The planes of a file. Raises google.protobuf's DecodeError if it is damaged."""
    return [_plane(plane) for plane in SPACE.FromString(data).planes]


def number_of(value: Value) -> int | None:
    """A value in a column of numbers, as a signed integer of 64 bits; None if it is not a number."""
    if isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else _text(value)
        whole = text.removeprefix("-")
        number = int(text) if whole.isascii() and whole.isdigit() and len(whole) < 20 else 2**63
        return number if -(2**63) <= number < 2**63 else None
    if isinstance(value, float):
        return int(value) if -(2.0**63) <= value < 2.0**63 else None
    return (value + 2**63) % 2**64 - 2**63


def text_of(value: Value) -> str:
    """A value in a column of texts."""
    return _text(value) if isinstance(value, bytes) else str(value)


def _plane(plane: Any) -> Plane:
    names = {entry.key: _text(entry.value.name) for entry in plane.stat_metadata}
    event_metadata = {
        entry.key: (
            _text(entry.value.name),
            _text(entry.value.display_name),
            _stats(entry.value.stats, names),
        )
        for entry in plane.event_metadata
    }
    lines = [
        Line(
            line.id,
            _text(line.name or line.display_name),
            line.timestamp_ns,
            [
                Event(
                    event_metadata.get(event.metadata_id, (f"event {event.metadata_id}",))[0],
                    event.metadata_id,
                    event.offset_ps,
                    event.duration_ps,
                    _stats(event.stats, names),
                )
                for event in line.events
            ],
        )
        for line in plane.lines
    ]
    return Plane(_text(plane.name), _stats(plane.stats, names), event_metadata, lines)


def _stats(stats: Any, names: dict[int, str]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for stat in stats:
        kind = stat.WhichOneof("value")
        if kind is None:
            continue
        value = getattr(stat, kind)
        if kind == "ref_value":
            value = names.get((value + 2**63) % 2**64 - 2**63, "(missing text)")
        elif kind == "str_value":
            value = _text(value)
        values.setdefault(names.get(stat.metadata_id, f"stat {stat.metadata_id}"), value)
    return values


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def as_columns(planes: list[Plane], numbers: frozenset[str], texts: frozenset[str]) -> list[Plane]:
    """The same planes with only those stats of events that have columns, with the values that the columns hold."""
    for plane in planes:
        for line in plane.lines:
            for event in line.events:
                stats: dict[str, Value] = {}
                for name, value in event.stats.items():
                    number = number_of(value) if name in numbers else None
                    if number is not None:
                        stats[name] = number
                    elif name in texts:
                        stats[name] = text_of(value)
                event.stats = stats
    return planes


def of_space(space: XSpace) -> list[Plane]:
    """The planes that the package decoded."""
    event_metadata = [metadata for plane in space.planes for metadata in plane.event_metadata]
    stats: list[dict[str, Value]] = [{} for _ in range(len(space.metadata))]
    for name, column in space.stats.items():
        for row, value in zip(column.rows.tolist(), column.values.tolist(), strict=True):
            assert name not in stats[row], "one value of a stat per event"
            stats[row][name] = space.strings.texts[value] if name in TEXT_STATS else value
    columns = (space.metadata.tolist(), space.offset_ps.tolist(), space.duration_ps.tolist(), stats)
    events = [
        Event(event_metadata[index].name, event_metadata[index].id, offset, duration, stats_of_event)
        for index, offset, duration, stats_of_event in zip(*columns, strict=True)
    ]
    return [
        Plane(
            plane.name,
            plane.stats,
            {metadata.id: (metadata.name, metadata.display_name, metadata.stats) for metadata in plane.event_metadata},
            [
                Line(line.id, line.name.decode("utf-8", "replace"), line.timestamp_ns,
                     events[line.first : line.first + line.count])
                for line in plane.lines
            ],
        )
        for plane in space.planes
    ]  # fmt: skip


def decoded_twice(data: bytes) -> tuple[list[Plane], list[Plane]]:
    """A file's planes by the package and by protobuf, which must be equal."""
    decoded = of_space(read_space(MemorySource(data)))
    parsed = as_columns(parse(data), frozenset(NUMBER_STATS), frozenset(TEXT_STATS))
    for plane, parsed_plane in zip(decoded, parsed, strict=True):
        # Metadata that only events reference has no entry; bulky stats are located instead of read.
        plane.event_metadata = {
            id_: metadata
            for id_, metadata in plane.event_metadata.items()
            if id_ in parsed_plane.event_metadata
        }
        for id_, (_, _, stats) in plane.event_metadata.items():
            parsed_stats = parsed_plane.event_metadata[id_][2]
            for name in parsed_stats.keys() - stats.keys():
                assert isinstance(parsed_stats.pop(name), (str, bytes))
    return decoded, parsed
