"""Tasks on a Dask cluster of several processes on this machine."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import dask
import distributed
import pytest
from distributed.cli.dask_scheduler import main as dask_scheduler
from distributed.cli.dask_worker import main as dask_worker
from helpers import refusing_port, write_session
from host_tasks import count, die, die_once
from test_plugin import data, open_session, tensorboard

import tb_xla_insights as xi
from tb_xla_insights.catalog import load_catalog
from tb_xla_insights.cli.main import main
from tb_xla_insights.errors import InputError
from tb_xla_insights.tasks import Failure, HostCapture, HostResult, run
from tb_xla_insights.tasks import cluster as tasks_cluster

NAMES = ("a", "b", "c", "d", "e")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a scheduler with two worker processes."""
    with (
        dask.config.set(
            {
                "distributed.scheduler.allowed-failures": 2,
                # A worker has one host at a time, so that Dask blames no other host for the worker's end.
                "distributed.scheduler.worker-saturation": 1.0,
                # A killed worker comes back; on a busy machine, its process takes longer than Dask waits by default.
                "distributed.deploy.lost-worker-timeout": "10 minutes",
            }
        ),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1"
        ) as cluster,
    ):
        yield cluster.scheduler_address


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return write_session(tmp_path / "plugins/profile/s", *NAMES)


@pytest.fixture
def hosts(session: Path) -> list[HostCapture]:
    paths = [session / f"{name}.xplane.pb" for name in NAMES]
    return [
        HostCapture(name, str(path), 0, i) for i, (name, path) in enumerate(zip(NAMES, paths, strict=True))
    ]


def test_the_documented_cluster_runs_existing_commands() -> None:
    """Distributed 2026.6 removed `dask-worker` and `dask-scheduler` in favour of the subcommands of `dask`."""
    page = (Path(__file__).parents[1] / "docs/clusters.md").read_text()
    containers = [arguments.split(", ") for arguments in re.findall(r"args: \[(.+)\]", page)]
    assert [arguments[:2] for arguments in containers] == [["dask", "worker"], ["dask", "scheduler"]]
    for command, arguments in zip((dask_worker, dask_scheduler), containers, strict=True):
        options = {option for parameter in command.params for option in parameter.opts}
        assert {argument for argument in arguments if argument.startswith("--")} <= options


def values(answers: Iterator[object]) -> list[Any]:
    return [answer.value if isinstance(answer, HostResult) else answer for answer in answers]


def test_workers_read_the_hosts_in_their_order(scheduler: str, hosts: list[HostCapture]) -> None:
    results = values(run(hosts, count, load_catalog(), scheduler))
    assert [result[0] for result in results] == list(NAMES)
    assert os.getpid() not in {result[2] for result in results}


