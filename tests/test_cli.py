"""The command line, with outputs and exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import fsspec
import pytest
from helpers import MS, raising, small_space, write_cut_session, write_session

import tb_xla_insights as xi
from tb_xla_insights.cli.main import main

OLD, NEW = "2026_01_01_00_00_00", "run/2026_01_02_00_00_00"
Capsys = pytest.CaptureFixture[str]


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


def parse_document(text: str) -> Any:
    """The text's JSON document, untyped."""
    return json.loads(text)


def failure_line(capsys: Capsys, *arguments: str) -> str:
    """Runs a command that cannot read its input; returns its one line on stderr."""
    assert main(arguments) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert line.startswith("xla-insights: ")
    return line


def usage_line(capsys: Capsys, *arguments: str) -> str:
    """Runs a command with wrong usage; returns its one line on stderr."""
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    assert exit_info.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert line.endswith("--help")
    return line


def test_sessions_are_listed_newest_first(logdir: Path, capsys: Capsys) -> None:
    assert main(["sessions", str(logdir)]) == 0
    words = capsys.readouterr().out.split()
    assert words.index(NEW) < words.index("a") < words.index("b") < words.index(OLD) < words.index("vm")


def test_sessions_as_json(logdir: Path, capsys: Capsys) -> None:
    assert main(["sessions", "--json", str(logdir)]) == 0
    listed = parse_document(capsys.readouterr().out)["sessions"]
    assert [(session["name"], [host["name"] for host in session["hosts"]]) for session in listed] == [
        (NEW, ["a", "b"]),
        (OLD, ["vm"]),
    ]
    assert listed[1]["path"] == str(logdir / "plugins/profile" / OLD)


def test_a_report_as_json(logdir: Path, capsys: Capsys) -> None:
    assert main(["report", str(logdir), "--json"]) == 0
    report = parse_document(capsys.readouterr().out)
    assert report["schema"] == 1
    session = report["session"]
    assert session["name"] == NEW
    assert session["start_unix_ns"] == "1700000000000000000"
    assert session["duration_ps"] == 29 * MS
    assert [host["name"] for host in session["hosts"]] == ["a", "b"]
    assert all(host["events"] == 15 and host["bytes"] > 0 for host in session["hosts"])
    assert {"framework", "runtime", "accelerator", "hlo_scopes"} <= set(report["environment"])
    assert len(report["devices"]) == 2
    for device in report["devices"]:
        assert device["span_ps"] == 25 * MS
        assert device["busy_ps"] == 15 * MS
        assert device["busy_ps"] + device["idle_ps"] == device["span_ps"]
        assert device["duty_cycle"] == pytest.approx(0.6)


def test_a_report_as_text(logdir: Path, capsys: Capsys) -> None:
    assert main(["report", str(logdir), "--session", OLD, "--full"]) == 0
    text = plain(capsys.readouterr().out)
    assert f"Session   {OLD}" in text
    assert "Duration  29.000 ms" in text
    assert "60.0 %" in text
    assert "Busy, ms" in text
    assert "2023-11-14 22:13:20 UTC" in text


@pytest.mark.parametrize(
    ("definition", "share", "definition_text"),
    [
        ("ops", "60.0 %", "to the end of the last of them"),
        ("modules", "60.0 %", "union of program runs"),
        ("capture", "51.7 %", "the whole capture"),
    ],
)
def test_the_duty_cycle_by_each_definition(
    logdir: Path, capsys: Capsys, definition: str, share: str, definition_text: str
) -> None:
    """Three runs with an op each: 15 ms busy, in a span of 25 ms, in a capture of 29 ms."""
    assert main(["report", str(logdir), "--session", OLD, "--duty", definition, "--full"]) == 0
    text = plain(capsys.readouterr().out)
    row = next(line for line in text.splitlines() if line.split()[:1] == ["TPU:0"])
    assert share in row
    assert definition_text in " ".join(text.split())


def test_a_session_is_given_by_its_logdir_directory_or_file(logdir: Path, capsys: Capsys) -> None:
    directory = logdir / "run/plugins/profile/2026_01_02_00_00_00"
    hosts = {}
    for path in (logdir, directory, directory / "a.xplane.pb"):
        assert main(["report", "--json", str(path)]) == 0
        report = parse_document(capsys.readouterr().out)
        hosts[path] = [host["name"] for host in report["session"]["hosts"]]
    assert list(hosts.values()) == [["a", "b"], ["a", "b"], ["a"]]


