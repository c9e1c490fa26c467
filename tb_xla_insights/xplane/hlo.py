"""Compiled programs: locating and parsing their HLO protos."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.source import Source
from tb_xla_insights.xplane.metadata import EventMetadata
from tb_xla_insights.xplane.proto.hlo_pb2 import HloModule, HloProto, Shape
from tb_xla_insights.xplane.read_xspace import PROGRAM_PLANE, XSpace

HLO_PROTO_STAT = "Hlo Proto"

MAX_MESSAGE_BYTES = (1 << 31) - 1
"""Protobuf parsers refuse larger messages."""

_ELEMENT_TYPES = (
    "?", "pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "tuple", "opaque", "c64",
    "bf16", "token", "c128", "f8e5m2", "f8e4m3fn", "s4", "u4", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2", "u2",
    "f8e4m3", "f8e3m4", "s1", "u1", "f4e2m1fn", "f8e8m0fnu",
)  # fmt: skip
"""XLA's PrimitiveType, by number."""

FileRange = tuple[int, int]
"""A file range: offset and length in bytes."""


def program_ranges(space: XSpace) -> dict[int, FileRange]:
    """The file range of each program's HLO proto, by program id (unsigned, 64 bits). The id is the stat `program_id` of
    the program's event metadata, or the metadata's id if it lacks the stat, as up to JAX 0.8."""
    return {
        _program_id(metadata) % 2**64: metadata.blobs[HLO_PROTO_STAT]
        for plane in space.planes
        if plane.name == PROGRAM_PLANE
        for metadata in plane.event_metadata
        if HLO_PROTO_STAT in metadata.blobs
    }


def _program_id(metadata: EventMetadata) -> int:
    program_id = metadata.stats.get("program_id")
    return program_id if isinstance(program_id, int) else metadata.id


def read_module(source: Source, file_range: FileRange) -> HloModule:
    """Parses one program's instructions. Raises InputError if it is cut or damaged."""
    return read_program(source, file_range).hlo_module


def read_program(source: Source, file_range: FileRange) -> HloProto:
    """Parses one program. Raises InputError if it is cut or damaged."""
    offset, length = file_range
    try:
        if not 0 <= length <= MAX_MESSAGE_BYTES:
            raise DecodeError
        data = source.read(offset, length).tobytes()
        proto = HloProto.FromString(data)
        if len(data) < length or not proto.HasField("hlo_module"):
            raise DecodeError
        return proto
    except DecodeError as error:
        raise InputError(
            f"{source.path}: byte {offset}: the HLO proto cannot be read; capture again"
        ) from error


def shape_text(shape: Shape) -> str:
    """A shape in HLO's text format, without its layout: `f32[128,160]`; tuples in parentheses."""
    is_known = 0 <= shape.element_type < len(_ELEMENT_TYPES)
    element_type = _ELEMENT_TYPES[shape.element_type] if is_known else "?"
    if shape.tuple_shapes or element_type == "tuple":
        return f"({', '.join(map(shape_text, shape.tuple_shapes))})"
    return f"{element_type}[{','.join(map(str, shape.dimensions))}]"
