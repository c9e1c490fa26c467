"""Measures how time, memory and answers grow with the number, the length or the nesting depth of a file's parts.

    python benchmarks/growth/bench_growth.py [AXES] [--size 500] [--limit 60]

Each capture of `captures.AXES` is built with size n and 2 n, and all answers about it are computed in a separate
process. Prints for both the processor time, the memory without imports, and the size of all answers; `!!` if time, or
memory above 50 MB, grows by a factor of more than 2.6, if answers grow by more than 1.3 times the growth of the file,
or if --limit seconds are exceeded.

Cases that once grew quadratically, with size 1,000, now (before): nested annotations 2.8 s and 12 MB (8.6 s, 1,660 MB),
a name of 40,000 slashes 0.4 s and 10 MB (4.8 s, 1,037 MB), an annotation named with slashes only, around others, 0.3 s
and 11 MB (7.2 s, 2,036 MB), stored rows of nested name scopes 2.1 s (9.7 s), a chain of computations that each call the
next 11 s (over 60 s), fusions that share a body of as many scopes 10 s (over 60 s), runs of a program with a name of
20,000 letters 0.8 s and 109 MB (2.3 s, 445 MB); the report on a recorded JAX capture with 40 MB of events 1.9 s (69 s).
With sizes 500 and 1,000 no synthetic axis of the 63 is marked, and with 250 and 500 (5 and 10 MB) none of the 24
recorded ones.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "demo_logs")]

from benchmarks.growth.captures import AXES  # noqa: E402


def measure(path: Path) -> dict[str, Any]:
    """Computes all answers about a capture, in this process."""
    from benchmarks.growth.answers import answers, session_at

    kib_before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    answer_bytes = sum(len(answer) for _, answer in answers(session_at(path)))
    seconds = time.process_time() - start
    memory_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - kib_before
    return {
        "seconds": seconds,
        "mb": memory_kib * 1024 / 1e6,
        "answer_bytes": answer_bytes,
        "bytes": path.stat().st_size,
    }


def measure_in_process(axis: str, size: int, limit: float) -> dict[str, Any] | None:
    """`measure` in a separate process; None if it takes longer than `limit` seconds. Another process builds the
    capture, as its peak memory would hide that of the answers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vm.xplane.pb"
        command = [sys.executable, __file__, axis, "--size", str(size)]
        subprocess.run([*command, "--build", path], check=True)
        try:
            process = subprocess.run(
                [*command, "--measure", path], stdout=subprocess.PIPE, text=True, timeout=limit, check=True
            )
        except subprocess.TimeoutExpired:
            return None
    result: dict[str, Any] = json.loads(process.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("axes", nargs="*", default=list(AXES))
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        AXES[options.axes[0]](options.size).write(options.build)
        return
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    for axis in options.axes:
        single, double = (
            measure_in_process(axis, size, options.limit) for size in (options.size, 2 * options.size)
        )
        if single is None or double is None:
            print(f"!! {axis:46} takes more than {options.limit:g} s", flush=True)
            continue
        growth = {key: double[key] / max(single[key], 1e-9) for key in single}
        is_superlinear = (
            growth["seconds"] > 2.6
            or (growth["mb"] > 2.6 and double["mb"] > 50)
            or growth["answer_bytes"] > 1.3 * growth["bytes"]
        )
        print(
            f"{'!!' if is_superlinear else '  '} {axis:46}{double['bytes'] / 1e3:8.0f} kB"
            + "".join(
                f"{single[key]:9.1f}{double[key]:9.1f} {unit}"
                for key, unit in (("seconds", "s"), ("mb", "MB"))
            )
            + f"{single['answer_bytes'] / 1e6:9.1f}{double['answer_bytes'] / 1e6:9.1f} MB of answers",
            flush=True,
        )


if __name__ == "__main__":
    main()
