"""The Python interface: reports, windows, and tables as data frames."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import MS, write_session
from synthetic.writer import Space

import tb_xla_insights as xi
from tb_xla_insights.cli.main import main
from tb_xla_insights.errors import NoDeviceError

OLD = "2026_01_01_00_00_00"


def test_the_python_interface_returns_the_same_report(
    logdir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = xi.load(str(logdir), session=OLD)
    assert main(["report", "--json", str(logdir), "--session", OLD]) == 0
    assert session.report() == json.loads(capsys.readouterr().out)
    assert session.name == OLD
    assert session.window(0, session.duration_ps)["duration_ps"] == session.duration_ps
    with pytest.raises(xi.InputError, match="the window is empty"):
        session.window(5, 5)
    with pytest.raises(xi.InputError, match="no device x"):
        session.window(0, 5, "x")


@pytest.mark.parametrize("hosts", ["a", "ab"])
def test_a_session_outlasts_a_change_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosts: str
) -> None:
    (write_session(tmp_path / "logs", *hosts) / "description.txt").write_text("four layers\n")
    monkeypatch.chdir(tmp_path)
    session, expected = xi.load("logs"), xi.load("logs").report()
    assert expected["session"]["description"] == "four layers"
    monkeypatch.chdir("/")
    assert session.report() == expected


@pytest.mark.parametrize("hosts", ["a", "ab"])
def test_a_pickled_session_reads_its_files_again(tmp_path: Path, hosts: str) -> None:
    directory = write_session(tmp_path / "logs", *hosts)
    catalog = tmp_path / "names.json"
    catalog.write_text('{"groups": [{"class": "input", "names": ["load_rows"]}]}')
    session = xi.load(directory, catalog=catalog)
    expected = session.report()
    pickled = pickle.dumps(session)
    copy = pickle.loads(pickled)
    assert copy.report() == expected
    assert copy.hosts.catalog.knows("load_rows")
    (directory / "a.xplane.pb").unlink()
    if hosts == "a":
        with pytest.raises(xi.InputError, match=r"a\.xplane\.pb"):
            pickle.loads(pickled)


def test_errors_are_the_same_in_another_process() -> None:
    error = NoDeviceError("run", "x", ["w/TPU:0"])
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (NoDeviceError, str(error))


def test_dots_after_a_link_lead_to_the_directory_above_its_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path / "real/logs/plugins/profile/right", "a")
    write_session(tmp_path / "here/logs/plugins/profile/wrong", "a")
    (tmp_path / "real/sub").mkdir()
    (tmp_path / "here/link").symlink_to(tmp_path / "real/sub")
    monkeypatch.chdir(tmp_path / "here")
    assert [xi.load(path).name for path in ("link/../logs", f"{tmp_path}/here/link/../logs")] == ["right"] * 2


def test_an_entry_of_a_directory_is_a_path(tmp_path: Path) -> None:
    write_session(tmp_path / "run/plugins/profile/s", "a")
    [entry] = os.scandir(tmp_path)
    assert xi.load(entry).name == "s"


def test_a_relative_path_needs_a_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "removed").mkdir()
    monkeypatch.chdir(tmp_path / "removed")
    (tmp_path / "removed").rmdir()
    for path in ("logs", "../logs"):
        with pytest.raises(
            xi.InputError, match=f"^{path}: the working directory was removed; give an absolute path"
        ):
            xi.load(path)


@pytest.mark.parametrize("number", [float, np.int64, np.float64])
def test_whole_numbers_of_any_type_are_instants_and_steps(logdir: Path, number: Callable[[int], Any]) -> None:
    session = xi.load(logdir, session=OLD)
    assert json.dumps(session.window(number(0), number(5 * MS))) == json.dumps(session.window(0, 5 * MS))
    assert json.dumps(session.propagation(step=number(1))) == json.dumps(session.propagation(step=1))
    assert json.dumps(session.device_work(step=number(1))) == json.dumps(session.device_work(step=1))


@pytest.mark.parametrize("value", [1.5, float("nan"), float("inf"), "1", None, 10**30])
def test_other_instants_and_steps_are_wrong_input(logdir: Path, value: Any) -> None:
    session = xi.load(logdir, session=OLD)
    with pytest.raises(xi.InputError, match=r"end_ps is .*; give a whole number"):
        session.window(0, value)
    if value is not None:
        for method in (session.propagation, session.device_work):
            with pytest.raises(xi.InputError, match=r"step is .*; give a whole number"):
                method(step=value)


@pytest.mark.parametrize("samples", [0, -1, float("nan"), float("inf"), "64", 10**400])
def test_samples_per_step_are_above_0(logdir: Path, samples: Any) -> None:
    session = xi.load(logdir, session=OLD)
    with pytest.raises(xi.InputError, match="is not a number of samples per step"):
        session.report(samples_per_step=samples)
    with pytest.raises(xi.InputError, match="is not a number of samples per step"):
        session.compare(session, samples_per_step=(None, samples))


@pytest.mark.parametrize("samples", [64, (64,), (64, 64, 64)])
def test_samples_per_step_of_a_comparison_are_a_pair(logdir: Path, samples: Any) -> None:
    session = xi.load(logdir, session=OLD)
    with pytest.raises(xi.InputError, match="is no pair of samples per step"):
        session.compare(session, samples_per_step=samples)


@pytest.mark.parametrize("samples", [np.int64(3), np.float32(3), 3.0])
def test_samples_per_step_may_be_numbers_of_numpy(logdir: Path, samples: float) -> None:
    session = xi.load(logdir, session=OLD)
    given = json.dumps(session.report(samples_per_step=samples))
    assert given == json.dumps(session.report(samples_per_step=3))
    assert json.dumps(session.compare(session, samples_per_step=(samples, None))["a"]["throughput"])


@pytest.mark.parametrize("hosts", ["a", "ab"])
def test_a_change_of_an_answer_changes_no_later_one(tmp_path: Path, hosts: str) -> None:
    session = xi.load(write_session(tmp_path / "s", *hosts))
    tables = [
        session.devices, session.steps, session.gaps, session.executions, session.compiles, session.transfers,
        session.collectives, session.ops, session.findings, session.annotations,
    ]  # fmt: skip
    answers: list[Callable[[], Any]] = [
        *(lambda table=table: list(table()) for table in tables),
        session.report, lambda: session.window(0, 5 * MS), lambda: session.compare(session),
        session.propagation, session.device_work, session._repr_html_,
    ]  # fmt: skip
    before = [json.dumps(answer()) for answer in answers]
    for answer in answers:
        _empty(answer())
    assert [json.dumps(answer()) for answer in answers] == before


def _empty(document: Any) -> None:
    """Removes everything from a document, from the inside out."""
    if isinstance(document, dict | list):
        for value in list(document.values() if isinstance(document, dict) else document):
            _empty(value)
        document.clear()


def test_of_many_devices_an_error_names_the_first() -> None:
    devices = [f"w/TPU:{number}" for number in range(4096)]
    message = str(NoDeviceError("run", "x", devices))
    assert message.startswith("run: no device x; it has w/TPU:0, w/TPU:1, ")
    assert message.endswith("w/TPU:15 and 4080 more")
    assert str(NoDeviceError("run", "x", devices[:2])) == "run: no device x; it has w/TPU:0, w/TPU:1"


def test_tables_become_data_frames(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = xi.load(str(logdir / "plugins/profile" / OLD))
    annotations = session.annotations()
    assert annotations.columns == ["name", "host", "thread", "start_ps", "duration_ps"]
    assert [row["name"] for row in annotations].count("forward") == 3
    assert list(session.devices().to_pandas()["busy_ps"]) == [15 * MS]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"tb-xla-insights\[pandas\]"):
        annotations.to_pandas()


def test_a_table_without_rows_has_columns(tmp_path: Path) -> None:
    directory = write_session(tmp_path / "s", "a")
    with_rows = xi.load(directory)
    space = Space()
    space.plane("/host:CPU").line("python").event("ThreadpoolListener::Record", 0, 1)
    space.write(directory / "a.xplane.pb")
    without = xi.load(directory)
    for name in ("devices", "steps", "gaps", "executions", "ops", "findings", "annotations"):
        assert len(getattr(with_rows, name)()) > 0, name
        table = getattr(without, name)()
        assert (len(table), sorted(table.columns)) == (0, sorted(getattr(with_rows, name)().columns))
        assert list(table.to_pandas().columns) == table.columns == table[:0].columns
    assert "duration_ps" in without.collectives().columns
    assert "warm_up" in without.compiles().columns


def test_a_slice_of_a_table_is_a_table() -> None:
    table = xi.Table([{"a": 1}, {"a": 2}])
    assert isinstance(table[1:], xi.Table)
    assert (len(table), table[0], list(table[1:])) == (2, {"a": 1}, [{"a": 2}])
    assert xi.Table([]).columns == []
    assert [repr(part) for part in (table, table[1:], table[2:])] == [
        "Table(2 rows: a)",
        "Table(1 row: a)",
        "Table(0 rows)",
    ]
