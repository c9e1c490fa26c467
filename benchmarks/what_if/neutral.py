"""Runs the programs of benchmarks under a neutral host name and environment, so that captures reveal nothing about the
machine."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

HOST = "demo-host"
TAKE_PRIORITY = "echo -19 2> /dev/null > /proc/self/autogroup"
"""Gives the command priority if the kernel shares time between autogroups; otherwise niceness decides."""


def _as_demo_host(command: list[str]) -> list[str]:
    """The command under its own host name and with priority over other processes; unchanged without root's rights."""
    if os.geteuid() != 0:
        return command
    return [
        "unshare",
        "--uts",
        "sh",
        "-c",
        f'hostname {HOST}; {TAKE_PRIORITY}; exec nice -n -10 "$@"',
        "-",
        *command,
    ]


def environment_of(home: Path) -> dict[str, str]:
    """The environment of a program that runs on the CPU, in `home`."""
    return {
        "PATH": "/usr/bin:/bin", "HOME": str(home), "USER": "demo", "LOGNAME": "demo",
        "PJRT_DEVICE": "CPU", "JAX_PLATFORMS": "cpu",
    }  # fmt: skip


def run_as_demo_host(
    command: list[str], home: Path, variables: Mapping[str, str], output: Path, timeout_s: float
) -> str:
    """Runs the command in `home` and writes its text and errors to the file `output`. Returns how it ended, for a
    message if its result is missing: `failed (1)`."""
    with output.open("w") as file:
        try:
            process = subprocess.run(
                _as_demo_host(command), cwd=home, env=dict(variables), stdout=file, stderr=file, timeout=timeout_s,
                start_new_session=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"did not end within {timeout_s:g} s"
    return f"failed ({process.returncode})"
