"""`xla-insights export`: the files that it writes, and its errors."""

from __future__ import annotations

import csv
import gzip
import json
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from helpers import MS, small_space
from synthetic.__main__ import LOGDIR

import tb_xla_insights as xi
from tb_xla_insights.cli.main import main
from tb_xla_insights.export import tables as export_tables

SESSION = str(LOGDIR / "torch_xla_dynamic_shapes")
Capsys = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def report() -> Any:
    return xi.load(SESSION).report(all_gaps=True)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_trace(tmp_path: Path, capsys: Capsys) -> None:
    plain, compressed = tmp_path / "trace.json", tmp_path / "trace.json.gz"
    for path in (plain, compressed):
        assert main(["export", SESSION, "--format", "chrome", "-o", str(path)]) == 0
    [first, second] = capsys.readouterr().out.splitlines()
    events = [event for event in json.loads(plain.read_bytes())["traceEvents"] if event["ph"] == "X"]
    assert first == f"{plain}: {len(events)} events"
    assert second.startswith(str(compressed))
    assert gzip.decompress(compressed.read_bytes()) == plain.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trace.json", "trace.json.gz"]


def test_tables_as_csv(tmp_path: Path, capsys: Capsys, report: dict[str, Any]) -> None:
    assert main(["export", SESSION, "--format", "csv", "-o", str(tmp_path / "new" / "tables")]) == 0
    folder = tmp_path / "new" / "tables"
    lines = capsys.readouterr().out.splitlines()
    assert f"{folder / 'steps.csv'}: {len(report['steps'])} rows" in lines
    steps = rows(folder / "steps.csv")
    for row, step in zip(steps, report["steps"], strict=True):
        assert int(row["duration_ps"]) == step["duration_ps"]
        host = {name.partition(".")[2]: int(ps) for name, ps in row.items() if name.startswith("host_ps.")}
        assert sum(host.values()) == step["duration_ps"]
        assert {name: ps for name, ps in host.items() if ps} == step["host_ps"]
    for row, device in zip(rows(folder / "devices.csv"), report["devices"], strict=True):
        assert int(row["duty.modules.busy_ps"]) == device["duty"]["modules"]["busy_ps"]
        assert None not in row
    gaps = rows(folder / "gaps.csv")
    assert sum(int(row["duration_ps"]) for row in gaps) == report["gaps"]["listed_ps"]
    chains = rows(folder / "gap_chains.csv")
    assert sum(int(row["duration_ps"]) for row in chains) == report["gaps"]["listed_ps"]
    assert len(rows(folder / "compiles.csv")) == len(report["compiles"]) > 0
    executions = rows(folder / "executions.csv")
    assert json.loads(executions[0]["program_ids"]) == report["executions"][0]["program_ids"]
    assert [row["direction"] for row in rows(folder / "transfers.csv")] == ["to_device", "from_device"]
    paths = {row["path"] for row in rows(folder / "annotations.csv")}
    assert paths == {row["path"] for row in report["annotations"]}
    assert rows(folder / "annotation_events.csv")[0]["name"] == "Training_Step"


