"""The Python interface: reports, windows, and tables as data frames."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import MS

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


def test_the_times_of_a_window_are_whole_numbers_of_any_type(logdir: Path) -> None:
    session = xi.load(str(logdir), session=OLD)
    expected = session.window(0, 9 * MS)
    for end in (9e9, np.int64(9 * MS), np.float64(9e9)):
        window = session.window(np.int64(0), end)  # type: ignore[arg-type]
        assert window == expected
        assert json.loads(json.dumps(window)) == window
    for end in (0.5, float("nan"), float("inf"), 10**19):
        with pytest.raises(xi.InputError, match="whole picoseconds"):
            session.window(0, end)  # type: ignore[arg-type]


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
