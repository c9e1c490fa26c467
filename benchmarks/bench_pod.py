"""A report of many hosts against one report of each, on this machine: time, memory, and what a host costs.

    python benchmarks/bench_pod.py FILE [HOSTS]

Makes a session of HOSTS hosts (64), links to one capture, and takes `xla-insights report --json` of it: "pod" is
that command, from its start to its end, with the highest sum of what all its processes held at one time (proportional
set size, so that shared pages count once). "single" is the same command on the file alone, three times before and three
after, the median; the pod's time is compared with HOSTS times that. Where others use the machine meanwhile, processor
time tells more. Prints what one task costs and how large its result is, too, which `bench_pod_scale.py` reckons with.
Reads `/proc`, so it needs Linux.
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

COMMAND = [sys.executable, "-m", "tb_xla_insights.cli.main", "report", "--json"]


def pod_of(file: Path, hosts: int, folder: Path) -> Path:
    """A session's directory whose hosts are links to one file."""
    for number in range(hosts):
        (folder / f"host-{number}.xplane.pb").symlink_to(file)
    return folder


def processor_seconds() -> float:
    """Of all processes that ended below this one."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def seconds_of(path: Path) -> tuple[float, float]:
    """From start to end, and of processors."""
    start, before = time.perf_counter(), processor_seconds()
    subprocess.run([*COMMAND, str(path)], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start, processor_seconds() - before


def measured(path: Path) -> tuple[float, float, int, int]:
    """The same, the highest sum over all processes in bytes, and the highest of the command's own process."""
    start, before = time.perf_counter(), processor_seconds()
    process = subprocess.Popen([*COMMAND, str(path)], stdout=subprocess.DEVNULL)
    most, most_own, done = 0, 0, threading.Event()

    def watch() -> None:
        nonlocal most, most_own
        while not done.wait(0.05):
            held = {pid: held_by(pid) for pid in family(process.pid)}
            most, most_own = max(most, sum(held.values())), max(most_own, held.get(process.pid, 0))

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    if code:
        sys.exit(f"report ended with {code}")
    return seconds, processor_seconds() - before, most, most_own


def family(pid: int) -> list[int]:
    """A process and those below it."""
    found = [pid]
    for parent in found:
        try:
            tasks = list(Path(f"/proc/{parent}/task").iterdir())
            found += [int(it) for task in tasks for it in (task / "children").read_text().split()]
        except OSError:  # it ended meanwhile
            continue
    return found


def held_by(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def cost_of_a_task(file: Path) -> tuple[float, int]:
    """Seconds that one process takes for a host once it is warm, and the bytes of what it gives back."""
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
    alone = [seconds_of(file) for _ in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        seconds, processors, most, own = measured(pod_of(file, hosts, Path(folder)))
    alone += [seconds_of(file) for _ in range(3)]
    single, single_processors = (statistics.median(column) for column in zip(*alone, strict=True))
    print(f"cores: {os.cpu_count()}, load of the last minute, ours included: {os.getloadavg()[0]:.1f}")
    print(f"single: {single:.2f} s, of processors {single_processors:.2f} s")
    print(f"pod of {hosts}: {seconds:.1f} s, of processors {processors:.1f} s")
    of_time, of_work = seconds / (hosts * single), processors / (hosts * single_processors)
    print(f"{of_time:.2f} of the time of {hosts} single reports, {of_work:.2f} of their processor time")
    print(
        f"at most {most / 1e6:.0f} MB in all processes, of which the command's own at most {own / 1e6:.0f} MB"
    )
    task, size = cost_of_a_task(file)
    print(f"one task, warm: {task:.2f} s; its result: {size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 64)
