"""Files that are no captures, change while they are read or are larger than 2 GiB: a one-line error or a diagnostic,
without hanging."""

from __future__ import annotations

import gzip
import os
import random
import re
from pathlib import Path

import numpy as np
import pytest
from build import MemorySource
from damaged import NEVER_ENDS, ids, lines_of, read, small, without_metadata_names
from independent import of_space
from synthetic.wire import block, integer, varint
from synthetic.writer import Space

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.open import open_source
from tb_xla_insights.files.source import Bytes
from tb_xla_insights.xplane import events
from tb_xla_insights.xplane.hlo import program_ranges
from tb_xla_insights.xplane.read_xspace import read_space


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\0", b"hello, this is a text file\n" * 9, gzip.compress(small()), random.Random(3).randbytes(5000),
        NEVER_ENDS, b"\xff" * 500, block(4, "vm"), b"<html></html>", b"{}",
    ],
)  # fmt: skip
def test_a_file_that_is_no_capture_is_a_one_line_error(data: bytes) -> None:
    with pytest.raises(InputError) as raised:
        read(data)
    assert str(raised.value).startswith("memory.xplane.pb: ")
    assert "\n" not in str(raised.value)


def test_a_path_that_is_no_file_is_a_one_line_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.xplane.pb"):
        with pytest.raises(InputError, match=re.escape(str(path))) as raised:
            open_source(str(path))
        assert "\n" not in str(raised.value)


class ShortSource(MemorySource):
    """A file whose bytes end earlier than its size says."""

    def __init__(self, data: bytes, length: int) -> None:
        super().__init__(data)
        self._data = self._data[:length]


def test_a_truncated_file_is_reported() -> None:
    data = small()
    whole = lines_of(data)
    for length in range(0, len(data), 3):
        try:
            space = read_space(ShortSource(data, length))
        except InputError:
            continue
        assert "truncated_file" in ids(space), f"cut after {length} bytes"
        read_lines = [without_metadata_names(line) for plane in of_space(space) for line in plane.lines]
        for _, end, line in whole:
            assert end > length or without_metadata_names(line) in read_lines


class ShrinkingSource(MemorySource):
    """A file that loses its end after some reads."""

    def __init__(self, data: bytes, reads: int, length: int) -> None:
        super().__init__(data)
        self._reads, self._available = reads, length

    def _count(self) -> None:
        self._reads -= 1
        if self._reads < 0:
            self._data = self._data[: self._available]

    def read_into(self, offset: int, buffer: Bytes) -> int:
        self._count()
        return super().read_into(offset, buffer)

    def read(self, offset: int, length: int) -> Bytes:
        self._count()
        return super().read(offset, length)


@pytest.mark.parametrize("length", [0, 40, 200])
def test_a_file_truncated_during_reading_is_reported(length: int) -> None:
    data = small()
    for reads in range(1, 40):
        space = read_space(ShrinkingSource(data, reads, length))
        assert {"truncated_file"} <= set(ids(space)) <= {"truncated_file", "corrupt_file"}


class RewrittenSource(MemorySource):
    """A file whose line gains events after they were counted."""

    def __init__(self, before: bytes, after: bytes, reads: int) -> None:
        super().__init__(before)
        self._after, self._reads = np.frombuffer(after, np.uint8), reads

    def read_into(self, offset: int, buffer: Bytes) -> int:
        self._reads -= 1
        if self._reads < 0:
            self._data = self._after
        return super().read_into(offset, buffer)


def test_a_file_rewritten_during_reading_does_not_block_the_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(events, "WINDOW_BYTES", 64)
    few = block(3, block(9, b"x" * 400))
    many = block(3, block(4, b"") * 200 + block(15, b"y"))
    assert len(few) == len(many)
    messages: list[str] = []
    for reads in range(1, 9):
        space = read_space(RewrittenSource(block(1, few), block(1, many), reads))
        assert set(ids(space)) <= {"corrupt_file"}
        messages += [diagnostic.message for diagnostic in space.diagnostics]
    assert any(message.startswith("The file was changed while it was read") for message in messages)


def test_after_a_stop_the_data_read_so_far_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "WINDOW_BYTES", 256)
    monkeypatch.setattr("tb_xla_insights.xplane.read_xspace.os.cpu_count", lambda: 1)
    space = Space()
    line = space.plane("p").line("l")
    for number in range(500):
        line.event("e", number, 1, run_id=number)
    space.plane("q").line("m").event("e", 0, 1)
    progress: list[int] = []
    decoded = read_space(
        MemorySource(space.to_bytes()), progress=progress.append, should_stop=lambda: len(progress) >= 5
    )
    assert ids(decoded) == ["truncated_file"]
    assert 0 < len(decoded.metadata) < 500
    assert decoded.offset_ps.tolist() == list(range(len(decoded.metadata)))
    rows, values = decoded.stats["run_id"].rows, decoded.stats["run_id"].values
    assert rows.tolist() == values.tolist() == decoded.offset_ps.tolist()
    assert progress == sorted(progress)


def test_a_file_above_2_gib(tmp_path: Path) -> None:
    """Only what is needed is read: the hole in the middle of this file is not."""
    size = (1 << 31) + (1 << 20)
    names = block(5, integer(1, 1) + block(2, block(2, "Hlo Proto")))
    stat = integer(1, 1) + varint(6 << 3 | 2) + varint(size)
    metadata = integer(1, 7) + block(2, "huge") + varint(5 << 3 | 2) + varint(size + len(stat)) + stat
    entry = integer(1, 7) + varint(2 << 3 | 2) + varint(size + len(metadata)) + metadata
    plane = block(2, "/host:metadata") + names + varint(4 << 3 | 2) + varint(size + len(entry)) + entry
    head = varint(1 << 3 | 2) + varint(size + len(plane)) + plane
    path = tmp_path / "huge.xplane.pb"
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)
        file.seek(0, os.SEEK_END)
        file.write(small())
    if path.stat().st_blocks * 512 > 1 << 24:
        pytest.skip("this file system keeps no holes, so the file would need 2 GiB")
    with open_source(str(path)) as source:
        space = read_space(source)
    assert ids(space) == []
    assert program_ranges(space)[7] == (len(head), size)
    assert of_space(space)[1:] == of_space(read(small()))
