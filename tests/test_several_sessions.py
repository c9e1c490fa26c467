"""Sessions that ranks and hosts leave in folders of their own: offered, and read, as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import small_space

import tb_xla_insights as xi
from tb_xla_insights.cli.main import main
from tb_xla_insights.errors import InputError

A, B, LATER = "2026_08_24_10_00_01", "2026_08_24_10_00_03", "2026_08_24_10_00_09"
STEPS = 400
"""Four seconds."""
NS_PER_STEP = 10**7


def write(
    logdir: Path, session: str, host: str, late_ns: int = 0, program: str = "SyncTensorsGraph.1"
) -> Path:
    """Writes a session of one host, whose capture begins later by so many ns; returns its directory."""
    space = small_space(STEPS)
    for plane in space.planes:
        for line in plane.lines:
            line.timestamp_ns += late_ns
    space.planes[1].event_metadata("SyncTensorsGraph.1").name = program
    directory = logdir / "plugins/profile" / session
    directory.mkdir(parents=True, exist_ok=True)
    space.write(directory / f"{host}.xplane.pb")
    return directory


@pytest.fixture
def two(tmp_path: Path) -> list[str]:
    """Two sessions of one run, the second of which begins two seconds later."""
    return [str(write(tmp_path, A, "host_a")), str(write(tmp_path, B, "host_b", 2 * 10**9))]


def report(*paths: str) -> Any:
    return xi.load(paths).report()


def ids(document: Any) -> set[str]:
    return {diagnostic["id"] for diagnostic in document["diagnostics"]}


def test_the_command_reads_several_paths_as_one_session(
    two: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "--json", *two]) == 0
    document = json.loads(capsys.readouterr().out)
    session = document["session"]
    assert session["name"] == f"{A} + {B}"
    assert [host["name"] for host in session["hosts"]] == ["host_a", "host_b"]
    assert [host["file"] for host in session["hosts"]] == [
        f"{directory}/{host}.xplane.pb" for directory, host in zip(two, ("host_a", "host_b"), strict=True)
    ]
    assert [device["id"] for device in document["devices"]] == ["host_a/TPU:0", "host_b/TPU:0"]
    # The hosts are on one time base: the second begins two seconds, or 200 steps, later.
    starts = [
        next(step["start_ps"] for step in document["steps"] if step["host"] == host)
        for host in ("host_a", "host_b")
    ]
    assert starts[1] - starts[0] == 2 * 10**12
    assert not {"sessions_beside", "hosts_apart", "hosts_differ"} & ids(document)


def test_windows_and_exports_of_several_sessions(two: list[str], tmp_path: Path) -> None:
    assert main(["window", *two, "--start-ms", "2100", "--end-ms", "2200"]) == 0
    assert main(["export", *two, "--format", "csv", "-o", str(tmp_path / "tables")]) == 0
    devices = (tmp_path / "tables/devices.csv").read_text()
    assert "host_a/TPU:0" in devices
    assert "host_b/TPU:0" in devices


def test_hosts_of_equal_names_are_named_with_their_session(tmp_path: Path) -> None:
    """Two processes of a machine, each with a folder of its own."""
    paths = [str(write(tmp_path, session, "vm")) for session in (A, B)]
    assert [host["name"] for host in report(*paths)["session"]["hosts"]] == [f"vm ({A})", f"vm ({B})"]


def test_many_sessions_have_a_short_name(tmp_path: Path) -> None:
    paths = [str(write(tmp_path, f"{A}_{rank}", f"rank_{rank}")) for rank in range(4)]
    assert report(*paths)["session"]["name"] == f"{A}_0 + {A}_1 and 2 more"


def test_what_cannot_be_read_as_one(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"host_a.xplane.pb: given 2 times; name each session once"):
        report(two[0], *two)
    with pytest.raises(SystemExit):
        main(["report", *two, "--session", A])
    assert "--session needs one PATH; name the directories of several sessions" in capsys.readouterr().err


def test_a_session_offers_those_beside_it(two: list[str], tmp_path: Path) -> None:
    write(tmp_path, LATER, "host_a")  # after this capture
    (tmp_path / "plugins/profile" / "2026_08_24_10_00_02").mkdir()  # without a capture
    (tmp_path / "plugins/profile" / "2026_99_24_10_00_02").mkdir()  # no time
    [row] = [row for row in report(two[0])["diagnostics"] if row["id"] == "sessions_beside"]
    assert row["severity"] == "info"
    assert row["message"] == (
        f"Session {B} is named within the 4.00\u202fs of this one: if other hosts or ranks of this run were "
        "recorded there, xla-insights report reads all of them as one session, given their directories."
    )


def test_many_sessions_are_offered_in_one_line(tmp_path: Path) -> None:
    paths = [str(write(tmp_path, f"{A}_{rank}", f"rank_{rank}")) for rank in range(6)]
    [row] = [row for row in report(paths[0])["diagnostics"] if row["id"] == "sessions_beside"]
    assert row["message"].startswith(f"Sessions {A}_1, {A}_2, {A}_3 and 2 more are named within")
    assert "sessions_beside" not in ids(report(*paths))


@pytest.mark.parametrize("session", ["named", LATER])
def test_sessions_of_other_times_are_not_offered(session: str, tmp_path: Path) -> None:
    directory = write(tmp_path, A, "host_a")
    write(tmp_path, session, "host_b")
    assert "sessions_beside" not in ids(report(str(directory)))


def test_captures_of_different_times_are_no_one_session(tmp_path: Path) -> None:
    paths = [str(write(tmp_path, A, "host_a")), str(write(tmp_path, LATER, "host_b", 8 * 10**9))]
    [row] = [row for row in report(*paths)["diagnostics"] if row["id"] == "hosts_apart"]
    assert row["severity"] == "warning"
    assert row["message"].startswith(
        "No instant is recorded on all hosts: host_b begins 4.00\u202fs after host_a ends"
    )


def test_other_programs_are_told_once_they_are_read_as_one(tmp_path: Path) -> None:
    paths = [str(write(tmp_path, A, "host_a")), str(write(tmp_path, B, "host_b", 2 * 10**9, "prefill.7"))]
    assert "hosts_differ" in ids(report(*paths))
