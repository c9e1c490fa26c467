"""Text files named by users: every fault is reported quickly, in one line."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from helpers import write_session

from tb_xla_insights.cli.main import main
from tb_xla_insights.files.texts import MAX_TEXT_BYTES, TextError, parse_json, read_text

Capsys = pytest.CaptureFixture[str]
DIGITS = "9" * 5000


def link_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_folder(path: Path) -> None:
    path.mkdir()


def write_sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 << 30)


def link_loop(path: Path) -> None:
    path.symlink_to(path)


def write(content: str | bytes) -> Any:
    return lambda path: path.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_a_directory_leaves_no_open_file(tmp_path: Path) -> None:
    def next_descriptor() -> int:
        descriptor = os.open(os.devnull, os.O_RDONLY)
        os.close(descriptor)
        return descriptor

    before = next_descriptor()
    with pytest.raises(IsADirectoryError):
        read_text(str(tmp_path))
    assert next_descriptor() == before


@pytest.mark.parametrize(
    ("create", "catalog_error", "pairs_error"),
    [
        (link_zeros, "larger than 8 MB", "larger than 8 MB"),
        (make_pipe, "Expecting value", "no pairs"),
        (make_folder, "Is a directory", "Is a directory"),
        (write_sparse, "larger than 8 MB", "larger than 8 MB"),
        (link_loop, "Too many levels of symbolic links", "Too many levels of symbolic links"),
        (write(b"\xff\x00{"), "byte 0: not UTF-8 or UTF-16 text", "byte 0: not UTF-8 or UTF-16 text"),
        (write(b"\xef\xbb\xbf\xff"), "byte 3: not UTF-8", "byte 3: not UTF-8"),
        (write(b"a,b\n\0,\0\n"), "line 1, column 1", "'\\x00' is not a session"),
        (write("[" * 100_000), "nested too deeply", "no pairs"),
        (write('{"groups":' * 100_000), "nested too deeply", "field larger than field limit"),
        (write('{"groups": [NaN]}'), "NaN is not JSON", "no pairs"),
        (write('{"groups": [Infinity]}'), "Infinity is not JSON", "no pairs"),
        (write(f'{{"groups": [{DIGITS}]}}'), "a number has too many digits", "no pairs"),
        (write(f"a,b\n{DIGITS},2\n"), "line 1, column 1", "is not a session; give a path or a time in ms"),
        (write(f"model,x\nm,{DIGITS}\n"), "line 1, column 1", "is not a speed-up; write numbers like"),
        (write("model,x\nm,NaN\n"), "line 1, column 1", "'NaN' is not a speed-up"),
        (write("model,x\nm,1e400\n"), "line 1, column 1", "'1e400' is not a speed-up"),
        (write("x" * 200_000 + ",b\n1,2\n"), "line 1, column 1", "field larger than field limit"),
        (
            write(json.dumps({"groups": [{"class": "x" * 10**6}]})),
            "is not a class",
            "field larger than field limit",
        ),
        (write(json.dumps({"groups": [{"class": {"a": [1]}}]})), "is not a class", "no pairs"),
    ],
)
def test_every_bad_text_file_is_a_one_line_error(
    create: Any, catalog_error: str, pairs_error: str, tmp_path: Path, capsys: Capsys
) -> None:
    session, path = write_session(tmp_path / "s", "vm"), tmp_path / "text"
    create(path)
    for command, reason in (
        (["report", str(session), "--catalog", str(path)], catalog_error),
        (["compare", "--pairs", str(path)], pairs_error),
    ):
        assert main(command) == 3
        printed = capsys.readouterr()
        assert printed.out == ""
        [line] = printed.err.splitlines()
        assert line.startswith(f"xla-insights: {path}")
        assert reason in line
        assert len(line) < 1000


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--samples-per-step", DIGITS),
        ("--samples-per-step", "1e308"),
        ("--samples-per-step", "nan"),
        ("--peaks", f"{DIGITS},1"),
        ("--peaks", "inf,1"),
    ],
)
def test_numbers_of_options(option: str, value: str, tmp_path: Path, capsys: Capsys) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["report", str(write_session(tmp_path / "s", "vm")), option, value])
    assert exit_info.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert len(line) < 1000


class TestReading:
    def test_a_pipe_with_a_writer(self) -> None:
        """A shell's `<(…)` is such a pipe."""
        read_end, write_end = os.pipe()

        def fill() -> None:
            with os.fdopen(write_end, "wb") as file:
                file.write(b"x" * 100_000)

        writer = threading.Thread(target=fill)
        writer.start()
        assert read_text(f"/dev/fd/{read_end}") == "x" * 100_000
        writer.join()
        os.close(read_end)

    def test_up_to_the_limit(self, tmp_path: Path) -> None:
        (tmp_path / "large").write_bytes(b"x" * MAX_TEXT_BYTES)
        assert len(read_text(str(tmp_path / "large"))) == MAX_TEXT_BYTES
        (tmp_path / "large").write_bytes(b"x" * (MAX_TEXT_BYTES + 1))
        with pytest.raises(TextError, match="larger than 8 MB"):
            read_text(str(tmp_path / "large"))

    def test_texts_written_by_powershell(self, tmp_path: Path) -> None:
        (tmp_path / "text").write_text("\ufeffµ", encoding="utf-16-le")
        assert read_text(str(tmp_path / "text")) == "µ"

    @pytest.mark.parametrize("document", [b'{"a": "\xff"}', "", "{'a': 1}", "1 2", '"\ud800', '{"a": 1e}'])
    def test_invalid_json(self, document: str | bytes) -> None:
        with pytest.raises(TextError):
            parse_json(document)
