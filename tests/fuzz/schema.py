"""The fields of a capture's messages, as far as hostile inputs need them."""

from __future__ import annotations

from typing import Any

from tb_xla_insights.xplane.proto import hlo_pb2

Kind = str
"""The name of a message type, or the meaning of a number or text, which determines the values that can replace it."""

MESSAGES: dict[Kind, dict[int, Kind]] = {
    "Session": {1: "XSpace", 2: "log", 3: "metrics", 4: "explain", 5: "record", 6: "text"},
    "Files": {},
    "Captures": {1: "XSpace"},
    "XSpace": {1: "XPlane", 2: "text", 3: "text", 4: "text"},
    "XPlane": {1: "id", 2: "plane name", 3: "XLine", 4: "EventEntry", 5: "StatEntry", 6: "XStat"},
    "XLine": {1: "id", 2: "line name", 3: "ns", 4: "XEvent", 9: "ps", 10: "id", 11: "line name"},
    "XEvent": {1: "id", 2: "ps", 3: "ps", 4: "XStat", 5: "number"},
    "XStat": {1: "id", 2: "double", 3: "number", 4: "number", 5: "text", 6: "HloProto", 7: "id"},
    "EventEntry": {1: "id", 2: "XEventMetadata"},
    "XEventMetadata": {1: "id", 2: "event name", 3: "text", 4: "event name", 5: "XStat", 6: "id"},
    "StatEntry": {1: "id", 2: "XStatMetadata"},
    "XStatMetadata": {1: "id", 2: "stat name", 3: "text"},
}
"""Kinds of fields, by message and field number. Three messages exist only in the fuzzer: `Session` has the captures of
its hosts and their sidecar files, `Files` is a Session whose files are not parsed, `Captures` is a list of captures."""

_ENCODED_FIELDS = {"shape": "Shape", "buffer_assignment": "BufferAssignment"}
"""Fields that are declared as bytes and contain an encoded message."""


def _add_message(descriptor: Any) -> None:
    if descriptor.name in MESSAGES:
        return
    fields = MESSAGES[descriptor.name] = {}
    for field in descriptor.fields:
        if field.message_type is not None:
            fields[field.number] = field.message_type.name
            _add_message(field.message_type)
        elif field.name in _ENCODED_FIELDS:
            fields[field.number] = _ENCODED_FIELDS[field.name]
        elif field.type == field.TYPE_STRING:
            fields[field.number] = "opcode" if field.name == "opcode" else "event name"
        elif field.type == field.TYPE_BYTES:
            fields[field.number] = "text"
        elif field.is_repeated:
            fields[field.number] = "packed"
        else:
            fields[field.number] = "id" if field.name.endswith("id") else "number"


for _message in (hlo_pb2.HloProto, hlo_pb2.Shape, hlo_pb2.BufferAssignment):
    _add_message(_message.DESCRIPTOR)