def test_a_remote_logdir_is_reported_like_a_local_one(capsys: Capsys) -> None:
    system = fsspec.filesystem("memory")
    path = "/cli-test/run/plugins/profile/s/vm.xplane.pb"
    system.pipe_file(path, small_space().to_bytes())
    try:
        assert main(["report", "--json", "memory://cli-test"]) == 0
        report = parse_document(capsys.readouterr().out)
    finally:
        system.rm("/cli-test", recursive=True)
    assert report["session"]["name"] == "run/s"
    assert report["session"]["hosts"][0]["file"] == f"memory://{path}"
    assert report["devices"][0]["busy_ps"] == 15 * MS


def test_a_window_adds_up(logdir: Path, capsys: Capsys) -> None:
    command = ["window", str(logdir), "--session", OLD, "--start-ms", "1", "--end-ms", "11.5"]
    assert main([*command, "--json"]) == 0
    window = parse_document(capsys.readouterr().out)
    assert (window["start_ps"], window["end_ps"]) == (MS, 11_500_000_000)
    assert window["duration_ps"] == 10_500_000_000
    for host in window["hosts"]:
        assert sum(host["by_class_ps"].values()) == window["duration_ps"]
    [device] = window["devices"]
    assert device["busy_ps"] == 5 * MS
    assert main(command) == 0
    text = plain(capsys.readouterr().out)
    assert "Window  1.000 – 11.500 ms, 10.500 ms long" in text
    assert "forward" in text
    classes = text[text.index("What vm did") : text.index("Threads")]
    shown = re.findall(r" (\d+\.\d{3}) ", classes)
    assert sum(int(time.replace(".", "")) for time in shown) == 10_500  # rounded parts add up too


def test_the_ends_of_a_short_window_are_shown_apart(logdir: Path, capsys: Capsys) -> None:
    command = ["window", str(logdir), "--session", OLD, "--start-ms", "1", "--end-ms", "1.000000001"]
    assert main(command) == 0
    assert "Window  1.000000000 – 1.000000001 ms, 0.001 ns long" in plain(capsys.readouterr().out)


def test_a_window_without_events_has_no_empty_tables(logdir: Path, capsys: Capsys) -> None:
    assert main(["window", str(logdir), "--session", OLD, "--start-ms", "5000", "--end-ms", "5001"]) == 0
    text = capsys.readouterr().out
    assert "What vm did" in text
    assert not {"Threads", "Longest by own time"} & set(text.splitlines())


def test_a_window_of_one_device(logdir: Path, capsys: Capsys) -> None:
    assert main(["report", str(logdir), "--json"]) == 0
    device = parse_document(capsys.readouterr().out)["devices"][1]["id"]
    command = ["window", str(logdir), "--start-ms", "0", "--end-ms", "9", "--json", "--device"]
    assert main([*command, device]) == 0
    assert [row["id"] for row in parse_document(capsys.readouterr().out)["devices"]] == [device]
    assert "no device nothing" in usage_line(capsys, *command, "nothing")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nothing"],
        ["report"],
        ["report", "x", "--nothing"],
        ["window", "x"],
        ["window", "x", "--start-ms", "a", "--end-ms", "1"],
        ["window", "x", "--start-ms", "2", "--end-ms", "1"],
        ["window", "x", "--start-ms", "0", "--end-ms", "99999999999999"],
        ["window", "x", "--start-ms=-99999999999999", "--end-ms", "1"],
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], capsys: Capsys) -> None:
    usage_line(capsys, *arguments)


@pytest.mark.parametrize("command", ["sessions", "report", "capture"])
def test_an_unknown_option_refers_to_the_help_of_the_command(command: str, capsys: Capsys) -> None:
    paths = ["localhost:1", "logdir"] if command == "capture" else ["logdir"]
    unknown = ["--nothing"] if command == "report" else ["other", "--nothing"]
    line = usage_line(capsys, command, *paths, *unknown)
    text = f"unrecognized arguments: {' '.join(unknown)}"
    assert line == f"xla-insights {command}: {text}; see xla-insights {command} --help"


def test_the_help_of_json_promises_picoseconds_where_the_document_has_them(capsys: Capsys) -> None:
    """`sessions --json` has nanoseconds, `capture --json` no times."""
    commands = ("sessions", "report", "window", "capture", "compare")
    with_picoseconds = set()
    for command in commands:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        if "picoseconds" in capsys.readouterr().out:
            with_picoseconds.add(command)
    assert with_picoseconds == {"report", "window", "compare"}


@pytest.mark.parametrize(
    "command", [["sessions"], ["report"], ["window", "--start-ms", "0", "--end-ms", "1"]]
)
class TestBadInput:
    def test_a_missing_path(self, command: list[str], tmp_path: Path, capsys: Capsys) -> None:
        path = str(tmp_path / "missing")
        assert (
            failure_line(capsys, *command, path)
            == f"xla-insights: {path}: no such file or directory; check the path"
        )

    def test_an_empty_directory(self, command: list[str], tmp_path: Path, capsys: Capsys) -> None:
        assert "no profile under this directory" in failure_line(capsys, *command, str(tmp_path))

    def test_a_url_of_an_unknown_scheme(self, command: list[str], capsys: Capsys) -> None:
        assert "nothing://x: " in failure_line(capsys, *command, "nothing://x")


