"""How long a session of very many hosts takes on workers of a scheduler: reckoned from what one host costs.

    python benchmarks/bench_pod_scale.py TASK_SECONDS RESULT_BYTES [HOSTS] [FILE_BYTES]

Nothing is run. `bench_pod.py` measures TASK_SECONDS (a warm worker's time for one host, its file in memory) and
RESULT_BYTES. The rest is a simulation of the tasks one by one, for 1 to 256 workers of one thread each:

- a worker takes the next host as soon as it is free (1 ms for the scheduler), reads the file at 100 MB/s (a share of a
  store or of a network file system) and computes;
- results come to the client in the order of the hosts, at 500 MB/s, and each is merged there in MERGE_SECONDS;
- starting workers is not counted.

So the client is the limit where hosts x (transfer + merge) is more than hosts / workers x (read + compute).
"""

from __future__ import annotations

import heapq
import sys

SCHEDULER_SECONDS = 0.001
READ_BYTES_A_SECOND = 100e6
RESULT_BYTES_A_SECOND = 500e6
MERGE_SECONDS = 0.055
"""Of a capture of three million events and 1,840 steps: to take its summary in, and its part in the final document."""


def simulated(hosts: int, workers: int, task: float, result: float) -> tuple[float, float]:
    """Seconds until the last host is merged, and how many seconds of that the client was busy."""
    free = [0.0] * workers
    client = busy = 0.0
    for _ in range(hosts):
        done = heapq.heappop(free) + SCHEDULER_SECONDS + task
        heapq.heappush(free, done)
        here = result / RESULT_BYTES_A_SECOND + MERGE_SECONDS
        client, busy = max(client, done) + here, busy + here
    return client, busy


def main(task: float, result: float, hosts: int, file: float) -> None:
    whole = task + file / READ_BYTES_A_SECOND
    print(f"{hosts} hosts; a host: {task:.2f} s of work, {file / READ_BYTES_A_SECOND:.2f} s of reading,")
    print(
        f"{result / 1e6:.2f} MB of result; {hosts * result / 1e6:.0f} MB come to the client in all (simulated)"
    )
    for workers in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        seconds, busy = simulated(hosts, workers, whole, result)
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