def test_tables_as_parquet(tmp_path: Path, report: dict[str, Any]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    assert main(["export", SESSION, "--format", "parquet", "-o", str(tmp_path)]) == 0
    table = parquet.read_table(tmp_path / "gaps.parquet")
    assert table.column("duration_ps").to_pylist() == [gap["duration_ps"] for gap in report["gaps"]["items"]]
    assert str(table.schema.field("step").type) == "int64"  # a gap after the last step has none
    assert {path.stem for path in tmp_path.iterdir()} >= {
        "steps",
        "gaps",
        "executions",
        "compiles",
        "annotations",
    }


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_tables_of_an_earlier_export_are_removed_if_empty_now(
    file_format: str, tmp_path: Path, capsys: Capsys
) -> None:
    if file_format == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    (tmp_path / "notes.csv").write_text("kept")
    command = ["--format", file_format, "-o", str(tmp_path)]
    assert main(["export", SESSION, *command]) == 0
    assert (tmp_path / f"compiles.{file_format}").exists()
    capsys.readouterr()
    assert main(["export", str(LOGDIR / "torch_xla_baseline"), *command]) == 0
    notes = dict(line.split(": ") for line in capsys.readouterr().out.splitlines())
    assert notes[str(tmp_path / f"compiles.{file_format}")] == "removed, no rows"
    written = {
        path for path, note in notes.items() if note.endswith(("row", "rows")) and "removed" not in note
    }
    assert {str(path) for path in tmp_path.iterdir()} == written | {str(tmp_path / "notes.csv")}


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    """Spreadsheets evaluate texts that begin like formulas. Numbers remain numbers, and other texts are unchanged."""
    guarded = ["=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "\n=1", '=HYPERLINK("x";"y")', "-"]
    names = [*guarded, "a=1", "'x", "-1", "+2.5e3"]
    space = small_space()
    line = space.plane("/host:extra").line("python", timestamp_ns=1_700_000_000_000_000_000)
    for number, name in enumerate(names):
        line.event(name, number * MS, MS, _r=1)
    space.write(tmp_path / "vm.xplane.pb")
    assert main(["export", str(tmp_path / "vm.xplane.pb"), "--format", "csv", "-o", str(tmp_path)]) == 0
    cells = {row["name"] for row in rows(tmp_path / "annotation_events.csv")}
    assert cells >= {f"'{name}" for name in guarded} | set(names[len(guarded) :])
    for path in tmp_path.glob("*.csv"):
        for row in rows(path):
            assert not [
                cell for cell in row.values() if cell[:1] in "=+-@\t\r\n" and cell and not _is_number(cell)
            ]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_names_that_are_not_valid_text(file_format: str, tmp_path: Path) -> None:
    if file_format == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    capture = tmp_path / os.fsdecode(b"host\xff.xplane.pb")
    capture.write_bytes(next(Path(SESSION).rglob("*.xplane.pb")).read_bytes())
    assert main(["export", str(capture), "--format", file_format, "-o", str(tmp_path)]) == 0
    assert b"host\\udcff/CPU:0" in (tmp_path / f"devices.{file_format}").read_bytes()


@pytest.mark.usefixtures("packed_page")
@pytest.mark.parametrize("command", [["export", "--format", "csv", "-o"], ["report", "--html"]])
def test_a_failed_write_leaves_the_existing_file(
    command: list[str], tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The limit would truncate compiled modules without an error.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("page.html", "steps.csv"):
        (tmp_path / name).write_text("old")
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard_limit))
    try:
        output = tmp_path if command[0] == "export" else tmp_path / "page.html"
        assert main([*command, str(output), SESSION]) == 3
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft_limit, hard_limit))
    [line] = capsys.readouterr().err.splitlines()
    assert "File too large; give a f" in line
    assert [(tmp_path / name).read_text() for name in ("page.html", "steps.csv")] == ["old", "old"]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_without_pyarrow_the_error_names_the_remedy(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["export", SESSION, "--format", "parquet", "-o", str(tmp_path)]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert 'pip install "tb-xla-insights[parquet]"' in line


@pytest.mark.parametrize("file_format", ["chrome", "csv"])
def test_an_unwritable_output(file_format: str, tmp_path: Path, capsys: Capsys) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert main(["export", SESSION, "--format", file_format, "-o", str(blocked / "below")]) == 3
    [line] = capsys.readouterr().err.splitlines()
    assert "can be written with -o" in line


@pytest.mark.parametrize("output", ["", ".", "/"])
def test_a_directory_as_the_output_of_a_trace(output: str, capsys: Capsys) -> None:
    assert main(["export", SESSION, "--format", "chrome", "-o", output]) == 3
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("Is a directory; give a file that can be written with -o")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    link, file = tmp_path / "link.json", tmp_path / "trace.json"
    file.write_text("old")
    link.symlink_to(file)
    assert main(["export", SESSION, "--format", "chrome", "-o", str(link)]) == 0
    assert link.is_symlink()
    assert json.loads(file.read_bytes())["traceEvents"]


@pytest.mark.parametrize("piped", [True, False])
def test_stdout_has_only_the_trace(piped: bool, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tb_xla_insights", "export", SESSION, "--format", "chrome"]
    with (tmp_path / "trace.json").open("w+b") as file:
        stdout = subprocess.PIPE if piped else file
        process = subprocess.run(
            [*command, "-o", "/dev/stdout"], stdout=stdout, stderr=subprocess.PIPE, check=True
        )
        file.seek(0)
        assert json.loads(process.stdout or file.read())["traceEvents"]
    assert process.stderr.startswith(b"/dev/stdout: ")


@pytest.mark.usefixtures("packed_page")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["export", "--format", "chrome", "-o", "/dev/stdout"], 0, ""),
        (["report", "--html", "/dev/stdout"], 0, ""),
        (
            ["report", "--fail-on", "warning", "--html", "/dev/stdout"],
            1,
            (
                "finding (critical): The device waits while the host builds the graph\n"
                "finding (warning): SyncTensorsGraph.608 is compiled in step 5\n"
            ),
        ),
    ],
)
def test_an_output_whose_reader_closes_the_pipe_is_no_error(
    arguments: list[str], code: int, message: str
) -> None:
    """As with `-o /dev/stdout | head`. Both outputs are longer than what the pipe and the first read take: 72 KiB."""
    command = [sys.executable, "-m", "tb_xla_insights", *arguments, SESSION]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == message
    assert process.returncode == code


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        content = threads.submit(pipe.read_bytes)
        assert main(["export", SESSION, "--format", "chrome", "-o", str(pipe)]) == 0
        assert json.loads(content.result())["traceEvents"]
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    "arguments", [[], ["x"], ["x", "--format", "xml", "-o", "y"], ["x", "--format", "csv"]]
)
def test_wrong_usage_is_one_line(arguments: list[str], capsys: Capsys) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["export", *arguments])
    assert exit_info.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("--help")


def test_numbers_beyond_64_bits_are_floats_in_parquet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The FLOPs of a pod can exceed 64 bits. Its smaller sums may be more than a float holds exactly."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    ops = [{"flops": flops, "count": 1} for flops in (1, (1 << 53) + 1, None, 1 << 70)]
    monkeypatch.setattr(export_tables, "tables", lambda _: {"ops": ops})
    export_tables.write_parquet(xi.load(SESSION), tmp_path)
    table = parquet.read_table(tmp_path / "ops.parquet")
    assert table.column("flops").to_pylist() == [1.0, 2.0**53, None, 2.0**70]
    assert table.column("count").to_pylist() == [1] * 4
