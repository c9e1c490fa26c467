"""Reads the programs that a capture keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.source import Source
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.xplane.hlo import read_module, shape_text
from tb_xla_insights.xplane.open_capture import open_capture

if TYPE_CHECKING:
    from tb_xla_insights.xplane.proto.hlo_pb2 import HloModule


class ProgramFiles:
    """The programs of a capture's file, by id (unsigned, 64 bits)."""

    def __init__(self, trace: Trace, source: Source) -> None:
        self._trace, self._source = trace, source
        self._shapes: dict[int, list[str] | None] = {}

    def shapes(self, id_: int) -> list[str] | None:
        """The shapes of a program's parameters, read once; None if the file does not record them."""
        if id_ not in self._shapes:
            module = self.module(id_)
            signature = (
                module.host_program_shape if module and module.HasField("host_program_shape") else None
            )
            self._shapes[id_] = (
                None if signature is None else [shape_text(shape) for shape in signature.parameters]
            )
        return self._shapes[id_]

    def module(self, id_: int) -> HloModule | None:
        """A program; None if the file lacks it or it cannot be read."""
        try:
            return (
                read_module(self._source, self._trace.programs[id_]) if id_ in self._trace.programs else None
            )
        except InputError:
            return None  # scopes of this program are missing too, and a diagnostic says so


@contextmanager
def open_programs(trace: Trace) -> Iterator[ProgramFiles | None]:
    """The programs of a capture's file; None if it is gone or another one is in its place."""
    try:
        source = open_capture(trace.path)
    except InputError:
        yield None
        return
    with source:
        yield ProgramFiles(trace, source) if source.fingerprint == trace.fingerprint else None
