#!/usr/bin/env python3
"""Record both sides of every pair, alternating.

    sudo python capture.py OUT --torch PYTHON --jax PYTHON [--rounds 3] [--pairs NAME…]

PYTHON is an interpreter that has torch_xla 2.9 with its torch, or JAX. Recordings are in OUT/FRAMEWORK_PAIR/SIDE-ROUND;
existing ones are kept. As root, programs get the host name `demo-host`, so that files do not contain the machine's, and
a higher priority than other processes.
"""

import argparse
import shutil
import sys
from pathlib import Path

from neutral import environment_of, run_as_demo_host
from pairs import PAIRS, SIDES, Pair

HERE = Path(__file__).parent
TIMEOUT_S = 600
AS_ON_AN_ACCELERATOR = {"NPROC": "1", "XLA_ENABLE_PARAM_ALIASING": "0"}
"""One thread is the device, which leaves the other processor to the host. Buffers are not donated; otherwise timing
would decide whether the host waits for them on a CPU."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=lambda text: Path(text).resolve())
    parser.add_argument("--torch", metavar="PYTHON", help="without it, no pairs of PyTorch/XLA")
    parser.add_argument("--jax", metavar="PYTHON", help="without it, no pairs of JAX")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--pairs", nargs="*", metavar="NAME", choices=[directory_of(pair) for pair in PAIRS],
        help="names of the directories, FRAMEWORK_PAIR",
    )  # fmt: skip
    options = parser.parse_args()
    programs = options.out / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    for file in HERE.glob("*.py"):
        shutil.copy(file, programs)
    failed = 0
    for number in range(1, options.rounds + 1):
        for pair in PAIRS:
            python = getattr(options, pair.framework)
            name = directory_of(pair)
            if python and (not options.pairs or name in options.pairs):
                for side in SIDES:
                    failed += not capture(options.out, python, pair, side, f"{name}/{side}-{number}")
    sys.exit(f"{failed} recordings failed" if failed else 0)


def directory_of(pair: Pair) -> str:
    return f"{pair.framework}_{pair.name}"


def capture(out: Path, python: str, pair: Pair, side: str, folder: str) -> bool:
    """Records one side of a pair, unless its recording exists. Returns whether the recording exists now."""
    if (out / folder / "steps.json").exists():
        return True
    shutil.rmtree(out / folder, ignore_errors=True)
    (out / folder).mkdir(parents=True)
    command = [python, f"programs/programs_{pair.framework}.py", pair.name, side, folder]
    variables = environment_of(out) | AS_ON_AN_ACCELERATOR
    ending = run_as_demo_host(command, out, variables, out / folder / "output.txt", TIMEOUT_S)
    steps = out / folder / "steps.json"
    print(folder, steps.read_text().strip() if steps.exists() else f"{ending}: see output.txt", flush=True)
    return steps.exists()


if __name__ == "__main__":
    main()
