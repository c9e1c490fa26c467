"""Compares a cold `xla-insights report --json` with the first view of xprof-rs: time and memory, alternating.

    pip install xprof-rs
    python benchmarks/bench_report.py FILE [ROUNDS]

"report" is the command in its own process, from start to end. "xprof-rs" is its server's work for a first trace view,
over loopback, from the server's start until the response is complete. Memory is the peak of each process. Prints each
round, then the medians and their ratios. Reads `/proc`, so it needs Linux.
"""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VIEW = "/data/plugin/profile/data?run=run&tag=trace_viewer@&host=host&resolution=8000"


def measure_report(file: Path) -> tuple[float, float]:
    """Seconds and megabytes of the command."""
    command = [sys.executable, "-m", "tb_xla_insights", "report", str(file), "--json"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"report ended with {process.returncode}")
    return seconds, usage.ru_maxrss * 1024 / 1e6


def measure_xprof_rs(file: Path) -> tuple[float, float]:
    """Seconds until the view is complete, and megabytes of the server."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        run = Path(folder, "plugins", "profile", "run")
        run.mkdir(parents=True)
        shutil.copy(file, run / "host.xplane.pb")  # copied, as xprof-rs writes files beside the capture
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        start = time.perf_counter()
        command = ["xprof-rs", "--logdir", folder, "--host", "127.0.0.1", "--port", str(port)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                view = request_view(port, server)
                seconds = time.perf_counter() - start
                status = Path(f"/proc/{server.pid}/status").read_text()
            finally:
                server.terminate()
        if len(view) < 1000:
            sys.exit(f"xprof-rs answered {view[:200]!r}")
        peak_kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
        return seconds, peak_kib * 1024 / 1e6


def request_view(port: int, server: subprocess.Popen[bytes]) -> bytes:
    """The response of the server, once it accepts connections. Exits if the server ends before."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        try:
            connection.request("GET", VIEW)
            return connection.getresponse().read()
        except ConnectionRefusedError:
            if server.poll() is not None:
                sys.exit(f"xprof-rs ended with {server.returncode}")
            time.sleep(0.005)
        finally:
            connection.close()


def main(file: Path, rounds: int) -> None:
    results: dict[str, list[tuple[float, float]]] = {"report": [], "xprof-rs": []}
    for _ in range(rounds):
        for name, measure in (("report", measure_report), ("xprof-rs", measure_xprof_rs)):
            results[name].append(measure(file))
            print(f"{name:<10}{results[name][-1][0]:8.2f} s {results[name][-1][1]:8.0f} MB")
    medians = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)]
        for name, rows in results.items()
    }
    for name, (seconds, megabytes) in medians.items():
        print(f"{name} median: {seconds:.2f} s, {megabytes:.0f} MB")
    time_ratio, memory_ratio = (a / b for a, b in zip(medians["report"], medians["xprof-rs"], strict=True))
    print(f"{time_ratio:.2f} of the time, {memory_ratio:.2f} of the memory")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 3)
