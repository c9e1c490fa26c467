"""Decoding a capture against protobuf's own parse: time and memory, each in a process of its own, turn by turn.

    python benchmarks/bench_decode.py FILE [ROUNDS]

"ours" decodes every event with the wanted stats into columns; "protobuf" only parses the file into messages, with the
parser in C that comes with protobuf. Memory is the peak above that of the same process, with everything imported,
just before the file is opened. Prints each round, then the medians and their ratios.
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
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    kept = work()  # what was made still counts when memory is read
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    del kept
    return {"seconds": seconds, "megabytes": (peak - before) / 1024}


def ours(path: str) -> dict[str, float]:
    from tb_xla_insights.files.source import open_source
    from tb_xla_insights.xplane.read import read_space

    importlib.import_module("tb_xla_insights.xplane.proto.xplane_pb2")  # else reading does
    return measure(lambda: read_space(open_source(path)))


def protobuf(path: str) -> dict[str, float]:
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]
    from independent import SPACE

    return measure(lambda: SPACE.FromString(Path(path).read_bytes()))


def main(path: str, rounds: int) -> None:
    results: dict[str, list[dict[str, float]]] = {"ours": [], "protobuf": []}
    for _ in range(rounds):
        for name, found in results.items():
            command = [sys.executable, __file__, f"--{name}", path]
            found.append(
                json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            )
            print(f"{name:<10}{found[-1]['seconds']:8.3f} s {found[-1]['megabytes']:8.0f} MB")
    middle = {
        name: {unit: statistics.median(one[unit] for one in found) for unit in ("seconds", "megabytes")}
        for name, found in results.items()
    }
    for name, figures in middle.items():
        print(f"{name} median: {figures['seconds']:.3f} s, {figures['megabytes']:.0f} MB")
    faster = middle["protobuf"]["seconds"] / middle["ours"]["seconds"]
    smaller = middle["ours"]["megabytes"] / middle["protobuf"]["megabytes"]
    print(f"{faster:.1f} times as fast, {smaller:.2f} of the memory")


if __name__ == "__main__":
    if sys.argv[1] in ("--ours", "--protobuf"):
        print(json.dumps({"--ours": ours, "--protobuf": protobuf}[sys.argv[1]](sys.argv[2])))
    else:
        main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
