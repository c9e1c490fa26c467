"""Tasks for the captures of hosts. They are functions of a module, so that worker processes can import them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tb_xla_insights.tasks import HostCapture
from tb_xla_insights.trace.model import Trace


def count(trace: Trace, host: HostCapture) -> tuple[str, int, int]:
    """The host's name, the number of its events, and the id of the process that read them."""
    return host.name, len(trace), os.getpid()


def die_once(trace: Trace, host: HostCapture, host_name: str, folder: str) -> tuple[str, int]:
    """Ends its process at the first attempt at the host `host_name`, as the system does when memory runs out."""
    flag = Path(folder, "died")
    if host.name == host_name and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return host.name, len(trace)


def die(trace: Trace, host: HostCapture, host_name: str) -> tuple[str, int]:
    """Ends its process at every attempt at the host `host_name`."""
    if host.name == host_name:
        os.kill(os.getpid(), signal.SIGKILL)
    return host.name, len(trace)
