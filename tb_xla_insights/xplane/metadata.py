"""What a plane says once for many events: names of events and stats, stats of event kinds and of the plane
itself.

Importing protobuf takes as long as counting the events of a hundred megabytes, so functions import it: another thread
counts meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tb_xla_insights.files.source import Source
from tb_xla_insights.xplane.codes import PADDING
from tb_xla_insights.xplane.wire import WireError, fields

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from tb_xla_insights.xplane.proto.xplane_pb2 import XEventMetadata, XStat

StatValue = int | float | str | bytes

BATCH = 1 << 24
LARGE = 1 << 16
"""Metadata above this size holds something bulky (a compiled program): its stats are located, not read."""

MISSING = "(missing text)"
"""What stands for a text that a stat refers to and the file lacks."""


@dataclass
class EventMetadata:
    """The metadata of one kind of event. `blobs` locates bulky stats as file ranges (offset, length), by
    name."""

    id: int
    name: str
    display_name: str
    stats: dict[str, StatValue] = field(default_factory=dict)
    blobs: dict[str, tuple[int, int]] = field(default_factory=dict)


def text_of(data: bytes) -> str:
    """Text as the format means it; a byte that is no UTF-8 shows as U+FFFD."""
    return data.decode("utf-8", "replace")


def stat_value(stat: XStat, names: dict[int, str]) -> StatValue | None:
    """The value of a stat, `names` giving the texts it may refer to; None where it has none."""
    which = stat.WhichOneof("value")
    if which is None:
        return None
    if which == "ref_value":
        return names.get(stat.ref_value - (stat.ref_value >> 63 << 64), MISSING)  # ids are signed
    value: int | float | bytes = getattr(stat, which)
    return text_of(value) if which == "str_value" and isinstance(value, bytes) else value


def named_stats(stats: Iterable[XStat], names: dict[int, str]) -> dict[str, StatValue]:
    """The stats that have a value, by name; of one given twice the first counts."""
    found: dict[str, StatValue] = {}
    for stat in stats:
        value = stat_value(stat, names)
        if value is not None:
            found.setdefault(names.get(stat.metadata_id, f"stat {stat.metadata_id}"), value)
    return found


def read_stat_names(source: Source, ranges: list[tuple[int, int]], damaged: list[int]) -> dict[int, str]:
    """The names of stats by id, from the file ranges of a plane's stat metadata entries. The offsets of
    entries that cannot be read go to `damaged`, here as below."""
    from tb_xla_insights.xplane.proto.xplane_pb2 import StatMetadataEntry

    names = {}
    for entry in _parsed(StatMetadataEntry, source, ranges, damaged):
        names[entry.key or entry.value.id] = text_of(entry.value.name)
    return names


def read_event_metadata(
    source: Source,
    ranges: list[tuple[int, int]],
    names: dict[int, str],
    damaged: list[int],
    large: int = LARGE,
) -> list[EventMetadata]:
    """The kinds of events, from the file ranges of a plane's event metadata entries. Stats of kinds above
    `large` bytes are located instead of read."""
    from google.protobuf.message import DecodeError

    from tb_xla_insights.xplane.proto.xplane_pb2 import EventMetadataEntry

    small = [r for r in ranges if r[1] <= large]
    entries = _parsed(EventMetadataEntry, source, small, damaged)
    kinds = [_kind(entry.key or entry.value.id, entry.value, names) for entry in entries]
    for place in ranges:
        if place[1] > large:
            try:
                kinds.append(_large_kind(source, place, names))
            except WireError as error:
                damaged.append(error.offset)
            except DecodeError:
                damaged.append(place[0])
    return kinds


def read_plane_stats(
    source: Source, ranges: list[tuple[int, int]], names: dict[int, str], damaged: list[int]
) -> dict[str, StatValue]:
    """A plane's own stats by name."""
    from tb_xla_insights.xplane.proto.xplane_pb2 import XStat

    return named_stats(_parsed(XStat, source, ranges, damaged), names)


def _kind(id_: int, metadata: XEventMetadata, names: dict[int, str]) -> EventMetadata:
    return EventMetadata(
        id_, text_of(metadata.name), text_of(metadata.display_name), named_stats(metadata.stats, names)
    )


def _large_kind(source: Source, place: tuple[int, int], names: dict[int, str]) -> EventMetadata:
    """A kind whose metadata is too large to read: everything but its bulky stats."""
    from tb_xla_insights.xplane.proto.xplane_pb2 import XStat

    kind = EventMetadata(0, "", "")
    for number, value, length in _fields(source, place):
        if number == 1:
            kind.id = value
        if number != 2 or length < 0:
            continue
        for inner, start, size in _fields(source, (value, length)):
            if inner == 1 and not kind.id:
                kind.id = start
            elif inner in (2, 4) and size >= 0:
                text = text_of(source.read(start, min(size, LARGE)).tobytes())
                kind.name, kind.display_name = (text, kind.display_name) if inner == 2 else (kind.name, text)
            elif inner == 5:
                stat = {n: (v, s) for n, v, s in _fields(source, (start, size))}
                blob = stat.get(6) or stat.get(5, (0, 0))
                if blob[1] > LARGE or 6 in stat:
                    kind.blobs[names.get(stat.get(1, (0, 0))[0], "")] = blob
                elif 0 <= size <= LARGE + PADDING:
                    own = named_stats([XStat.FromString(source.read(start, size).tobytes())], names)
                    kind.stats = own | kind.stats
    return kind


def _fields(source: Source, place: tuple[int, int]) -> Iterator[tuple[int, int, int]]:
    for number, value, length in fields(source, place[0], place[0] + place[1]):
        yield from zip(number.tolist(), value.tolist(), length.tolist(), strict=True)


_Entry = TypeVar("_Entry", bound="Message")


def _parsed(
    kind: type[_Entry], source: Source, ranges: list[tuple[int, int]], damaged: list[int]
) -> Iterator[_Entry]:
    """The messages in file ranges that ascend."""
    from google.protobuf.message import DecodeError

    for offset, data in _payloads(source, ranges):
        try:
            entry = kind.FromString(data)
        except DecodeError:
            damaged.append(offset)
        else:
            yield entry


def _payloads(source: Source, ranges: list[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
    """The bytes of file ranges that ascend, neighbours read together: (offset, bytes)."""
    first = 0
    while first < len(ranges):
        start, last = ranges[first][0], first
        while last + 1 < len(ranges) and ranges[last + 1][0] + ranges[last + 1][1] - start <= BATCH:
            last += 1
        end = ranges[last][0] + ranges[last][1]
        data = source.read(start, end - start)
        if len(data) < end - start:
            raise WireError(start + len(data), "the file ends here", ended=True)
        block = np.ascontiguousarray(data).tobytes()
        for offset, length in ranges[first : last + 1]:
            yield offset, block[offset - start : offset - start + length]
        first = last + 1
