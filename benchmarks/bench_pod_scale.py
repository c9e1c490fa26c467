"""Estimates the time of a session of very many hosts on a scheduler's workers from the time of one host.

    python benchmarks/bench_pod_scale.py TASK_SECONDS RESULT_BYTES [HOSTS] [FILE_BYTES]

No task is run. `bench_pod.py` measures TASK_SECONDS (a warm worker's time for one host, its file in memory) and
RESULT_BYTES. The rest is a simulation of the tasks, for 1 to 256 workers of one thread each:

- A free worker takes the next host (1 ms for the scheduler), reads the file at 100 MB/s (its share of a store or a
  network file system) and computes.
- Results arrive at the client in the order of the hosts, at 500 MB/s, and each is merged in MERGE_SECONDS.
- The start of the workers is not included.

The client is the bottleneck if hosts x (transfer + merge) exceeds hosts / workers x (read + compute).
"""

from __future__ import annotations

import heapq
import sys

SCHEDULER_SECONDS = 0.001
READ_BYTES_PER_SECOND = 100e6
RESULT_BYTES_PER_SECOND = 500e6
MERGE_SECONDS = 0.055
"""For a capture of three million events and 1,840 steps: merging its summary, and its part of the final document."""


def simulate(hosts: int, workers: int, host_seconds: float, result_bytes: float) -> tuple[float, float]:
    """The time until the last host is merged, and the time that the client is busy, in seconds."""
    worker_ends = [0.0] * workers
    client_end = client_busy = 0.0
    for _ in range(hosts):
        task_end = heapq.heappop(worker_ends) + SCHEDULER_SECONDS + host_seconds
        heapq.heappush(worker_ends, task_end)
        client_seconds = result_bytes / RESULT_BYTES_PER_SECOND + MERGE_SECONDS
        client_end = max(client_end, task_end) + client_seconds
        client_busy += client_seconds
    return client_end, client_busy


def main(task_seconds: float, result_bytes: float, hosts: int, file_bytes: float) -> None:
    read_seconds = file_bytes / READ_BYTES_PER_SECOND
    print(f"{hosts} hosts; a host: {task_seconds:.2f} s of work, {read_seconds:.2f} s of reading,")
    print(
        f"{result_bytes / 1e6:.2f} MB of result; {hosts * result_bytes / 1e6:.0f} MB for the client in all (simulated)"
    )
    for workers in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        seconds, busy = simulate(hosts, workers, task_seconds + read_seconds, result_bytes)
        print(f"{workers:>4} workers {seconds:8.1f} s, the client busy for {busy:5.1f} s")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(
        float(sys.argv[1]),
        float(sys.argv[2]),
        int(sys.argv[3]) if len(sys.argv) > 3 else 1024,
        float(sys.argv[4]) if len(sys.argv) > 4 else 120e6,
    )
