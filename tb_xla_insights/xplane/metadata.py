"""The metadata of a plane: names of events and stats, stats of event metadata and of the plane itself.

Functions import protobuf themselves: its import takes as long as counting the events of a hundred megabytes, which
another thread does at the same time.
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

BATCH_BYTES = 1 << 24
LARGE_METADATA_BYTES = 1 << 16
"""Event metadata above this size holds a large stat (a compiled program), which is located, not read."""

MISSING = "(missing text)"
"""The placeholder for a text that a stat refers to and the file lacks."""


@dataclass
class EventMetadata:
    """An entry of a plane's event metadata. `blobs` locates large and binary stats as file ranges (offset, length), by
    name."""

    id: int
    name: str
    display_name: str
    stats: dict[str, StatValue] = field(default_factory=dict)
    blobs: dict[str, tuple[int, int]] = field(default_factory=dict)


def text_of(data: bytes) -> str:
    """Decodes UTF-8; an invalid byte becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def stat_value(stat: XStat, names: dict[int, str]) -> StatValue | None:
    """The value of a stat, None if it has none; `names` are the texts that it may refer to, by id."""
    value_field = stat.WhichOneof("value")
    if value_field is None:
        return None
    if value_field == "ref_value":
        return names.get(stat.ref_value - (stat.ref_value >> 63 << 64), MISSING)  # ids are signed
    value: int | float | bytes = getattr(stat, value_field)
    return text_of(value) if value_field == "str_value" and isinstance(value, bytes) else value


def named_stats(stats: Iterable[XStat], names: dict[int, str]) -> dict[str, StatValue]:
    """The stats that have a value, by name; of equal names the first counts."""
    values: dict[str, StatValue] = {}
    for stat in stats:
        value = stat_value(stat, names)
        if value is not None:
            values.setdefault(names.get(stat.metadata_id, f"stat {stat.metadata_id}"), value)
    return values


def read_stat_names(
    source: Source, ranges: list[tuple[int, int]], damaged_offsets: list[int]
) -> dict[int, str]:
    """Reads the names of stats by id, from the file ranges of a plane's stat metadata entries. The file offsets of
    unreadable entries are appended to `damaged_offsets`, as in the functions below."""
    from tb_xla_insights.xplane.proto.xplane_pb2 import StatMetadataEntry

    names = {}
    for entry in _parsed(StatMetadataEntry, source, ranges, damaged_offsets):
        names[entry.key or entry.value.id] = text_of(entry.value.name)
    return names


def read_event_metadata(
    source: Source,
    ranges: list[tuple[int, int]],
    names: dict[int, str],
    damaged_offsets: list[int],
    max_read_bytes: int = LARGE_METADATA_BYTES,
) -> list[EventMetadata]:
    """Reads event metadata from the file ranges of a plane's entries. In entries above `max_read_bytes`, large
    and binary stats are located instead of read."""
    from google.protobuf.message import DecodeError

    from tb_xla_insights.xplane.proto.xplane_pb2 import EventMetadataEntry

    small = [(offset, length) for offset, length in ranges if length <= max_read_bytes]
    entries = _parsed(EventMetadataEntry, source, small, damaged_offsets)
    metadata_list = [_event_metadata(entry.key or entry.value.id, entry.value, names) for entry in entries]
    for offset, length in ranges:
        if length > max_read_bytes:
            try:
                metadata_list.append(_large_event_metadata(source, (offset, length), names))
            except WireError as error:
                damaged_offsets.append(error.offset)
            except DecodeError:
                damaged_offsets.append(offset)
    return metadata_list


def read_plane_stats(
    source: Source, ranges: list[tuple[int, int]], names: dict[int, str], damaged_offsets: list[int]
) -> dict[str, StatValue]:
    """Reads a plane's own stats, by name."""
    from tb_xla_insights.xplane.proto.xplane_pb2 import XStat

    return named_stats(_parsed(XStat, source, ranges, damaged_offsets), names)


def _event_metadata(id_: int, metadata: XEventMetadata, names: dict[int, str]) -> EventMetadata:
    return EventMetadata(
        id_, text_of(metadata.name), text_of(metadata.display_name), named_stats(metadata.stats, names)
    )


def _large_event_metadata(
    source: Source, file_range: tuple[int, int], names: dict[int, str]
) -> EventMetadata:
    """Reads large event metadata, with its large and binary stats located instead of read.

    Field numbers of an entry: 1 key, 2 value; of the value: 1 id, 2 name, 4 display name, 5 stat; of a stat: 1 id of
    its name, 5 text, 6 bytes.
    """
    from tb_xla_insights.xplane.proto.xplane_pb2 import XStat

    event_metadata = EventMetadata(0, "", "")
    for number, value, length in _fields(source, file_range):
        if number == 1:
            event_metadata.id = value
        if number != 2 or length < 0:
            continue
        for value_number, start, size in _fields(source, (value, length)):
            if value_number == 1 and not event_metadata.id:
                event_metadata.id = start
            elif value_number in (2, 4) and size >= 0:
                text = text_of(source.read(start, min(size, LARGE_METADATA_BYTES)).tobytes())
                event_metadata.name, event_metadata.display_name = (
                    (text, event_metadata.display_name) if value_number == 2 else (event_metadata.name, text)
                )
            elif value_number == 5:
                stat = {
                    stat_number: (content, content_size)
                    for stat_number, content, content_size in _fields(source, (start, size))
                }
                blob_start, blob_size = stat.get(6) or stat.get(5, (0, 0))
                if blob_size > LARGE_METADATA_BYTES or 6 in stat:
                    name_id, _ = stat.get(1, (0, 0))
                    event_metadata.blobs[names.get(name_id, "")] = blob_start, blob_size
                elif 0 <= size <= LARGE_METADATA_BYTES + PADDING:
                    stats = named_stats([XStat.FromString(source.read(start, size).tobytes())], names)
                    event_metadata.stats = stats | event_metadata.stats
    return event_metadata


def _fields(source: Source, file_range: tuple[int, int]) -> Iterator[tuple[int, int, int]]:
    """The fields of the message in a file range (offset, length), one by one: see `wire.fields`."""
    offset, size = file_range
    for number, value, length in fields(source, offset, offset + size):
        yield from zip(number.tolist(), value.tolist(), length.tolist(), strict=True)


_Entry = TypeVar("_Entry", bound="Message")


def _parsed(
    message_type: type[_Entry], source: Source, ranges: list[tuple[int, int]], damaged_offsets: list[int]
) -> Iterator[_Entry]:
    """Parses the messages in ascending file ranges."""
    from google.protobuf.message import DecodeError

    for offset, data in _payloads(source, ranges):
        try:
            entry = message_type.FromString(data)
        except DecodeError:
            damaged_offsets.append(offset)
        else:
            yield entry


def _payloads(source: Source, ranges: list[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
    """Reads ascending file ranges, neighbours together: (offset, bytes)."""
    first = 0
    while first < len(ranges):
        start, last = ranges[first][0], first
        while last + 1 < len(ranges) and ranges[last + 1][0] + ranges[last + 1][1] - start <= BATCH_BYTES:
            last += 1
        end = ranges[last][0] + ranges[last][1]
        data = source.read(start, end - start)
        if len(data) < end - start:
            raise WireError(start + len(data), "the file ends here", is_file_end=True)
        block = np.ascontiguousarray(data).tobytes()
        for offset, length in ranges[first : last + 1]:
            yield offset, block[offset - start : offset - start + length]
        first = last + 1
