"""Files of another format, and captures that a transfer as text has damaged."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import tb_xla_insights as xi
from tb_xla_insights.errors import InputError

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def capture() -> bytes:
    [file] = (ROOT / "demo_logs/torch_xla_baseline").glob("plugins/profile/*/*.xplane.pb")
    return file.read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.decode("utf-8", "replace").encode(), "was decoded as text and written as UTF-8"),
        (lambda data: data.decode("latin-1").encode(), "was decoded as text and written as UTF-8"),
        (lambda data: data.replace(b"\n", b"\r\n"), "had its line ends converted as those of text"),
        (
            lambda data: data.decode("ascii", "ignore").encode(),
            "was treated as ASCII text, and has lost its bytes above 127",
        ),
        (
            lambda data: data.decode("ascii", "replace").encode("ascii", "replace"),
            "was treated as ASCII text, and has lost",
        ),
        (
            lambda data: bytes(byte & 0x7F for byte in data),
            "was treated as ASCII text, and has lost its bytes above 127",
        ),
        (
            lambda data: data.decode("cp437").encode("utf-16"),
            "was written as UTF-16 text, as PowerShell redirects it",
        ),
        (lambda data: data.decode("cp437").encode("utf-8-sig"), "was decoded as text and written as UTF-8"),
    ],
)
def test_errors_of_a_converted_capture_name_the_conversion(
    capture: bytes, change: Callable[[bytes], bytes], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "vm.xplane.pb"
    file.write_bytes(change(capture))
    with pytest.raises(InputError) as error:
        xi.load(str(file))
    assert str(error.value).startswith(f"{file}: the file {message}")
    assert str(error.value).endswith(
        ", so numbers in it are lost; copy it again as a binary file, or capture again"
    )


def zip_bytes(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("vm.xplane.pb", data)
    return buffer.getvalue()


def tar_bytes(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("vm.xplane.pb")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (gzip.compress, "is compressed with gzip; uncompress it (gunzip)"),
        (bz2.compress, "is compressed with bzip2; uncompress it (bunzip2)"),
        (lzma.compress, "is compressed with XZ; uncompress it (unxz)"),
        (lambda data: b"\x28\xb5\x2f\xfd" + data, "is compressed with Zstandard; uncompress it (unzstd)"),
        (zip_bytes, "is a ZIP archive; unpack it, and specify a .xplane.pb file in it"),
        (tar_bytes, "is a tar archive; unpack it, and specify a .xplane.pb file in it"),
        (base64.b64encode, "is base64 text; decode it (base64 -d)"),
        (base64.encodebytes, "is base64 text; decode it (base64 -d)"),
        (lambda data: bytes(len(data)), "begins with zeros only, as after a full disk or an interrupted transfer"),
        (lambda _: b'{"displayTimeUnit":"ns","traceEvents":[]}', "is JSON; specify the .xplane.pb file of the profile"),
        (lambda _: b"\n<!DOCTYPE html><html>", "is a web page, such as a server's login page;"),
        (lambda _: b'<?xml version="1.0"?><Error><Code>AccessDenied', "is XML, such as a store's refusal;"),
        (lambda _: b"version https://git-lfs.github.com/spec/v1\n", "is a Git LFS pointer, not the file itself"),
    ],
)  # fmt: skip
def test_other_file_types_are_named(
    capture: bytes, change: Callable[[bytes], bytes], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "vm.xplane.pb"
    file.write_bytes(change(capture[: 1 << 17]))
    with pytest.raises(InputError) as error:
        xi.load(str(file))
    assert str(error.value).startswith(f"{file}: the file {message}")


def test_a_file_that_is_cut_short_is_no_text(capture: bytes, tmp_path: Path) -> None:
    file = tmp_path / "vm.xplane.pb"
    file.write_bytes(capture[: len(capture) // 2])
    assert "truncated_file" in {row["id"] for row in xi.load(str(file)).report()["diagnostics"]}


@pytest.mark.parametrize("text", ["Ein Text mit Ümläuten, äöüßÄÖÜß.\n" * 9, "lines\r\nof text\r\n" * 9])
def test_a_text_is_no_capture(text: str, tmp_path: Path) -> None:
    file = tmp_path / "vm.xplane.pb"
    file.write_bytes(text.encode())
    with pytest.raises(InputError, match="not an XPlane file"):
        xi.load(str(file))


def test_another_file_of_a_profile_is_no_capture(tmp_path: Path) -> None:
    """`op_stats_v2.pb` has messages in the fields of planes, of errors and of warnings."""
    file = tmp_path / "ALL_HOSTS.op_stats_v2.pb"
    file.write_bytes(b"\x0a\x02\x08\x05\x12\x03abc\x1a\x03def")
    with pytest.raises(InputError, match="not an XPlane file"):
        xi.load(str(file))
