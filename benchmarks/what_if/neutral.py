"""Programs that are recorded run as on a machine of their own: their files tell nothing of the one they run on."""

import os
from pathlib import Path

HOST = "demo-host"
FIRST = "echo -19 2> /dev/null > /proc/self/autogroup"
"""Where the kernel shares time between sessions, that of this program goes first; elsewhere niceness does."""


def as_demo_host(command: list[str]) -> list[str]:
    """The command under a host name of its own and before other processes; as it is where only root may do that."""
    if os.geteuid() != 0:
        return command
    return ["unshare", "--uts", "sh", "-c", f'hostname {HOST}; {FIRST}; exec nice -n -10 "$@"', "-", *command]


def environment_of(home: Path) -> dict[str, str]:
    """Of a program that works on the CPU, in `home`."""
    return {
        "PATH": "/usr/bin:/bin", "HOME": str(home), "USER": "demo", "LOGNAME": "demo",
        "PJRT_DEVICE": "CPU", "JAX_PLATFORMS": "cpu",
    }  # fmt: skip
