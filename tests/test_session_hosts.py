"""Sessions of several hosts: every answer without all traces in memory equals that of the whole session."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from helpers import MS, small_space

import tb_xla_insights as xi
from tb_xla_insights.cli.main import main
from tb_xla_insights.errors import InputError
from tb_xla_insights.export.chrome import write_chrome
from tb_xla_insights.export.tables import tables
from tb_xla_insights.session import Session

HOSTS = ("w-1", "w-2", "w-10")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Hosts of 2, 3 and 4 steps; the last one begins two milliseconds before the others."""
    path = tmp_path / "plugins/profile/s"
    path.mkdir(parents=True)
    for number, name in enumerate(HOSTS):
        space = small_space(steps=2 + number)
        for plane in space.planes:
            for line in plane.lines:
                line.timestamp_ns -= 2_000_000 * (name == "w-10")
        space.write(path / f"{name}.xplane.pb")
    return path


@pytest.fixture(autouse=True)
def low_host_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three hosts exceed the limit of traces in memory."""
    monkeypatch.setattr("tb_xla_insights.logdir.session_hosts._MAX_HOSTS_IN_MEMORY", 2)


@pytest.fixture
def lazy(folder: Path) -> Session:
    return xi.load(str(folder))


@pytest.fixture
def whole(folder: Path) -> Session:
    """The same session with every host in memory."""
    session = xi.load(str(folder))
    _ = session.trace
    return session


def test_loading_is_lazy(lazy: Session) -> None:
    assert lazy.name == "s"
    assert [reading.state for reading in lazy.hosts.readings] == ["waiting"] * 3


def test_the_report_and_its_tables_are_those_of_the_whole_session(lazy: Session, whole: Session) -> None:
    assert lazy.report() == whole.report()
    assert lazy.report(all_gaps=True, samples_per_step=8) == whole.report(True, 8)
    for name in (
        "devices",
        "steps",
        "gaps",
        "executions",
        "compiles",
        "transfers",
        "collectives",
        "findings",
    ):
        assert list(getattr(lazy, name)()) == list(getattr(whole, name)()), name
    assert list(lazy.annotations()) == list(whole.annotations())
    assert lazy.duration_ps == whole.duration_ps
    assert [reading.state for reading in lazy.hosts.readings] == ["ready"] * 3


@pytest.mark.parametrize("max_spread_ps", [10**12, MS])
@pytest.mark.parametrize(
    "window", [(0, 25 * MS), (3 * MS, 4 * MS), (31 * MS, 90 * MS), (-5 * MS, 1), (0, 2 * 10**12)]
)
def test_windows_are_those_of_the_whole_session(
    lazy: Session,
    whole: Session,
    window: tuple[int, int],
    max_spread_ps: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For hosts that start as close together as in a capture, and for one that starts too far from the others."""
    monkeypatch.setattr("tb_xla_insights.logdir.host_windows._MAX_START_SPREAD_PS", max_spread_ps)
    assert lazy.window(*window) == whole.window(*window)
    device = whole.trace.devices[1].id
    assert lazy.window(*window, device) == whole.window(*window, device)
    assert lazy.hosts.start_unix_ns == whole.trace.start_unix_ns  # also after hosts were read again


def test_a_window_of_an_unknown_device_lists_the_devices(lazy: Session, whole: Session) -> None:
    errors = []
    for session in (lazy, whole):
        with pytest.raises(InputError) as error:
            session.window(0, MS, "nothing")
        errors.append(str(error.value))
    assert errors[0] == errors[1]
    assert all(device.id in errors[0] for device in whole.trace.devices)


def test_comparisons_are_those_of_the_whole_session(lazy: Session, whole: Session) -> None:
    assert lazy.compare(whole) == whole.compare(whole)
    assert whole.compare(lazy) == whole.compare(whole)


def test_exports_are_those_of_the_whole_session(
    folder: Path, tmp_path: Path, lazy: Session, whole: Session
) -> None:
    expected = io.BytesIO()
    write_chrome(whole.trace, expected)
    out = tmp_path / "trace.json"
    assert main(["export", str(folder), "--format", "chrome", "-o", str(out)]) == 0
    assert out.read_bytes() == expected.getvalue()
    assert tables(lazy) == tables(whole)


def test_a_host_that_fails_is_left_out_of_every_answer(folder: Path, capsys: Any) -> None:
    (folder / "w-2.xplane.pb").write_text("<html>")
    lazy, whole = xi.load(str(folder)), xi.load(str(folder))
    assert [trace.host for trace in whole.trace.traces] == ["w-1", "w-10"]
    assert lazy.report() == whole.report()
    assert lazy.window(0, 30 * MS) == whole.window(0, 30 * MS)
    assert lazy.compare(lazy) == whole.compare(whole)
    assert list(lazy.annotations()) == list(whole.annotations())
    assert [diagnostic.id for diagnostic in lazy.diagnostics] == ["skipped_host"]
    for command in (["report", "--json"], ["window", "--start-ms", "0", "--end-ms", "5", "--json"]):
        assert main([command[0], str(folder), *command[1:]]) == 0
        printed = capsys.readouterr()
        json.loads(printed.out)
        [line] = printed.err.splitlines()
        assert line.startswith("warning (w-2): ")


def test_if_all_hosts_fail_every_answer_gives_the_reason(folder: Path) -> None:
    for name in HOSTS:
        (folder / f"{name}.xplane.pb").write_text("<html>")
    session = xi.load(str(folder))
    for request in (session.report, session.annotations, lambda: session.window(0, 1), lambda: session.trace):
        with pytest.raises(InputError, match=r"3 hosts, all fail"):
            request()
