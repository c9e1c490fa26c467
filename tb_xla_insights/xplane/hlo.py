"""Compiled programs: where a file keeps their HLO protos, and reading one of them."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.source import Source
from tb_xla_insights.xplane.metadata import EventMetadata
from tb_xla_insights.xplane.proto.hlo_pb2 import HloModule, HloProto, Shape
from tb_xla_insights.xplane.read import PROGRAMS, XSpace

STAT = "Hlo Proto"

LONGEST = (1 << 31) - 1
"""Parsers of protobuf take no message above this size."""

_TYPES = (
    "?", "pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "tuple", "opaque", "c64",
    "bf16", "token", "c128", "f8e5m2", "f8e4m3fn", "s4", "u4", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2", "u2",
    "f8e4m3", "f8e3m4", "s1", "u1", "f4e2m1fn", "f8e8m0fnu",
)  # fmt: skip
"""XLA's PrimitiveType, by number."""

FileRange = tuple[int, int]
"""A file range: offset and length in bytes."""


def program_ranges(space: XSpace) -> dict[int, FileRange]:
    """Where the HLO proto of each program lies, by program id (unsigned, 64 bits): an entry's stat `program_id`, or its
    own id where it has no such stat, as up to JAX 0.8."""
    kinds = (kind for plane in space.planes if plane.name == PROGRAMS for kind in plane.event_metadata)
    return {_program_id(kind) % 2**64: kind.blobs[STAT] for kind in kinds if STAT in kind.blobs}


def _program_id(kind: EventMetadata) -> int:
    told = kind.stats.get("program_id")
    return told if isinstance(told, int) else kind.id


def read_module(source: Source, place: FileRange) -> HloModule:
    """Parses one program. Raises InputError where it is cut or damaged."""
    try:
        if not 0 <= place[1] <= LONGEST:
            raise DecodeError
        data = source.read(*place).tobytes()
        proto = HloProto.FromString(data)
        if len(data) < place[1] or not proto.HasField("hlo_module"):
            raise DecodeError
        return proto.hlo_module
    except DecodeError as error:
        raise InputError(
            f"{source.path}: byte {place[0]}: the HLO proto cannot be read; capture again"
        ) from error


def shape_text(shape: Shape) -> str:
    """A shape as HLO's text has it, without its layout: `f32[128,160]`, a tuple in parentheses."""
    if shape.tuple_shapes:
        return f"({', '.join(map(shape_text, shape.tuple_shapes))})"
    kind = _TYPES[shape.element_type] if 0 <= shape.element_type < len(_TYPES) else "?"
    return f"{kind}[{','.join(map(str, shape.dimensions))}]"
