"""Captures that something took for text on their way."""

from __future__ import annotations

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
    ("change", "said"),
    [
        (lambda data: data.decode("utf-8", "replace").encode(), "was decoded as text and written as UTF-8"),
        (lambda data: data.decode("latin-1").encode(), "was decoded as text and written as UTF-8"),
        (lambda data: data.replace(b"\n", b"\r\n"), "had its line ends converted as those of text"),
    ],
)
def test_it_is_said_what_was_done(
    capture: bytes, change: Callable[[bytes], bytes], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "vm.xplane.pb"
    file.write_bytes(change(capture))
    with pytest.raises(InputError) as error:
        xi.load(str(file))
    assert str(error.value) == (
        f"{file}: the file {said}, so numbers in it are lost; copy it again as a binary file, or capture again"
    )


def test_a_file_that_is_cut_short_is_no_text(capture: bytes, tmp_path: Path) -> None:
    file = tmp_path / "vm.xplane.pb"
    file.write_bytes(capture[: len(capture) // 2])
    assert "truncated_file" in {it["id"] for it in xi.load(str(file)).report()["diagnostics"]}


@pytest.mark.parametrize("text", ["Ein Text mit Ümläuten, äöüßÄÖÜß.\n" * 9, "lines\r\nof text\r\n" * 9])
def test_a_text_is_no_capture(text: str, tmp_path: Path) -> None:
    file = tmp_path / "vm.xplane.pb"
    file.write_bytes(text.encode())
    with pytest.raises(InputError, match="not an XPlane file"):
        xi.load(str(file))
