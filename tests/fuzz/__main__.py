"""`python -m fuzz`: tries inputs without end, or for some minutes; with --replay, one of them again."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from fuzz.loop import Loop
from fuzz.targets import TARGETS
from fuzz.worker import Tally, measured


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, default=Path("build/fuzz"), help="where findings go, and come from"
    )
    parser.add_argument("--minutes", type=float, help="how long; until Ctrl-C where it is left out")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="one per processor")
    names = [its.name for its in TARGETS]
    parser.add_argument("--target", action="append", choices=names, help="only this one; may be given again")
    parser.add_argument(
        "--replay", type=Path, metavar="FILE", help="try this input once, of the one --target"
    )
    options = parser.parse_args()
    targets = [its for its in TARGETS if options.target is None or its.name in options.target]
    if options.replay is not None:
        if len(targets) != 1:
            parser.error("--replay needs the --target that the input is of")
        print(sorted(measured(targets[0], options.replay.read_bytes(), Tally(), memory=True)))
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell has it ignored
    loop = Loop(options.folder, targets)
    try:
        loop.run(options.processes, None if options.minutes is None else 60 * options.minutes)
    except KeyboardInterrupt:
        print()
    print("\n".join(loop.lines()))
    return int(bool(loop.failed))


if __name__ == "__main__":
    sys.exit(main())
