"""Traces for tests, from bytes in memory."""

from __future__ import annotations

import numpy as np

from tb_xla_insights.catalog import load_catalog
from tb_xla_insights.files.source import Bytes, Source
from tb_xla_insights.trace.model import Trace
from tb_xla_insights.trace.read_trace import read_trace


class MemorySource(Source):
    """A source whose bytes are in memory."""

    def __init__(self, data: bytes, path: str = "memory.xplane.pb") -> None:
        self.path = path
        self.size = len(data)
        self.fingerprint = str(hash(data))
        self._data = np.frombuffer(data, np.uint8)

    def read_into(self, offset: int, buffer: Bytes) -> int:
        part = self._data[offset : offset + len(buffer)]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        pass


def trace_of(data: bytes, host: str = "host") -> Trace:
    """The trace of a file's bytes."""
    return read_trace(MemorySource(data), load_catalog(), host=host)
