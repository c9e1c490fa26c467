"""Compiled programs: where a file keeps their HLO protos, and reading one of them."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from tb_xla_insights.errors import InputError
from tb_xla_insights.xplane.proto.hlo_pb2 import HloModule, HloProto
from tb_xla_insights.xplane.read import PROGRAMS, XSpace
from tb_xla_insights.xplane.source import Source

STAT = "Hlo Proto"

LONGEST = (1 << 31) - 1
"""Parsers of protobuf take no message above this size."""

Place = tuple[int, int]
"""A file range: offset and length in bytes."""


def program_places(space: XSpace) -> dict[int, Place]:
    """Where the HLO proto of each program lies, by program id (unsigned, 64 bits): an entry's stat `program_id`, or its
    own id where it has no such stat, as up to JAX 0.8."""
    kinds = (kind for plane in space.planes if plane.name == PROGRAMS for kind in plane.kinds)
    return {
        int(kind.stats.get("program_id", kind.id)) % 2**64: kind.blobs[STAT]
        for kind in kinds
        if STAT in kind.blobs
    }


def read_module(source: Source, place: Place) -> HloModule:
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
