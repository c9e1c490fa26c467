"""Ctrl-C ends a command at once, with one line, whatever it waits for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from webstore import WebStore, web_store

[CAPTURE] = (Path(__file__).parents[1] / "demo_logs" / "torch_xla_baseline").rglob("*.xplane.pb")
SESSION = "/logs/run/plugins/profile/2026_01_02_00_00_00"
HOSTS = [f"{SESSION}/{name}.xplane.pb" for name in ("a", "b", "c", "d")]


@pytest.fixture
def store() -> Iterator[WebStore]:
    with web_store() as served:
        served.files = dict.fromkeys(HOSTS, CAPTURE.read_bytes())
        yield served


class Stall:
    """Keeps whoever asks waiting."""

    def __init__(self) -> None:
        self.asked, self.over = threading.Event(), threading.Event()

    def __call__(self, *_: object) -> bool:
        self.asked.set()
        return self.over.wait()


def interrupted(command: Sequence[str], stall: Stall, env: Mapping[str, str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that gets Ctrl-C while it waits, as a terminal sends it: to all of its
    processes."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs the tests may ignore it
    try:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
            start_new_session=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        assert stall.asked.wait(60)
        os.killpg(process.pid, signal.SIGINT)
        out, said = process.communicate(timeout=60)
    finally:
        stall.over.set()
        process.kill()
    return process.returncode, out, said


@pytest.mark.parametrize("stalled", [HOSTS[0], SESSION + "/"])
def test_a_command_whose_store_stalls(store: WebStore, stalled: str) -> None:
    store.faults[stalled] = stall = Stall()
    command = [sys.executable, "-m", "tb_xla_insights.cli.main", "report", f"{store.address}/logs"]
    assert interrupted(command, stall, os.environ) == (130, "", "xla-insights: stopped\n")


@pytest.mark.parametrize("stalled", [HOSTS[1], "/started"])
def test_the_processes_that_read_hosts(store: WebStore, tmp_path: Path, stalled: str) -> None:
    store.faults[stalled] = stall = Stall()
    (tmp_path / "sitecustomize.py").write_text(  # a process that reads asks for a file while it starts
        "import sys, urllib.request\n"
        "if sys.orig_argv[1] == '-m' and 'loky' in sys.orig_argv[2]:\n"
        f"    urllib.request.urlopen('{store.address}/started')\n"
    )
    store.files["/started"] = b""
    program = (
        "import importlib\n"
        "from tb_xla_insights.cli.main import command\n"
        "importlib.import_module('tb_xla_insights.tasks.run')._SMALL_BYTES = -1\n"
        "command()"
    )
    more = {"LOKY_MAX_CPU_COUNT": "2", "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-c", program, "report", f"{store.address}/logs"]
    assert interrupted(command, stall, os.environ | more) == (130, "", "xla-insights: stopped\n")


def test_a_thread_that_is_amid_numpy(store: WebStore) -> None:
    """Python's end would end the thread within NumPy's C++, which aborts the process then."""
    store.faults[HOSTS[0]] = stall = Stall()
    program = (
        "from threading import Thread\n"
        "import numpy as np\n"
        "from tb_xla_insights.cli.main import command\n"
        "many = np.arange(200_000)\n"
        "Thread(target=lambda: [np.unique(many) for _ in iter(int, 1)], daemon=True).start()\n"
        "command()"
    )
    command = [sys.executable, "-c", program, "report", f"{store.address}/logs"]
    assert interrupted(command, stall, os.environ) == (130, "", "xla-insights: stopped\n")