def test_a_report_is_the_same_to_the_byte(
    scheduler: str, session: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logdir = session.parents[2]
    monkeypatch.chdir(logdir.parent)
    for path in (str(logdir), logdir.name):
        texts = []
        for scheduler_option in ([], ["--scheduler", scheduler]):
            assert main(["report", path, "--json", *scheduler_option]) == 0
            texts.append(capsys.readouterr().out)
        assert texts[0] == texts[1]
        assert [host["name"] for host in json.loads(texts[0])["session"]["hosts"]] == list(NAMES)


@pytest.mark.parametrize(
    "command", ["window PATH --start-ms 0 --end-ms 1 --json", "compare PATH PATH --json"]
)
def test_windows_and_comparisons_are_the_same_to_the_byte(
    scheduler: str, session: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    arguments = command.replace("PATH", str(session)).split()
    texts = []
    for scheduler_option in ([], ["--scheduler", scheduler]):
        assert main([*arguments, *scheduler_option]) == 0
        texts.append(capsys.readouterr())
    assert texts[0] == texts[1]
    assert texts[0].out


@pytest.mark.parametrize("file_format", ["chrome", "csv"])
def test_exports_are_the_same_to_the_byte(
    scheduler: str, session: Path, tmp_path: Path, file_format: str
) -> None:
    exports = []
    for name, scheduler_option in (("here", []), ("there", ["--scheduler", scheduler])):
        out = tmp_path / name
        assert main(["export", str(session), "--format", file_format, "-o", str(out), *scheduler_option]) == 0
        files = sorted(out.iterdir()) if out.is_dir() else [out]
        exports.append([(file.suffix, file.read_bytes()) for file in files])
    assert exports[0] == exports[1]
    assert all(content for _, content in exports[0])


def test_workers_read_the_hosts_of_the_tab(scheduler: str, session: Path, tmp_path: Path) -> None:
    answers = []
    for flags in ([], ["--xla_insights_scheduler", scheduler]):
        client = tensorboard("--logdir", str(tmp_path), *flags)
        ready = open_session(client, session.name)
        overview, gaps = (data(client, view, session=session.name) for view in ("overview", "gaps"))
        answers.append(
            (ready["session"], ready["devices"], overview["verdict"], overview["devices"], gaps["items"])
        )
        assert ("chosen_hosts" in ready) == bool(flags)  # only the selected host is in memory
    assert answers[0] == answers[1]


def test_one_host_is_read_by_a_worker_too(scheduler: str, session: Path) -> None:
    path = str(session / "a.xplane.pb")
    assert xi.load(path, scheduler=scheduler).report() == xi.load(path).report()


def test_the_host_of_a_killed_worker_is_read_again(
    scheduler: str, hosts: list[HostCapture], tmp_path: Path
) -> None:
    task = partial(die_once, host_name="c", folder=str(tmp_path))
    results = values(run(hosts, task, load_catalog(), scheduler))
    assert (tmp_path / "died").exists()
    assert [result[0] for result in results] == list(NAMES)


def test_a_host_that_kills_every_worker_is_reported(scheduler: str, hosts: list[HostCapture]) -> None:
    results = values(run(hosts, partial(die, host_name="c"), load_catalog(), scheduler))
    assert [outcome.host.name for outcome in results if isinstance(outcome, Failure)] == ["c"]
    assert len(results) == len(NAMES)


def test_a_worker_that_cannot_see_a_file_is_named(scheduler: str, session: Path) -> None:
    loaded = xi.load(str(session), scheduler=scheduler)
    (session / "b.xplane.pb").unlink()
    report = loaded.report()
    assert [host["name"] for host in report["session"]["hosts"]] == ["a", "c", "d", "e"]
    [skipped] = [diagnostic for diagnostic in report["diagnostics"] if diagnostic["id"] == "skipped_host"]
    assert skipped["host"] == "b"
    assert "worker tcp://127.0.0.1:" in skipped["message"]
    assert "under this path" in skipped["message"]
    for name in ("a", "c", "d", "e"):
        (session / f"{name}.xplane.pb").unlink()
    with pytest.raises(InputError, match="5 hosts, all fail"):
        loaded.report()


def test_a_missing_scheduler_is_a_one_line_error(
    session: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks_cluster, "ANSWER_SECONDS", 1)
    with refusing_port() as port:
        address = f"tcp://127.0.0.1:{port}"
        assert main(["report", str(session), "--scheduler", address]) == 3
    [line] = capsys.readouterr().err.splitlines()
    assert f"{address}: no Dask scheduler answers" in line


@pytest.mark.parametrize(
    "address", ["nonsense://x:1", "localhost", "tcp://:8786", "tcp://localhost:port", "a:65536", ""]
)
def test_an_impossible_scheduler_address_is_a_usage_error(
    session: Path, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["report", str(session), "--scheduler", address])
    assert exit_info.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert f"{address!r} is not a scheduler's address; write it as tcp://HOST:8786" in line
    with pytest.raises(InputError, match="is not a scheduler's address"):
        xi.load(str(session), scheduler=address or "x").report()


def test_a_scheduler_without_dask_is_one_line(
    session: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["report", str(session), "--scheduler", "tcp://127.0.0.1:8786"]) == 3
    [line] = capsys.readouterr().err.splitlines()
    assert 'needs Dask; pip install "tb-xla-insights[dask]"' in line


def test_a_scheduler_without_workers_is_one_line(
    session: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks_cluster, "WORKER_SECONDS", 1)
    with distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", host="127.0.0.1") as empty:
        assert main(["report", str(session), "--scheduler", empty.scheduler_address]) == 3
    [line] = capsys.readouterr().err.splitlines()
    assert "no worker" in line


def test_an_error_is_raised_once_all_workers_have_left(
    hosts: list[HostCapture], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scheduler without workers, and without the check of their versions, is like one whose workers leave after the
    check."""

    def skip_check(*_: object) -> None:
        # Only now, as the client's connection to the scheduler has the same limit.
        monkeypatch.setattr(tasks_cluster, "ANSWER_SECONDS", 0.1)

    monkeypatch.setattr(tasks_cluster, "_check_versions", skip_check)
    monkeypatch.setattr(tasks_cluster, "WORKER_SECONDS", 0.1)
    message = "no worker is left to read a, and none came within 0.1 s; .* start some with: dask worker tcp:"
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", host="127.0.0.1") as empty,
        pytest.raises(InputError, match=message),
    ):
        values(run(hosts, count, load_catalog(), empty.scheduler_address))


def test_a_scheduler_that_gives_up_waiting_for_workers_is_one_line(
    hosts: list[HostCapture], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask itself fails the task if its `no-workers-timeout` is shorter than the plugin's."""
    monkeypatch.setattr(tasks_cluster, "_check_versions", lambda *_: None)
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "0.1s"}),
        distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", host="127.0.0.1") as empty,
        pytest.raises(InputError, match=r"^tcp:\S+: no worker is left to read a; .*dask worker tcp:\S+$"),
    ):
        values(run(hosts, count, load_catalog(), empty.scheduler_address))


def test_workers_of_another_version_are_refused(
    scheduler: str, session: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tasks_cluster, "__version__", "99.9")
    assert main(["report", str(session), "--scheduler", scheduler]) == 3
    [line] = capsys.readouterr().err.splitlines()
    assert f"tb-xla-insights {xi.__version__}" in line
    assert "99.9" in line


def test_a_later_worker_of_another_version_reports_its_version(
    scheduler: str, hosts: list[HostCapture], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks_cluster, "_check_versions", lambda *_: None)
    monkeypatch.setattr(tasks_cluster, "__version__", "99.9")
    results = values(run(hosts, count, load_catalog(), scheduler))
    assert all(isinstance(outcome, Failure) and "99.9" in outcome.message for outcome in results)
