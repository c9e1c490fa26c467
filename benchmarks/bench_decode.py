"""Compares decoding a capture with protobuf's parser: time and memory, each in its own process, alternating.

    python benchmarks/bench_decode.py FILE [ROUNDS]

"columns" decodes every event with the needed stats into columns; "protobuf" only parses the file into messages, with
protobuf's C parser. Memory is the peak minus that of the same process, with everything imported, just before the file
is opened. Prints each round, then the medians and their ratios.
"""

from __future__ import annotations

import importlib
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]


def measure(work: Callable[[], object]) -> dict[str, float]:
    """The time of a call in seconds and the memory that it needs in megabytes."""
    kib_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    del result  # only now, so that the peak includes it
    return {"seconds": seconds, "megabytes": (peak_kib - kib_before) * 1024 / 1e6}


def decode_columns(path: str) -> dict[str, float]:
    from tb_xla_insights.files.open import open_source
    from tb_xla_insights.xplane.read_xspace import read_space

    # Imported before the measurement.
    importlib.import_module("tb_xla_insights.xplane.proto.xplane_pb2")
    return measure(lambda: read_space(open_source(path)))


def parse_messages(path: str) -> dict[str, float]:
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]
    from independent import SPACE

    return measure(lambda: SPACE.FromString(Path(path).read_bytes()))


def main(path: str, rounds: int) -> None:
    results: dict[str, list[dict[str, float]]] = {"columns": [], "protobuf": []}
    for _ in range(rounds):
        for name, measurements in results.items():
            command = [sys.executable, __file__, f"--{name}", path]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            measurements.append(json.loads(output))
            print(f"{name:<10}{measurements[-1]['seconds']:8.3f} s {measurements[-1]['megabytes']:8.0f} MB")
    medians = {
        name: {unit: statistics.median(row[unit] for row in rows) for unit in ("seconds", "megabytes")}
        for name, rows in results.items()
    }
    for name, figures in medians.items():
        print(f"{name} median: {figures['seconds']:.3f} s, {figures['megabytes']:.0f} MB")
    time_ratio = medians["protobuf"]["seconds"] / medians["columns"]["seconds"]
    memory_ratio = medians["columns"]["megabytes"] / medians["protobuf"]["megabytes"]
    print(f"{time_ratio:.1f} times as fast, {memory_ratio:.2f} of the memory")


if __name__ == "__main__":
    if sys.argv[1] in ("--columns", "--protobuf"):
        print(
            json.dumps({"--columns": decode_columns, "--protobuf": parse_messages}[sys.argv[1]](sys.argv[2]))
        )
    else:
        main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
