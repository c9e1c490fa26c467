"""Compares a report of many hosts with single reports of each: time and memory, and the time of one host.

    python benchmarks/bench_pod.py FILE [HOSTS]

Creates a session of HOSTS hosts (64), links to one capture, and runs `xla-insights report --json` on it. "pod" is that
command from start to end, with the peak memory of all its processes together (proportional set size, which counts
shared pages once). "single" is the median of the same command on the file alone, three runs before and three after; the
pod's time is compared with HOSTS times that. If other programs use the machine meanwhile, processor time is more
reliable. Also prints the time of one task and the size of its result, the inputs of `bench_pod_scale.py`. Reads
`/proc`, so it needs Linux.
"""

from __future__ import annotations

import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

COMMAND = [sys.executable, "-m", "tb_xla_insights", "report", "--json"]


def make_pod(file: Path, hosts: int, folder: Path) -> Path:
    """Creates a session whose hosts are links to one file."""
    for number in range(hosts):
        (folder / f"host-{number}.xplane.pb").symlink_to(file)
    return folder


def processor_seconds() -> float:
    """The processor time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure_report(path: Path) -> tuple[float, float]:
    """The elapsed time and the processor time of a report."""
    start, processors_before = time.perf_counter(), processor_seconds()
    subprocess.run([*COMMAND, str(path)], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start, processor_seconds() - processors_before


def measure_pod(path: Path) -> tuple[float, float, int, int]:
    """Elapsed time, processor time, and the peak memory in bytes of all processes together and of the main process."""
    start, processors_before = time.perf_counter(), processor_seconds()
    process = subprocess.Popen([*COMMAND, str(path)], stdout=subprocess.DEVNULL)
    peak, main_peak, has_ended = 0, 0, threading.Event()

    def watch() -> None:
        nonlocal peak, main_peak
        while not has_ended.wait(0.05):
            memory = {pid: memory_of(pid) for pid in process_tree(process.pid)}
            peak, main_peak = max(peak, sum(memory.values())), max(main_peak, memory.get(process.pid, 0))

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    seconds = time.perf_counter() - start
    has_ended.set()
    watcher.join()
    if code:
        sys.exit(f"report ended with {code}")
    return seconds, processor_seconds() - processors_before, peak, main_peak


def process_tree(pid: int) -> list[int]:
    """A process and all its descendants."""
    pids = [pid]
    for parent in pids:
        try:
            tasks = list(Path(f"/proc/{parent}/task").iterdir())
            pids += [int(child) for task in tasks for child in (task / "children").read_text().split()]
        except OSError:  # the process has ended
            continue
    return pids


def memory_of(pid: int) -> int:
    """The proportional set size of a process in bytes, 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def task_cost(file: Path) -> tuple[float, int]:
    """The seconds that a warm process takes for one host, and the size of its result in bytes."""
    from functools import partial

    from tb_xla_insights.catalog import load_catalog
    from tb_xla_insights.logdir.session_hosts import summarise_task
    from tb_xla_insights.tasks import HostCapture
    from tb_xla_insights.tasks.host import Task

    summarise = partial(summarise_task, extras=None, name="s", path=str(file.parent))
    task = Task(summarise, load_catalog())
    times = []
    for _ in range(3):
        start = time.perf_counter()
        result = task(HostCapture("host", str(file), file.stat().st_size))
        times.append(time.perf_counter() - start)
    return min(times), len(pickle.dumps(result))


def main(file: Path, hosts: int) -> None:
    single_reports = [measure_report(file) for _ in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        seconds, processors, peak, main_peak = measure_pod(make_pod(file, hosts, Path(folder)))
    single_reports += [measure_report(file) for _ in range(3)]
    single, single_processors = (statistics.median(column) for column in zip(*single_reports, strict=True))
    print(
        f"cores: {os.cpu_count()}, load of the last minute, including this benchmark: {os.getloadavg()[0]:.1f}"
    )
    print(f"single: {single:.2f} s, processor time {single_processors:.2f} s")
    print(f"pod of {hosts}: {seconds:.1f} s, processor time {processors:.1f} s")
    time_ratio, processor_ratio = seconds / (hosts * single), processors / (hosts * single_processors)
    print(
        f"{time_ratio:.2f} of the time of {hosts} single reports, {processor_ratio:.2f} of their processor time"
    )
    print(f"at most {peak / 1e6:.0f} MB in all processes, and {main_peak / 1e6:.0f} MB in the main process")
    task, size = task_cost(file)
    print(f"one task, warm: {task:.2f} s; its result: {size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 64)
