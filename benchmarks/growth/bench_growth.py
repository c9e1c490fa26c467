"""How time, memory and answers grow with what a file has many of, has long, or nests deeply.

    python benchmarks/growth/bench_growth.py [AXES] [--size 500] [--limit 60]

Each capture of `captures.AXES` is made with n and with 2 n of its thing, and all that is told of it is asked in a
process of its own. Printed are processor time, memory above what imports take, and bytes of all answers of both; `!!`
where time or memory grows by more than 2.6, or answers by more than 1.3 times as much as the file.

With 1,000, what once grew by the square takes (before): nested annotations 2.8 s and 12 MB (8.6 s, 1,660 MB), a name of
40,000 slashes 0.4 s and 10 MB (4.8 s, 1,037 MB), a name of slashes around others 0.3 s and 11 MB (7.2 s, 2,036 MB),
stored rows of name scopes inside each other 2.1 s (9.7 s), computations that each call the next one 11 s (over 60 s),
fusions that share a body of as many scopes 10 s (over 60 s).
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


def measured(axis: str, size: int) -> dict[str, Any]:
    """All that is told of one capture, in this process."""
    from benchmarks.growth.answers import answers, session_at

    with tempfile.TemporaryDirectory() as folder:
        path = AXES[axis](size).write(Path(folder) / "vm.xplane.pb")
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        told = sum(len(answer) for _, answer in answers(session_at(path)))
        seconds = time.process_time() - began
        room = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        return {"seconds": seconds, "mb": room / 1024, "told": told, "bytes": path.stat().st_size}


def apart(axis: str, size: int, limit: float) -> dict[str, Any] | None:
    """The same in a process of its own; None where it takes longer than `limit` seconds."""
    command = [sys.executable, __file__, axis, "--size", str(size), "--here"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        return None
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("axes", nargs="*", default=list(AXES))
    parser.add_argument("--size", type=int, default=500)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measured(options.axes[0], options.size)))
        return
    for axis in options.axes:
        one, two = (apart(axis, size, options.limit) for size in (options.size, 2 * options.size))
        if one is None or two is None:
            print(f"!! {axis:22} takes more than {options.limit:g} s", flush=True)
            continue
        times = {key: two[key] / max(one[key], 1e-9) for key in one}
        grows = (
            times["seconds"] > 2.6
            or (times["mb"] > 2.6 and two["mb"] > 50)
            or times["told"] > 1.3 * times["bytes"]
        )
        print(
            f"{'!!' if grows else '  '} {axis:22}{two['bytes'] / 1e3:8.0f} kB"
            + "".join(
                f"{one[key]:9.1f}{two[key]:9.1f} {unit}" for key, unit in (("seconds", "s"), ("mb", "MB"))
            )
            + f"{one['told'] / 1e6:9.1f}{two['told'] / 1e6:9.1f} MB told",
            flush=True,
        )


if __name__ == "__main__":
    main()