def test_a_session_of_another_name(logdir: Path, capsys: Capsys) -> None:
    line = failure_line(capsys, "report", str(logdir), "--session", "nothing")
    assert line.endswith(f"no session nothing; there are {NEW}, {OLD}")


@pytest.mark.parametrize("content", [b"", b"\x00", b"<html>", b"\xff" * 1000])
def test_a_file_that_is_not_a_capture(tmp_path: Path, content: bytes, capsys: Capsys) -> None:
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(content)
    assert str(path) in failure_line(capsys, "report", str(path))


@pytest.mark.parametrize("name", ["vm.xplane.pb", "vm.xplane.riegeli"])
def test_an_empty_file(name: str, tmp_path: Path, capsys: Capsys) -> None:
    path = tmp_path / name
    path.touch()
    causes = (
        "the profiler was stopped before it wrote the trace, the disk was full, or copying has not finished"
    )
    line = f"xla-insights: {path}: the file is empty: {causes}; copy the file again, or capture again"
    assert failure_line(capsys, "report", str(path)) == line


def test_a_directory_named_like_a_capture(tmp_path: Path, capsys: Capsys) -> None:
    (tmp_path / "plugins/profile/s/vm.xplane.pb").mkdir(parents=True)
    assert "is a directory" in failure_line(capsys, "report", str(tmp_path))


@pytest.mark.parametrize("command", [["report"], ["window", "--start-ms", "0", "--end-ms", "1"]])
def test_special_files_are_refused_without_waiting(
    command: list[str], tmp_path: Path, capsys: Capsys
) -> None:
    pipe = tmp_path / "vm.xplane.pb"
    os.mkfifo(pipe)
    for path, reported_path in (("/dev/null", "/dev/null"), (tmp_path, pipe), (pipe, pipe)):
        line = failure_line(capsys, *command, str(path))
        assert line == f"xla-insights: {reported_path}: is a pipe or a device; specify a .xplane.pb file"


def test_a_truncated_capture_is_reported_with_a_diagnostic(tmp_path: Path, capsys: Capsys) -> None:
    path = write_cut_session(tmp_path, "vm")
    assert main(["report", "--json", str(path)]) == 0
    printed = capsys.readouterr()
    assert "truncated_file" in [diagnostic["id"] for diagnostic in parse_document(printed.out)["diagnostics"]]
    assert printed.err.startswith("warning (vm): ")


def test_an_unreadable_host_is_reported(tmp_path: Path, capsys: Capsys) -> None:
    directory = write_session(tmp_path / "plugins/profile/s", "good")
    (directory / "bad.xplane.pb").write_bytes(b"\xff" * 10)
    assert main(["report", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "Warning (bad): " in text


def test_a_bug_is_a_one_line_error(logdir: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_xla_insights.cli.screen.print_screen", raising(ZeroDivisionError("two\nlines")))
    line = failure_line(capsys, "report", str(logdir))
    assert "ZeroDivisionError: two lines" in line
    monkeypatch.setenv("XLA_INSIGHTS_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["report", str(logdir)])


def test_an_unreadable_catalogue_is_a_one_line_error(logdir: Path) -> None:
    """Even if modules are still being imported by another thread."""
    command = [
        sys.executable,
        "-m",
        "tb_xla_insights",
        "report",
        str(logdir),
        "--catalog",
        str(logdir),
    ]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout) == (3, "")
    assert process.stderr == (
        f"xla-insights: {logdir}: cannot be read (Is a directory); give a JSON file of event groups\n"
    )


def test_an_interrupt_has_no_traceback(logdir: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_xla_insights.cli.reading.read_session", raising(KeyboardInterrupt()))
    assert main(["report", str(logdir)]) == 130
    assert capsys.readouterr().err == "xla-insights: stopped\n"


def test_an_interrupt_that_python_wraps(
    logdir: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Python 3.11 does with exceptions of `__set_name__`, while modules are imported."""

    def stop(*_: object, **__: object) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise RuntimeError("Error calling __set_name__") from error

    monkeypatch.setattr("tb_xla_insights.cli.reading.read_session", stop)
    assert main(["report", str(logdir)]) == 130
    assert capsys.readouterr().err == "xla-insights: stopped\n"


def test_the_module_runs_as_a_command() -> None:
    process = subprocess.run(
        [sys.executable, "-m", "tb_xla_insights", "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    assert process.stdout == f"xla-insights {xi.__version__}\n"
