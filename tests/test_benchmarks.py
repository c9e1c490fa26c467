"""Benchmarks measure what they name; those whose server ends early stop, and still print what they measured."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import bench_pod, bench_report
from benchmarks.load_measurements import Measurements, print_tables


def test_a_report_without_a_file_is_not_measured(tmp_path: Path) -> None:
    """A command that does nothing would succeed."""
    missing = tmp_path / "vm.xplane.pb"
    for measure in (bench_report.measure_report, bench_pod.measure_pod):
        with pytest.raises(SystemExit, match="report ended with 3"):
            measure(missing)
    with pytest.raises(subprocess.CalledProcessError):
        bench_pod.measure_report(missing)


def test_a_request_to_a_server_that_ended_is_not_repeated() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # bound, but not listening: connections are refused
        with subprocess.Popen([sys.executable, "-S", "-c", "raise SystemExit(3)"]) as server:
            server.wait()
            with pytest.raises(SystemExit, match="xprof-rs ended with 3"):
                bench_report.request_view(probe.getsockname()[1], server)


def test_tables_of_a_server_that_ended_in_the_first_phase(capsys: pytest.CaptureFixture[str]) -> None:
    measurements = Measurements(rss=[(0.0, "in memory", 40_000_000)])
    measurements.add("in memory", "(open a session)", 3.0)
    measurements.add("in memory", "session", 2.0)
    print_tables(measurements)
    routes, memory = capsys.readouterr().out.strip().split("\n\n")
    assert "| in memory: requests | p50 (ms) | p99 (ms) | longest (ms) | beyond memory: requests |" in routes
    assert routes.splitlines()[2:] == [
        "| open a session | 1 | 3 | 3 | 3 | 0 |  |  |  |",
        "| `session` | 1 | 2 | 2 | 2 | 0 |  |  |  |",
    ]
    # Opening a session is several requests, each of which is counted.
    assert memory.splitlines()[2:] == ["| in memory | 1 | 0 | 40 | 40 | 40 |"]
