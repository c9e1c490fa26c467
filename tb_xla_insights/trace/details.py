"""All stats of one event, read again from the file when somebody asks for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from google.protobuf.message import DecodeError

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.source import open_source
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.xplane.metadata import StatValue, named_stats
from tb_xla_insights.xplane.proto.xplane_pb2 import XEvent
from tb_xla_insights.xplane.wire import WireError, message_at

Kind = Literal["int", "float", "text", "bytes"]


@dataclass(frozen=True)
class EventStat:
    """One stat of an event; `of_kind` says that all events of that name share it."""

    name: str
    value: StatValue
    kind: Kind
    of_kind: bool


def event_stats(trace: Trace, row: int) -> list[EventStat]:
    """The stats of an event, its own first, then those of its metadata.

    Raises InputError where the file is gone or no longer the one that was decoded.
    """
    meta = int(trace.meta[row])
    names = trace.planes[int(trace.metadata.plane[meta])].stat_names
    with open_source(trace.path) as source:
        if source.fingerprint != trace.fingerprint:
            raise InputError(f"{trace.path}: the file has changed since it was read; reload the session")
        try:
            place = trace.event_offsets.find(source, row)
            own = named_stats(XEvent.FromString(message_at(source, place)).stats, names)
        except (DecodeError, WireError) as error:
            byte = error.offset if isinstance(error, WireError) else place
            text = f"{trace.path}: byte {byte}: the event cannot be read; reload the session"
            raise InputError(text) from error
    shared = trace.metadata.stats[meta]
    return [
        *(_stat(n, v, of_kind=False) for n, v in own.items()),
        *(_stat(n, v, of_kind=True) for n, v in shared.items()),
    ]


def _stat(name: str, value: StatValue, *, of_kind: bool) -> EventStat:
    kinds: dict[type, Kind] = {int: "int", float: "float", str: "text", bytes: "bytes"}
    return EventStat(name, value, kinds[type(value)], of_kind)
