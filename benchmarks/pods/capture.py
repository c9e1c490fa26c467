#!/usr/bin/env python3
"""Record a training of several processes, each as a host with its own name, as one session.

    sudo python benchmarks/pods/capture.py OUT --python PYTHON [--late SECONDS]

PYTHON is an interpreter with JAX. OUT is removed first, with all that it contains. With `--late`, each batch of one
host takes SECONDS longer to load. All hosts are one machine with one clock, so clock offsets other than 0 in the report
are errors of the report. As root, processes get their own host names, so that files do not contain the machine's.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "what_if"))

from neutral import environment_of  # noqa: E402

PROCESSES, TIMEOUT_S = 4, 300
SESSION = "2026_11_22_12_00_00"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=lambda text: Path(text).resolve())
    parser.add_argument("--python", required=True, help="an interpreter that has JAX")
    parser.add_argument(
        "--late",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="each batch of one host takes longer to load",
    )
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    session = options.out / "plugins" / "profile" / SESSION
    session.mkdir(parents=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = shutil.copy(HERE / "train_jax.py", options.out)
    # Gloo resolves its host's own name.
    hosts = options.out / "hosts"
    hosts.write_text("127.0.0.1 localhost " + " ".join(map(_name, range(PROCESSES))) + "\n")
    command = [options.python, Path(script).name]
    processes = [
        subprocess.Popen(
            _as_host(
                rank, [*command, str(rank), str(PROCESSES), str(port), str(options.late), f"rank{rank}"]
            ),
            cwd=options.out,
            env=environment_of(options.out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for rank in range(PROCESSES)
    ]
    try:
        errors = [process.communicate(timeout=TIMEOUT_S)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    Path(script).unlink()
    hosts.unlink()
    if failed := [text for process, text in zip(processes, errors, strict=True) if process.returncode]:
        sys.exit(failed[0].decode()[-2000:])
    for rank in range(PROCESSES):
        logdir = options.out / f"rank{rank}"
        [file] = logdir.rglob("*.xplane.pb")
        shutil.move(file, session / f"{_name(rank)}.xplane.pb")
        shutil.rmtree(logdir)


def _name(rank: int) -> str:
    return f"demo-w-{rank}"


def _as_host(rank: int, command: list[str]) -> list[str]:
    """The command under its own host name; unchanged without root's rights."""
    if os.geteuid() != 0:
        return command
    script = f'hostname {_name(rank)}; mount --bind hosts /etc/hosts; exec "$@"'
    return ["unshare", "--uts", "--mount", "sh", "-c", script, "-", *command]


if __name__ == "__main__":
    main()
