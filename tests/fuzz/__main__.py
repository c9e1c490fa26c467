"""`python -m fuzz`: tries inputs endlessly or for some minutes; with --replay, a single input again."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from fuzz.loop import Loop
from fuzz.targets import TARGETS
from fuzz.worker import Tally, check_limits


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("build/fuzz"),
        help="folder of failures and saved state",
    )
    parser.add_argument("--minutes", type=float, help="duration (default: until Ctrl-C)")
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count(),
        help="default: one per processor",
    )
    names = [target.name for target in TARGETS]
    parser.add_argument("--target", action="append", choices=names, help="only this target; may be repeated")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="try this input of the one --target once")
    options = parser.parse_args()
    targets = [target for target in TARGETS if options.target is None or target.name in options.target]
    if options.replay is not None:
        if len(targets) != 1:
            parser.error("--replay needs the input's --target")
        print(sorted(check_limits(targets[0], options.replay.read_bytes(), Tally(), memory=True)))
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even if the shell ignores it
    loop = Loop(options.folder, targets)
    try:
        loop.run(options.processes, None if options.minutes is None else 60 * options.minutes)
    except KeyboardInterrupt:
        print()
    print("\n".join(loop.lines()))
    return int(bool(loop.failed))


if __name__ == "__main__":
    sys.exit(main())
