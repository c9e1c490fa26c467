"""Outputs never overwrite inputs, and are complete or absent."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import write_session

from tb_xla_insights.cli.main import main
from tb_xla_insights.files.replace import replace_atomically

Capsys = pytest.CaptureFixture[str]

pytestmark = pytest.mark.usefixtures("packed_page")

WRITING_COMMANDS = [
    ["report", "--html"],
    ["export", "--format", "chrome", "-o"],
    ["export", "--format", "csv", "-o"],
]


def direct(path: Path) -> str:
    return str(path)


def relative(path: Path) -> str:
    return os.path.relpath(path)


def symbolic(path: Path) -> str:
    (path.parent / "link.html").symlink_to(path)
    (path.parent / "to link.html").symlink_to("link.html")
    return str(path.parent / "to link.html")


def hard(path: Path) -> str:
    os.link(path, path.parent / "hard.html")
    return str(path.parent / "hard.html")


def through_a_folder(path: Path) -> str:
    (path.parents[1] / "folder").symlink_to(path.parent, target_is_directory=True)
    return str(path.parents[1] / "folder" / path.name)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    directory = write_session(tmp_path / "run/plugins/profile/s", "vm")
    (directory / "description.txt").write_text("What it is.")
    (directory / "ours.json").write_text('{"groups": []}')
    return directory


@pytest.mark.parametrize("spelling", [direct, relative, symbolic, hard, through_a_folder])
@pytest.mark.parametrize("command", WRITING_COMMANDS, ids=" ".join)
@pytest.mark.parametrize("name", ["vm.xplane.pb", "description.txt", "ours.json"])
def test_no_output_over_an_input(
    command: list[str], spelling: Callable[[Path], str], name: str, session: Path, capsys: Capsys
) -> None:
    before = (session / name).read_bytes()
    inputs = [str(session / "vm.xplane.pb"), "--catalog", str(session / "ours.json")]
    with pytest.raises(SystemExit) as exit_info:
        main([*command, spelling(session / name), *inputs])
    assert exit_info.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert "; give another file; see xla-insights " in line
    assert (session / name).read_bytes() == before


def test_a_table_name_that_links_to_the_capture_is_refused(
    session: Path, tmp_path: Path, capsys: Capsys
) -> None:
    capture = session / "vm.xplane.pb"
    before = capture.read_bytes()
    (tmp_path / "steps.csv").hardlink_to(capture)
    with pytest.raises(SystemExit):
        main(["export", str(session), "--format", "csv", "-o", str(tmp_path)])
    assert f"{tmp_path / 'steps.csv'} is the capture, {capture}" in capsys.readouterr().err
    assert capture.read_bytes() == before


def test_other_captures_are_refused_as_outputs(session: Path, tmp_path: Path, capsys: Capsys) -> None:
    with pytest.raises(SystemExit):
        main(["report", str(session), "--html", str(tmp_path / "other.xplane.pb")])
    assert "is named like a capture" in capsys.readouterr().err
    assert not (tmp_path / "other.xplane.pb").exists()


def test_new_files_next_to_the_inputs_are_accepted(session: Path) -> None:
    assert main(["report", str(session), "--html", str(session / "page.html")]) == 0
    assert main(["export", str(session), "--format", "csv", "-o", str(session)]) == 0
    assert (session / "steps.csv").exists()


def write_half(path: Path) -> None:
    with replace_atomically(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps working directories")
def test_a_relative_output_in_a_directory_that_is_gone(
    session: Path, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert main(["report", str(session), "--html", "report.html"]) == 3
    assert capsys.readouterr().err == (
        "xla-insights: report.html: No such file or directory; give an absolute path\n"
    )


class TestReplacing:
    def test_a_failed_write_leaves_the_existing_file(self, tmp_path: Path) -> None:
        file, link = tmp_path / "file", tmp_path / "link"
        file.write_text("old")
        file.chmod(0o640)
        link.symlink_to(file)
        for path in (file, link):
            with pytest.raises(KeyboardInterrupt):
                write_half(path)
            assert file.read_text() == "old"
        with replace_atomically(link) as temporary:
            temporary.write_text("new")
        assert (file.read_text(), link.readlink(), file.stat().st_mode & 0o777) == ("new", file, 0o640)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]

    def test_a_new_file_has_the_usual_mode(self, tmp_path: Path) -> None:
        before = os.umask(0o027)
        try:
            with replace_atomically(tmp_path / "new") as temporary:
                temporary.write_text("new")
        finally:
            os.umask(before)
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640

    def test_a_name_as_long_as_names_may_be(self, tmp_path: Path) -> None:
        with replace_atomically(tmp_path / ("x" * 255)) as temporary:
            temporary.write_text("new")
        assert (tmp_path / ("x" * 255)).read_text() == "new"

    def test_the_file_of_a_killed_process_is_removed_and_no_other(self, tmp_path: Path) -> None:
        with replace_atomically(tmp_path / "other") as written:
            abandoned, recent = (written.with_name(f"{written.name}{n}") for n in (1, 2))
            for path in (abandoned, recent):
                path.write_text("half")
            for path in (abandoned, written):
                os.utime(path, (0, 0))
            with replace_atomically(tmp_path / "out") as temporary:
                assert set(tmp_path.iterdir()) == {temporary, written, recent}

    def test_a_file_to_which_this_process_prints_is_written_in_place(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out = (tmp_path / "out").open("w")
        monkeypatch.setattr(os, "fstat", lambda number: os.stat(out.name) if number == 1 else os.stat("/"))
        with out, replace_atomically(Path(out.name)) as temporary:
            assert temporary == Path(out.name)
