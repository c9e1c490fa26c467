"""All stats of one event, read from the file on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from google.protobuf.message import DecodeError

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.open import open_source
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.xplane.metadata import StatValue, named_stats
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
    names = trace.planes[int(trace.metadata.plane[metadata_index])].stat_names
    with open_source(trace.path) as source:
        if source.fingerprint != trace.fingerprint:
            raise InputError(f"{trace.path}: the file has changed since it was read; reload the session")
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


def _stat(name: str, value: StatValue, *, from_metadata: bool) -> EventStat:
    types: dict[type, ValueType] = {int: "int", float: "float", str: "text", bytes: "bytes"}
    return EventStat(name, value, types[type(value)], from_metadata)
