"""Bytes by ranges, from local files and from anything fsspec opens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import numpy as np
import pytest
from helpers import raising

from tb_xla_insights.errors import InputError
from tb_xla_insights.files.open import open_source
from tb_xla_insights.files.reasons import reason
from tb_xla_insights.files.source import Source

DATA = bytes(range(256)) * 4


@pytest.fixture(params=["local", "local without preadv", "file URL", "remote"])
def name(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a file that holds DATA; Windows has no `preadv`."""
    if request.param == "local without preadv":
        monkeypatch.delattr(os, "preadv")
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(DATA)
    remote = f"memory://{tmp_path.name}/vm.xplane.pb"
    with fsspec.open(remote, "wb") as file:
        file.write(DATA)
    yield {"file URL": f"file://{path}", "remote": remote}.get(request.param, str(path))
    fsspec.filesystem("memory").rm(tmp_path.name, recursive=True)


def rewrite(name: str, data: bytes) -> None:
    with fsspec.open(name, "wb") as file:
        file.write(data)
    if "memory://" not in name:  # a file system's time resolution may be too coarse to distinguish two writes
        os.utime(name.removeprefix("file://"), ns=(1, 1))


def read_into(source: Source, offset: int, length: int) -> bytes:
    buffer = np.zeros(length, np.uint8)
    return buffer[: source.read_into(offset, buffer)].tobytes()


def test_ranges(name: str) -> None:
    with open_source(name) as source:
        assert (source.path, source.size) == (name.removeprefix("file://"), len(DATA))
        for offset, length in ((0, 10), (250, 10), (0, len(DATA)), (1020, 4), (1020, 99), (5000, 3), (7, 0)):
            assert source.read(offset, length).tobytes() == DATA[offset : offset + length]
            assert read_into(source, offset, length) == DATA[offset : offset + length]
        assert source.read(5, -3).tobytes() == b""


def test_the_fingerprint_changes_with_the_file(name: str) -> None:
    def fingerprint() -> str:
        with open_source(name) as source:
            return source.fingerprint

    before = fingerprint()
    assert fingerprint() == before
    rewrite(name, DATA[::-1])  # as long as before
    assert fingerprint() != before


def test_an_unopenable_file_is_a_one_line_error(tmp_path: Path) -> None:
    fsspec.filesystem("memory").makedirs("folder", exist_ok=True)
    local = [str(tmp_path), str(tmp_path / "no.pb"), f"file://{tmp_path}/no.pb"]
    for name in (*local, "memory://no.pb", "memory://folder", "none://x"):
        with pytest.raises(InputError) as raised:
            open_source(name)
        assert str(raised.value).startswith(f"{name.removeprefix('file://')}: ")
        assert "\n" not in str(raised.value)


def test_a_file_without_read_permission_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "open", raising(PermissionError(13, "Permission denied")))
    with pytest.raises(InputError, match="permission denied; make the file readable"):
        open_source(str(tmp_path / "a.pb"))


def test_a_disk_error_names_the_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.pb"
    path.write_bytes(DATA)
    with open_source(str(path)) as source:
        monkeypatch.setattr(os, "preadv", raising(OSError(5, "Input/output error")))
        with pytest.raises(InputError, match=r"a\.pb: byte 12: cannot be read \(Input/output error\)"):
            source.read(12, 4)


def test_a_removed_remote_file_names_the_byte() -> None:
    with fsspec.open("memory://gone.pb", "wb") as file:
        file.write(DATA)
    with open_source("memory://gone.pb") as source:
        fsspec.filesystem("memory").rm("gone.pb")
        with pytest.raises(InputError, match=r"memory://gone\.pb: byte 12: no such file"):
            source.read(12, 4)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: os.truncate(path, 100),
        lambda path: path.write_bytes(DATA + b"more"),
        lambda path: os.utime(path, ns=(0, 1)),
    ],
)
def test_a_file_written_during_reading_is_reported(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / "a.pb"
    path.write_bytes(DATA)
    with open_source(str(path)) as source:
        assert source.read(90, 50).tobytes() == DATA[90:140]
        write(path)
        with pytest.raises(InputError, match=f"^{path}: the file changed while it was read; read it again"):
            source.read(90, 50)


@pytest.mark.parametrize("remove", [Path.unlink, lambda path: path.rename(path.with_name("b.pb"))])
def test_a_file_removed_after_opening_is_read_as_it_was(
    tmp_path: Path, remove: Callable[[Path], None]
) -> None:
    path = tmp_path / "a.pb"
    path.write_bytes(DATA)
    with open_source(str(path)) as source:
        remove(path)
        assert source.read(90, 50).tobytes() == DATA[90:140]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (TimeoutError(), "cannot be read (no answer in time); try again or copy the file to a local disk"),
        (KeyError(), "cannot be read (KeyError); try again or copy the file to a local disk"),
        (PermissionError(13, "Forbidden"), "access refused (Forbidden); check the credentials and what they may read"),
        (OSError("Forbidden:\nx"), "access refused (Forbidden: x); check the credentials and what they may read"),
        (OSError(5, "Internal\nError"), "cannot be read (Internal Error); try again or copy the file to a local disk"),
    ],
)  # fmt: skip
def test_errors_of_a_store_are_one_line_with_the_remedy(error: Exception, message: str) -> None:
    assert reason(error) == message


def test_a_remote_directory_without_a_size_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """As HDFS reports it."""
    system = fsspec.filesystem("memory")
    monkeypatch.setattr(type(system), "info", lambda *_: {"type": "directory", "size": None})
    with pytest.raises(InputError, match=r"^memory://run: is a directory; specify a \.xplane\.pb file$"):
        open_source("memory://run")
