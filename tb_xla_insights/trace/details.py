"""All stats of one event, read from the file on demand."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from google.protobuf.message import DecodeError

from tb_xla_insights.arrays import Int32
from tb_xla_insights.errors import InputError
from tb_xla_insights.files.source import Source
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.xplane.metadata import StatValue, named_stats
from tb_xla_insights.xplane.open_capture import open_capture
from tb_xla_insights.xplane.proto.xplane_pb2 import XEvent
from tb_xla_insights.xplane.wire import WireError, message_at

ValueType = Literal["int", "float", "text", "bytes"]


@dataclass(frozen=True)
class EventStat:
    """One stat of an event; with `from_metadata` all events of the same metadata share it."""

    name: str
    value: StatValue
    kind: ValueType
    from_metadata: bool


def event_stats(trace: Trace, row: int) -> list[EventStat]:
    """The stats of an event, its own first, then those of its metadata.

    Raises InputError if the file is gone or no longer the one that was decoded, or if the event cannot be read.
    """
    metadata_index = int(trace.metadata_index[row])
    names = _stat_names(trace, row)
    with open_capture(trace.path) as source:
        _check_unchanged(trace, source)
        try:
            offset = trace.event_offsets.find(source, row)
            event_values = named_stats(XEvent.FromString(message_at(source, offset)).stats, names)
        except (DecodeError, WireError) as error:
            byte = error.offset if isinstance(error, WireError) else offset
            text = f"{trace.path}: byte {byte}: the event cannot be read; reload the session"
            raise InputError(text) from error
    metadata_values = trace.metadata.stats[metadata_index]
    return [
        *(_stat(name, value, from_metadata=False) for name, value in event_values.items()),
        *(_stat(name, value, from_metadata=True) for name, value in metadata_values.items()),
    ]


def own_stats(trace: Trace, rows: Int32) -> list[dict[str, StatValue]]:
    """The own stats of many events by name, without those of their metadata; empty for an event that cannot be read.

    Raises InputError if the file is gone or no longer the one that was decoded.
    """
    stats: list[dict[str, StatValue]] = [{} for _ in range(len(rows))]
    with open_capture(trace.path) as source:
        _check_unchanged(trace, source)
        with suppress(WireError):  # the reader has told of the damage
            for place, offset, length in trace.event_offsets.messages(source, rows):
                with suppress(DecodeError):
                    event = XEvent.FromString(source.read(offset, length).tobytes())
                    stats[place] = named_stats(event.stats, _stat_names(trace, int(rows[place])))
    return stats


def _stat_names(trace: Trace, row: int) -> dict[int, str]:
    return trace.planes[trace.event_offsets.plane(row)].stat_names


def _check_unchanged(trace: Trace, source: Source) -> None:
    if source.fingerprint != trace.fingerprint:
        raise InputError(f"{trace.path}: the file has changed since it was read; reload the session")


def _stat(name: str, value: StatValue, *, from_metadata: bool) -> EventStat:
    types: dict[type, ValueType] = {int: "int", float: "float", str: "text", bytes: "bytes"}
    return EventStat(name, value, types[type(value)], from_metadata)
