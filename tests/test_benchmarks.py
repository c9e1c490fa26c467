"""Benchmarks whose server ends early: they stop, and still print what they measured."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from benchmarks.bench_report import request_view
from benchmarks.load_measurements import Measurements, print_tables


def test_a_request_to_a_server_that_ended_is_not_repeated() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))  # bound, but not listening: connections are refused
        with subprocess.Popen([sys.executable, "-S", "-c", "raise SystemExit(3)"]) as server:
            server.wait()
            with pytest.raises(SystemExit, match="xprof-rs ended with 3"):
                request_view(probe.getsockname()[1], server)


def test_tables_of_a_server_that_ended_in_the_first_phase(capsys: pytest.CaptureFixture[str]) -> None:
    measurements = Measurements(rss=[(0.0, "in memory", 40_000_000)])
    measurements.add("in memory", "(open a session)", 3.0)
    print_tables(measurements)
    routes, memory = capsys.readouterr().out.strip().split("\n\n")
    assert "| in memory: requests | p50 (ms) | p99 (ms) | longest (ms) | beyond memory: requests |" in routes
    assert routes.splitlines()[2:] == ["| open a session | 1 | 3 | 3 | 3 | 0 |  |  |  |"]
    assert memory.splitlines()[2:] == ["| in memory | 1 | 0 | 40 | 40 | 40 |"]
